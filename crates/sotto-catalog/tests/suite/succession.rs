//! Successions of signing keys: which clients follow, and which do not.

use crate::catalog::{key, plain as catalog};
use sotto_catalog::succession::{MAX_CHANGES, resolve_signer};
use sotto_catalog::{Catalog, CatalogError, SignedCatalog, SignerChange, SigningKey, Succession, TableName};
use sotto_core::Epoch;

fn table() -> TableName {
    catalog().table
}

/// The catalog at another epoch, with no update to it.
fn dated(epoch: u64) -> Catalog {
    let mut catalog = Catalog { epoch: Epoch(epoch), ..catalog() };
    catalog.artifacts.retain(|entry| entry.from_epoch.is_none());
    catalog
}

fn change(from: &SigningKey, to: &SigningKey) -> Succession {
    Succession::sign(&table(), from, to, catalog().epoch, 100, 200).unwrap()
}

#[test]
fn whoever_knows_an_older_key_follows_and_nobody_else() {
    let [one, two, three, other] = [1, 2, 3, 4].map(key);
    let mut signed = SignedCatalog::sign(&catalog(), &three).unwrap();
    let plain = signed.to_bytes();
    assert!(
        !String::from_utf8(plain.clone()).unwrap().contains("successions"),
        "as it was before there were any"
    );
    signed.successions = vec![change(&one, &two), change(&two, &three)];
    let read = SignedCatalog::parse(&signed.to_bytes()).unwrap();
    assert_eq!(read, signed);
    for known in [&one, &two] {
        let (found, path) = read.verify_from(&known.public()).unwrap();
        let change = SignerChange::of(known.public(), &path).unwrap();
        assert_eq!(found, catalog());
        assert_eq!((change.from, change.to, change.until), (known.public(), three.public(), 200));
        assert!(change.check_time(199).is_ok());
        let over = [200, 201].map(|now| change.check_time(now));
        assert!(over.iter().all(|over| matches!(over, Err(CatalogError::ChangeOver { .. }))));
    }
    assert!(read.verify_from(&three.public()).unwrap().1.is_empty());
    for (signed, known) in [(&read, &other), (&SignedCatalog::parse(&plain).unwrap(), &one)] {
        let refused = signed.verify_from(&known.public());
        assert!(matches!(refused, Err(CatalogError::WrongKey { .. })), "{refused:?}");
    }
    // The last key signs no epoch before its first.
    for (epoch, is_valid) in [(2, false), (3, true), (4, true)] {
        let mut signed = SignedCatalog::sign(&dated(epoch), &three).unwrap();
        signed.successions = vec![change(&one, &two), change(&two, &three)];
        let found = signed.verify_from(&one.public());
        assert_eq!(found.is_ok(), is_valid, "{epoch}");
        assert!(is_valid || matches!(found, Err(CatalogError::Invalid { field: "epoch", .. })));
    }
    // A pin without successions is as strict as before.
    assert!(matches!(read.verify(Some(&one.public())), Err(CatalogError::WrongKey { .. })));
}

#[test]
fn a_change_is_of_one_table_and_of_both_keys() {
    let [one, two, thief] = [1, 2, 3].map(key);
    let elsewhere: TableName = "elsewhere".parse().unwrap();
    let of_other = Succession::sign(&elsewhere, &one, &two, catalog().epoch, 100, 200).unwrap();
    assert!(resolve_signer(&[of_other], &table(), one.public(), two.public()).unwrap().is_none());
    // A statement without a valid signature of either key: both signatures are checked.
    let good = serde_json::to_value(change(&one, &two)).unwrap();
    let bad = serde_json::to_value(change(&thief, &two)).unwrap();
    for field in ["from_signature", "to_signature"] {
        let mut forged = good.clone();
        forged[field] = bad[field].clone();
        let forged: Succession = serde_json::from_value(forged).unwrap();
        let refused = resolve_signer(&[forged], &table(), one.public(), two.public());
        assert!(matches!(refused, Err(CatalogError::BadSignature)), "{field}: {refused:?}");
    }
    let same = Succession::sign(&table(), &one, &one, catalog().epoch, 100, 200);
    let over = Succession::sign(&table(), &one, &two, catalog().epoch, 100, 100);
    assert!(same.is_err() && over.is_err());
}

#[test]
fn a_chain_is_short_and_its_statements_are_read_totally() {
    let keys: Vec<_> = (1..8).map(key).collect();
    let mut signed = SignedCatalog::sign(&catalog(), &keys[6]).unwrap();
    signed.successions = keys.windows(2).map(|pair| change(&pair[0], &pair[1])).collect();
    assert!(signed.successions.len() > MAX_CHANGES && SignedCatalog::parse(&signed.to_bytes()).is_err());
    signed.successions.drain(..2);
    let read = SignedCatalog::parse(&signed.to_bytes()).unwrap();
    assert!(read.verify_from(&keys[2].public()).is_ok() && read.verify_from(&keys[1].public()).is_err());
    let good = serde_json::to_string(&read.successions[0]).unwrap();
    let changes =
        [("until\\\":200", "until\\\":99"), ("sotto-succession/2", "sotto-succession/3"), ("{\\\"", "[\\\"")];
    for (from, to) in changes {
        assert!(good.contains(from), "{good}");
        let wrong: Succession = serde_json::from_str(&good.replacen(from, to, 1)).unwrap();
        assert!(wrong.verify().is_err(), "{to}");
    }
}
