//! Prints which pages an image is on after it was encoded: `cargo run --release -p sotto-db
//! --example pages -- SCHEME MIB [ROW_BYTES] [DIR]`.
//!
//! The image is encoded into a temporary folder, opened, read once through its mapping, and
//! inspected. Then the section that answers are computed from is read, alternating with a copy of
//! it on huge pages. One thread.
#![forbid(unsafe_code)]

use sotto_core::{Image, Result as CoreResult, SchemeEntry};
use sotto_db::progress::silent;
use sotto_db::{EncodeOptions, ImageFile, TableDir, TableSource, encode_table};
use sotto_pages::{HugeBuffer, pages_of};
use std::error::Error;
use std::time::{Duration, Instant};

/// Rows of pseudo-random bytes.
struct EncodedTable {
    rows: u64,
    row_bytes: usize,
}

impl TableSource for EncodedTable {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> CoreResult<()> {
        let mut state = first.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for word in out.chunks_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes()[..word.len()]);
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut given = std::env::args().skip(1);
    let scheme = given.next().unwrap_or_else(|| "simplepir".to_owned());
    let mib: u64 = given.next().map_or(Ok(256), |text| text.parse())?;
    let row_bytes: usize = given.next().map_or(Ok(256), |text| text.parse())?;
    let entry: &SchemeEntry = match scheme.as_str() {
        "fspiral" => &fspiral::ENTRY,
        "bgvpir" => &bgvpir::ENTRY,
        _ => &simplepir::ENTRY,
    };
    let table = EncodedTable { rows: (mib << 20) / row_bytes as u64, row_bytes };
    let temp = match given.next() {
        Some(parent) => tempfile::tempdir_in(parent)?,
        None => tempfile::tempdir()?,
    };
    let dir = TableDir::create(&temp.path().join("table"))?;
    let key = dir.signing_key(None, &mut sotto_prg::system_rng()?)?;
    let options = EncodeOptions { threads: Some(1), ..EncodeOptions::new("pages".parse()?, &key) };
    let start = Instant::now();
    let summary = encode_table(entry, &table, &dir.lock()?, &options, &silent)?;
    let encoded = start.elapsed();

    let image = ImageFile::open(&summary.image)?;
    image.warm();
    let section = image.answered_from().ok_or("nothing to answer from")?;
    let mapped = image.section(section).unwrap_or_default();
    let sampled = image.huge_share().unwrap_or(f64::NAN);
    let first = read(mapped);
    let pages = image.pages(section).ok_or("the system does not say what the pages are")?;
    let copy = HugeBuffer::of(mapped)?;
    let copied = pages_of(&copy).unwrap_or_default();
    let (mut own, mut other): (Vec<_>, Vec<_>) = (0..9).map(|_| (read(mapped), read(&copy))).unzip();
    println!(
        "{scheme} {mib} MiB: encoded in {:.2} s, first read in {:.2} s; \
         file {:.3} huge (sampled {sampled:.2}), read at {:.1} GB/s; copy {:.3} huge, read at {:.1} GB/s",
        encoded.as_secs_f64(),
        first.as_secs_f64(),
        pages.huge_share().unwrap_or(f64::NAN),
        rate(mapped, &mut own),
        copied.huge_share().unwrap_or(f64::NAN),
        rate(&copy, &mut other),
    );
    Ok(())
}

fn read(bytes: &[u8]) -> Duration {
    let start = Instant::now();
    std::hint::black_box(sotto_math::machine::read_pass(bytes));
    start.elapsed()
}

fn rate(bytes: &[u8], times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    bytes.len() as f64 / times[times.len() / 2].as_nanos().max(1) as f64
}
