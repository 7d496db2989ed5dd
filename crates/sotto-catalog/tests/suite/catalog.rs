//! Catalogs: which can be read back, which are refused, and with which errors.

use proptest::prelude::*;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use serde_json::{Value, json};
use sotto_catalog::catalog::MAX_CATALOG_BYTES;
use sotto_catalog::{
    ArtifactEntry, Catalog, CatalogError, Document, KeyKind, Sidecar, SignedCatalog, SigningKey, TableKind,
};
use sotto_core::{Artifact, Diagnose, Epoch, Fault};

pub(crate) fn plain() -> Catalog {
    let hint = ArtifactEntry::of(Artifact::Hint, &vec![7; (2 << 20) + 5], None);
    let delta = ArtifactEntry::of(Artifact::HintDelta, b"delta", Some(Epoch(2)));
    let value = json!({
        "format": "sotto-catalog/1", "table": "ip-country", "epoch": 3,
        "kind": {"range": {"key": "ipv4", "block": 256, "first": 0, "empty": "3f3f"}},
        "value": "text", "rows": 16_777_216, "row_bytes": 2,
        "scheme": "simplepir/1", "params": {"n": 1024}, "params_digest": "ab".repeat(32),
        "servers": 1, "artifacts": [hint, delta],
        "rows_root": {"root": "cd".repeat(32), "leaf_rows": 2048}, "layers": [], "sidecar": null,
        "attribution": "somebody", "created": 1_700_000_000,
    });
    Catalog::parse(value.to_string().as_bytes()).unwrap()
}

pub(crate) fn key(seed: u64) -> SigningKey {
    SigningKey::generate(&mut ChaCha20Rng::seed_from_u64(seed))
}

/// The catalog with one field replaced (`field` is a JSON pointer).
fn with(field: &str, value: Value) -> Result<Catalog, CatalogError> {
    let mut json = serde_json::to_value(plain()).unwrap();
    *json.pointer_mut(field).unwrap() = value;
    Catalog::parse(json.to_string().as_bytes())
}

#[test]
fn reads_what_it_writes() {
    let catalog = plain();
    assert_eq!(Catalog::parse(catalog.to_text().unwrap().as_bytes()).unwrap(), catalog);
}

#[test]
fn a_catalog_may_say_when_it_ends() {
    let (mut catalog, created) = (plain(), 1_700_000_000);
    assert!(!catalog.to_text().unwrap().contains("expires"));
    catalog.expires = Some(created + 1);
    assert_eq!(Catalog::parse(catalog.to_text().unwrap().as_bytes()).unwrap(), catalog);
    for bad in [0, created] {
        let bad = Catalog { expires: Some(bad), ..catalog.clone() };
        assert!(matches!(bad.to_text(), Err(CatalogError::Invalid { field: "expires", .. })));
    }
}

#[test]
fn limits_are_kept() {
    for (field, bad) in [
        ("/table", json!("")),
        ("/table", json!("UPPER")),
        ("/table", json!("../etc")),
        ("/table", json!("a".repeat(65))),
        ("/epoch", json!(0)),
        ("/epoch", json!(-1)),
        ("/rows", json!(0)),
        ("/rows", json!((1u64 << 40) + 1)),
        ("/rows", json!(16_777_217)), // past the last IPv4 address
        ("/row_bytes", json!(0)),
        ("/row_bytes", json!((1 << 30) + 1)),
        ("/row_bytes", json!(1)), // narrower than the empty value
        ("/scheme", json!("")),
        ("/scheme", json!("s".repeat(65))),
        ("/params", json!([1])),
        ("/params_digest", json!("AB".repeat(32))),
        ("/params_digest", json!("ab")),
        ("/servers", json!(0)),
        ("/servers", json!(9)),
        ("/artifacts/0/bytes", json!(1)),
        ("/artifacts/0/bytes", json!(u64::MAX)),
        ("/artifacts/0/chunk_bytes", json!(3 << 20)),
        ("/artifacts/0/chunk_bytes", json!(32768)),
        ("/artifacts/0/chunk_bytes", json!(1u64 << 31)),
        ("/artifacts/0/chunks", json!(vec!["ab".repeat(32); 4097])),
        ("/artifacts/0/artifact", json!("hint-delta")),
        ("/artifacts/1/from_epoch", json!(3)),
        ("/artifacts/1/from_epoch", json!(0)),
        ("/artifacts/1/artifact", json!("hint")),
        ("/artifacts/1/artifact", json!("rows-delta")),
        ("/artifacts/1/digest", json!("ab".repeat(32))),
        ("/kind/range/block", json!(0)),
        ("/kind/range/first", json!(256)),
        ("/kind/range/key", json!("imei")),
        ("/sidecar", json!({"table": "ip-country"})),
        ("/attribution", json!("x".repeat(4097))),
    ] {
        let error = with(field, bad.clone()).expect_err(field);
        assert!(
            matches!(error, CatalogError::Invalid { .. } | CatalogError::Malformed { .. }),
            "{field} = {bad}: {error}"
        );
    }
}

#[test]
fn the_limits_themselves_are_accepted() {
    for (field, most) in [
        ("/table", json!("a".repeat(64))),
        ("/scheme", json!("s".repeat(64))),
        ("/servers", json!(8)),
        ("/attribution", json!("x".repeat(4096))),
    ] {
        with(field, most).expect(field);
    }
    // A row for each address, and one more.
    let addresses = |rows: u64| {
        let kind = TableKind::Range { key: KeyKind::Ipv4, block: 1, first: 0, empty: Default::default() };
        Catalog { rows, kind, ..plain() }.check()
    };
    assert!(addresses(1 << 32).is_ok());
    assert!(matches!(addresses((1 << 32) + 1), Err(CatalogError::Invalid { field: "kind", .. })));
    let deltas = |len: u64| {
        let delta = |from| ArtifactEntry::of(Artifact::HintDelta, b"delta", Some(Epoch(from)));
        Catalog { epoch: Epoch(100), artifacts: (1..=len).map(delta).collect(), ..plain() }.to_text()
    };
    assert!(deltas(16).is_ok());
    assert!(matches!(deltas(17), Err(CatalogError::Invalid { field: "artifacts", .. })));
}

#[test]
fn clients_download_a_tree_only_to_verify_single_rows() {
    let mut catalog = plain();
    let artifacts = |catalog: &Catalog| {
        catalog.to_text().unwrap();
        catalog.client_artifacts().map(|entry| entry.artifact).collect::<Vec<_>>()
    };
    assert_eq!((artifacts(&catalog), catalog.tree()), (vec![Artifact::Hint], None));
    // 2^13 leaves, and paths of four nodes.
    catalog.rows_root.path = Some(4);
    assert!(matches!(catalog.to_text(), Err(CatalogError::Invalid { field: "artifacts", .. })));
    let tree = |nodes: usize| ArtifactEntry::of(Artifact::Tree, &vec![0; nodes * 32], None);
    catalog.artifacts.push(tree(512));
    assert_eq!(artifacts(&catalog), [Artifact::Hint, Artifact::Tree]);
    assert_eq!(catalog.tree(), Some(&tree(512)));
    catalog.rows_root.path = None;
    assert!(matches!(catalog.to_text(), Err(CatalogError::Invalid { field: "artifacts", .. })));
    catalog.artifacts[2] = tree(1 << 13);
    assert_eq!(artifacts(&catalog), [Artifact::Hint]);
}

#[test]
fn two_entries_for_one_artifact_are_refused() {
    let mut catalog = plain();
    catalog.artifacts.push(catalog.artifacts[1].clone());
    assert!(matches!(catalog.to_text(), Err(CatalogError::Invalid { field: "artifacts", .. })));
    catalog.artifacts[2] = ArtifactEntry::of(Artifact::HintDelta, b"older", Some(Epoch(1)));
    assert!(catalog.to_text().is_ok(), "deltas from several epochs may stand side by side");
}

#[test]
fn a_rows_delta_and_nothing_else_names_the_rows_it_starts_from() {
    let mut catalog = plain();
    let rows = Some(blake3::hash(b"the rows before").into());
    let delta = ArtifactEntry::of(Artifact::RowsDelta, b"changes", Some(Epoch(1)));
    catalog.artifacts.push(ArtifactEntry { from_digest: rows, ..delta.clone() });
    let text = catalog.to_text().unwrap();
    assert_eq!(Catalog::parse(text.as_bytes()).unwrap(), catalog);
    catalog.artifacts[2] = delta;
    assert!(matches!(catalog.to_text(), Err(CatalogError::Invalid { field: "artifacts.from_digest", .. })));
    catalog.artifacts.pop();
    catalog.artifacts[1].from_digest = rows;
    assert!(matches!(catalog.to_text(), Err(CatalogError::Invalid { field: "artifacts.from_digest", .. })));
}

#[test]
fn rows_have_one_digest() {
    let mut catalog = plain();
    let digest = blake3::hash(b"rows").into();
    assert_eq!(catalog.digest_of_rows(), None);
    catalog.rows_digest = Some(digest);
    assert_eq!(Catalog::parse(catalog.to_text().unwrap().as_bytes()).unwrap(), catalog);
    assert_eq!(catalog.digest_of_rows(), Some(digest));
    catalog.artifacts.push(ArtifactEntry::of(Artifact::Rows, b"rows", None));
    assert!(matches!(catalog.to_text(), Err(CatalogError::Invalid { field: "rows_digest", .. })));
    catalog.rows_digest = None;
    assert_eq!(catalog.digest_of_rows(), Some(digest), "as an artifact's, it is the same");
}

#[test]
fn unknown_fields_are_refused_at_every_level() {
    for place in ["", "/kind/range", "/artifacts/0"] {
        let mut json = serde_json::to_value(plain()).unwrap();
        json.pointer_mut(place).unwrap().as_object_mut().unwrap().insert("new".into(), json!(1));
        let error = Catalog::parse(json.to_string().as_bytes()).unwrap_err();
        assert!(error.to_string().contains("upgrade"), "{place}: {error}");
    }
}

#[test]
fn another_version_is_named_even_if_nothing_else_fits() {
    let error = Catalog::parse(br#"{"format":"sotto-catalog/2","all":"different"}"#).unwrap_err();
    assert!(matches!(&error, CatalogError::Version { found, .. } if found == "sotto-catalog/2"), "{error}");
}

#[test]
fn a_layer_is_refused_and_named() {
    let error = with("/layers", json!([{"name": "keyword/2", "params": {}, "more": 1}])).unwrap_err();
    assert!(matches!(&error, CatalogError::UnknownLayer(name) if name == "keyword/2"));
    assert!(error.to_string().contains("upgrade"));
    let mut catalog = plain();
    catalog.layers.push(sotto_catalog::LayerEntry { name: "keyword/2".into(), params: json!({}) });
    assert!(SignedCatalog::sign(&catalog, &key(1)).is_err(), "what is not read is not signed");
}

#[test]
fn keys_have_the_layer_that_finds_them() {
    let seed = sotto_prg::PublicSeed([3; 32]).to_string();
    let params = json!({
        "form": "domain", "key_bytes": 253, "probes": 2, "slots": 4, "rows": 100, "tag_bytes": 10,
        "values": {"up-to": 20}, "seed": seed, "attempt": 0,
    });
    let keyword = |kind: Value, rows: u64, row_bytes: u64, layers: Value| {
        let mut json = serde_json::to_value(plain()).unwrap();
        for (field, value) in [("kind", kind), ("rows", json!(rows)), ("row_bytes", json!(row_bytes))] {
            json[field] = value;
        }
        json["layers"] = layers;
        Catalog::parse(json.to_string().as_bytes())
    };
    let layer = json!({"name": "keyword/1", "params": params});
    let catalog = keyword(json!("keyword"), 100, 124, json!([layer])).unwrap();
    assert_eq!(catalog.keyword().unwrap().unwrap().params().rows, 100);
    assert_eq!(Catalog::parse(catalog.to_text().unwrap().as_bytes()).unwrap(), catalog);
    assert!(matches!(catalog.parse_row("7"), Err(CatalogError::NoSuchRow { .. })));
    assert!(matches!(catalog.bit(7), Err(CatalogError::NoSuchRow(why)) if why.contains("keyword table")));
    assert!(plain().keyword().unwrap().is_none());
    let refused = |kind, rows, bytes, layers| {
        matches!(keyword(kind, rows, bytes, layers), Err(CatalogError::Invalid { field: "layers", .. }))
    };
    assert!(refused(json!("keyword"), 102, 124, json!([layer])));
    assert!(refused(json!("keyword"), 100, 128, json!([layer])));
    assert!(refused(json!("keyword"), 100, 124, json!([])));
    assert!(refused(json!("keyword"), 100, 124, json!([layer, layer])));
    let mut renamed = layer.clone();
    renamed["name"] = json!("length/1");
    assert!(refused(json!("keyword"), 100, 124, json!([renamed])));
    assert!(refused(json!("index"), 100, 124, json!([layer])));
    let mut weak = layer.clone();
    weak["params"]["tag_bytes"] = json!(7);
    let error = keyword(json!("keyword"), 100, 112, json!([weak])).unwrap_err();
    assert!(matches!(error, CatalogError::Params(_)), "{error}");
    let diagnosis = error.diagnosis();
    assert_eq!(diagnosis.fault, Fault::Server, "the publisher made the layer");
    assert!(diagnosis.fix.contains("encode the table afresh"), "{}", diagnosis.fix);
}

#[test]
fn a_sidecar_is_another_table() {
    let catalog = with("/sidecar", json!({"table": "ip-country-new"})).unwrap();
    assert_eq!(catalog.sidecar, Some(Sidecar { table: "ip-country-new".parse().unwrap() }));
}

#[test]
fn too_much_text_is_refused_unread() {
    let text = vec![b' '; MAX_CATALOG_BYTES + 1];
    assert!(matches!(Catalog::parse(&text), Err(CatalogError::TooLarge { .. })));
    // All of the text escaped, and 88 KiB for keys and signatures.
    assert_eq!(SignedCatalog::MAX_BYTES, 2 * MAX_CATALOG_BYTES + (88 << 10));
    let text = vec![b' '; SignedCatalog::MAX_BYTES + 1];
    assert!(matches!(SignedCatalog::parse(&text), Err(CatalogError::TooLarge { .. })));
}

#[test]
fn a_peers_text_is_not_echoed_at_length() {
    let text = json!({"format": "sotto-catalog/1", "x".repeat(100_000): 1}).to_string();
    assert!(Catalog::parse(text.as_bytes()).unwrap_err().to_string().len() < 500);
}

#[test]
fn users_name_rows() {
    let catalog = plain();
    assert_eq!(catalog.parse_row("0.0.0.0").unwrap(), 0);
    assert_eq!(catalog.parse_row(" 1.2.3.4 ").unwrap(), 0x01_02_03);
    assert_eq!(catalog.parse_row("255.255.255.255").unwrap(), (1 << 24) - 1);
    // A number is an address as well, and never the number of a row.
    for (number, dotted) in
        [("77", "0.0.0.77"), ("65536", "0.1.0.0"), ("16777216", "1.0.0.0"), ("4294967295", "255.255.255.255")]
    {
        assert_eq!(catalog.parse_row(number).unwrap(), catalog.parse_row(dotted).unwrap(), "{number}");
    }
    for bad in ["4294967296", "1.2.3", "1.2.3.256", "::1", "-1", "", "one"] {
        assert!(matches!(catalog.parse_row(bad), Err(CatalogError::NoSuchRow { .. })), "{bad}");
    }
    let secret = catalog.parse_row("10.9.8.7.6").unwrap_err().to_string();
    assert!(!secret.contains("10.9"), "what was looked up is not repeated: {secret}");

    let index = with("/kind", json!("index")).unwrap();
    assert_eq!(index.parse_row("5").unwrap(), 5);
    assert!(index.parse_row("16777215").is_ok() && index.parse_row("16777216").is_err());
    assert!(index.parse_row("1.2.3.4").unwrap_err().to_string().contains("expected a row number"));
    assert!(catalog.parse_row("1.2.3").unwrap_err().to_string().contains("an IPv4 address"));
    assert_eq!(index.row_of_key(5), None);
}

#[test]
fn integer_keys_count_from_the_first() {
    let mut catalog = plain();
    catalog.rows = 4;
    let empty = sotto_catalog::HexBytes::default();
    catalog.kind = TableKind::Range { key: KeyKind::U64, block: 10, first: 100, empty };
    catalog.check().unwrap();
    for (key, row) in
        [(99, None), (100, Some(0)), (109, Some(0)), (110, Some(1)), (139, Some(3)), (140, None)]
    {
        assert_eq!(catalog.row_of_key(key), row, "{key}");
        assert_eq!(catalog.parse_row(&key.to_string()).ok(), row, "{key}");
    }
}

#[test]
fn values_are_shown() {
    use sotto_catalog::ValueKind::*;
    assert_eq!(Text.show(b"AU"), "AU");
    assert_eq!(Text.show(b"A\0\0"), "A");
    assert_eq!(Text.show(b"\0\0"), "");
    assert_eq!(Text.show(b"\xff\0"), "ff00");
    assert_eq!(Bytes.show(b"A\0"), "4100");
    assert_eq!(Unsigned.show(&[1, 2]), "513");
    assert_eq!(Unsigned.show(&[1; 9]), "01".repeat(9));
}

#[test]
fn chunks_cover_an_artifact() {
    let bytes: Vec<u8> = (0..(2 << 20) + 5u32).map(|i| (i >> 7) as u8).collect();
    let entry = ArtifactEntry::of(Artifact::Hint, &bytes, None);
    assert_eq!(entry.chunks.len(), 3);
    let mut at = 0;
    for i in 0..3 {
        let range = entry.chunk_range(i).unwrap();
        assert_eq!(range.start, at);
        at = range.end;
        let chunk = &bytes[range.start as usize..range.end as usize];
        assert!(entry.is_chunk(i, chunk));
        assert!(!entry.is_chunk(i, &chunk[1..]));
    }
    assert_eq!((at, entry.chunk_range(3)), (bytes.len() as u64, None));
    assert!(!entry.is_chunk(3, b""));
    for bytes in [0, 1, 1 << 20, 1 << 32, (1 << 32) + 1, 1 << 40] {
        let size = sotto_catalog::table::chunk_bytes_for(bytes);
        assert!(size.is_power_of_two() && bytes.div_ceil(size) <= 4096, "{bytes}");
    }
}

#[test]
fn chunks_have_a_size_and_a_number() {
    let refused = |chunk_bytes: u64, chunks: u64| {
        let mut catalog = plain();
        let entry = &mut catalog.artifacts[0];
        (entry.bytes, entry.chunk_bytes) = (chunks * chunk_bytes, chunk_bytes);
        entry.chunks = vec![entry.digest; chunks as usize];
        match catalog.to_text() {
            Err(CatalogError::Invalid { field, .. }) => Some(field),
            other => other.map(|_| None).unwrap(),
        }
    };
    for (chunk_bytes, chunks, field) in [
        (64 << 10, 4096, None),
        (64 << 10, 4097, Some("artifacts.chunks")),
        (1 << 30, 2, None),
        (32 << 10, 2, Some("artifacts.chunk_bytes")),
        (96 << 10, 2, Some("artifacts.chunk_bytes")),
        (1 << 31, 2, Some("artifacts.chunk_bytes")),
    ] {
        assert_eq!(refused(chunk_bytes, chunks), field, "{chunk_bytes} {chunks}");
    }
}

#[test]
fn signatures() {
    let (ours, other) = (key(1), key(2));
    let signed = SignedCatalog::sign(&plain(), &ours).unwrap();
    let signed = SignedCatalog::parse(&signed.to_bytes()).unwrap();
    assert_eq!(signed.verify(None).unwrap(), plain());
    assert_eq!(signed.verify(Some(&ours.public())).unwrap(), plain());
    assert!(matches!(
        signed.verify(Some(&other.public())),
        Err(CatalogError::WrongKey { pinned, found }) if *pinned == other.public() && found == ours.public()
    ));

    let mut forged = signed.clone();
    forged.text = forged.text.replace("\"epoch\":3", "\"epoch\":4");
    assert!(matches!(forged.verify(None), Err(CatalogError::BadSignature)));
    let mut stolen = signed.clone();
    stolen.public_key = other.public().ed25519;
    assert!(matches!(stolen.verify(Some(&other.public())), Err(CatalogError::BadSignature)));
    for bit in 0..512 {
        let mut flipped = signed.clone();
        flipped.signature.0[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(flipped.verify(None), Err(CatalogError::BadSignature)), "bit {bit}");
    }
}

#[test]
fn a_key_of_small_order_signs_nothing() {
    // The neutral element as key and as R, with s = 0, satisfies the equation for every message.
    let mut one = [0; 32];
    one[0] = 1;
    let mut signature = [0; 64];
    signature[0] = 1;
    let signed = SignedCatalog::new(plain().to_text().unwrap(), one.into(), signature.into());
    assert!(matches!(signed.verify(None), Err(CatalogError::BadSignature)));
}

#[test]
fn envelopes_that_are_none() {
    let good = SignedCatalog::sign(&plain(), &key(1)).unwrap().to_bytes();
    for length in 0..good.len() {
        assert!(SignedCatalog::parse(&good[..length]).is_err());
    }
    let mut json: Value = serde_json::from_slice(&good).unwrap();
    json["new"] = json!(1);
    assert!(SignedCatalog::parse(json.to_string().as_bytes()).is_err());
}

#[test]
fn keys_have_a_text_form() {
    let ours = key(1);
    let text = ours.public().to_string();
    assert!(text.starts_with("sotto-pk:") && text.len() == 9 + 64);
    assert_eq!(text.parse::<sotto_catalog::PublicKey>().unwrap(), ours.public());
    let file = ours.to_file();
    assert_eq!(SigningKey::from_file(&file).unwrap().public(), ours.public());
    assert!(!format!("{ours:?}").contains(file.lines().nth(1).unwrap().trim_start_matches("sotto-sk:")));
    for bad in ["", "sotto-pk:", &text[..72], &text.replace("pk", "sk"), &text.to_uppercase()] {
        assert!(bad.parse::<sotto_catalog::PublicKey>().is_err(), "{bad}");
    }
    let line = file.lines().nth(1).unwrap();
    for bad in ["", line, &file[..file.len() - 3], &file.replace("version 1", "version 2"), &text] {
        assert!(SigningKey::from_file(bad).is_err(), "{bad}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_give_a_catalog_or_an_error(bytes: Vec<u8>) {
        let _ = Catalog::parse(&bytes);
        let _ = SignedCatalog::parse(&bytes);
    }

    #[test]
    fn a_changed_byte_gives_a_catalog_or_an_error(at: prop::sample::Index, to: u8) {
        let mut text = plain().to_text().unwrap().into_bytes();
        let at = at.index(text.len());
        text[at] = to;
        if let Ok(catalog) = Catalog::parse(&text) {
            prop_assert!(catalog.to_text().is_ok());
        }
    }
}

#[test]
fn what_a_stranger_wrote_is_safe_to_print() {
    // Both kinds of text that a parser's message may quote: a field of the envelope, and one of the
    // catalog.
    let envelope = SignedCatalog::parse(br#"{"\u001b]0;mine\u0007": 1}"#).unwrap_err().to_string();
    assert!(envelope.contains("mine") && !envelope.contains(char::is_control), "{envelope:?}");
    let text = br#"{"format":"sotto-catalog/1","layers":[],"\u001b[2Jmine\u009b": 1}"#;
    let catalog = Catalog::parse(text).unwrap_err().to_string();
    assert!(catalog.contains("mine") && !catalog.contains(char::is_control), "{catalog:?}");
}
