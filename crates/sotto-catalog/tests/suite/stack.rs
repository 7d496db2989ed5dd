//! Stacks: which are accepted, which are refused, and that every bit of an envelope counts.

use crate::catalog::plain;
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::{Value, json};
use sotto_catalog::stack::{MAX_STACK_BYTES, Shard, StackFile};
use sotto_catalog::{Anchor, Catalog, CatalogError, Document, SignedCatalog, SignedStack, SigningKey, Stack};

fn valid() -> Value {
    let digest = "ab".repeat(32);
    json!({
        "format": "sotto-stack/1", "stack": "log", "epoch": 3,
        "layers": [{"name": "colour/1", "params": {"layers": 9}}],
        "shards": [
            {"table": "log-0", "epoch": 3, "catalog": digest},
            {"table": "log-1", "epoch": 2, "catalog": digest},
        ],
        "files": [{"name": "peaks", "bytes": 64, "digest": digest}],
        "attribution": null, "created": 1,
    })
}

fn parse(value: &Value) -> Result<Stack, CatalogError> {
    Stack::parse(value.to_string().as_bytes())
}

fn key(seed: u8) -> SigningKey {
    SigningKey::generate(&mut ChaCha20Rng::from_seed([seed; 32]))
}

#[test]
fn what_is_written_is_read() {
    let stack = parse(&valid()).unwrap();
    assert_eq!(Stack::parse(stack.to_text().unwrap().as_bytes()).unwrap(), stack);
    assert_eq!(stack.file("peaks").unwrap().bytes, 64);
    assert!(matches!(stack.file("checkpoint"), Err(CatalogError::Invalid { field: "files", .. })));
    let signed = SignedStack::parse(&SignedStack::sign(&stack, &key(1)).unwrap().to_bytes()).unwrap();
    assert_eq!(signed.verify(Some(&key(1).public())).unwrap(), stack);
    assert_eq!(signed.verify(None).unwrap(), stack);
}

/// Each change makes a valid stack invalid, and the error names the field.
#[test]
fn what_contradicts_itself_is_refused() {
    let shard = |table: &str| json!({"table": table, "epoch": 1, "catalog": "ab".repeat(32)});
    let file = |name: &str, bytes: u64| json!({"name": name, "bytes": bytes, "digest": "ab".repeat(32)});
    let layer = |name: &str, params: Value| json!({"name": name, "params": params});
    for (field, value) in [
        ("epoch", json!(0)),
        ("layers", json!([])),
        ("layers", json!(vec![layer("a", json!({})); 5])),
        ("layers", json!([layer("", json!({}))])),
        ("layers", json!([layer(&"x".repeat(65), json!({}))])),
        ("layers", json!([layer("a", json!(3))])),
        ("shards", json!([])),
        ("shards", json!([shard("a"), shard("a")])),
        ("shards", json!([shard("log")])),
        ("shards", json!((0..1025).map(|i| shard(&format!("t-{i}"))).collect::<Vec<_>>())),
        ("files", json!([file("a", 1), file("a", 2)])),
        ("files", json!([file("a", (1 << 30) + 1)])),
        ("files", json!((0..17).map(|i| file(&format!("f-{i}"), 1)).collect::<Vec<_>>())),
        ("attribution", json!("x".repeat(4097))),
        ("expires", json!(0)),
        ("expires", json!(1)),
    ] {
        let mut stack = valid();
        stack[field] = value;
        let error = parse(&stack).unwrap_err();
        assert!(
            matches!(&error, CatalogError::Invalid { field: named, .. } if *named == field),
            "{field}: {error}"
        );
    }
    let mut later = valid();
    later["format"] = json!("sotto-stack/2");
    later["new"] = json!(1);
    assert!(matches!(parse(&later), Err(CatalogError::Version { reads: "sotto-stack/1", .. })));
    let mut unknown = valid();
    unknown["new"] = json!(1);
    assert!(matches!(parse(&unknown), Err(CatalogError::Malformed { .. })));
    let long = vec![b' '; MAX_STACK_BYTES + 1];
    assert!(matches!(Stack::parse(&long), Err(CatalogError::TooLarge { .. })));
    assert!(matches!(
        SignedStack::parse(&vec![b' '; SignedStack::MAX_BYTES + 1]),
        Err(CatalogError::TooLarge { .. })
    ));
}

#[test]
fn signatures_are_of_this_text_by_this_key_for_this_purpose() {
    let stack = parse(&valid()).unwrap();
    let signed = SignedStack::sign(&stack, &key(1)).unwrap();
    assert!(matches!(signed.verify(Some(&key(2).public())), Err(CatalogError::WrongKey { .. })));
    for bit in 0..512 {
        let mut flipped = signed.clone();
        flipped.signature.0[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(flipped.verify(None), Err(CatalogError::BadSignature)), "bit {bit}");
    }
    let mut changed = signed.clone();
    changed.text = changed.text.replace("\"epoch\":3", "\"epoch\":4");
    assert!(matches!(changed.verify(None), Err(CatalogError::BadSignature)));
    // A stack's signature is not valid for a catalog.
    let as_catalog = SignedCatalog::new(signed.text, signed.public_key, signed.signature);
    assert!(matches!(as_catalog.verify(None), Err(CatalogError::BadSignature)));
}

#[test]
fn the_limits_themselves_are_accepted() {
    let shard = |i: u32| json!({"table": format!("t-{i}"), "epoch": 1, "catalog": "ab".repeat(32)});
    let file = |i: u32| json!({"name": format!("f-{i}"), "bytes": 1 << 30, "digest": "ab".repeat(32)});
    let layer = |name: String| json!({"name": name, "params": {}});
    for (field, value) in [
        ("layers", json!((0..4).map(|i| layer(format!("a{i}"))).collect::<Vec<_>>())),
        ("layers", json!([layer("x".repeat(64))])),
        ("shards", json!((0..1024).map(shard).collect::<Vec<_>>())),
        ("files", json!((0..16).map(file).collect::<Vec<_>>())),
        ("attribution", json!("x".repeat(4096))),
        ("expires", json!(2)),
    ] {
        let mut stack = valid();
        stack[field] = value;
        parse(&stack).expect(field);
    }
}

#[test]
fn a_shard_is_one_catalog() {
    let catalog = plain();
    let shard = Shard::of(&catalog).unwrap();
    assert!(shard.is(&catalog) && !shard.is(&Catalog { created: catalog.created + 1, ..catalog }));
}

#[test]
fn envelopes_are_of_one_kind() {
    let stack = SignedStack::sign(&parse(&valid()).unwrap(), &key(1)).unwrap().to_bytes();
    let catalog = SignedCatalog::sign(&plain(), &key(1)).unwrap().to_bytes();
    assert!(SignedStack::parse(&stack).is_ok() && SignedCatalog::parse(&catalog).is_ok());
    assert!(matches!(SignedCatalog::parse(&stack), Err(CatalogError::Malformed { .. })));
    assert!(matches!(SignedStack::parse(&catalog), Err(CatalogError::Malformed { .. })));
}

#[test]
fn documents_name_their_anchor() {
    let anchor: Anchor = "mainnet:7".parse().unwrap();
    let stack = Stack { anchor: Some(anchor.clone()), ..parse(&valid()).unwrap() };
    let catalog = Catalog { anchor: Some(anchor.clone()), ..plain() };
    assert_eq!([stack.anchor(), catalog.anchor(), plain().anchor()], [Some(&anchor), Some(&anchor), None]);
}

#[test]
fn a_file_is_its_bytes() {
    let file = StackFile::of("peaks".parse().unwrap(), b"some bytes");
    assert!(file.is(b"some bytes") && !file.is(b"some byteS") && !file.is(b"some bytes ") && !file.is(b""));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Stack::parse(&bytes);
        let _ = SignedStack::parse(&bytes);
    }
}
