//! Moving a table to its next epoch: changed rows in, the next image and the delta for clients out.

use super::client::BenchClient;
use super::encode::{EncodedLine, StageClock, sign};
use crate::content::GeneratedRows;
use crate::error::BenchError;
use crate::machine::Reader;
use crate::options::Watcher;
use crate::plan::PreparedCase;
use crate::report::UpdateCost;
use crate::timing::ms;
use sotto_core::{Artifact, CryptoRng, Epoch, ExpectOrDefault, Image, RecordChange, Section};
use sotto_db::{ImageFile, ImageWriter};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

/// Rows to fetch in the new epoch: changed ones, and as many others.
const CHECKED: usize = 4;

/// The bits of a changed row's bytes that are flipped, so that no byte stays the same.
const FLIP: u8 = 0xa5;

/// Changes rows, if the definition asks for it and the scheme can.
pub(super) fn measure(
    plan: &PreparedCase<'_>,
    source: &GeneratedRows,
    encoded: &EncodedLine,
    folder: &Path,
    watcher: Watcher<'_>,
) -> Result<Option<UpdateCost>, BenchError> {
    let (Some(count), Some(update_image)) = (plan.case.changes, plan.entry.server.update_image) else {
        return Ok(None);
    };
    let image_fault = |why| BenchError::Image { case: plan.label.clone(), why: Box::new(why) };
    let mut rng = sotto_prg::system_rng()?;
    let changed = choose(source.rows(), count, &mut rng);
    let changed_row = |row| source.row(row).iter().map(|byte| byte ^ FLIP).collect::<Vec<u8>>();
    let mut changes = Vec::new();
    for row in &changed {
        let bytes = changed_row(*row);
        for place in plan.packing.places(*row).map_err(plan.failed("placing rows"))? {
            let bytes = bytes.get(place.bytes).expect_or_default("places lie in the row").to_vec();
            changes.push(RecordChange { record: place.record, offset: place.offset, bytes });
        }
    }

    let path = folder.join("next.sotto");
    let reader = Reader::new(plan.threads)?;
    let start = Instant::now();
    let clock = StageClock::start(&plan.label, watcher);
    let report = |p: sotto_db::Progress| clock.report(p.stage, p.done, p.total);
    let mut writer = ImageWriter::create_from(&path, &encoded.image, &report).map_err(image_fault)?;
    let revising = Instant::now();
    reader
        .install(|| update_image(&plan.params, &changes, &writer))
        .map_err(plan.failed("applying changes"))?;
    let revise_s = revising.elapsed().as_secs_f64();
    let mut artifacts = reader.install(|| writer.digest(Some(Epoch(1)))).map_err(image_fault)?;
    for entry in artifacts.iter_mut().filter(|entry| entry.artifact == Artifact::RowsDelta) {
        entry.from_digest = encoded.image.rows_digest();
    }
    writer.finish(&sign(plan, Epoch(2), artifacts)?).map_err(image_fault)?;
    let total_s = start.elapsed().as_secs_f64();

    let next = ImageFile::open(&path).map_err(image_fault)?;
    let section =
        |image: &ImageFile, artifact| image.section(Section::Public(artifact)).unwrap_or_default().to_vec();
    let (mut held, mut delta) =
        (section(&encoded.image, Artifact::Hint), section(&next, Artifact::HintDelta));
    let start = Instant::now();
    if let Some(patch) = plan.entry.patch {
        patch(&plan.params, Artifact::Hint, &mut held, &delta).map_err(plan.failed("patching a hint"))?;
    }
    let mut patch_ms = ms(start.elapsed());
    if held != section(&next, Artifact::Hint) {
        return Err(BenchError::WrongPatch(plan.label.clone()));
    }

    let open = |image| (plan.entry.server.open)(&plan.params, image).map_err(plan.failed("opening"));
    let server = open(next.clone())?;
    let truth = |row| if changed.contains(&row) { changed_row(row) } else { source.row(row) };
    // A client with its own hints makes them from the old rows and applies the delta; any other is
    // made from the new image.
    let (from, follows) = match plan.entry.state {
        Some(_) => (encoded.image.clone(), true),
        None => (next.clone(), false),
    };
    let before = open(from.clone())?;
    let mut client = BenchClient::begin(plan, before.as_ref(), from.as_ref(), &reader, &truth)?;
    let mut held_bytes = held.len() as u64;
    if let Some(state) = client.client().state().filter(|_| follows) {
        delta = section(&next, Artifact::RowsDelta);
        let start = Instant::now();
        state.apply_delta(&delta).map_err(plan.failed("following a delta"))?;
        patch_ms = ms(start.elapsed());
        held_bytes = plan.report.costs.client_bytes;
    }
    client.switch_to(server.as_ref());
    let mut rows: Vec<u64> = changed.iter().copied().take(CHECKED).collect();
    rows.extend(choose(source.rows(), CHECKED.min(plan.packing.rows() as usize) as u64, &mut rng));
    client.pass(&rows, &mut rng)?;
    Ok(Some(UpdateCost {
        changed_rows_count: changed.len() as u64,
        revise_s,
        total_s,
        stages: clock.stop(),
        delta_bytes: delta.len() as u64,
        held_bytes,
        patch_ms,
        checked_answers_count: client.totals.checked,
    }))
}

/// A random choice of rows. A definition never asks for more than half of them.
fn choose(rows: u64, count: u64, rng: &mut dyn CryptoRng) -> BTreeSet<u64> {
    let mut chosen = BTreeSet::new();
    while (chosen.len() as u64) < count {
        chosen.insert(rng.next_u64() % rows);
    }
    chosen
}
