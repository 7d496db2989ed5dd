//! Times what a client computes for a lookup, against a running server: `work TABLE ROWS URL...`
//! prints the median times of making a query and of reading its answer, in milliseconds.
//! `bindings/web/bench/work.mjs` prints a browser's figures next to them.
#![allow(clippy::print_stdout, reason = "a program to measure with")]

use sotto_client::Table;
use std::time::Duration;

/// Lookups to warm up with, which are not timed, and lookups that are timed.
const LOOKUPS: (u64, u64) = (5, 30);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, rows, urls @ ..] = words.as_slice() else { return Err("work TABLE ROWS URL...".into()) };
    let (rows, urls): (u64, Vec<_>) = (rows.parse()?, urls.iter().map(String::as_str).collect());
    let mut table = Table::connect_all(&urls, name).state_in_memory().open()?;
    let (mut query, mut recover) = (Vec::new(), Vec::new());
    for lookup in 0..LOOKUPS.0 + LOOKUPS.1 {
        table.get(lookup * 7919 % rows)?;
        let last = table.last_lookup().ok_or("a lookup was made")?;
        if lookup >= LOOKUPS.0 {
            query.push(last.query);
            recover.push(last.recover);
        }
    }
    println!("{:.3} {:.3}", median(query), median(recover));
    Ok(())
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}
