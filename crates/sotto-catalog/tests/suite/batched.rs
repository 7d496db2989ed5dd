//! Layers of a batch code's stack: which are accepted, and which are refused.

use serde_json::{Value, json};
use sotto_catalog::{BatchAccess, CatalogError, HexBytes, KeyKind, LayerEntry, Stack, TableKind};
use sotto_layers::batch_code::Params;
use sotto_layers::batch_code::code::CodeSizes;
use sotto_prg::PublicSeed;

fn code(rows: u64, items: usize) -> Params {
    Params::new(CodeSizes::fit(rows, items).unwrap(), PublicSeed([1; 32]))
}

fn stack(layers: Vec<LayerEntry>) -> Stack {
    Stack::parse(
        json!({
            "format": "sotto-stack/1", "stack": "many", "epoch": 1, "layers": layers,
            "shards": [{"table": "many-0", "epoch": 1, "catalog": "ab".repeat(32)}],
            "files": [], "attribution": null, "created": 1,
        })
        .to_string()
        .as_bytes(),
    )
    .unwrap()
}

fn of(layers: Vec<LayerEntry>) -> Result<Option<BatchAccess>, CatalogError> {
    BatchAccess::of(&stack(layers))
}

fn keyword(rows: u64) -> LayerEntry {
    let params = json!({
        "form": "text", "key_bytes": 100, "probes": 2, "slots": 4, "rows": rows, "tag_bytes": 10,
        "values": {"fixed": 8}, "seed": "5e".repeat(32), "attempt": 0,
    });
    LayerEntry { name: "keyword/1".to_owned(), params }
}

#[test]
fn rows_by_number_by_range_and_by_key() {
    let params = code(1000, 12);
    let plain = of(BatchAccess::layers(&TableKind::Index, &[], &params)).unwrap().unwrap();
    assert!(matches!(&plain, BatchAccess::Rows { kind: TableKind::Index, .. }));
    assert_eq!((plain.max_batch(), plain.code().sizes()), (12, &params.sizes()));

    let range = TableKind::Range { key: KeyKind::Ipv4, block: 256, first: 512, empty: HexBytes(vec![1, 2]) };
    let layers = BatchAccess::layers(&range, &[], &params);
    assert_eq!((layers.len(), layers[0].name.as_str()), (2, "range/1"));
    let Some(BatchAccess::Rows { kind, .. }) = of(layers).unwrap() else { panic!("rows") };
    assert_eq!(kind, range);
    let name = "many".parse().unwrap();
    assert_eq!(kind.parse_row("0.0.3.9", &name, 1000).unwrap(), 1);
    assert!(
        kind.parse_row("0.0.1.9", &name, 1000).is_err() && kind.parse_row("255.0.0.0", &name, 1000).is_err()
    );

    let keys = of(BatchAccess::layers(&TableKind::Keyword, &[keyword(1000)], &params)).unwrap().unwrap();
    assert!(matches!(&keys, BatchAccess::Keys(_)));
    assert_eq!(keys.max_batch(), 6, "a key takes two rows");
}

#[test]
fn what_is_no_batch_code_is_refused() {
    let layer = |name: &str, params: Value| LayerEntry { name: name.to_owned(), params };
    let pbc = |rows, items| layer("pbc/1", json!(code(rows, items)));
    assert!(of(vec![layer("tree-tile/1", json!({}))]).unwrap().is_none());
    assert!(of(vec![pbc(1000, 12), layer("tree-tile/1", json!({}))]).unwrap().is_none());
    let unknown = of(vec![layer("log/9", json!({})), pbc(1000, 12)]).unwrap_err();
    assert!(matches!(unknown, CatalogError::UnknownLayer(name) if name == "log/9"));
    assert!(matches!(of(vec![layer("pbc/1", json!({"rows": 3}))]), Err(CatalogError::Params(_))));
    assert!(
        matches!(of(vec![keyword(1002), pbc(1000, 12)]), Err(CatalogError::Invalid { .. })),
        "other rows"
    );
    assert!(matches!(of(vec![keyword(1000), pbc(1000, 1)]), Err(CatalogError::Invalid { .. })), "half a key");
    assert!(matches!(of(vec![layer("keyword/1", json!({})), pbc(1000, 2)]), Err(CatalogError::Params(_))));
    let range = json!({"key": "u32", "block": 0, "first": 0, "empty": ""});
    assert!(matches!(of(vec![layer("range/1", range), pbc(1000, 12)]), Err(CatalogError::Invalid { .. })));
    assert!(matches!(
        of(vec![layer("range/1", json!({"key": "u32"})), pbc(1000, 12)]),
        Err(CatalogError::Malformed { .. })
    ));
}
