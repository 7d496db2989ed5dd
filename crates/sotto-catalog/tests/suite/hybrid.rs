//! Catalogs with two signatures: what a pin of one key accepts, and what one of both refuses.

use crate::catalog::{key, plain};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use sotto_catalog::succession::path;
use sotto_catalog::{
    CatalogError, MlDsaPublicKey, MlDsaSigningKey, PublicKey, SignedCatalog, SigningKey, Succession,
};
use sotto_core::Epoch;

/// A key of both algorithms whose Ed25519 half is that of `key(seed)`.
fn hybrid(seed: u64) -> SigningKey {
    key(seed).with_ml_dsa(&mut ChaCha20Rng::seed_from_u64(1000 + seed))
}

/// Key and signature that `dilithium-py` 1.4 makes of the seed 00 01 .. 1f (deterministic, without a
/// context).
#[test]
fn another_implementation_makes_the_same_signature() {
    let key = MlDsaSigningKey::from_seed(&std::array::from_fn(|i| i as u8));
    assert_eq!(
        key.public().digest().to_string(),
        "f7eb6fe94727213e79b8d685c197e676391c4e0aa546d54f62790dedd57c04c7"
    );
    let (message, signed) = (b"sotto-catalog/1\0{}", key.sign(b"sotto-catalog/1\0{}"));
    assert_eq!(
        blake3_hex(&signed.signature.0),
        "f63c63d8de0d2c7854ddb7baabdeedb99e7df01a41802e310c553f118c849dfb"
    );
    assert!(signed.verifies(message));
    assert_eq!(MlDsaPublicKey::from_bytes(key.public().as_bytes()).as_ref(), Some(key.public()));
    assert_eq!(MlDsaPublicKey::from_bytes(&key.public().as_bytes()[1..]), None);
    assert_eq!(MlDsaSigningKey::from_seed(&key.seed()).public(), key.public());
    for length in [0, 1, 2419] {
        assert!(!key.public().verifies(message, &signed.signature.0[..length]));
    }
    for at in (0..2420).step_by(11) {
        let mut other = signed.clone();
        other.signature.0[at] ^= 1;
        assert!(!other.verifies(message), "{at}");
    }
}

fn blake3_hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[test]
fn a_pin_of_one_key_accepts_both_signatures_and_a_pin_of_both_no_less() {
    let signed = SignedCatalog::sign(&plain(), &hybrid(1)).unwrap();
    let read = SignedCatalog::parse(&signed.to_bytes()).unwrap();
    assert_eq!(read, signed);
    let (both, one) = (hybrid(1).public(), key(1).public());
    assert!(both != one && one.accepts(&both) && !both.accepts(&one));
    assert_eq!((read.public_key(), both.without_ml_dsa()), (both, one));
    for pin in [None, Some(&one), Some(&both)] {
        assert_eq!(read.verify(pin).unwrap(), plain());
    }
    // Ed25519 alone, signed so or with the other half taken off.
    let mut stripped = signed.clone();
    stripped.ml_dsa = None;
    for signed in [stripped, SignedCatalog::sign(&plain(), &key(1)).unwrap()] {
        assert_eq!(signed.verify(Some(&one)).unwrap(), plain());
        for refused in [signed.verify(Some(&both)), signed.verify_from(&both).map(|(catalog, _)| catalog)] {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, CatalogError::NoMlDsaSignature { expected } if expected == both));
        }
    }
    // The half of somebody else, who could sign the text with it.
    let mut other = signed.clone();
    other.ml_dsa = SignedCatalog::sign(&plain(), &hybrid(2)).unwrap().ml_dsa;
    assert!(matches!(other.verify(Some(&both)), Err(CatalogError::WrongKey { .. })));
    assert_eq!(other.verify(Some(&one)).unwrap(), plain(), "whoever knows Ed25519 alone has no other word");
}

#[test]
fn a_signature_that_is_there_and_wrong_is_refused_by_everyone() {
    let good = SignedCatalog::sign(&plain(), &hybrid(1)).unwrap();
    let mut changed = good.clone();
    if let Some(ml_dsa) = &mut changed.ml_dsa {
        ml_dsa.signature.0[7] ^= 1;
    }
    for pin in [None, Some(key(1).public()), Some(hybrid(1).public())] {
        assert!(matches!(changed.verify(pin.as_ref()), Err(CatalogError::BadMlDsaSignature)));
    }
    let mut ed25519 = good.clone();
    ed25519.signature.0[7] ^= 1;
    assert!(matches!(ed25519.verify(Some(&hybrid(1).public())), Err(CatalogError::BadSignature)));
    let mut text = good;
    text.text = text.text.replace("\"epoch\":3", "\"epoch\":4");
    assert!(matches!(text.verify(Some(&hybrid(1).public())), Err(CatalogError::BadSignature)));
}

#[test]
fn envelopes_with_half_a_signature_are_none() {
    let good = SignedCatalog::sign(&plain(), &hybrid(1)).unwrap().to_bytes();
    for length in (0..good.len()).step_by(37) {
        assert!(SignedCatalog::parse(&good[..length]).is_err());
    }
    let good: serde_json::Value = serde_json::from_slice(&good).unwrap();
    for field in ["public_key", "signature"] {
        let mut wrong = good.clone();
        wrong["ml_dsa_44"][field] = "00".into();
        assert!(SignedCatalog::parse(wrong.to_string().as_bytes()).is_err(), "{field}");
        wrong["ml_dsa_44"].as_object_mut().unwrap().remove(field);
        assert!(SignedCatalog::parse(wrong.to_string().as_bytes()).is_err(), "{field}");
    }
    for wrong in [serde_json::Value::Null, "".into()] {
        let mut envelope = good.clone();
        envelope["ml_dsa_44"] = wrong;
        assert!(SignedCatalog::parse(envelope.to_string().as_bytes()).is_err());
    }
}

#[test]
fn a_key_file_and_a_pin_hold_both_halves_or_are_refused() {
    let ours = hybrid(1);
    let text = ours.public().to_string();
    assert!(text.starts_with("sotto-pq:") && text.len() == 9 + 128);
    assert_eq!(text.parse::<PublicKey>().unwrap(), ours.public());
    for bad in [&text[..9 + 64], &text[..9 + 127], &text.replace("pq", "pk"), &format!("{text}0")] {
        assert!(bad.parse::<PublicKey>().is_err(), "{bad}");
    }
    assert!(ours.ml_dsa().is_some() && key(1).ml_dsa().is_none());
    let file = ours.to_file();
    assert_eq!(SigningKey::from_file(&file).unwrap().public(), ours.public());
    assert!(file.starts_with(key(1).to_file().as_str()), "the other half is a line of its own");
    let seed = file.lines().nth(2).unwrap().trim_start_matches("sotto-sk-ml-dsa-44:");
    assert!(seed.len() == 64 && !format!("{ours:?}{:?}", ours.ml_dsa()).contains(seed));
    for bad in [&file[..file.len() - 3], &file.replace("ml-dsa-44", "ml-dsa-65"), &format!("{}x\n", *file)] {
        assert!(SigningKey::from_file(bad).is_err(), "{bad}");
    }
    // A second half is not replaced.
    assert_eq!(hybrid(1).with_ml_dsa(&mut ChaCha20Rng::seed_from_u64(9)).public(), ours.public());
    // The whitening of a table depends on the half that a quantum computer does not find.
    assert_ne!(ours.mask_seed(&[7; 32].into()), key(1).mask_seed(&[7; 32].into()));
}

#[test]
fn a_change_of_keys_never_leads_away_from_ml_dsa() {
    let table = plain().table;
    let change =
        |from: &SigningKey, to: &SigningKey| Succession::sign(&table, from, to, Epoch(3), 100, 200).unwrap();
    let lead = |all: &[Succession], from: PublicKey, to: PublicKey| {
        path(all, &table, from, to).unwrap().map(|path| path.len())
    };
    let (first, second) = (hybrid(1), hybrid(2));
    let all = [change(&first, &second)];
    assert_eq!(lead(&all, first.public(), second.public()), Some(1));
    assert_eq!(lead(&all, key(1).public(), second.public()), Some(1), "whoever knows Ed25519 alone follows");
    // From one algorithm to two, and on.
    let all = [change(&key(1), &second), change(&second, &hybrid(3))];
    assert_eq!(lead(&all, key(1).public(), hybrid(3).public()), Some(2));
    // Statements that someone makes who has broken Ed25519: by the old key alone, to a key alone.
    for forged in [change(&key(1), &second), change(&key(1), &key(2)), change(&first, &key(2))] {
        for to in [second.public(), key(2).public()] {
            assert_eq!(lead(std::slice::from_ref(&forged), first.public(), to), None, "{to}");
        }
    }
    // A statement with the old half taken off, or with another's.
    let good = serde_json::to_value(change(&first, &second)).unwrap();
    let other = serde_json::to_value(change(&hybrid(4), &second)).unwrap();
    for field in ["from_ml_dsa", "to_ml_dsa"] {
        let mut wrong = good.clone();
        wrong.as_object_mut().unwrap().remove(field);
        let wrong: Succession = serde_json::from_value(wrong).unwrap();
        assert!(matches!(wrong.verify(), Err(CatalogError::NoMlDsaSignature { .. })), "{field}");
    }
    let mut wrong = good;
    wrong["from_ml_dsa"] = other["from_ml_dsa"].clone();
    let wrong: Succession = serde_json::from_value(wrong).unwrap();
    assert!(matches!(wrong.verify(), Err(CatalogError::BadMlDsaSignature)));
    // The largest envelope: four changes, each of two keys with two halves.
    let keys: Vec<_> = (1..6).map(hybrid).collect();
    let mut signed = SignedCatalog::sign(&plain(), &keys[4]).unwrap();
    signed.successions = keys.windows(2).map(|pair| change(&pair[0], &pair[1])).collect();
    let read = SignedCatalog::parse(&signed.to_bytes()).unwrap();
    assert_eq!(read.verify_from(&keys[0].public()).unwrap().1.len(), 4);
    assert!(signed.to_bytes().len() < 90_112);
}
