//! Prints the costs of layouts of a keyword table: `cargo run -p sotto-db --example layouts -- KEYS
//! VALUE_BYTES [LOOKUPS [SCHEME]]`, with SimplePIR or `ypir-sp`.
//!
//! | layout | what a lookup fetches |
//! |---|---|
//! | two probes | two rows of a cuckoo table |
//! | one probe | the row that follows from the key's hash; rows have space for the fullest |
//! | cuts | the row that public cuts name |
//! | filter | the sum of three or four records; a binary fuse filter is built for every place of an entry in a record |
//! | band | the sum of a few of 128 consecutive records, with equations for every place of an entry in a record |
//!
//! For each layout, the number of slots or the matrix that makes it cheapest is searched: bytes of
//! a lookup, its share of the hint and of the catalog, and the server's work at 8,000 multiply-adds
//! per byte, as the scheme reports it. All layouts are implemented in this project except the
//! filter, whose costs are computed from the sizes that Graf and Lemire publish (2022), and from
//! the normal approximation of how evenly keys fall on filters.
#![forbid(unsafe_code)]

use sotto_core::{Misuse, ParamsReport, SchemeEntry, SumElement, TableShape};
use std::error::Error;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const TAG_BYTES: u64 = 11;

struct Layout {
    name: String,
    lookups: u64,
    /// Ratio of slots to keys.
    over: f64,
    catalog_bytes: u64,
    report: ParamsReport,
    price: f64,
}

fn main() -> Result<()> {
    let mut given = std::env::args().skip(1);
    let mut or = |usual| given.next().map_or(Ok(usual), |text| text.parse::<u64>());
    let (keys, value, lookups) = (or(1_000_000)?, or(8)?, or(1000)?);
    let scheme: &'static SchemeEntry = match given.next().as_deref() {
        None | Some("simplepir") => &simplepir::ENTRY,
        Some("ypir-sp") => &ypir_sp::ENTRY,
        Some(_) => return Err("SCHEME is simplepir or ypir-sp".into()),
    };
    let fit = |name, probes, load, slots, entry, catalog: fn(u64, u64) -> u64| {
        fit(scheme, name, probes, (keys, load, slots, entry), lookups, catalog)
    };
    let entry = TAG_BYTES + value;
    println!(
        "{}: {keys} keys, values of {value} bytes, entries of {entry}, {lookups} lookups of a client",
        scheme.id
    );
    println!("layout | slots over keys | server reads | up | down | hint and catalog | price");
    let slots = || (8..=64).map(|i| 2f64.powf(f64::from(i) / 4.0) as u64);
    let two = [1, 2, 4].into_iter().map(|slots| {
        let load = [0.40, 0.82, 0.93][slots as usize / 2];
        fit(format!("two probes, {slots} slots"), 2, load, slots, entry, none)
    });
    let one = slots().map(|slots| {
        let rows = rows_of_one_choice(keys, slots);
        let load = keys as f64 / (rows * slots) as f64;
        fit(format!("one probe, {slots} slots"), 1, load, slots, entry, none)
    });
    let cuts = slots().map(|slots| {
        fit(format!("cuts, {slots} slots"), 1, 0.97, slots, entry, |rows, _| rows.div_ceil(3) * 4)
    });
    // There is a filter for each place of an entry in a record, and each filter has as many places
    // as there are records.
    let filter = |ways: u64, filters: u64| {
        let mean = keys as f64 / filters as f64;
        // The fullest of the filters, or nearly, decides for all.
        let fullest = mean + (2.0 * (filters as f64).ln()).sqrt() * mean.sqrt();
        let over = match ways {
            3 => (0.875 + 0.25 * 1e6f64.ln() / fullest.ln()).max(1.125),
            _ => (0.77 + 0.305 * 6e5f64.ln() / fullest.ln()).max(1.075),
        };
        let load = keys as f64 / (fullest * over * filters as f64);
        let name = format!("filter of {ways}, {filters} in a record");
        let layout = fit(name, 1, load, filters, entry, none)?;
        match layout.report.record_bytes == filters * entry {
            true => Ok(layout),
            false => Err("a record has other places".into()),
        }
    };
    // Strips of a band, each with space for one key in 64 more than its share, and two percent more
    // rows.
    let strips = (16..=128).map(|i| 2f64.powf(f64::from(i) / 8.0) as u64).map(|strips| {
        let room = (keys as f64 / strips as f64 * (1.0 + 1.0 / 64.0)).ceil() as u64 + 1;
        let load = keys as f64 / ((room + room / 50 + 8) * strips) as f64;
        let entry = entry.next_multiple_of(scheme.sum.map_or(1, SumElement::bytes) as u64);
        let name = format!("band, {strips} in a record");
        let layout = fit(name, 1, load, strips, entry, |_, strips| 2 * (strips.div_ceil(3) * 4))?;
        match layout.report.record_bytes == strips * entry {
            true => Ok(layout),
            false => Err("a record has other places".into()),
        }
    });
    let filters = |ways: u64| slots().map(|filters| filter(ways, filters)).collect::<Vec<Result<_>>>();
    let kinds =
        [two.collect::<Vec<_>>(), one.collect(), cuts.collect(), filters(3), filters(4), strips.collect()];
    for tried in kinds {
        let best = tried.into_iter().filter_map(Result::ok).min_by(|a, b| a.price.total_cmp(&b.price));
        let Layout { name, lookups, over, catalog_bytes, report, price } = best.ok_or("nothing fits")?;
        let costs = &report.costs;
        println!(
            "{name} | {over:.2} | {:.1} MB | {:.1} KB | {:.1} KB | {:.1} MB, {:.1} KB | {:.0} KB",
            (report.records * report.record_bytes) as f64 / 1e6,
            (lookups * costs.query_bytes) as f64 / 1e3,
            (lookups * costs.answer_bytes) as f64 / 1e3,
            costs.artifact_bytes as f64 / 1e6,
            catalog_bytes as f64 / 1e3,
            price / 1e3,
        );
    }
    Ok(())
}

fn none(_: u64, _: u64) -> u64 {
    0
}

/// Cheapest layout, where `catalog` returns the bytes of the catalog for a number of rows and
/// slots.
fn fit(
    scheme: &SchemeEntry,
    name: String,
    probes: u64,
    (keys, load, slots, entry): (u64, f64, u64, u64),
    lookups: u64,
    catalog: fn(u64, u64) -> u64,
) -> Result<Layout> {
    let rows = (keys as f64 / load / slots as f64).ceil() as u64;
    let shape = TableShape::new(rows, slots * entry, lookups);
    let report = (scheme.report)(&(scheme.select)(&shape)?)?;
    if report.record_bytes < slots * entry {
        return Err(Misuse::Rule("a row in one record").to_string().into());
    }
    let (costs, catalog_bytes) = (&report.costs, catalog(rows, slots));
    let each = probes * (costs.query_bytes + costs.answer_bytes);
    let once = (costs.artifact_bytes + catalog_bytes) as f64 / lookups as f64;
    // Two queries of one client share a pass over the table.
    let price = each as f64 + once + costs.server_ops as f64 / 8000.0;
    Ok(Layout { name, lookups: probes, over: 1.0 / load, catalog_bytes, report, price })
}

/// Rows that each have space for the keys that hash to them, in at least every second attempt
/// (Chernoff).
fn rows_of_one_choice(keys: u64, slots: u64) -> u64 {
    let over = slots as f64 + 1.0;
    let is_enough = |rows: &u64| {
        let mean = keys as f64 / *rows as f64;
        mean < over && (*rows as f64).ln() + over - mean + over * (mean / over).ln() <= 0.5f64.ln()
    };
    let (mut low, mut high) = (0, keys * 1000);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_enough(&middle) { high = middle } else { low = middle }
    }
    high
}
