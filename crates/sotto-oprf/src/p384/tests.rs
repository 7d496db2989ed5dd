//! Known answers of RFC 9497, A.4.2, through this crate's own functions; and refusals. Evaluations
//! are few, since each takes a millisecond.

use super::*;
use sotto_prg::system_rng;
use std::convert::Infallible;

/// A generator that returns given scalars of 48 bytes, and nothing else.
struct Scalars(Vec<Vec<u8>>);

impl rand_core::TryRng for Scalars {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        panic!("no words are drawn")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        panic!("no words are drawn")
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        out.copy_from_slice(&self.0.remove(0));
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Scalars {}

fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

fn text(digits: &str) -> String {
    format!("{}\n{}{digits}\n", TEXT.header, TEXT.prefix)
}

fn key() -> SecretKey {
    SecretKey::generate(&mut system_rng().unwrap()).unwrap()
}

fn blinded(input: &[u8]) -> BlindedInput {
    blind(Zeroizing::new(input.to_vec()), &mut system_rng().unwrap()).unwrap()
}

#[test]
fn the_standard_s_answers() {
    let secret = concat!(
        "051646b9e6e7a71ae27c1e1d0b87b4381db6d3595eeeb1adb41579adbf992f42",
        "78f9016eafc944edaa2b43183581779d"
    );
    let public =
        "031d689686c611991b55f1a1d8f4305ccd6cb719446f660a30db61b7aa87b46acf59b7c0d4a9077b3da21c25dd482229a0";
    let key = SecretKey::from_file(&text(secret)).unwrap();
    assert_eq!(key.public(), PublicKey::from_bytes(&hex(public)).unwrap());
    assert_eq!(*key.to_file(), text(secret));
    let scalar =
        "504650f53df8f16f6861633388936ea23338fa65ec36e0290022b48eb562889d89dbfa691d1cde91517fa222ed7ad364";
    let of_proof =
        "803d955f0e073a04aa5d92b3fb739f56f9db001266677f62c095021db018cd8cbb55941d4073698ce45c405d1348b7b1";
    let cases = [
        (
            vec![0],
            "02d338c05cbecb82de13d6700f09cb61190543a7b7e2c6cd4fca56887e564ea82653b27fdad383995ea6d02cf26d0e24d9",
            "02a7bba589b3e8672aa19e8fd258de2e6aae20101c8d761246de97a6b5ee9cf105febce4327a326255a3c604f63f600ef6",
            concat!(
                "bfc6cf3859127f5fe25548859856d6b7fa1c7459f0ba5712a806fc091a3000c42d8ba34ff45f32a52e40533efd2a03bc",
                "87f3bf4f9f58028297ccb9ccb18ae7182bcd1ef239df77e3be65ef147f3acf8bc9cbfc5524b702263414f043e3b7ca2e"
            ),
            "3333230886b562ffb8329a8be08fea8025755372817ec969d114d1203d026b4a622beab60220bf19078bca35a529b35c",
        ),
        (
            vec![0x5a; 17],
            "02f27469e059886f221be5f2cca03d2bdc61e55221721c3b3e56fc012e36d31ae5f8dc058109591556a6dbd3a8c69c433b",
            "03f16f903947035400e96b7f531a38d4a07ac89a80f89d86a1bf089c525a92c7f4733729ca30c56ce78b1ab4f7d92db8b4",
            concat!(
                "d005d6daaad7571414c1e0c75f7e57f2113ca9f4604e84bc90f9be52da896fff3bee496dcde2a578ae9df315032585f8",
                "01fb21c6080ac05672b291e575a40295b306d967717b28e08fcc8ad1cab47845d16af73b3e643ddcc191208e71c64630"
            ),
            "b91c70ea3d4d62ba922eb8a7d03809a441e1c3c7af915cbc2226f485213e895942cd0f8580e6d99f82221e66c40d274f",
        ),
    ];
    for (input, element, evaluated, proof, output) in cases {
        let asked = blind(Zeroizing::new(input.clone()), &mut Scalars(vec![hex(scalar)])).unwrap();
        assert_eq!(asked.element()[..], hex(element));
        let answer = key.evaluate(asked.element(), &mut Scalars(vec![hex(of_proof)])).unwrap();
        assert_eq!((answer.element.to_vec(), answer.proof.to_vec()), (hex(evaluated), hex(proof)));
        assert_eq!(key.at(&input).unwrap().bytes()[..], hex(output));
        let finished = asked.finish(&answer.element, &answer.proof, &key.public()).unwrap();
        assert_eq!(finished.bytes()[..], hex(output));
    }
}

/// Bytes that are not an element: another first byte (the identity, and the compact form of SEC 1
/// among them), an unreduced coordinate, and a coordinate without a point.
fn no_elements() -> [Element; 5] {
    let mut good = *blinded(b"x").element();
    good[0] = 5;
    let mut off = [0; ELEMENT_BYTES];
    (off[0], off[48]) = (2, 1);
    let mut unreduced = [0xff; ELEMENT_BYTES];
    unreduced[0] = 2;
    [[0; ELEMENT_BYTES], good, off, unreduced, [4; ELEMENT_BYTES]]
}

#[test]
fn bytes_that_are_no_element_are_refused_by_both_ends() {
    let key = key();
    for wrong in no_elements() {
        assert_eq!(key.evaluate(&wrong, &mut system_rng().unwrap()).unwrap_err(), OprfError::Element);
        assert_eq!(PublicKey::from_bytes(&wrong).unwrap_err(), OprfError::Element);
        let refused = blinded(b"x").finish(&wrong, &[0; PROOF_BYTES], &key.public());
        assert_eq!(refused.unwrap_err(), OprfError::Element);
    }
    assert_eq!(PublicKey::from_bytes(&[2; 48]).unwrap_err(), OprfError::Element);
    assert_eq!(key.at(&[0; MAX_INPUT + 1]).unwrap_err(), OprfError::Input);
    let long = blind(Zeroizing::new(vec![0; MAX_INPUT + 1]), &mut system_rng().unwrap());
    assert_eq!(long.unwrap_err(), OprfError::Input);
}

#[test]
fn only_the_requested_evaluation_is_accepted() {
    let (key, other, mut rng) = (key(), key(), system_rng().unwrap());
    let refused = |asked: BlindedInput, answer: &Evaluation, key: &PublicKey| {
        asked.finish(&answer.element, &answer.proof, key).unwrap_err()
    };
    let before = blinded(b"x");
    let old = key.evaluate(before.element(), &mut rng).unwrap();
    assert_eq!(refused(blinded(b"x"), &old, &key.public()), OprfError::Proof, "one that was replayed");
    assert_eq!(refused(before, &old, &other.public()), OprfError::Proof, "another key");
    let asked = blinded(b"x");
    let mut forged = key.evaluate(asked.element(), &mut rng).unwrap();
    forged.proof[95] ^= 1;
    assert_eq!(refused(asked, &forged, &key.public()), OprfError::Proof);
    let asked = blinded(b"");
    let answer = key.evaluate(asked.element(), &mut rng).unwrap();
    assert_eq!(
        asked.finish(&answer.element, &answer.proof[1..], &key.public()).unwrap_err(),
        OprfError::Proof,
        "of another length"
    );
}

#[test]
fn a_key_file_restores_the_key_and_other_text_is_refused() {
    let key = key();
    let file = key.to_file();
    assert_eq!(SecretKey::from_file(&file).unwrap().public(), key.public());
    let digits = file.lines().nth(1).unwrap().strip_prefix(TEXT.prefix).unwrap();
    assert!(!format!("{key:?}").contains(digits));
    let ours = crate::SecretKey::generate(&mut system_rng().unwrap()).unwrap().to_file();
    let (zero, large) = (text(&"0".repeat(96)), text(&"f".repeat(96)));
    for wrong in
        [String::new(), ours.to_string(), text(&digits[2..]), text(&digits.replace('a', "A")), zero, large]
    {
        let same = wrong == *file;
        assert!(same || matches!(SecretKey::from_file(&wrong), Err(OprfError::KeyText(_))), "{wrong}");
    }
}
