//! Symmetric tables: elements and proofs of strangers, the key's file, masked rows. Frames are in [`crate::wire`].

use sotto_oprf::{Input, MaskVersion, OprfError, RowMask, SecretKey, blind, p384};
use sotto_testkit::rng::seeded;
use std::sync::LazyLock;

static KEY: LazyLock<SecretKey> = LazyLock::new(|| SecretKey::generate(&mut seeded("fuzz")).unwrap());

fn row() -> Input {
    Input::row("t", 7, MaskVersion(3)).unwrap()
}

/// Elements that a server is to evaluate. What it takes it answers with as many elements, and all are of the group.
pub(crate) fn oprf_elements(data: &[u8]) -> bool {
    let (elements, rest) = data.as_chunks::<32>();
    if !rest.is_empty() {
        return false;
    }
    let Ok(answer) = KEY.evaluate(elements, &mut seeded("proof")) else { return false };
    assert_eq!(answer.elements.len(), elements.len());
    for element in answer.elements.iter().chain(elements) {
        assert!(sotto_oprf::PublicKey::from_bytes(*element).is_ok_and(|key| key.bytes() == element));
    }
    true
}

/// One element, and two.
pub(crate) fn elementses() -> Vec<Vec<u8>> {
    let blinded = |count| blind((0..count).map(|_| row()).collect(), &mut seeded("blind")).unwrap();
    [1, 2].map(|count| blinded(count).elements().concat()).to_vec()
}

/// An element and a proof that a client is answered with. Only what the key gave is taken.
pub(crate) fn oprf_answer(data: &[u8]) -> bool {
    let Some((element, proof)) = data.split_first_chunk::<32>() else { return false };
    let Ok(proof) = proof.try_into() else { return false };
    let blinded = blind(vec![row()], &mut seeded("blind")).expect("an input of the function");
    let Ok(outputs) = blinded.finish(&[*element], proof, &KEY.public()) else { return false };
    let right = KEY.at(&row()).expect("an input of the function");
    assert!(outputs.len() == 1 && outputs[0].bytes() == right.bytes(), "what is proved is the function");
    true
}

pub(crate) fn oprf_answers() -> Vec<Vec<u8>> {
    let blinded = blind(vec![row()], &mut seeded("blind")).unwrap();
    let answer = KEY.evaluate(blinded.elements(), &mut seeded("proof")).unwrap();
    vec![[&answer.elements[0][..], &answer.proof].concat()]
}

/// The file of a key.
pub(crate) fn oprf_key(data: &[u8]) -> bool {
    let Ok(key) = SecretKey::from_file(&String::from_utf8_lossy(data)) else { return false };
    assert!(SecretKey::from_file(&key.to_file()).is_ok_and(|again| again.public() == key.public()));
    true
}

pub(crate) fn oprf_keys() -> Vec<Vec<u8>> {
    vec![KEY.to_file().as_bytes().to_vec()]
}

/// A row under its mask. What opens is what was closed.
pub(crate) fn masked_row(data: &[u8]) -> bool {
    let mask = RowMask::new(&KEY.at(&row()).expect("an input of the function"));
    match mask.open(data) {
        Ok(item) => {
            assert!(mask.close(MaskVersion::of(data), &item) == data);
            true
        }
        Err(error) => {
            assert_eq!(error, OprfError::Closed);
            false
        }
    }
}

/// A row, and one without a byte.
pub(crate) fn masked_rows() -> Vec<Vec<u8>> {
    let mask = RowMask::new(&KEY.at(&row()).unwrap());
    [&b"some bytes of a row"[..], b""].map(|item| mask.close(MaskVersion(3), item)).to_vec()
}

/// The function over P-384, of others' protocols.
static OTHER: LazyLock<p384::SecretKey> =
    LazyLock::new(|| p384::SecretKey::generate(&mut seeded("fuzz")).unwrap());

fn other() -> p384::BlindedInput {
    p384::blind(b"a key".to_vec().into(), &mut seeded("blind")).unwrap()
}

/// An element of P-384 that a server is to evaluate, which has one form.
pub(crate) fn p384_element(data: &[u8]) -> bool {
    let Ok(element) = data.try_into() else { return false };
    let Ok(answer) = OTHER.evaluate(element, &mut seeded("proof")) else { return false };
    for element in [element, &answer.element] {
        assert!(p384::PublicKey::from_bytes(element).is_ok_and(|key| key.bytes() == element));
    }
    true
}

pub(crate) fn p384_elements() -> Vec<Vec<u8>> {
    vec![other().element().to_vec()]
}

/// An element of P-384 and a proof that a client is answered with. Only what the key gave is taken.
pub(crate) fn p384_answer(data: &[u8]) -> bool {
    let Some((element, proof)) = data.split_at_checked(p384::ELEMENT_BYTES) else { return false };
    let Ok(output) = other().finish(element, proof, &OTHER.public()) else { return false };
    assert!(output.bytes() == OTHER.at(b"a key").unwrap().bytes(), "what is proved is the function");
    true
}

pub(crate) fn p384_answers() -> Vec<Vec<u8>> {
    let answer = OTHER.evaluate(other().element(), &mut seeded("proof")).unwrap();
    vec![[&answer.element[..], &answer.proof].concat()]
}

/// The file of such a key.
pub(crate) fn p384_key(data: &[u8]) -> bool {
    let Ok(key) = p384::SecretKey::from_file(&String::from_utf8_lossy(data)) else { return false };
    assert!(p384::SecretKey::from_file(&key.to_file()).is_ok_and(|again| again.public() == key.public()));
    true
}

pub(crate) fn p384_keys() -> Vec<Vec<u8>> {
    vec![OTHER.to_file().as_bytes().to_vec()]
}
