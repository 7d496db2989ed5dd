//! A table for the tests of other modules; `tests/server` covers what a live table refuses.

use super::*;
use sotto_catalog::{Hex32, RowsRoot, SigningKey, TableKind, ValueKind};
use sotto_core::{Epoch, TableShape};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::{CLEAR, rng::seeded};

/// A table in the clear: four records of 32 bytes, each filled with its index.
pub(crate) fn clear_table(epoch: u64) -> Arc<TableEpoch> {
    let params = (CLEAR.select)(&TableShape::new(4, 32, 1)).unwrap();
    let rows = (0..4).flat_map(|index| [index; 32]).collect();
    let sink = MemorySink::new();
    (CLEAR.server.encode)(&params, &MemoryRows::new(32, rows), &sink).unwrap();
    let image = Arc::new(sink.into_image());
    let report = (CLEAR.report)(&params).unwrap();
    let catalog = Catalog {
        format: sotto_catalog::catalog::FORMAT.into(),
        table: "t".parse().unwrap(),
        epoch: Epoch(epoch),
        kind: TableKind::Index,
        value: ValueKind::Bytes,
        rows: 4,
        row_bytes: 32,
        scheme: CLEAR.id.0.into(),
        params: serde_json::from_slice(&params).unwrap(),
        params_digest: report.digest.into(),
        servers: 1,
        artifacts: Vec::new(),
        rows_digest: None,
        rows_root: RowsRoot { root: Hex32::from([0; 32]), leaf_rows: 1, path: None },
        layers: Vec::new(),
        sidecar: None,
        anchor: None,
        attribution: None,
        created: 0,
        expires: None,
    };
    let signed = SignedCatalog::sign(&catalog, &SigningKey::generate(&mut seeded("publisher"))).unwrap();
    let packing = catalog.packing(&report).unwrap();
    let server = (CLEAR.server.open)(&params, image.clone()).unwrap();
    let parts = TableEpochParts { scheme: &CLEAR, signed, catalog, report, packing, server, image };
    Arc::new(TableEpoch::new(parts, 0).unwrap())
}
