//! `sotto encode --batch`: encodes a table as a stack, whose tables are the buckets of a batch
//! code, and describes a round over it: its cost, and how often it fails.

use crate::failure::{FileContext, Result};
use crate::output_dir::check_set;
use crate::output_dir::{CreatedFiles, Output, check_kind};
use crate::publish_args::{log_json, log_line, signing_key};
use crate::screen::{Report, Screen, grid, units};
use crate::table_summary;
use crate::table_summary::{remarks, stages_json, took};
use crate::verbs::encode::job::EncodeJob;
use serde_json::json;
use sotto_catalog::{BatchAccess, PublicKey};
use sotto_core::Compose;
use sotto_db::{BatchOptions, BatchSummary, EncodeOptions, LogUpdate, TableDir, WriteLock, encode_batch};
use sotto_prg::PublicSeed;
use sotto_wire::MessageSizes;
use std::path::Path;
use std::time::{Duration, Instant};

/// The result of encoding a stack.
pub(crate) struct BatchOutcome {
    pub(crate) summary: BatchSummary,
    pub(crate) public_key: PublicKey,
    pub(crate) stages: Vec<(String, Duration)>,
    pub(crate) took: Duration,
}

impl EncodeJob<'_> {
    /// Encodes a stack whose rounds have at most `max_batch` rows or keys.
    pub(crate) fn run_batch(self, max_batch: usize, screen: Screen) -> Result<BatchOutcome> {
        let began = Instant::now();
        std::fs::metadata(self.input).doing("reading", self.input)?;
        check_set(self.scheme, self.set.as_deref())?;
        let traces = CreatedFiles::before(self.out);
        // Existing tables may belong to a stack that was never published, and are not removed.
        let ours = !self.out.join("tables").exists();
        let root = TableDir::create(self.out)?;
        let lock = root.lock()?;
        let traces = traces.locked(&lock);
        let out = self.out;
        let done = self.encode_batch(max_batch, began, &lock, screen);
        if done.is_err() {
            if ours {
                for folder in ["tables", "files"] {
                    // The first error is the one to report, not a failed cleanup.
                    let _ = std::fs::remove_dir_all(out.join(folder));
                }
            }
            traces.remove(&lock);
        }
        done
    }

    fn encode_batch(
        self,
        max_batch: usize,
        began: Instant,
        lock: &WriteLock,
        screen: Screen,
    ) -> Result<BatchOutcome> {
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        check_kind(self.out, Output::Stack)?;
        self.check_replaced()?;
        let read = || sotto_db::ingest(self.input, &self.source, self.out, &watch);
        let key = signing_key(lock.dir(), self.key)?;
        let options = EncodeOptions {
            headroom: self.headroom,
            lookups_per_client: self.lookups,
            goal: self.goal,
            set: self.set,
            verified: self.verified,
            threads: self.threads,
            attribution: self.attribution,
            lifetime: self.lifetime,
            ..EncodeOptions::new(self.name, &key)
        };
        let seed = PublicSeed::fresh(&mut sotto_prg::system_rng()?);
        let batch = BatchOptions { max_lookups: max_batch, seed, max_queries: &MessageSizes::max_queries };
        let encoded = encode_batch(self.scheme, read, lock, &batch, &options, &watch);
        let summary = encoded?;
        let (public_key, took, stages) = (key.public(), began.elapsed(), bars.finish());
        Ok(BatchOutcome { summary, public_key, stages, took })
    }
}

impl BatchOutcome {
    /// The report of a stack; `read` says how its file was read.
    pub(crate) fn report(
        &self,
        read: String,
        input: Option<&Path>,
        out: &Path,
        log: Option<LogUpdate>,
    ) -> Report {
        let summary = &self.summary;
        let (stack, round, catalog) = (&summary.stack, &summary.round, &summary.catalog);
        let mut text = vec![read];
        text.extend(log.as_ref().map(log_line));
        text.extend(remarks(&summary.notes, summary.image_bytes, input));
        let sizes = self.summary.layers.code().sizes();
        let (wide, value) = (catalog.row_bytes, table_summary::value(catalog.value));
        let bytes = units::bytes(summary.table_bytes);
        let (fails, code) = round.failure_log2();
        let once = match (round.artifacts, round.keys) {
            (0, 0) => "nothing".to_owned(),
            (hints, 0) => format!("{} down per epoch", units::bytes(hints)),
            (0, keys) => format!("{} of keys up per session", units::bytes(keys)),
            (hints, keys) => {
                format!("{} down per epoch, {} of keys up", units::bytes(hints), units::bytes(keys))
            }
        };
        let mut lines = vec![
            ("stack", format!("{}, epoch {}, {} tables", stack.stack, stack.epoch, round.tables)),
            ("rows", format!("{} of {wide} bytes ({bytes}), {value}", units::count(sizes.rows))),
            ("lookup by", self.asked_by()),
            ("batch code", self.code()),
        ];
        if let Some(scheme) = &round.scheme {
            lines.push(("scheme", format!("{}: {}", catalog.scheme, scheme.title)));
        }
        lines.extend([
            (
                "a round",
                format!(
                    "{} in every request: {} up, {} down",
                    table_summary::lookups(sizes.lookups(), round.queries),
                    units::bytes(round.up),
                    units::bytes(round.down)
                ),
            ),
            ("once", once),
        ]);
        if let Some(scheme) = &round.scheme {
            let model = &scheme.security_model;
            lines.push(("security", format!("{} ({model})", units::security(scheme.security_bits))));
        }
        lines.extend([
            (
                "a round fails",
                format!(
                    "with probability {}: {} for the batch code, {} for any of its lookups",
                    units::at_most(fails),
                    units::at_most(code),
                    units::at_most(round.lookups_fail)
                ),
            ),
            ("snapshot", table_summary::snapshot(stack.digest())),
            ("public key", self.public_key.to_string()),
            ("time", took(self.took.as_secs_f64(), &self.stages)),
        ]);
        text.push(format!("{}\n\nnext: sotto serve {}", grid::facts(lines), out.display()));
        let scheme = round.scheme.as_ref().map(|_| &catalog.scheme);
        let json = json!({
            "stack": stack.stack,
            "epoch": stack.epoch,
            "rows": sizes.rows,
            "row_bytes": wide,
            "batch": self.summary.layers.max_batch(),
            "code": round.code,
            "tables": round.tables,
            "lookups": sizes.lookups(),
            "queries": round.queries,
            "scheme": scheme,
            "up_bytes": round.up,
            "down_bytes": round.down,
            "artifact_bytes": round.artifacts,
            "keys_bytes": round.keys,
            "failure_log2": fails,
            "code_failure_log2": code,
            "notes": self.summary.notes,
            "snapshot": table_summary::snapshot(stack.digest()),
            "public_key": self.public_key.to_string(),
            "log": log_json(log.as_ref()),
            "stages_s": stages_json(&self.stages),
            "seconds": self.took.as_secs_f64(),
        });
        Report::new(text.join("\n"), &json)
    }

    fn asked_by(&self) -> String {
        let max_batch = self.summary.layers.max_batch();
        match &self.summary.layers {
            BatchAccess::Rows { kind, .. } => {
                format!("{}; up to {max_batch} per round", table_summary::kind(kind))
            }
            BatchAccess::Keys(Compose(keywords, _)) => {
                let params = keywords.keyword().params();
                format!(
                    "key ({}), up to {max_batch} per round; a missing key is found with probability {}",
                    params.form.name(),
                    units::at_most(params.false_positive_log2())
                )
            }
        }
    }

    fn code(&self) -> String {
        let sizes = self.summary.layers.code().sizes();
        let spare = match sizes.spare {
            0 => String::new(),
            1 => ", and 1 lookup in the complete table".to_owned(),
            n => format!(", and {n} lookups in the complete table"),
        };
        if sizes.copies == 0 {
            return format!("none: for so few rows, {} lookups in the complete table", sizes.spare);
        }
        let (buckets, rows) =
            (self.summary.layers.code().buckets(), units::count(self.summary.layers.code().bucket_rows()));
        format!("each row in {} of {buckets} buckets of {rows} rows{spare}", sizes.copies)
    }
}
