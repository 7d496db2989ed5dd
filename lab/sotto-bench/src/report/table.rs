//! A report for people: one table per question, one tier per table.

use super::grid::{NamedRow, Sheet, Text, blank, digits, distinct, show, time, value};
use super::{
    FetchMethod, MeasuredCase, PublishedRow, Report, Step, TableFacts, TablePlacement, Traffic, break_even,
    trees,
};
use comfy_table::Table;
use serde::Serialize;
use serde_json::Value;
use sotto_core::ExpectOrDefault;
use std::iter::once;

/// Maximum number of stages that get a column.
const STAGES: usize = 6;

const COMPARED: Sheet = Sheet {
    title: "MEASURED: side by side",
    columns: "s/GiB = offline.scheme_per_gib_s | keys = traffic.once_bytes + traffic.keys_bytes | \
              up = traffic.up_bytes | down = traffic.down_bytes | rate = rate_ratio | \
              client = client_query_ms + client_recover_ms | server = first.server_ms | \
              GB/s = first.aggregate_gb_per_s",
    note: "\
Measured in turns; details are in the tables below. s/GiB: the scheme's encoder, for a table of one GiB.
keys: bytes sent once, artifacts included. rate: row bytes over answer bytes. client: query and recover.
server, GB/s: of a single lookup.",
};

const ONLINE: Sheet = Sheet {
    title: "MEASURED: queries and answers",
    columns: "batch = batch_count | server = server_ms | best = server_least_ms | each = per_lookup_ms | \
              GB/s = aggregate_gb_per_s | pages = pages | of read = of_read_memory_ratio as percent | \
              vs 1 = batching_ratio",
    note: "\
Medians. server: one pass for the whole batch. best: the fastest of them. each: the median, per lookup. GB/s:
table bytes times queries of the batch, per second. pages: those of the mapped file, huge (2 MiB), small, or
how many are huge; copy: the copy on huge pages that a server makes where the file's are small. of read: table
bytes per second of one pass, over a plain read of anonymous memory on huge pages in turns with the server,
the practical limit. vs 1: GB/s, relative to the single lookup.",
};

const CLIENT: Sheet = Sheet {
    title: "MEASURED: the client",
    columns: "keygen = joining.keygen_ms if traffic.keys_bytes | keys = traffic.keys_bytes if traffic.keys_bytes | \
              admit = joining.admit_ms if traffic.keys_bytes | held = joining.session_bytes if traffic.keys_bytes | \
              query = client_query_ms | recover = client_recover_ms | rate = rate_ratio",
    note: "\
Once per session: making keys, their admission, and the server's memory for that client afterwards.
Medians per lookup: making the query, and recovering the record. rate: row bytes over answer bytes.",
};

const PREPARED: Sheet = Sheet {
    title: "MEASURED: preparing a client",
    columns: "state = series.state_bytes | traffic = series.prepare_bytes | client = series.prepare_ms | \
              hint server = series.hint_server.server_ms | requests = series.hint_server.requests_count | \
              lookups = series.budget_count as budget",
    note: "\
state: of a client, not to be lost, or its artifacts. traffic: bytes both ways, before the first lookup.
client, hint server: work of each, and the number of hint requests. lookups: until the next preparation.",
};

const SERIES: Sheet = Sheet {
    title: "MEASURED: consecutive lookups",
    columns: "query = series.query_ms | server = series.server_ms | recover = series.recover_ms | \
              online = series.online_ms | each = series.amortized_ms | bytes each = series.amortized_bytes",
    note: "\
Consecutive, each of a new random row; medians. online: the three together, without the network. each: with
its share of the preparation; a dash where one preparation is for unlimited lookups.",
};

const STEPS: Sheet = Sheet {
    title: "MEASURED: an answer step by step",
    columns: "",
    note: "\
As reported by the server, medians of lookups in turns, each of a new random row and checked. answer: all
steps of a lookup. Orders of one case answer over one image.",
};

const BREAK_EVEN: Sheet = Sheet {
    title: "MEASURED: links on which a lookup is faster than a download",
    columns: "table = table.table_bytes | moved = break_even.moved_bytes | work = break_even.work_ms | \
              Mbit/s = break_even.below_mbit_per_s | Mbit/s with keys = break_even.first_below_mbit_per_s",
    note: "\
A lookup is faster than downloading the table on links slower than this: the table's bits less those of query
and answer, over the time of client and server. with keys: including what is sent once.",
};

const TRAFFIC: Sheet = Sheet {
    title: "MEASURED: traffic",
    columns: "server = server_ms | once = once_bytes + keys_bytes | up = up_bytes | down = down_bytes | \
              1st = total_1st_bytes | 100th = total_100th_bytes",
    note: "\
Bytes of the messages, HTTP framing excluded. once: artifacts and keys. 1st, 100th: everything up to and
including that lookup. The baselines without PIR: reading the table once to send all of it, and a plaintext
server, which learns every requested row.",
};

const OFFLINE: Sheet = Sheet {
    title: "MEASURED: once per table",
    columns: "",
    note: "\
Seconds from rows to a finished image on disk, and those of its stages. s/GiB: the scheme's encoder alone,
for a table of one GiB. rows: generation of the rows themselves, summed over threads, which is no work of
the scheme.",
};

const MEMORY: Sheet = Sheet {
    title: "MEASURED: memory",
    columns: "image = offline.image_bytes | encoding = offline.peak_memory_bytes / offline.image_bytes as times | \
              serving = server_memory_bytes / offline.image_bytes as times | open ms = offline.open_ms as digits | \
              ready ms = joining.prepare_ms as digits",
    note: "\
encoding, serving: peak growth of this process, mapped pages included, relative to the image. ready: work of
a client before its first query: absorbing artifacts and making keys.",
};

const UPDATES: Sheet = Sheet {
    title: "MEASURED: the next epoch",
    columns: "rows changed = update.changed_rows_count | next s = update.total_s | scheme s = update.revise_s | \
              delta = update.delta_bytes if update.held_bytes | hint = update.held_bytes if update.held_bytes | \
              patch ms = update.patch_ms if update.held_bytes as digits",
    note: "\
Every byte of that number of random rows changed. next: from changed rows to a finished image. scheme: the
scheme's encoding of the changes. delta: what a client fetches instead of a new hint; a dash where clients
have no hint.",
};

const MODELED: Sheet = Sheet {
    title: "MODELED",
    columns: "once = traffic.once_bytes + traffic.keys_bytes | up = traffic.up_bytes | down = traffic.down_bytes | \
              resident = resident_bytes | floor ms = read_floor_ms as digits | fails = failure_log2 | \
              security = security_bits",
    note: "\
Computed from parameters. floor: reading the table once at the rate measured in this run; no scan is faster.
fails: bound on the probability that a lookup fails. security: of the weakest assumption.",
};

const PUBLISHED: Sheet = Sheet {
    title: "PUBLISHED",
    columns: "server ms = server_ms as digits | offline s = offline_s | once = once as decimal | \
              up = up_bytes as decimal | down = down_bytes as decimal | total = total_bytes as decimal | \
              source = number",
    note: "\
As printed in the papers, each on its own machine: compare shapes and orders of magnitude, not digits.",
};

const PUBLISHED_SERIES: Sheet = Sheet {
    title: "PUBLISHED: clients that prepare once",
    columns: "state = storage_bytes as decimal | before = once_bytes as decimal | prepare = offline_s as seconds | \
              online = online_ms | traffic = total_bytes as decimal | each B = amortized_bytes as decimal | \
              source = number",
    note: "\
state: of the client. before: bytes of the preparation; prepare: its work. online: client and server,
for one lookup. traffic: bytes both ways, per lookup. each B: with its share of the preparation.",
};

const PUBLISHED_STEPS: Sheet = Sheet {
    title: "PUBLISHED: step by step",
    columns: "",
    note: "\
One thread, on other machines. switches: to fewer primes, where a program does that separately.",
};

const PUBLISHED_BREAK_EVEN: Sheet = Sheet {
    title: "PUBLISHED: links on which a lookup is faster than a download",
    columns: "moved = moved as decimal | server = server_ms | Mbit/s = rate_mbit_per_s | source = number",
    note: "\
By the same formula from published figures: server time only, without keys.",
};

impl Report {
    /// Tables for people, at most 110 columns wide.
    pub fn table(&self) -> String {
        let mut out = Text::default();
        for definition in &self.definitions {
            out.paragraph(&format!("{}: {}", definition.name, definition.about));
        }
        out.paragraph(&self.machine.line());
        if !self.measured.is_empty() {
            self.measured_tables(&mut out);
        }
        if !self.modeled.is_empty() {
            let facts = self.modeled.iter().map(|case| (&case.method, &case.table, 1, case));
            out.sheet(&MODELED, MODELED.table(&["case"], named(facts.collect())));
        }
        if !self.published.is_empty() {
            self.published_tables(&mut out);
        }
        trees::add(&self.trees, &mut out);
        if !self.skipped.is_empty() || !self.trees.skipped.is_empty() {
            out.line("\nNOT RUN");
            for skipped in &self.skipped {
                out.paragraph(&format!("{} {}: {}", skipped.case, skipped.table.shape, skipped.reason));
            }
            for skipped in &self.trees.skipped {
                out.paragraph(&format!("{}, {} leaves: {}", skipped.line, skipped.tree.name, skipped.reason));
            }
        }
        out.0
    }

    fn measured_tables(&self, out: &mut Text) {
        let all = &self.measured;
        let some = |has: fn(&MeasuredCase) -> bool| all.iter().filter(|case| has(case)).collect::<Vec<_>>();
        let every = some(|_| true);
        let simple = |out: &mut Text, sheet: &Sheet, lines: &[&MeasuredCase]| {
            if !lines.is_empty() {
                out.sheet(sheet, sheet.table(&["case"], cases(lines)));
            }
        };
        if all.windows(2).any(|pair| matches!(pair, [a, b] if a.table == b.table)) {
            simple(out, &COMPARED, &every);
        }
        out.sheet(&ONLINE, online(&every));
        simple(out, &CLIENT, &every);
        simple(out, &PREPARED, &some(|case| case.series.is_some()));
        simple(out, &SERIES, &some(|case| case.series.is_some()));
        let stepped = some(|case| !case.steps.is_empty());
        if !stepped.is_empty() {
            out.sheet(&STEPS, steps(&stepped));
        }
        simple(out, &BREAK_EVEN, &some(|case| case.break_even.is_some()));
        out.sheet(&TRAFFIC, traffic(all));
        out.sheet(&OFFLINE, offline(&every));
        simple(out, &MEMORY, &every);
        simple(out, &UPDATES, &some(|case| case.update.is_some()));
        let checked: u64 = all.iter().map(MeasuredCase::checked_answers).sum();
        let text = "Every answer was compared with the generated row";
        out.line(&format!("{text}: {checked} of {checked} correct."));
    }

    fn published_tables(&self, out: &mut Text) {
        let sources = distinct(self.published.iter().map(PublishedRow::origin));
        let some = |has: fn(&PublishedRow) -> bool| -> Vec<NamedRow> {
            self.published.iter().filter(|row| has(row)).map(|row| published(row, &sources)).collect()
        };
        let names = ["scheme", "table"];
        let simple = |out: &mut Text, sheet: &Sheet, rows: Vec<NamedRow>| {
            if !rows.is_empty() {
                out.sheet(sheet, sheet.table(&names, rows));
            }
        };
        simple(out, &PUBLISHED, some(|row| row.online_ms.is_none()));
        simple(out, &PUBLISHED_SERIES, some(|row| row.online_ms.is_some()));
        let stepped: Vec<_> = self.published.iter().filter(|row| !row.steps.is_empty()).collect();
        if self.measured.iter().any(|case| !case.steps.is_empty()) && !stepped.is_empty() {
            let steps = step_names(stepped.iter().map(|row| row.steps.as_slice()));
            let heads = names.into_iter().chain(steps.iter().copied()).chain(once("answer"));
            let mut table = blank(2, heads);
            for row in stepped {
                let about = [row.scheme.clone(), row.shape.clone()].into_iter();
                let answer = once(show("server_ms", row.server_ms));
                table.add_row(about.chain(step_cells(&steps, &row.steps)).chain(answer));
            }
            out.sheet(&PUBLISHED_STEPS, table);
        }
        if self.measured.iter().any(|case| case.break_even.is_some()) {
            simple(
                out,
                &PUBLISHED_BREAK_EVEN,
                some(|row| row.moved_bytes().is_some() && row.server_ms.is_some()),
            );
        }
        for (i, source) in sources.iter().enumerate() {
            out.paragraph(&format!("[{}] {source}", i + 1));
        }
    }
}

/// Names rows by method, table and threads. Rows about one table are under its shape; a row on its
/// own includes it.
fn named<T: Serialize>(lines: Vec<(&FetchMethod, &TableFacts, usize, &T)>) -> Vec<NamedRow> {
    let same = |i: Option<usize>, table: &TableFacts| {
        i.and_then(|i| lines.get(i)).is_some_and(|(_, other, ..)| *other == table)
    };
    let name = |(i, (method, table, threads, line)): (usize, &(&FetchMethod, &TableFacts, usize, &T))| {
        let (above, below) = (same(i.checked_sub(1), table), same(Some(i + 1), table));
        let (title, threads) = (&method.title, more_threads(*threads));
        if !above && !below {
            return NamedRow::new([format!("{title} {}{threads}", table.shape)], line);
        }
        let heading = (!above).then(|| format!("{}:", with_id(table)));
        NamedRow { heading, ..NamedRow::new([format!(" {title}{threads}")], line) }
    };
    lines.iter().enumerate().map(name).collect()
}

/// Measured cases as rows, with their single lookup as `first`.
fn cases(lines: &[&MeasuredCase]) -> Vec<NamedRow> {
    let facts = lines.iter().map(|case| (&case.method, &case.table, case.threads_count, *case));
    let mut rows = named(facts.collect());
    for (NamedRow { row, .. }, case) in rows.iter_mut().zip(lines) {
        insert(row, "first", value(&case.batches.first()));
    }
    rows
}

fn insert(row: &mut Value, field: &str, value: Value) {
    if let Some(fields) = row.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

fn more_threads(count: usize) -> String {
    if count > 1 { format!(", {count} thr") } else { String::new() }
}

/// The shape, after its comparison id if it has one.
fn with_id(table: &TableFacts) -> String {
    table.compare.as_ref().map_or(table.shape.clone(), |id| format!("{id}: {}", table.shape))
}

fn online(all: &[&MeasuredCase]) -> Table {
    let mut rows = Vec::new();
    for (named, case) in cases(all).into_iter().zip(all) {
        // Name and pages are written once, before the first batch size.
        let pages = case.held.as_ref().map(TablePlacement::word).unwrap_or_default();
        let mut first = Some((named.heading, named.names, pages));
        for batch in &case.batches {
            let (heading, names, pages) = first.take().unwrap_or((None, vec![String::new()], String::new()));
            let mut row = value(batch);
            insert(&mut row, "pages", pages.into());
            rows.push(NamedRow { heading, names, row });
        }
    }
    ONLINE.table(&["case"], rows)
}

fn traffic(all: &[MeasuredCase]) -> Table {
    let row = |title: &str, server_ms: Option<f64>, traffic: &Traffic| {
        let mut row = NamedRow::new([format!(" {title}")], traffic);
        insert(&mut row.row, "server_ms", value(&server_ms));
        row
    };
    let mut rows = Vec::new();
    for cases in all.chunk_by(|a, b| a.table == b.table) {
        let mut heading = cases.first().map(|case| format!("{}:", with_id(&case.table)));
        for case in cases {
            let title = format!("{}{}", case.method.title, more_threads(case.threads_count));
            let server_ms = case.batches.first().map(|batch| batch.server_ms);
            rows.push(NamedRow { heading: heading.take(), ..row(&title, server_ms, &case.traffic) });
        }
        // Costs that do not depend on the scheme are written once.
        let baselines = cases.last().map(|last| last.baselines.as_slice()).unwrap_or_default();
        rows.extend(baselines.iter().map(|line| row(line.name, Some(line.server_ms), &line.traffic)));
    }
    TRAFFIC.table(&["way"], rows)
}

fn offline(all: &[&MeasuredCase]) -> Table {
    // Stages have the scheme's own names, so the columns are the stages that occur.
    let stages = all.iter().flat_map(|case| &case.offline.stages).map(|stage| stage.name.as_str());
    let mut stages = distinct(stages);
    stages.truncate(STAGES);
    let heads = ["case", "encode s", "s/GiB"].into_iter().chain(stages.iter().copied()).chain(once("rows"));
    let mut table = blank(1, heads);
    for (NamedRow { heading, names, .. }, case) in cases(all).into_iter().zip(all) {
        let offline = &case.offline;
        let stage = |name: &&str| {
            let found = offline.stages.iter().find(|stage| stage.name == *name);
            found.map_or_else(String::new, |stage| digits(stage.total_s))
        };
        if let Some(heading) = heading {
            table.add_row([heading]);
        }
        let whole = [digits(offline.total_s), digits(offline.scheme_per_gib_s)];
        let cells =
            whole.into_iter().chain(stages.iter().map(stage)).chain(once(digits(offline.generating_s)));
        table.add_row(names.into_iter().chain(cells));
    }
    table
}

/// Every name of a step, in the order in which they came up.
fn step_names<'a>(lines: impl Iterator<Item = &'a [Step]>) -> Vec<&'a str> {
    distinct(lines.flatten().map(|step| step.name.as_str()))
}

fn step_cells<'a>(names: &'a [&str], steps: &'a [Step]) -> impl Iterator<Item = String> + 'a {
    let step = |name: &&str| steps.iter().find(|step| step.name == *name).map(|step| step.server_ms);
    names.iter().map(move |name| show("server_ms", step(name)))
}

/// A line for each order and number of threads.
fn steps(all: &[&MeasuredCase]) -> Table {
    let names = step_names(all.iter().flat_map(|case| &case.steps).map(|line| line.steps.as_slice()));
    let mut table = blank(1, once("order").chain(names.iter().copied()).chain(once("answer")));
    for case in all {
        table.add_row([format!("{}, {}:", case.method.title, case.table.shape)]);
        for line in &case.steps {
            let order = format!(" {}{}", line.order, more_threads(line.threads_count));
            let answer = once(time(line.server_ms));
            table.add_row(once(order).chain(step_cells(&names, &line.steps)).chain(answer));
        }
    }
    table
}

/// A published row, with the number of its source, and what follows from its figures.
fn published(row: &PublishedRow, sources: &[String]) -> NamedRow {
    let number = sources.iter().position(|source| *source == row.origin());
    let number = 1 + number.expect_or_default("every line has its source among them");
    let table_bytes = row.rows_count.saturating_mul(row.row_bits) / 8;
    let moved = row.moved_bytes();
    let rate = moved.zip(row.server_ms).map(|(moved, ms)| break_even(table_bytes, moved, ms));
    let mut named = NamedRow::new([row.scheme.clone(), row.shape.clone()], row);
    insert(&mut named.row, "number", format!("[{number}]").into());
    insert(&mut named.row, "once", value(&row.once_bytes.or(row.keys_bytes)));
    insert(&mut named.row, "moved", value(&moved));
    insert(&mut named.row, "rate_mbit_per_s", value(&rate));
    named
}
