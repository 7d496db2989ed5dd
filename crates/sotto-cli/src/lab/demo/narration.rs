//! The output of the demo: a paragraph per step, in a hundred columns, readable without color.

use crate::failure::Result;
use crate::lab::demo::lookups::{AddressLookup, Outcome, SchemeRun};
use crate::lab::demo::median;
use crate::lab::demo::setup::{DemoServer, PlainRead};
use crate::lab::demo::{Baselines, LargeTableCost};
use crate::screen::{Screen, grid, units};
use crate::verbs::encode;
use crate::verbs::encode::job::EncodeOutcome;
use sotto_client::Table;
use sotto_core::Costs;
use std::path::Path;

/// Prints the steps of the demo.
#[derive(Clone, Copy)]
pub(crate) struct Narrator {
    pub(crate) screen: Screen,
}

impl Narrator {
    pub(crate) fn data(self, path: &Path, ranges: usize) -> Result<()> {
        self.screen.say(
            "In which country is an IPv4 address registered? Looked up without revealing the address.\n",
        )?;
        self.screen.say(format!(
            "Data       {} ({} ranges)\n           Statistics of the regional internet registries, published by the \
             Number Resource\n           Organization (nro.net) under CC BY 4.0. It has known errors.",
            path.display(),
            units::count(ranges as u64)
        ))
    }

    pub(crate) fn encoded(self, done: &EncodeOutcome) -> Result<()> {
        let (took, stages) = (units::time(done.took), encode::stages_text(&done.stages));
        let (done, scheme) = (&done.summary, &done.scheme);
        self.screen.say(format!(
            "Encode     {} rows of {} bytes, one per /24 block of addresses, in {}\n           \
             ({})\n           \
             {}:\n           matrix of {} x {} bytes, image of {}\n           \
             security {} ({})\n           a lookup fails with probability {}",
            units::count(done.rows),
            done.row_bytes,
            took,
            stages,
            scheme.title,
            units::count(done.record_bytes),
            units::count(done.records),
            units::bytes(done.image_bytes),
            units::security(scheme.security_bits),
            scheme.security_model,
            units::at_most(scheme.failure_log2),
        ))
    }

    pub(crate) fn encoded_too(self, done: &EncodeOutcome) -> Result<()> {
        let (summary, scheme) = (&done.summary, &done.scheme);
        self.screen.say(format!(
            "           and again, in {}, for {}:\n           \
             {} records of {} bytes, image of {}; security {}, a lookup fails with probability {}",
            units::time(done.took),
            scheme.title,
            units::count(scheme.records),
            units::count(scheme.record_bytes),
            units::bytes(summary.image_bytes),
            units::security(scheme.security_bits),
            units::at_most(scheme.failure_log2),
        ))
    }

    pub(crate) fn served(self, stage: &DemoServer, threads: u16) -> Result<()> {
        let threads = if threads == 1 { "one thread".to_owned() } else { format!("{threads} threads") };
        self.screen.say(format!("Serve      {} on {threads}", stage.url()))
    }

    pub(crate) fn opened(self, table: &Table) -> Result<()> {
        let stats = table.stats();
        self.screen.say(format!(
            "Open       catalog {}, hint {} once, in {}; signed by the pinned key,\n           {}\n",
            units::bytes(stats.catalog.down),
            units::bytes(stats.artifacts.down),
            units::time(stats.opening),
            table.session().public_key(),
        ))
    }

    pub(crate) fn lookups(self, lookups: &[AddressLookup]) -> Result<()> {
        let columns =
            "address | answer | correct | >client ms | >server ms | >round trip ms | >bytes up | >bytes down";
        let rows = lookups.iter().map(|lookup| {
            let answer = if lookup.answer.is_empty() { "(unassigned)" } else { &lookup.answer };
            let correct = if lookup.right { "yes".to_owned() } else { format!("NO: {:?}", lookup.expected) };
            let first = [lookup.address.to_string(), answer.to_owned(), correct];
            first.into_iter().chain(lookup.spent.cells()).collect()
        });
        self.screen.say(grid::grid(columns, rows))?;
        for lookup in lookups.iter().filter(|lookup| lookup.mixed) {
            self.screen.say(format!(
                " {}: its block is split between countries; the table has the country of its first address",
                lookup.address
            ))?;
        }
        let shown = lookups.first().map_or(0, |lookup| lookup.spent.query_prefix.len() / 2);
        self.screen.say(format!("\nWhat the server sees of each query (first {shown} bytes):\n"))?;
        for lookup in lookups {
            let address = lookup.address.to_string();
            self.screen.say(format!("   {address:<16} {}", lookup.spent.query_prefix))?;
        }
        self.screen.say(
            "Two queries for the same address have nothing in common, and all queries have the same size.\n",
        )
    }

    pub(crate) fn scan(self, lookups: &[AddressLookup], reading: PlainRead) -> Result<()> {
        let pass = median(lookups.iter().map(|lookup| lookup.spent.pass));
        self.screen.say(format!(
            "The server reads the whole table ({}) for every query; otherwise it would learn which part matters:\n\
             in {}, at {} GB/s. Only reading it takes {} on one thread ({} GB/s), {} % of that time.\n",
            units::bytes(reading.bytes),
            units::time(pass),
            units::digits(reading.rate(pass)),
            units::time(reading.time),
            units::digits(reading.rate(reading.time)),
            units::digits(100.0 * reading.share_of(pass)),
        ))
    }

    pub(crate) fn side_by_side(self, both: &[SchemeRun; 2], larger: &LargeTableCost) -> Result<()> {
        let columns = "scheme | >correct | >hint | >keys | >query | >answer | >100 lookups | >open ms | >client ms | >server ms";
        let rows = both.iter().map(|run| {
            let right = run.lookups.iter().filter(|lookup| lookup.right).count();
            let mut row = vec![run.scheme.to_owned(), format!("{right} of {}", run.lookups.len())];
            let hundred = run.once_bytes() + 100 * (run.up + run.down);
            let bytes = [run.once.artifact_bytes, run.once.keys_bytes, run.up, run.down, hundred];
            row.extend(bytes.map(|n| if n == 0 { "-".to_owned() } else { units::bytes(n) }));
            row.extend([run.opening, run.client, run.pass].map(units::millis));
            row
        });
        self.screen.say(
            "The same addresses with two schemes, from tables with the same rows on the same server:\n",
        )?;
        self.screen.say(grid::grid(columns, rows))?;
        let line = |costs: &Costs| {
            let once = costs.artifact_bytes + costs.keys_bytes;
            [units::bytes(once), units::bytes(costs.query_bytes + costs.answer_bytes)]
        };
        let ([hint, each], [keys, keyed_each]) = (line(&larger.hinted), line(&larger.keyed));
        let [hinted, keyed] = both.each_ref().map(|run| run.scheme);
        self.screen.say(format!(
            "\nA hint is fetched for every epoch and makes answers cheap; keys are uploaded once and are \
             valid for\n             all epochs. By its parameters a table of 1 GiB (2^24 rows of 64 \
             bytes) takes {hint} once and {each}\n\
             per lookup with {hinted}, {keys} once and {keyed_each} per lookup with {keyed}.\n"
        ))
    }

    pub(crate) fn compare(self, both: &[SchemeRun; 2], baselines: &Baselines, source: u64) -> Result<()> {
        let columns = "way | >up | >down | >once | >1 lookup | >100 lookups | >ms | server learns";
        let row = |name: &str, up: u64, down: u64, once: u64, time, learns: &str| {
            let each = up + down;
            let mut row = vec![name.to_owned()];
            row.extend([up, down, once, once + each, once + 100 * each].map(units::bytes));
            row.extend([units::millis(time), learns.to_owned()]);
            row
        };
        let private = both.iter().map(|run| {
            row(run.scheme, run.up, run.down, run.once_bytes(), run.trip, "that a client makes a lookup")
        });
        let Baselines { clear, download, revealed } = baselines;
        let others = [
            row("download", 0, 0, download.down, download.time, "that a client has the table"),
            row("plaintext", clear.up, clear.down, 0, clear.time, revealed),
        ];
        self.screen.say("The same lookup, four ways (over loopback, HTTP headers not counted):\n")?;
        self.screen.say(grid::grid(columns, private.chain(others)))?;
        self.screen.say(format!(
            "\nThis table compresses to {}: if you can, download it. Private lookups are for tables that \
             are\n             too large to download, or that clients may not have.\n",
            units::bytes(source),
        ))
    }

    pub(crate) fn many_clients(self, many: &Outcome, lookups: &[AddressLookup]) -> Result<()> {
        let trip =
            median(lookups.iter().map(|lookup| lookup.spent.client + lookup.spent.round_trip)).as_secs_f64();
        self.screen.say(format!(
            "{} concurrent clients: {} lookups per second, {} queries per pass over the table on average\n\
             (one client alone: {} per second). Queries that arrive during a pass share the next pass.",
            many.clients,
            units::digits(many.lookups_per_second),
            units::digits(many.queries_per_pass),
            units::digits(1.0 / trip.max(1e-9)),
        ))
    }

    pub(crate) fn end(self, stage: &DemoServer, folder: Option<&Path>) -> String {
        let Some(dir) = folder else { return String::new() };
        format!(
            "\nThe table is kept in {dir}. Next:\n  sotto serve {dir}\n  \
             sotto get --server http://127.0.0.1:8080 --table {} --key 8.8.8.8 --pin {}",
            stage.encoded.hinted.image.catalog().table,
            stage.encoded.hinted.public_key,
            dir = dir.display(),
        )
    }
}
