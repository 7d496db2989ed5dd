//! Measures tables of keys:
//! `cargo run --release -p sotto-layers --example keyword -- [KEYS [PROBES [SLOTS [SEEDS]]]]`.
//!
//! Builds a table of that many keys of 16 bytes with values of 8 for each of some seeds, and prints
//! how long it took, how full the table is, and how many attempts it took to place every key. It
//! also looks up keys that are present and keys that are missing.
#![forbid(unsafe_code)]

use sotto_core::{Layer, Row};
use sotto_layers::Keyword;
use sotto_layers::keyword::{BuildOptions, KeyForm, KeywordBuilder};
use sotto_prg::{PublicSeed, system_rng};
use std::error::Error;
use std::time::{Duration, Instant};

const LOOKUPS: u64 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut given = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let mut or = |usual| given.next().unwrap_or(Ok(usual));
    let (keys, probes, slots, seeds) = (or(1_000_000)?, or(2)?, or(0)?, or(1)?);
    let mut attempts = 0;
    for seed in 0..seeds {
        let table = Table::build(keys, probes, slots, seed)?;
        attempts += table.keyword.params().attempt + 1;
        if seed == 0 {
            table.report(keys)?;
        }
    }
    println!("{attempts} attempts for {seeds} seeds");
    Ok(())
}

/// A table in the clear, and the times of its passes.
struct Table {
    keyword: Keyword,
    rows: Vec<u8>,
    hash: Duration,
    place: Duration,
    write: Duration,
}

impl Table {
    fn build(keys: u64, probes: u64, slots: u64, seed: u64) -> Result<Self, Box<dyn Error>> {
        let mut options = BuildOptions::new(KeyForm::Bytes, PublicSeed([seed as u8; 32]));
        options.probes = probes.try_into()?;
        options.slots = if slots == 0 { None } else { Some(slots.try_into()?) };
        let start = Instant::now();
        let mut builder = KeywordBuilder::new(options)?;
        (0..keys).try_for_each(|i| builder.add(&key(i), 8))?;
        let hash = start.elapsed();
        let start = Instant::now();
        let mut layout = builder.place()?;
        let place = start.elapsed();
        let params = layout.keyword().params();
        let start = Instant::now();
        let (mut rows, mut slot) = (vec![0; (params.rows * params.row_bytes()) as usize], Vec::new());
        for i in 0..keys {
            let at = layout.write(&key(i), &i.to_le_bytes(), &mut slot)? as usize;
            rows.iter_mut().skip(at).zip(&slot).for_each(|(out, byte)| *out = *byte);
        }
        Ok(Table { keyword: layout.finish()?, rows, hash, place, write: start.elapsed() })
    }

    fn report(&self, keys: u64) -> Result<(), Box<dyn Error>> {
        let params = self.keyword.params();
        let places = params.rows * u64::from(params.slots);
        println!(
            "{keys} keys: {} rows of {} slots, {} bytes a row, {:.1} % taken, tags of {} bytes, false positives 2^{:.1}",
            params.rows,
            params.slots,
            params.row_bytes(),
            100.0 * keys as f64 / places as f64,
            params.tag_bytes,
            params.false_positive_log2(),
        );
        println!("hash {:.2?}, find places {:.2?}, write {:.2?}", self.hash, self.place, self.write);
        let mut rng = system_rng()?;
        for (what, from) in [("there", 0), ("missing", keys)] {
            let (mut found, start) = (0, Instant::now());
            for i in 0..LOOKUPS {
                let asked = from + i % keys;
                let (requested, plan) = self.keyword.plan(&key(asked), &mut rng)?;
                let width = params.row_bytes() as usize;
                let rows = requested.iter().map(|row| *row as usize * width);
                let rows = rows.filter_map(|at| self.rows.get(at..at + width));
                let value = self.keyword.assemble(plan, rows.map(|row| Row::new(row.to_vec())).collect())?;
                found += u64::from(value.is_some_and(|value| value[..] == asked.to_le_bytes()));
            }
            println!("{what}: {found} of {LOOKUPS} found, {:.2?} a lookup", start.elapsed() / LOOKUPS as u32);
        }
        Ok(())
    }
}

fn key(i: u64) -> [u8; 16] {
    (u128::from(i) * 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_le_bytes()
}
