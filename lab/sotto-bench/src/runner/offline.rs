//! Encoding rows to an image: the very file that a server maps, written by the same writer.

use super::records::Records;
use super::stages::StageClock;
use crate::content::RowBytes;
use crate::error::BenchError;
use crate::machine::{PeakMemory, Reader};
use crate::median::ms;
use crate::options::Watcher;
use crate::plan::PreparedCase;
use crate::report::OfflineCost;
use sotto_catalog::{
    ArtifactEntry, Catalog, CatalogError, Hex32, RowsRoot, SignedCatalog, SigningKey, TableKind,
    TableNameError, ValueKind, catalog,
};
use sotto_core::Epoch;
use sotto_db::{DbError, ImageFile, ImageWriter};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// A finished and opened image.
pub(super) struct EncodedLine {
    pub(super) image: Arc<ImageFile>,
    pub(super) offline: OfflineCost,
}

pub(super) fn encode(
    plan: &PreparedCase<'_>,
    source: &dyn RowBytes,
    folder: &Path,
    watcher: Watcher<'_>,
) -> Result<EncodedLine, BenchError> {
    let image_fault = |why| BenchError::Image { case: plan.label.clone(), why: Box::new(why) };
    let path = folder.join("table.sotto");
    let reader = Reader::new(plan.threads)?;
    let rows = Records { source, packing: plan.packing };

    let peak = PeakMemory::watch();
    let start = Instant::now();
    let clock = StageClock::start(&plan.label, watcher);
    let report = |p: sotto_db::Progress| clock.report(p.stage, p.done, p.total);
    let mut writer = ImageWriter::create(&path, &report).map_err(image_fault)?;
    let encoding = Instant::now();
    reader
        .install(|| (plan.entry.server.encode)(&plan.params, &rows, &writer))
        .map_err(|why| BenchError::Scheme { case: plan.label.clone(), step: "encoding", why })?;
    let generating_s = source.spent().as_secs_f64();
    let scheme_s = (encoding.elapsed().as_secs_f64() - generating_s / plan.threads as f64).max(0.0);
    let artifacts = reader.install(|| writer.digest(None)).map_err(image_fault)?;
    let signed = sign(plan, Epoch(1), artifacts)?;
    writer.finish(&signed).map_err(image_fault)?;
    let total = start.elapsed();
    let stages = clock.stop();
    let peak_memory_bytes = peak.growth();

    let start = Instant::now();
    let image = ImageFile::open(&path).map_err(image_fault)?;
    let open_ms = ms(start.elapsed());
    image.warm();
    let offline = OfflineCost {
        total_s: total.as_secs_f64(),
        stages,
        scheme_s,
        scheme_per_gib_s: scheme_s * (1u64 << 30) as f64 / plan.table.table_bytes.max(1) as f64,
        generating_s,
        image_bytes: std::fs::metadata(&path)?.len(),
        peak_memory_bytes,
        open_ms,
    };
    Ok(EncodedLine { image, offline })
}

/// Signs a catalog with a key that is dropped: only this process reads the image.
pub(super) fn sign(
    plan: &PreparedCase<'_>,
    epoch: Epoch,
    artifacts: Vec<ArtifactEntry>,
) -> Result<SignedCatalog, BenchError> {
    let refuse = |why: CatalogError| BenchError::Image {
        case: plan.label.clone(),
        why: Box::new(DbError::Catalog(why)),
    };
    let mut rng = sotto_prg::system_rng().map_err(|e| BenchError::Entropy(e.to_string()))?;
    let catalog = Catalog {
        format: catalog::FORMAT.to_owned(),
        table: "bench".parse().map_err(|error: TableNameError| refuse(error.into()))?,
        epoch,
        kind: TableKind::Index,
        value: ValueKind::Bytes,
        rows: plan.packing.rows(),
        row_bytes: plan.packing.row_bytes(),
        scheme: plan.entry.id.to_string(),
        params: plan.literal(),
        params_digest: plan.report.digest.into(),
        servers: plan.entry.servers as u32,
        artifacts,
        rows_digest: None,
        rows_root: RowsRoot { root: Hex32::from([0; 32]), leaf_rows: 1, path: None },
        layers: Vec::new(),
        sidecar: None,
        attribution: None,
        created: 0,
        expires: None,
    };
    SignedCatalog::sign(&catalog, &SigningKey::generate(&mut rng)).map_err(refuse)
}
