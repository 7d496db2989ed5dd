//! A report for people: one table per question, one tier per table.

use super::{Report, tables};
use std::fmt::Write;

/// The widest line of a report.
pub(super) const WIDTH: usize = 110;

const ONLINE: &str = "\
Medians. query, recover: the client's time per lookup. server: one pass for the whole batch. GB/s: table bytes
times queries of the batch, per second. of map, of mem: table bytes per second of one pass, over a plain read
of the same mapped bytes, and of anonymous memory on huge pages, both in turns with the server. vs 1: GB/s,
over that of the single lookup.";

const TRAFFIC: &str = "\
Bytes of the messages, HTTP framing excluded. 1st, 100th: everything up to and including that lookup. server
memory: what serving added to this process. fails: bound on the probability that a lookup comes back wrong.";

const OFFLINE: &str = "\
encode: from rows to a finished image; generating: part of it in which the rows themselves were made, summed
over threads. peak: growth of memory while encoding, over the image. ready: a client absorbing its artifacts.";

const PUBLISHED: &str = "\
As printed in the papers, each on its own machine: compare shapes and orders of magnitude, not digits.";

const MODELLED: &str = "\
Computed from parameters. floor: reading the table once at the rate this run measured; no scan is faster.";

impl Report {
    /// Tables for people, at most 110 columns wide.
    pub fn table(&self) -> String {
        let mut out = String::new();
        for definition in &self.definitions {
            paragraph(&mut out, &format!("{}: {}", definition.name, definition.about));
        }
        paragraph(&mut out, &self.machine.line());
        if !self.measured.is_empty() {
            section(&mut out, "MEASURED: asking and answering", tables::online(&self.measured), ONLINE);
            section(&mut out, "MEASURED: bytes and memory", tables::traffic(&self.measured), TRAFFIC);
            section(&mut out, "MEASURED: once per table", tables::offline(&self.measured), OFFLINE);
            let checked: u64 = self.measured.iter().map(|m| m.checked_answers_count).sum();
            line(
                &mut out,
                &format!("Every answer was compared with the generated row: {checked} of {checked} right."),
            );
        }
        if !self.modelled.is_empty() {
            section(&mut out, "MODELLED", tables::modelled(&self.modelled), MODELLED);
        }
        if !self.published.is_empty() {
            section(&mut out, "PUBLISHED", tables::published(&self.published), PUBLISHED);
            for source in tables::sources(&self.published) {
                paragraph(&mut out, &source);
            }
        }
        if !self.skipped.is_empty() {
            line(&mut out, "\nNOT RUN");
            for skipped in &self.skipped {
                paragraph(
                    &mut out,
                    &format!("{} {}: {}", skipped.scheme, skipped.table.shape, skipped.reason),
                );
            }
        }
        out
    }
}

/// Breaks a text between words, so that it stays as narrow as the tables.
fn paragraph(out: &mut String, text: &str) {
    let mut width = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > WIDTH {
            out.push_str("\n    ");
            width = 4;
        } else if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out.push('\n');
}

fn section(out: &mut String, heading: &str, table: comfy_table::Table, note: &str) {
    line(out, &format!("\n{heading}\n\n{table}\n\n{note}"));
}

fn line(out: &mut String, text: &str) {
    // Writing into a `String` cannot fail.
    let _ = writeln!(out, "{text}");
}
