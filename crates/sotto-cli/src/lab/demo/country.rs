//! The demo's data in the clear, read by code that is independent of the encoder: every private
//! answer is compared with it. And the two alternatives to a private lookup: downloading everything,
//! or querying in the clear. Both run over a bare TCP connection on loopback, the least that any
//! protocol could cost.

use crate::failure::{Failure, FileContext, Result};
use crate::screen::units;
use flate2::read::MultiGzDecoder;
use serde::Serialize;
use sotto_core::ExpectOrDefault;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Path of the data in the project.
pub(crate) const DEFAULT: &str = "data/ip-country/asn-country-ipv4-num.csv.gz";

/// Number of addresses in a block: one row of a table over /24 blocks.
pub(crate) const BLOCK: u32 = 256;

/// Finds the data: at the given path, or in the project.
pub(crate) fn find(path: Option<&Path>) -> Result<PathBuf> {
    super::find(path, DEFAULT, Path::is_file).ok_or_else(|| {
        Failure::missing(format!("the demo's data is missing: {DEFAULT}"))
            .fix("run the demo in a checkout of the project, or give --data FILE")
    })
}

/// Ranges of addresses and their countries, sorted.
pub(crate) struct Countries {
    ranges: Vec<(u32, u32, [u8; 2])>,
}

impl Countries {
    /// Reads `first,last,CC` lines, gzip-compressed.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).doing("opening", path)?;
        let mut ranges = Vec::new();
        for (i, line) in BufReader::new(MultiGzDecoder::new(file)).lines().enumerate() {
            let line = line.doing("reading", path)?;
            let range = parse(&line).filter(|(first, last, _)| first <= last).ok_or_else(|| {
                let at = format!("{}, line {}", path.display(), i + 1);
                Failure::input(format!("{at}: expected `first,last,CC`")).fix("use the file of the project")
            })?;
            ranges.push(range);
        }
        ranges.sort_unstable();
        Ok(Countries { ranges })
    }

    /// The number of ranges.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The whole table in the clear: two bytes per block, zero if the first address has no country.
    pub(crate) fn table(&self) -> Vec<u8> {
        let mut table = vec![0; 2 << 24];
        for (first, last, country) in &self.ranges {
            let blocks = first.div_ceil(BLOCK)..=last / BLOCK;
            let (start, end) = (*blocks.start() as usize * 2, (*blocks.end() as usize + 1) * 2);
            for row in table
                .get_mut(start..end)
                .expect_or_default("all IPv4 blocks are in the table")
                .chunks_exact_mut(2)
            {
                row.copy_from_slice(country);
            }
        }
        table
    }

    /// The country of one address, by binary search.
    pub(crate) fn of(&self, address: Ipv4Addr) -> Option<[u8; 2]> {
        let key = u32::from(address);
        let after = self.ranges.partition_point(|(first, ..)| *first <= key);
        let (_, last, country) = self.ranges.get(after.checked_sub(1)?)?;
        (key <= *last).then_some(*country)
    }
}

fn parse(line: &str) -> Option<(u32, u32, [u8; 2])> {
    let mut fields = line.trim_end().split(',');
    let range = (
        fields.next()?.parse().ok()?,
        fields.next()?.parse().ok()?,
        fields.next()?.as_bytes().try_into().ok()?,
    );
    fields.next().is_none().then_some(range)
}

/// The cost of an alternative.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Cost {
    #[serde(rename = "up_bytes")]
    pub(crate) up: u64,
    #[serde(rename = "down_bytes")]
    pub(crate) down: u64,
    #[serde(rename = "ms", serialize_with = "units::ms")]
    pub(crate) time: Duration,
}

/// Queries row `row` of `table` in the clear, with `row_bytes` bytes to a row; returns the row as
/// well.
pub(crate) fn in_the_clear(
    table: &Arc<Vec<u8>>,
    row: u32,
    row_bytes: usize,
) -> std::io::Result<(Cost, Vec<u8>)> {
    let table = Arc::clone(table);
    let address = once(move |mut stream| {
        let mut row = [0; 4];
        stream.read_exact(&mut row)?;
        let start = u32::from_le_bytes(row) as usize * row_bytes;
        stream.write_all(
            table.get(start..start + row_bytes).expect_or_default("the demo looks up a row of the table"),
        )
    })?;
    let began = Instant::now();
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.write_all(&row.to_le_bytes())?;
    let mut answer = Vec::with_capacity(row_bytes);
    stream.read_to_end(&mut answer)?;
    let cost = Cost { up: 4, down: answer.len() as u64, time: began.elapsed() };
    Ok((cost, answer))
}

/// Downloads all of `table`.
pub(crate) fn download(table: &Arc<Vec<u8>>) -> std::io::Result<Cost> {
    let bytes = table.len();
    let table = Arc::clone(table);
    let address = once(move |mut stream| stream.write_all(&table))?;
    let began = Instant::now();
    let mut all = Vec::with_capacity(bytes);
    TcpStream::connect(address)?.read_to_end(&mut all)?;
    Ok(Cost { up: 0, down: all.len() as u64, time: began.elapsed() })
}

/// Serves one connection on loopback, and ends.
fn once(
    serve: impl FnOnce(TcpStream) -> std::io::Result<()> + Send + 'static,
) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    // An error at this end appears to the reader at the other end as too few bytes.
    std::thread::spawn(move || listener.accept().and_then(|(stream, _)| serve(stream)));
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_falls_into_its_range_or_none() {
        let countries = Countries { ranges: vec![(256, 511, *b"AU"), (1024, 1024, *b"CN")] };
        for (key, country) in [
            (255, None),
            (256, Some(*b"AU")),
            (511, Some(*b"AU")),
            (512, None),
            (1024, Some(*b"CN")),
            (1025, None),
        ] {
            assert_eq!(countries.of(Ipv4Addr::from(key)), country, "{key}");
        }
    }

    #[test]
    fn a_block_has_the_country_of_its_first_address() {
        let ranges = vec![
            (256, 511, *b"AU"),
            (520, 1023, *b"CN"),
            (1024, 1100, *b"JP"),
            (u32::MAX - 255, u32::MAX, *b"ZZ"),
        ];
        let countries = Countries { ranges };
        let table = countries.table();
        for block in [0, 1, 2, 3, 4, 5, (1 << 24) - 1] {
            let expected = countries.of(Ipv4Addr::from(block * BLOCK)).unwrap_or_default();
            assert_eq!(table[block as usize * 2..][..2], expected, "block {block}");
        }
    }

    #[test]
    fn lines_are_taken_whole_or_not_at_all() {
        assert_eq!(parse("1,2,AU"), Some((1, 2, *b"AU")));
        for line in ["", "1,2", "1,2,AUS", "1,2,AU,x", "1,4294967296,AU", "-1,2,AU"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn both_bring_the_bytes_they_count() {
        let table = Arc::new((0..=255u8).collect::<Vec<_>>());
        let (cost, row) = in_the_clear(&table, 3, 2).unwrap();
        assert_eq!((cost.up, cost.down, row), (4, 2, vec![6, 7]));
        assert_eq!(download(&table).unwrap().down, 256);
    }
}
