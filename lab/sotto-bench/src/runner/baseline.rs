//! Costs of the same lookup without the scheme. Without these two nobody can judge the price of
//! privacy.

use crate::machine::Reader;
use crate::median::{Samples, ms};
use crate::plan::PreparedCase;
use crate::report::{Baseline, Traffic};
use sotto_core::CryptoRng;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Plain lookups timed together: one alone is too short for the clock.
const PLAIN_LOOKUPS: usize = 1000;

/// The costs of downloading everything, and of a lookup in the clear.
pub(super) fn of(
    plan: &PreparedCase<'_>,
    image: &[u8],
    reader: &Reader,
    repeats: usize,
    rng: &mut dyn CryptoRng,
) -> Vec<Baseline> {
    let table_bytes = plan.table.table_bytes;
    let row_bytes = plan.case.stored_row_bytes();
    vec![
        Baseline {
            name: "download the table",
            private: true,
            server_ms: read_once(image, table_bytes, reader, repeats),
            traffic: Traffic::new(table_bytes, 0, 0, 0),
        },
        Baseline {
            name: "plaintext query",
            private: false,
            server_ms: look_up(image, row_bytes as usize, rng),
            traffic: Traffic::new(0, 0, 8, row_bytes),
        },
    ]
}

/// The server's part in a download: reading the table's bytes once.
fn read_once(image: &[u8], table_bytes: u64, reader: &Reader, repeats: usize) -> f64 {
    let table = image.get(..table_bytes as usize).unwrap_or(image);
    let mut samples = Samples::default();
    (0..repeats.max(1)).for_each(|_| samples.push(reader.pass(table)));
    ms(samples.median())
}

/// A plain server's part: copying a row from a random place of a table of this size.
fn look_up(image: &[u8], row_bytes: usize, rng: &mut dyn CryptoRng) -> f64 {
    let starts = image.len().saturating_sub(row_bytes).max(1) as u64;
    let places: Vec<usize> = (0..PLAIN_LOOKUPS).map(|_| (rng.next_u64() % starts) as usize).collect();
    let mut row = vec![0; row_bytes];
    let start = Instant::now();
    for place in places {
        if let Some(from) = image.get(place..place.saturating_add(row_bytes)) {
            row.copy_from_slice(from);
        }
        black_box(&row);
    }
    let all: Duration = start.elapsed();
    ms(all) / PLAIN_LOOKUPS as f64
}
