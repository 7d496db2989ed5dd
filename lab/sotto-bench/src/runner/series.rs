//! Consecutive lookups. No other bytes are read in between, so the caches of client and server are
//! as if they did nothing else; every lookup is of a new random row and makes a new query.

use super::client::BenchClient;
use crate::error::BenchError;
use crate::median::{Samples, ms};
use crate::options::{Progress, Watcher};
use crate::plan::PreparedCase;
use crate::report::SeriesReport;
use sotto_core::CryptoRng;
use std::io::Write;

/// Makes the series, if the definition asks for one.
pub(super) fn measure(
    plan: &PreparedCase<'_>,
    client: &mut BenchClient<'_>,
    watcher: Watcher<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Option<SeriesReport>, BenchError> {
    let Some(lookups) = plan.case.series else { return Ok(None) };
    // The batches before were timed with caches that plain reads had emptied.
    client.totals.query = Samples::default();
    client.totals.recover = Samples::default();
    let mut server = Samples::default();
    for done in 0..lookups {
        if done % 64 == 0 {
            let (done, total) = (done as u64, lookups as u64);
            watcher(Progress { case: &plan.label, step: "consecutive lookups", done, total });
        }
        let row = rng.next_u64() % plan.packing.rows();
        server.push(client.pass(&[row], rng)?);
    }
    let (query_ms, recover_ms) = (ms(client.totals.query.median()), ms(client.totals.recover.median()));
    let server_ms = ms(server.median());
    let costs = &plan.report.costs;
    let supplied = client.hint_server.clone();
    let prepare_ms = ms(client.prepared);
    let prepare_bytes =
        costs.artifact_bytes + client.keys_bytes + supplied.as_ref().map_or(0, |supplied| supplied.bytes());
    let budget_count = costs.budget;
    let share = |whole: f64| (budget_count > 0).then(|| whole / budget_count as f64);
    let offline_ms = prepare_ms + supplied.as_ref().map_or(0.0, |supplied| supplied.server_ms);
    let online_ms = query_ms + server_ms + recover_ms;
    Ok(Some(SeriesReport {
        lookups_count: lookups,
        query_ms,
        server_ms,
        recover_ms,
        online_ms,
        budget_count,
        state_bytes: state_bytes(client, plan)?,
        prepare_ms,
        prepare_bytes,
        supplied,
        amortized_ms: share(offline_ms).map(|share| share + online_ms),
        amortized_bytes: share(prepare_bytes as f64)
            .map(|share| share + (client.totals.up + client.totals.down) as f64),
    }))
}

/// Bytes of the client's data: its state as written, or the artifacts that it has to hold.
fn state_bytes(client: &mut BenchClient<'_>, plan: &PreparedCase<'_>) -> Result<u64, BenchError> {
    let Some(state) = client.client().state() else { return Ok(plan.report.costs.artifact_bytes) };
    let mut count = ByteCount(0);
    state.save(&mut count).map_err(|why| BenchError::Scheme {
        case: plan.label.clone(),
        step: "saving a client",
        why,
    })?;
    Ok(count.0)
}

/// A writer that counts its bytes.
struct ByteCount(u64);

impl Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
