//! The layer of symmetric tables: which are accepted, and which are refused.

use serde_json::{Value, json};
use sotto_catalog::{Catalog, CatalogError, Document, KeyKind, RowForm, SymmetricLayer, TableKind};
use sotto_oprf::{PublicKey, SecretKey};
use sotto_prg::system_rng;

fn key() -> PublicKey {
    SecretKey::generate(&mut system_rng().unwrap()).unwrap().public()
}

fn catalog(row_bytes: u64, layers: Value) -> Result<Catalog, CatalogError> {
    let value = json!({
        "format": "sotto-catalog/1", "table": "t", "epoch": 3, "kind": "index", "value": "bytes", "rows": 10,
        "rows_root": {"root": "cd".repeat(32), "leaf_rows": 10},
        "row_bytes": row_bytes, "scheme": "simplepir/1", "params": {}, "params_digest": "ab".repeat(32),
        "servers": 1, "artifacts": [], "layers": layers, "sidecar": null, "attribution": null, "created": 0,
    });
    Catalog::parse(value.to_string().as_bytes())
}

#[test]
fn a_masked_table_names_the_key_and_how_wide_its_items_are() {
    let key = key();
    let catalog = catalog(25, json!([SymmetricLayer::layer(&key)])).unwrap();
    assert_eq!(catalog.symmetric_layer().unwrap(), Some(SymmetricLayer { key, item_bytes: 1 }));
    assert_eq!(catalog.unmasked_row_bytes().unwrap(), 1);
    assert_eq!(Catalog::parse(catalog.to_text().unwrap().as_bytes()).unwrap(), catalog);
    let plain = self::catalog(25, json!([])).unwrap();
    assert_eq!((plain.symmetric_layer().unwrap(), plain.unmasked_row_bytes().unwrap()), (None, 25));
}

#[test]
fn what_is_no_such_layer_is_refused() {
    let good = || json!(SymmetricLayer::layer(&key()));
    let with = |field: &str, value: Value| {
        let mut layer = good();
        layer["params"][field] = value;
        catalog(100, json!([layer]))
    };
    let mut unreduced = [0xff; 32];
    unreduced[31] = 0x7f;
    for key in [[0; 32], unreduced] {
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(matches!(with("public_key", json!(hex)), Err(CatalogError::Params(_))), "{hex}");
    }
    assert!(matches!(with("public_key", json!("00")), Err(CatalogError::Malformed { .. })));
    assert!(matches!(with("suite", json!("P384-SHA384")), Err(CatalogError::Invalid { .. })));
    assert!(matches!(with("more", json!(1)), Err(CatalogError::Malformed { .. })));
    assert!(matches!(catalog(24, json!([good()])), Err(CatalogError::Invalid { field: "row_bytes", .. })));
    assert!(matches!(catalog(100, json!([good(), good()])), Err(CatalogError::Invalid { .. })));
    let later = json!([good(), {"name": "oprf/2", "params": {}}]);
    assert!(matches!(catalog(100, later), Err(CatalogError::UnknownLayer(name)) if name == "oprf/2"));
}

#[test]
fn the_empty_value_of_ranges_fits_under_the_mask() {
    let range = |row_bytes: u64| {
        let mut json =
            serde_json::to_value(catalog(100, json!([SymmetricLayer::layer(&key())])).unwrap()).unwrap();
        json["kind"] = json!({"range": {"key": "u32", "block": 1, "first": 0, "empty": "3f3f"}});
        json["row_bytes"] = json!(row_bytes);
        Catalog::parse(json.to_string().as_bytes())
    };
    assert!(range(26).is_ok());
    assert!(matches!(range(25), Err(CatalogError::Invalid { field: "kind.empty", .. })));
}

#[test]
fn bits_are_counted_in_items() {
    let catalog = catalog(26, json!([SymmetricLayer::layer(&key())])).unwrap();
    assert_eq!([15, 16].map(|bit| catalog.bit(bit).unwrap().row()), [0, 1]);
    assert!(catalog.bit(160).is_err(), "ten rows of two bytes");
}

#[test]
fn lengths_lie_under_masks_and_are_as_short_as_they_can_be() {
    let (mask, length) = (
        json!(SymmetricLayer::layer(&key())),
        |bytes: u64| json!({"name": "length/1", "params": {"bytes": bytes}}),
    );
    let form = |width, layers| catalog(width, layers).and_then(|catalog| catalog.row_form());
    assert_eq!(form(10, json!([])).unwrap(), RowForm::Whole);
    assert_eq!(form(256, json!([length(1)])).unwrap(), RowForm::Length(1));
    assert_eq!(form(258, json!([length(2)])).unwrap(), RowForm::Length(2));
    assert_eq!(form(24 + 2, json!([mask, length(1)])).unwrap(), RowForm::Length(1));
    let refused = [
        (1, json!([length(1)])),
        (256, json!([length(2)])),
        (257 + 1, json!([length(1)])),
        (300, json!([length(0)])),
        (1 << 30, json!([length(5)])),
        (24 + 1, json!([mask, length(1)])),
        (26, json!([length(1), mask])),
        (10, json!([length(1), length(1)])),
        (10, json!([{"name": "length/1", "params": {"bytes": 1, "more": 1}}])),
    ];
    for (width, layers) in refused {
        assert!(catalog(width, layers.clone()).is_err(), "{width} {layers}");
    }
    let catalog = catalog(10, json!([length(1)])).unwrap();
    // The empty value of a range is a value too, of nine bytes at most.
    for (bytes, fits) in [(9, true), (10, false), (11, false)] {
        let empty = "00".repeat(bytes).parse().unwrap();
        let kind = TableKind::Range { key: KeyKind::U64, block: 1, first: 0, empty };
        assert_eq!(Catalog { kind, ..catalog.clone() }.check().is_ok(), fits, "{bytes}");
    }
    assert!(matches!(catalog.bit(0), Err(CatalogError::NoSuchRow { .. })), "bits have no numbers there");
}

#[test]
fn a_layer_says_how_long_values_are() {
    use sotto_catalog::ValueKind::{Bytes, Text};
    let mask = SymmetricLayer::layer(&key());
    for form in (1..=4).map(RowForm::Length) {
        let layers = [mask.clone(), form.layer().unwrap()];
        assert_eq!(RowForm::of_rows(Text, &layers), Some(form));
    }
    for (value, form) in [(Text, RowForm::Text), (Bytes, RowForm::Whole)] {
        assert_eq!((RowForm::of_rows(value, std::slice::from_ref(&mask)), form.layer()), (Some(form), None));
    }
    for bytes in [0, 5] {
        assert_eq!(RowForm::of_rows(Text, &[RowForm::Length(bytes).layer().unwrap()]), None);
    }
}
