//! The figures of a run: of measured cases, and those that follow from parameters alone.

use serde::{Deserialize, Serialize};
use sotto_pages::PageKind;

/// The table of a case.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct TableFacts {
    /// The shape in words: `2^20 x 256 B`.
    pub shape: String,
    /// The comparison shape of the table, if it has a name of its own.
    pub compare: Option<String>,
    /// Rows as the community counts them.
    pub rows_count: u64,
    /// Bits in a row as the community counts them.
    pub row_bits: u64,
    /// Bytes of the whole table.
    pub table_bytes: u64,
}

/// The method of fetching a table's rows.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FetchMethod {
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the parameter set, if one was named.
    pub set: Option<String>,
    /// The goal for which parameters were selected otherwise.
    pub goal: &'static str,
    /// Title in tables and drawings.
    pub title: String,
}

/// The results of one measured case.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct MeasuredCase {
    /// The table of the case.
    pub table: TableFacts,
    /// The scheme, and the choice of its parameters.
    #[serde(flatten)]
    pub method: FetchMethod,
    /// Digest of scheme and parameters.
    pub params_digest: String,
    /// The literal parameters themselves.
    pub params: serde_json::Value,
    /// Threads of the server.
    pub threads_count: usize,
    /// Records the scheme serves.
    pub records_count: u64,
    /// Bytes in a record.
    pub record_bytes: u64,
    /// Records every lookup asks for.
    pub queries_per_lookup_count: usize,
    /// Work done once per table.
    pub offline: OfflineCost,
    /// The preparation of a client, before its first query.
    pub joining: ClientSetup,
    /// Median time to make the queries of one lookup.
    pub client_query_ms: f64,
    /// Median time to read the answers of one lookup.
    pub client_recover_ms: f64,
    /// One entry per batch size.
    pub batches: Vec<Batch>,
    /// Bytes on the wire.
    pub traffic: Traffic,
    /// Bytes of a row, over bytes of the answers that bring it.
    pub rate_ratio: f64,
    /// Memory the server added to the process: mapped image after one full read, and buffers while answering.
    pub server_memory_bytes: Option<u64>,
    /// Estimated security; null in JSON if no computation breaks it.
    #[schemars(with = "Option<f64>")]
    pub security_bits: f64,
    /// The model of the security estimate.
    pub security_model: String,
    /// Bound on the failure of one lookup; null in JSON if it cannot fail.
    #[schemars(with = "Option<f64>")]
    pub failure_log2: f64,
    /// Answers compared with the generated rows; all were right.
    pub checked_answers_count: u64,
    /// Costs of the same lookup without this scheme.
    pub baselines: Vec<Baseline>,
    /// Consecutive lookups, if the definition asks for them.
    pub series: Option<SeriesReport>,
    /// Lookups step by step, if the definition asks for them: a line for each order and number of
    /// threads.
    pub steps: Vec<StepReport>,
    /// Links on which a lookup is quicker than downloading the table, if the definition asks for
    /// that.
    pub break_even: Option<BreakEven>,
    /// The location and the pages of the table.
    pub held: Option<TablePlacement>,
    /// The kind of pages of the memory of the plain reads, where the system reports it.
    pub memory_pages: Option<String>,
    /// The step to the next epoch, if the definition asks for changes and the scheme supports them.
    pub update: Option<UpdateCost>,
}

/// The location of a table while it was answered from, as a server with default options holds it.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct TablePlacement {
    /// Bytes that answers are made from.
    pub held_bytes: u64,
    /// The location of the table: `file`: mapped; `memory`: a copy.
    pub place: &'static str,
    /// The kind of its pages, where the system reports it: `huge`, `small`, or the share of huge
    /// ones.
    pub pages: Option<String>,
    /// The share of the table on huge pages.
    pub huge_ratio: Option<f64>,
    /// The reason for the location.
    pub why: String,
}

/// Costs of encoding a table.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct OfflineCost {
    /// Seconds from rows to a finished image.
    pub total_s: f64,
    /// The stages of encoding, in order.
    pub stages: Vec<EncodeStage>,
    /// Seconds of the scheme's own work: that of its encoder, without the time of generating rows.
    pub scheme_s: f64,
    /// Seconds of the scheme's own work for a table of one GiB.
    pub scheme_per_gib_s: f64,
    /// Seconds of generating rows, summed over threads. Not the scheme's work.
    pub generating_s: f64,
    /// Bytes of all sections.
    pub image_bytes: u64,
    /// Maximum growth of this process's memory while encoding.
    pub peak_memory_bytes: Option<u64>,
    /// Milliseconds of opening the image.
    pub open_ms: f64,
}

/// Costs of preparing a client, before its first query.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ClientSetup {
    /// Milliseconds of the client: absorbing artifacts, and making keys.
    pub prepare_ms: f64,
    /// Milliseconds of making keys, which `prepare_ms` includes. Zero if the scheme has none.
    pub keygen_ms: f64,
    /// Milliseconds in which the server admits the keys.
    pub admit_ms: f64,
    /// Bytes that the server then holds for this client.
    pub session_bytes: u64,
}

/// Costs of moving a table to its next epoch.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct UpdateCost {
    /// Rows of which every byte changed.
    pub changed_rows_count: u64,
    /// Seconds of the scheme's work.
    pub revise_s: f64,
    /// Seconds from changed rows to a finished image.
    pub total_s: f64,
    /// The stages of the update, in order.
    pub stages: Vec<EncodeStage>,
    /// Bytes of the delta for a client; 0 where clients hold nothing.
    pub delta_bytes: u64,
    /// Bytes that a client without the delta would fetch.
    pub held_bytes: u64,
    /// Milliseconds of a client applying the delta, if there is one.
    pub patch_ms: f64,
    /// Answers of the new epoch compared with its rows, changed ones among them; all were right.
    pub checked_answers_count: u64,
}

/// A stage of encoding.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct EncodeStage {
    /// The stage's name, as the scheme reports it.
    pub name: String,
    /// Seconds of the stage.
    pub total_s: f64,
}

/// Lookups answered together.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Batch {
    /// Number of clients' lookups in one pass.
    pub batch_count: usize,
    /// Number of repetitions.
    pub repeated_count: usize,
    /// Median time of the server's pass.
    pub server_ms: f64,
    /// Minimum time of the server's pass.
    pub server_least_ms: f64,
    /// Median time of the pass divided by its lookups.
    pub per_lookup_ms: f64,
    /// Table bytes, times queries of the batch, per second of the server.
    pub aggregate_gb_per_s: f64,
    /// Aggregate rate over that of the single lookup.
    pub batching_ratio: f64,
    /// Rate of a plain read of the same bytes where they are held, in turns with the server's
    /// passes.
    pub read_held_gb_per_s: f64,
    /// Maximum rate of those reads, to go with the server's fastest pass.
    pub read_held_best_gb_per_s: f64,
    /// Rate of a plain read of anonymous memory on huge pages, in turns with the server's passes.
    pub read_memory_gb_per_s: f64,
    /// Table bytes per second of the server, over the plain read of the same bytes.
    pub of_read_held_ratio: f64,
    /// Table bytes per second of the server, over the plain read of memory.
    pub of_read_memory_ratio: f64,
}

/// Bytes on the wire, counted on the messages themselves, framing excluded.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Traffic {
    /// Bytes of artifacts that a client fetches once per epoch.
    pub once_bytes: u64,
    /// Bytes of keys that a client registers once per session.
    pub keys_bytes: u64,
    /// Bytes of queries per lookup, to all servers.
    pub up_bytes: u64,
    /// Bytes of answers per lookup, from all servers.
    pub down_bytes: u64,
    /// Bytes up to and including the first lookup.
    pub total_1st_bytes: u64,
    /// Bytes up to and including the hundredth lookup.
    pub total_100th_bytes: u64,
}

impl Traffic {
    pub(crate) fn new(once_bytes: u64, keys_bytes: u64, up_bytes: u64, down_bytes: u64) -> Self {
        let total = |lookups: u64| {
            let per_lookup = up_bytes.saturating_add(down_bytes).saturating_mul(lookups);
            once_bytes.saturating_add(keys_bytes).saturating_add(per_lookup)
        };
        let (total_1st_bytes, total_100th_bytes) = (total(1), total(100));
        Traffic { once_bytes, keys_bytes, up_bytes, down_bytes, total_1st_bytes, total_100th_bytes }
    }

    /// The links on which a lookup with this traffic and `work_ms` of work is quicker than
    /// downloading the table.
    pub(crate) fn break_even(&self, table_bytes: u64, work_ms: f64) -> BreakEven {
        let moved_bytes = self.up_bytes.saturating_add(self.down_bytes);
        BreakEven {
            work_ms,
            moved_bytes,
            below_mbit_per_s: break_even(table_bytes, moved_bytes, work_ms),
            first_below_mbit_per_s: break_even(table_bytes, self.total_1st_bytes, work_ms),
        }
    }
}

/// Costs of the same lookup without the scheme.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Baseline {
    /// Name of the alternative.
    pub name: &'static str,
    /// Whether the lookup is private.
    pub private: bool,
    /// Median time at the server.
    pub server_ms: f64,
    /// Bytes on the wire.
    pub traffic: Traffic,
}

/// Figures computed from parameters, not measured.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct ModeledCase {
    /// The table of the case.
    pub table: TableFacts,
    /// The scheme, and the choice of its parameters.
    #[serde(flatten)]
    pub method: FetchMethod,
    /// Bytes on the wire.
    pub traffic: Traffic,
    /// Bytes the server keeps resident.
    pub resident_bytes: u64,
    /// Estimated work of one lookup.
    pub server_ops: u64,
    /// Time of reading the table once at the rate that this run measured; no scan can be faster.
    /// Absent if nothing ran.
    pub read_floor_ms: Option<f64>,
    /// Estimated security; null in JSON if no computation breaks it.
    #[schemars(with = "Option<f64>")]
    pub security_bits: f64,
    /// Bound on the failure of one lookup; null in JSON if it cannot fail.
    #[schemars(with = "Option<f64>")]
    pub failure_log2: f64,
}

impl ModeledCase {
    /// Sets the floor that this run's own read rate puts under every scan of the table.
    pub(crate) fn with_floor(&mut self, measured: &[MeasuredCase]) {
        let rates = measured.iter().flat_map(|m| &m.batches).map(|b| b.read_memory_gb_per_s);
        let mut rates: Vec<f64> = rates.collect();
        rates.sort_by(f64::total_cmp);
        let rate = rates.get(rates.len() / 2).copied().filter(|rate| *rate > 0.0);
        self.read_floor_ms = rate.map(|rate| self.table.table_bytes as f64 / rate / 1e6);
    }
}

/// A case that did not run.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SkippedCase {
    /// The table of the case.
    pub table: TableFacts,
    /// The scheme and the choice of its parameters, in words.
    pub case: String,
    /// The reason, and what would change it.
    pub reason: String,
}

impl TablePlacement {
    /// The kind of pages in a word of five letters at most. A copy has no small pages, or it would
    /// not be made.
    pub(crate) fn word(&self) -> String {
        let file = || self.huge_ratio.map_or("-".to_owned(), |share| PageKind::of(share).word());
        if self.place == "memory" { "copy".to_owned() } else { file() }
    }
}

impl MeasuredCase {
    /// Number of answers compared with the generated rows, including those of the next epoch.
    pub fn checked_answers(&self) -> u64 {
        self.checked_answers_count + self.update.as_ref().map_or(0, |update| update.checked_answers_count)
    }
}

/// Consecutive lookups with nothing in between, and their share of the preparation.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SeriesReport {
    /// Number of lookups, of random rows, each a new one.
    pub lookups_count: usize,
    /// Median time to make a query.
    pub query_ms: f64,
    /// Median time of the server, the slower one where there are several.
    pub server_ms: f64,
    /// Median time to read the answer.
    pub recover_ms: f64,
    /// The sum of the three: client and server, nothing that travels.
    pub online_ms: f64,
    /// Number of lookups of one preparation; 0 if unlimited.
    pub budget_count: u64,
    /// Bytes of the client's durable state, as written to disk.
    pub state_bytes: u64,
    /// Milliseconds of the client before its first query.
    pub prepare_ms: f64,
    /// Bytes before the first query, in both directions.
    pub prepare_bytes: u64,
    /// Costs of the hints that a server made for this client, where one does.
    pub hint_server: Option<HintServerCost>,
    /// Milliseconds of a lookup with its share of the preparation; absent where a preparation is
    /// unlimited.
    pub amortized_ms: Option<f64>,
    /// Bytes of a lookup with its share of the preparation.
    pub amortized_bytes: Option<f64>,
}

/// Costs of hints that a server made on request.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct HintServerCost {
    /// Number of hint requests.
    pub requests_count: u64,
    /// Milliseconds of the server.
    pub server_ms: f64,
    /// Bytes of the hint requests.
    pub up_bytes: u64,
    /// Bytes of the hint responses.
    pub down_bytes: u64,
}

impl HintServerCost {
    /// Bytes in both directions.
    pub(crate) fn bytes(&self) -> u64 {
        self.up_bytes.saturating_add(self.down_bytes)
    }
}

/// Lookups of one case in one order of steps, on some threads.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct StepReport {
    /// The scheme's name for the order.
    pub order: String,
    /// Threads of the server.
    pub threads_count: usize,
    /// Number of repetitions.
    pub repeated_count: usize,
    /// Median time of all steps together.
    pub server_ms: f64,
    /// Each step, in the order in which the server did them.
    pub steps: Vec<Step>,
}

/// A step of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The step's name, as the server or a publication gives it.
    pub name: String,
    /// Median time of the step.
    pub server_ms: f64,
}

/// The links on which a lookup is quicker than downloading the table.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct BreakEven {
    /// Milliseconds of client and server for a lookup.
    pub work_ms: f64,
    /// Bytes of queries and answers of a lookup.
    pub moved_bytes: u64,
    /// Rate of a link below which a lookup is quicker than the table.
    pub below_mbit_per_s: f64,
    /// Rate of a link below which the first lookup, with keys and artifacts, is quicker than the
    /// table.
    pub first_below_mbit_per_s: f64,
}

/// The rate at which `table_bytes` take as long as `moved_bytes` and the work: `(n - c) / T`, as
/// Dong and Chen define it.
pub(crate) fn break_even(table_bytes: u64, moved_bytes: u64, work_ms: f64) -> f64 {
    let saved = table_bytes.saturating_sub(moved_bytes) as f64 * 8.0;
    if work_ms > 0.0 { saved / work_ms / 1e3 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's 2^30 bits: 180.5 s, 231 and 192 KB. Its figure of 5.65, in 2^20 bits a second, is this.
    #[test]
    fn the_papers_figure_follows_from_its_time_and_its_bytes() {
        let rate = break_even(1 << 27, 231_000 + 192_000, 180_500.0);
        assert!((rate / 1.048_576 - 5.65).abs() < 0.01, "{rate}");
        assert_eq!((break_even(100, 200, 1.0), break_even(100, 0, 0.0)), (0.0, 0.0));
    }
}
