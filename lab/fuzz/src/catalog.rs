//! Catalogs, keys and parameters of layers, and rows that are none. What is taken is written again and
//! must be read as the same.

use serde_json::Value;
use sotto_catalog::stack::{Shard, StackFile};
use sotto_catalog::{
    ArtifactEntry, BatchAccess, Catalog, Hex32, HexBytes, KeyKind, LayerEntry, PublicKey, RowsRoot,
    SignedCatalog, SignedStack, SigningKey, Stack, Succession, TableKind, ValueKind,
};
use sotto_core::{Artifact, Epoch, Layer, Row, SchemeEntry, TableShape};
use sotto_layers::batch_code::Params;
use sotto_layers::batch_code::code::CodeSizes;
use sotto_layers::proof_layout::BatchLayout;
use sotto_layers::{BatchCode, Keyword, ProofLayout};
use sotto_prg::PublicSeed;
use sotto_registry::{SCHEMES, find};
use sotto_testkit::rng::seeded;
use std::str::FromStr;

/// A signed catalog.
pub(crate) fn signed_catalog(data: &[u8]) -> bool {
    let Ok(signed) = SignedCatalog::parse(data) else { return false };
    let again = SignedCatalog::parse(&signed.to_bytes()).expect("what was read is written");
    assert!(again.text == signed.text && again.to_bytes() == signed.to_bytes());
    // As a client that knows the first key that is named.
    if let Some(first) = signed.successions.first().and_then(|one| one.verify().ok()) {
        let _ = signed.verify_from(&PublicKey::of_ed25519(first.from));
    }
    signed.verify(None).is_ok()
}

/// Signed catalogs of all kinds; the last by a key of two algorithms that took another's place.
pub(crate) fn signed_catalogs() -> Vec<Vec<u8>> {
    let (key, old) = (signing_key_of_seeds(), SigningKey::generate(&mut seeded("old publisher")));
    let sign = |catalog: &Catalog| SignedCatalog::sign(catalog, &key).unwrap();
    let mut signed: Vec<_> = catalogs().iter().map(sign).collect();
    if let (Some(last), Some(catalog)) = (signed.last_mut(), catalogs().last()) {
        let [_, both] = both_keys_of_seeds();
        *last = SignedCatalog::sign(catalog, &both).unwrap();
        last.successions.push(Succession::sign(&catalog.table, &old, &both, Epoch(1), 1, u64::MAX).unwrap());
    }
    signed.iter().map(SignedCatalog::to_bytes).collect()
}

/// A signed stack.
pub(crate) fn signed_stack(data: &[u8]) -> bool {
    let Ok(signed) = SignedStack::parse(data) else { return false };
    let again = SignedStack::parse(&signed.to_bytes()).expect("what was read is written");
    assert!(again.text == signed.text && again.to_bytes() == signed.to_bytes());
    if let Ok(stack) = Stack::parse(signed.text.as_bytes()) {
        let text = stack.to_text().expect("what was read is written");
        let again = Stack::parse(text.as_bytes()).expect("what was written is read");
        assert!(again.shards == stack.shards && again.files == stack.files);
        for layer in &stack.layers {
            if let Ok((design, leaves)) = ProofLayout::parse(&layer.name, &layer.params) {
                let again = ProofLayout::parse(design.name(), &design.params(leaves))
                    .expect("what was read is written");
                assert!(again == (design, leaves) && design.visits(leaves).is_ok());
            }
        }
        if let Ok(Some(batched)) = BatchAccess::of(&stack) {
            assert!((1..=batched.code().sizes().items).contains(&batched.max_batch()));
        }
    }
    signed.verify(None).is_ok()
}

/// Signed stacks of all catalogs, one of them of a batch code, one of a log in such.
pub(crate) fn signed_stacks() -> Vec<Vec<u8>> {
    let named = |(i, catalog): (usize, Catalog)| {
        let table = format!("table-{i}").parse().unwrap();
        Shard { table, ..Shard::of(&catalog).unwrap() }
    };
    let stack = Stack {
        format: sotto_catalog::stack::FORMAT.to_owned(),
        stack: "seed".parse().unwrap(),
        epoch: Epoch(2),
        layers: vec![LayerEntry { name: "tile/1".to_owned(), params: serde_json::json!({ "levels": 1 }) }],
        shards: catalogs().into_iter().enumerate().map(named).collect(),
        files: vec![StackFile::of("peaks".parse().unwrap(), b"hashes")],
        anchor: "block-7".parse().ok(),
        attribution: Some("a test".to_owned()),
        created: 7,
        expires: None,
    };
    let pbc = Params::new(CodeSizes::fit(1000, 12).unwrap(), PublicSeed([3; 32]));
    let range = TableKind::Range { key: KeyKind::Ipv4, block: 256, first: 0, empty: HexBytes(vec![1]) };
    let layers = BatchAccess::layers(&range, &[], &pbc);
    let batch = Stack { layers, ..stack.clone() };
    let code = ProofLayout::Batch(BatchLayout::fit(5000, PublicSeed([3; 32])).unwrap());
    let layers = vec![LayerEntry { name: code.name().to_owned(), params: code.params(5000) }];
    let log = Stack { layers, ..stack.clone() };
    let key = signing_key_of_seeds();
    [stack, batch, log].iter().map(|stack| SignedStack::sign(stack, &key).unwrap().to_bytes()).collect()
}

/// A catalog's text.
pub(crate) fn plain_catalog(data: &[u8]) -> bool {
    let Ok(catalog) = Catalog::parse(data) else { return false };
    let text = catalog.to_text().expect("what was read is written");
    let again = Catalog::parse(text.as_bytes()).expect("what was written is read");
    // No scheme takes fractions, and reading their decimal form back may change the last bit.
    assert!(has_fraction(&catalog.params) || again.to_text().ok() == Some(text));
    if let Some(terms) = find(&catalog.scheme).and_then(|entry| catalog.terms(entry).ok()) {
        let last = terms.packing.records_of(catalog.rows - 1);
        assert!(last.iter().all(|record| record.0 < terms.report.records));
    }
    for text in ["0", "8.8.8.8", "18446744073709551615", "x"] {
        if let Ok(row) = catalog.parse_row(text) {
            assert!(row < catalog.rows);
        }
    }
    true
}

/// Whether a value, or any inside it, is read as a fraction; integers beyond 64 bits are.
fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(has_fraction),
        Value::Object(fields) => fields.values().any(has_fraction),
        value => value.is_f64(),
    }
}

pub(crate) fn plain_catalogs() -> Vec<Vec<u8>> {
    let masked = |catalog: &Catalog| Catalog {
        row_bytes: catalog.row_bytes + sotto_oprf::OVERHEAD_BYTES as u64,
        layers: vec![sotto_catalog::SymmetricLayer::layer(&oprf_key_of_seeds().public())],
        ..catalog.clone()
    };
    let plain = catalogs();
    let masked = plain.first().map(masked);
    plain.iter().chain(&masked).map(|catalog| catalog.to_text().unwrap().into_bytes()).collect()
}

/// A public key's text.
pub(crate) fn public_key(data: &[u8]) -> bool {
    let Ok(key) = String::from_utf8_lossy(data).parse::<PublicKey>() else { return false };
    assert!(key.to_string().parse::<PublicKey>().is_ok_and(|again| again == key));
    true
}

pub(crate) fn public_keys() -> Vec<Vec<u8>> {
    both_keys_of_seeds().map(|key| key.public().to_string().into_bytes()).into()
}

/// A signing key's file.
pub(crate) fn signing_key(data: &[u8]) -> bool {
    let Ok(key) = SigningKey::from_file(&String::from_utf8_lossy(data)) else { return false };
    assert!(SigningKey::from_file(&key.to_file()).is_ok_and(|again| again.public() == key.public()));
    true
}

pub(crate) fn signing_keys() -> Vec<Vec<u8>> {
    both_keys_of_seeds().map(|key| key.to_file().as_bytes().to_vec()).into()
}

fn oprf_key_of_seeds() -> sotto_oprf::SecretKey {
    sotto_oprf::SecretKey::generate(&mut seeded("fuzz")).unwrap()
}

fn signing_key_of_seeds() -> SigningKey {
    SigningKey::generate(&mut seeded("fuzz"))
}

/// A key of one algorithm, and one of two.
fn both_keys_of_seeds() -> [SigningKey; 2] {
    [signing_key_of_seeds(), signing_key_of_seeds().with_ml_dsa(&mut seeded("fuzz"))]
}

fn catalogs() -> Vec<Catalog> {
    SCHEMES.iter().flat_map(|entry| [false, true].map(|range| catalog(entry, range))).collect()
}

fn catalog(entry: &SchemeEntry, range: bool) -> Catalog {
    let (rows, row_bytes) = (1000, 2);
    let params = (entry.select)(&TableShape::new(rows, row_bytes, 1)).unwrap();
    let report = (entry.report)(&params).unwrap();
    let hint = vec![0; report.costs.artifact_bytes as usize];
    Catalog {
        format: sotto_catalog::catalog::FORMAT.into(),
        table: FromStr::from_str("t").unwrap(),
        epoch: Epoch(2),
        kind: if range {
            TableKind::Range { key: KeyKind::Ipv4, block: 256, first: 0, empty: HexBytes(vec![1]) }
        } else {
            TableKind::Index
        },
        value: ValueKind::Bytes,
        rows,
        row_bytes,
        scheme: entry.id.0.into(),
        params: serde_json::from_slice(&params).unwrap(),
        params_digest: Hex32::from(report.digest),
        servers: entry.servers as u32,
        artifacts: vec![
            ArtifactEntry::of(Artifact::Hint, &hint, None),
            ArtifactEntry::of(Artifact::HintDelta, &[1; 100], Some(Epoch(1))),
        ],
        rows_digest: None,
        rows_root: RowsRoot { root: Hex32::from([0; 32]), leaf_rows: 1, path: None },
        layers: Vec::new(),
        sidecar: None,
        anchor: "block-7".parse().ok(),
        attribution: Some("who".into()),
        created: 1_700_000_000,
        expires: None,
    }
}

/// Most bytes of rows that are made up to be looked at.
const ROW_BYTES: u64 = 1 << 16;

/// The parameters of a table of keys. What is taken is written again, and any rows are looked through.
pub(crate) fn keyword_params(data: &[u8]) -> bool {
    let Ok(keyword) = Keyword::parse(data) else { return false };
    let text = serde_json::to_vec(keyword.params()).expect("what was read is written");
    assert_eq!(Keyword::parse(&text).expect("what was written is read").params(), keyword.params());
    let (rows, plan) = keyword.plan(b"k", &mut seeded("keyword")).expect("a key of one byte is a key");
    assert!(
        rows.len() == keyword.visits().len() && rows.iter().all(|row| *row < keyword.params().table_rows())
    );
    let width = keyword.params().table_row_bytes();
    if width <= ROW_BYTES {
        let row = |at: usize| Row::new(data.iter().copied().cycle().skip(at).take(width as usize).collect());
        // Values have no more bytes than the table says, whatever the rows hold.
        let value = keyword.assemble(plan, (0..rows.len()).map(row).collect());
        if let Ok(Some(value)) = value {
            assert!(value.len() <= keyword.params().values.most() as usize);
        }
    }
    true
}

/// Tables of all forms and both kinds of values.
pub(crate) fn keyword_paramses() -> Vec<Vec<u8>> {
    let seed = "5e".repeat(32);
    let params = |form: &str, key_bytes: u32, values: &str| {
        format!(
            "{{\"form\":\"{form}\",\"key_bytes\":{key_bytes},\"probes\":2,\"slots\":4,\"rows\":100,\"tag_bytes\":10,\
             \"values\":{{\"{values}\":20}},\"seed\":\"{seed}\",\"attempt\":0}}"
        )
        .into_bytes()
    };
    let cut = format!(
        "{{\"form\":\"ip\",\"key_bytes\":16,\"probes\":1,\"slots\":40,\"rows\":3,\"tag_bytes\":10,\
         \"values\":{{\"fixed\":2}},\"seed\":\"{seed}\",\"attempt\":5,\"cuts\":\"UDBA\"}}"
    );
    let band = cut.trim_end_matches('}');
    let band =
        format!("{band},\"band\":{{\"rows\":150,\"unit\":\"pair\",\"tries\":\"AAEC\"}}}}").into_bytes();
    let cut = cut.into_bytes();
    vec![
        params("bytes", 255, "fixed"),
        params("text", 4096, "up-to"),
        params("domain", 253, "up-to"),
        params("email", 254, "fixed"),
        params("ip", 16, "up-to"),
        params("sha1", 20, "fixed"),
        params("sha256", 32, "up-to"),
        params("md5", 16, "fixed"),
        params("phone", 16, "up-to"),
        cut,
        band,
    ]
}

/// The parameters of a batch code. What is taken is written again, and a request is planned.
pub(crate) fn pbc_params(data: &[u8]) -> bool {
    let Ok(params) = Params::parse(data) else { return false };
    let text = serde_json::to_vec(&params).expect("what was read is written");
    assert_eq!(Params::parse(&text).expect("what was written is read"), params);
    let code: BatchCode = params.code().expect("what was read is in order");
    if params.batch > 1000 {
        // A request is planned in a second or more, which is too long to try many.
        return true;
    }
    let (rows, plan) =
        code.plan(&[0, params.rows - 1][..params.batch.min(2)], &mut seeded("pbc")).expect("a request");
    let (shards, visits) = (code.shards(), code.visits());
    assert!(rows.iter().zip(&visits).all(|(row, shard)| *row < shards[*shard]) && rows.len() == visits.len());
    // Rows may be wanted that cannot be had at once; then that is said.
    if let Ok(reply) = code.assemble(plan, vec![Row::new(vec![7]); visits.len()]) {
        assert_eq!(reply.len(), params.batch.min(2));
    }
    true
}

/// Codes with buckets, with spare lookups beside them, and with nothing else.
pub(crate) fn pbc_paramses() -> Vec<Vec<u8>> {
    let fit = |rows, items| CodeSizes::fit(rows, items).expect("a code");
    let spare = CodeSizes { rows: 1000, items: 20, copies: 3, buckets: 18, spare: 2 };
    [fit(1000, 12), fit(1 << 20, 64), fit(50, 3), fit(5000, 300), spare]
        .map(|sizes| {
            serde_json::to_vec(&Params::new(sizes, PublicSeed([3; 32]))).expect("parameters are JSON")
        })
        .to_vec()
}
