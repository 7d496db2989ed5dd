//! A report for people: one table per question, one tier per table.

use super::words::wrapped;
use super::{Report, names, tables};
use std::fmt::Write;

/// Maximum width of a report's lines.
pub(super) const WIDTH: usize = 110;

const COMPARED: &str = "\
Side by side, in turns: the tables below say more. s/GiB: the scheme's encoder, for a table of one GiB.
keys: what travels once, artifacts included. rate: row bytes over answer bytes. client: query and recover.
server, GB/s: of a single lookup.";

const CLIENT: &str = "\
Once per session: making keys, the server admitting them, and what it then holds in memory for that client.
Medians per lookup: making the query, and reading the answer. rate: row bytes over answer bytes.";

const ONLINE: &str = "\
Medians. server: one pass for the whole batch. best: the fastest of them. each: the median, per lookup. GB/s:
table bytes times queries of the batch, per second. pages: those of the mapped file, huge (2 MiB), small, or
how many are huge; copy: the copy on huge pages that a server makes where the file's are small. of read: table
bytes per second of one pass, over a plain read of anonymous memory on huge pages in turns with the server,
the honest limit. vs 1: GB/s, over that of the single lookup.";

const TRAFFIC: &str = "\
Bytes of the messages, HTTP framing excluded. once: artifacts and keys. 1st, 100th: everything up to and
including that lookup. The ways that are no scheme: reading the table once to send all of it, and a plain
server, which learns every row that is asked for.";

const OFFLINE: &str = "\
Seconds from rows to a finished image on disk, and those of its stages. s/GiB: the scheme's encoder alone,
for a table of one GiB. rows: the part in which the rows themselves were generated, summed over threads; no
work of the scheme.";

const MEMORY: &str = "\
encoding, serving: memory this process gained at its highest, mapped pages included, over the image. ready: a
client's work before its first query, absorbing artifacts and making keys.";

const PREPARED: &str = "\
keeps: state a client must not lose, or artifacts it holds. travels: both ways, before the first lookup.
client, helper: work of the client, and of a server that makes hints to order. good for: lookups until
preparing again.";

const SERIES: &str = "\
One after the other, nothing in between, each of a new random row; medians. online: the three together,
nothing that travels. each: with its share of the preparation; a dash where that is good for any number.";

const STEPS: &str = "\
As the server reports them, medians of lookups in turns, each of a new random row and checked. answer: all
steps of a lookup. Orders of one case answer over one image.";

const BREAK_EVEN: &str = "\
A lookup is quicker than downloading the table on links slower than this: the table's bits less those of query
and answer, over the time of client and server. with keys: what travels once counted too.";

const UPDATES: &str = "\
Every byte of that many random rows changed. next: from changed rows to a finished image. scheme: the part in
which the scheme re-encodes what changed. delta: what a client fetches instead of a new hint; a
dash where clients hold nothing.";

const PUBLISHED: &str = "\
As printed in the papers, each on its own machine: compare shapes and orders of magnitude, not digits.";

const PUBLISHED_SERIES: &str = "\
keeps: state of the client. before: what travels first; prepare: work on it. online: client and server, for
one lookup. travels: both ways, per lookup. each B: with its share of what travels before.";

const PUBLISHED_STEPS: &str = "\
One thread, on other machines. switches: to fewer primes, where a program does that apart.";

const PUBLISHED_BREAK_EVEN: &str = "\
By the same formula from what was published: server time alone, and no keys.";

const MODELED: &str = "\
Computed from parameters. floor: reading the table once at the rate this run measured; no scan is faster.
fails: bound on the probability that a lookup comes back wrong. security: of the hardest assumption.";

const TREES: &str = "\
colors: a table for each color, a row of each (TreePIR). buckets: a batch code over all nodes, which fails
for less than one request in 2^40; for up to ten rows it is as many lookups in the whole table.";

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
            section(&mut out, "MEASURED: asking and answering", tables::online(&self.measured), ONLINE);
            section(&mut out, "MEASURED: the client", tables::client(&self.measured), CLIENT);
            if self.measured.iter().any(|m| m.series.is_some()) {
                section(&mut out, "MEASURED: preparing a client", tables::prepared(&self.measured), PREPARED);
                section(&mut out, "MEASURED: lookups in a row", tables::series(&self.measured), SERIES);
            }
            if self.measured.iter().any(|m| !m.steps.is_empty()) {
                section(&mut out, "MEASURED: an answer step by step", tables::stepped(&self.measured), STEPS);
            }
            if self.measured.iter().any(|m| m.break_even.is_some()) {
                let table = tables::break_evens(&self.measured);
                section(&mut out, "MEASURED: links on which a lookup pays", table, BREAK_EVEN);
            }
            section(&mut out, "MEASURED: what travels", tables::traffic(&self.measured), TRAFFIC);
            section(&mut out, "MEASURED: once per table", tables::offline(&self.measured), OFFLINE);
            section(&mut out, "MEASURED: memory", tables::memory(&self.measured), MEMORY);
            if self.measured.iter().any(|m| m.update.is_some()) {
                section(&mut out, "MEASURED: the next epoch", tables::updates(&self.measured), UPDATES);
            }
            let checked: u64 = self.measured.iter().map(|m| m.checked_answers()).sum();
            line(
                &mut out,
                &format!("Every answer was compared with the generated row: {checked} of {checked} right."),
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
                let heading = "PUBLISHED: links on which a lookup pays";
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
                "Every row was compared with the tree's, and every proof verified: {rows} of {rows} rows and {proofs} \
                of {proofs} proofs are right."
            );
            paragraph(out, &text);
        }
        for source in tables::trees::sources(&self.trees.published) {
            paragraph(out, &source);
        }
    }
}

fn paragraph(out: &mut String, text: &str) {
    wrapped(text, WIDTH).iter().for_each(|text| line(out, text));
}

fn section(out: &mut String, heading: &str, table: comfy_table::Table, note: &str) {
    line(out, &format!("\n{heading}\n\n{table}\n\n{note}"));
}

fn line(out: &mut String, text: &str) {
    // Writing into a `String` cannot fail.
    let _ = writeln!(out, "{text}");
}
