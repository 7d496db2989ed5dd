//! A report for people: one table per question, one tier per table.

use super::format::wrapped;
use super::{Report, names, tables};
use std::fmt::Write;

/// Maximum width of a report's lines.
pub(crate) const TABLE_WIDTH: usize = 110;

const COMPARED: &str = "\
Measured in turns; details are in the tables below. s/GiB: the scheme's encoder, for a table of one GiB.
keys: bytes sent once, artifacts included. rate: row bytes over answer bytes. client: query and recover.
server, GB/s: of a single lookup.";

const CLIENT: &str = "\
Once per session: making keys, their admission, and the server's memory for that client afterwards.
Medians per lookup: making the query, and recovering the record. rate: row bytes over answer bytes.";

const ONLINE: &str = "\
Medians. server: one pass for the whole batch. best: the fastest of them. each: the median, per lookup. GB/s:
table bytes times queries of the batch, per second. pages: those of the mapped file, huge (2 MiB), small, or
how many are huge; copy: the copy on huge pages that a server makes where the file's are small. of read: table
bytes per second of one pass, over a plain read of anonymous memory on huge pages in turns with the server,
the practical limit. vs 1: GB/s, relative to the single lookup.";

const TRAFFIC: &str = "\
Bytes of the messages, HTTP framing excluded. once: artifacts and keys. 1st, 100th: everything up to and
including that lookup. The baselines without PIR: reading the table once to send all of it, and a plaintext
server, which learns every requested row.";

const OFFLINE: &str = "\
Seconds from rows to a finished image on disk, and those of its stages. s/GiB: the scheme's encoder alone,
for a table of one GiB. rows: generation of the rows themselves, summed over threads, which is no work of
the scheme.";

const MEMORY: &str = "\
encoding, serving: peak growth of this process, mapped pages included, relative to the image. ready: work of
a client before its first query: absorbing artifacts and making keys.";

const PREPARED: &str = "\
keeps: state that a client must not lose, or its artifacts. travels: both ways, before the first lookup.
client, helper: work of the client, and of a server that makes requested hints. good for: lookups until the
next preparation.";

const SERIES: &str = "\
Consecutive, each of a new random row; medians. online: the three together, without the network. each: with
its share of the preparation; a dash where one preparation is for unlimited lookups.";

const STEPS: &str = "\
As reported by the server, medians of lookups in turns, each of a new random row and checked. answer: all
steps of a lookup. Orders of one case answer over one image.";

const BREAK_EVEN: &str = "\
A lookup is faster than downloading the table on links slower than this: the table's bits less those of query
and answer, over the time of client and server. with keys: including what is sent once.";

const UPDATES: &str = "\
Every byte of that number of random rows changed. next: from changed rows to a finished image. scheme: the
scheme's encoding of the changes. delta: what a client fetches instead of a new hint; a dash where clients
have no hint.";

const PUBLISHED: &str = "\
As printed in the papers, each on its own machine: compare shapes and orders of magnitude, not digits.";

const PUBLISHED_SERIES: &str = "\
keeps: state of the client. before: bytes of the preparation; prepare: its work. online: client and server,
for one lookup. travels: bytes both ways, per lookup. each B: with its share of the preparation.";

const PUBLISHED_STEPS: &str = "\
One thread, on other machines. switches: to fewer primes, where a program does that separately.";

const PUBLISHED_BREAK_EVEN: &str = "\
By the same formula from published figures: server time only, without keys.";

const MODELED: &str = "\
Computed from parameters. floor: reading the table once at the rate measured in this run; no scan is faster.
fails: bound on the probability that a lookup fails. security: of the weakest assumption.";

const TREES: &str = "\
colors: a table for each color, a row of each (TreePIR). buckets: a batch code over all nodes, which fails
for less than one request in 2^40; for up to ten rows, separate lookups in the whole table.";

impl Report {
    /// Tables for people, at most 110 columns wide.
    pub fn table(&self) -> String {
        let mut out = String::new();
        for definition in &self.definitions {
            paragraph(&mut out, &format!("{}: {}", definition.name, definition.about));
        }
        paragraph(&mut out, &self.machine.line());
        if !self.measured.is_empty() {
            if names::compares(&self.measured) {
                section(&mut out, "MEASURED: side by side", tables::compared(&self.measured), COMPARED);
            }
            section(&mut out, "MEASURED: queries and answers", tables::online(&self.measured), ONLINE);
            section(&mut out, "MEASURED: the client", tables::client(&self.measured), CLIENT);
            if self.measured.iter().any(|m| m.series.is_some()) {
                section(&mut out, "MEASURED: preparing a client", tables::prepared(&self.measured), PREPARED);
                section(&mut out, "MEASURED: consecutive lookups", tables::series(&self.measured), SERIES);
            }
            if self.measured.iter().any(|m| !m.steps.is_empty()) {
                section(&mut out, "MEASURED: an answer step by step", tables::stepped(&self.measured), STEPS);
            }
            if self.measured.iter().any(|m| m.break_even.is_some()) {
                let table = tables::break_evens(&self.measured);
                section(
                    &mut out,
                    "MEASURED: links on which a lookup is faster than a download",
                    table,
                    BREAK_EVEN,
                );
            }
            section(&mut out, "MEASURED: traffic", tables::traffic(&self.measured), TRAFFIC);
            section(&mut out, "MEASURED: once per table", tables::offline(&self.measured), OFFLINE);
            section(&mut out, "MEASURED: memory", tables::memory(&self.measured), MEMORY);
            if self.measured.iter().any(|m| m.update.is_some()) {
                section(&mut out, "MEASURED: the next epoch", tables::updates(&self.measured), UPDATES);
            }
            let checked: u64 = self.measured.iter().map(|m| m.checked_answers()).sum();
            line(
                &mut out,
                &format!("Every answer was compared with the generated row: {checked} of {checked} correct."),
            );
        }
        if !self.modeled.is_empty() {
            section(&mut out, "MODELED", tables::modeled(&self.modeled), MODELED);
        }
        if !self.published.is_empty() {
            if self.published.iter().any(|row| row.online_ms.is_none()) {
                section(&mut out, "PUBLISHED", tables::published(&self.published), PUBLISHED);
            }
            if self.published.iter().any(|row| row.online_ms.is_some()) {
                let table = tables::published_series(&self.published);
                section(&mut out, "PUBLISHED: clients that prepare once", table, PUBLISHED_SERIES);
            }
            if self.measured.iter().any(|m| !m.steps.is_empty())
                && self.published.iter().any(|row| !row.steps.is_empty())
            {
                let table = tables::published_steps(&self.published);
                section(&mut out, "PUBLISHED: step by step", table, PUBLISHED_STEPS);
            }
            if self.measured.iter().any(|m| m.break_even.is_some())
                && let Some(table) = tables::published_break_evens(&self.published)
            {
                let heading = "PUBLISHED: links on which a lookup is faster than a download";
                section(&mut out, heading, table, PUBLISHED_BREAK_EVEN);
            }
            for source in tables::sources(&self.published) {
                paragraph(&mut out, &source);
            }
        }
        self.trees(&mut out);
        if !self.skipped.is_empty() || !self.trees.skipped.is_empty() {
            line(&mut out, "\nNOT RUN");
            for skipped in &self.skipped {
                paragraph(&mut out, &format!("{} {}: {}", skipped.case, skipped.table.shape, skipped.reason));
            }
            for skipped in &self.trees.skipped {
                paragraph(
                    &mut out,
                    &format!("{}, {} leaves: {}", skipped.line, skipped.tree.name, skipped.reason),
                );
            }
        }
        out
    }

    fn trees(&self, out: &mut String) {
        let measured = &self.trees.measured;
        for answered in tables::trees::answered(&self.trees) {
            section(out, &format!("MEASURED: {}", answered.title), answered.measured, answered.note);
            if let Some(published) = answered.published {
                line(out, &format!("\nPUBLISHED, on other machines: {}\n\n{published}", answered.title));
            }
        }
        if measured.iter().any(|m| m.tables_count > 0) {
            section(out, "MEASURED: the tables of a tree", tables::trees::stacks(measured), TREES);
            let proofs: u64 = measured.iter().map(|m| m.checked_proofs_count).sum();
            let rows: u64 = measured.iter().map(|m| m.checked_answers_count).sum();
            let text = format!(
                "Every row was compared with the tree's, and every proof verified: {rows} of {rows} rows \
                 and {proofs} of {proofs} proofs are correct."
            );
            paragraph(out, &text);
        }
        for source in tables::trees::sources(&self.trees.published) {
            paragraph(out, &source);
        }
    }
}

fn paragraph(out: &mut String, text: &str) {
    wrapped(text, TABLE_WIDTH).iter().for_each(|text| line(out, text));
}

fn section(out: &mut String, heading: &str, table: comfy_table::Table, note: &str) {
    line(out, &format!("\n{heading}\n\n{table}\n\n{note}"));
}

fn line(out: &mut String, text: &str) {
    // Writing into a `String` cannot fail.
    let _ = writeln!(out, "{text}");
}
