//! The demo's data in the clear, read by code that is independent of the encoder: every private
//! answer is compared with it.

use crate::failure::{Failure, Result};
use flate2::read::MultiGzDecoder;
use sotto_core::ExpectOrDefault;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Path of the data in the project.
pub(super) const DEFAULT: &str = "data/ip-country/asn-country-ipv4-num.csv.gz";

/// Number of addresses in a block: one row of a table over /24 blocks.
pub(super) const BLOCK: u32 = 256;

/// Finds the data: at the given path, or in the project.
pub(super) fn find(path: Option<&Path>) -> Result<PathBuf> {
    super::find(path, DEFAULT, Path::is_file).ok_or_else(|| {
        Failure::missing(format!("the demo's data is missing: {DEFAULT}"))
            .fix("run the demo in a checkout of the project, or give --data FILE")
    })
}

/// Ranges of addresses and their countries, sorted.
pub(super) struct Countries {
    ranges: Vec<(u32, u32, [u8; 2])>,
}

impl Countries {
    /// Reads `first,last,CC` lines, gzip-compressed.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Failure::file("opening", path, &error))?;
        let mut ranges = Vec::new();
        for (i, line) in BufReader::new(MultiGzDecoder::new(file)).lines().enumerate() {
            let line = line.map_err(|error| Failure::file("reading", path, &error))?;
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
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The whole table in the clear: two bytes per block, zero if the first address has no country.
    pub(super) fn table(&self) -> Vec<u8> {
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
    pub(super) fn of(&self, address: Ipv4Addr) -> Option<[u8; 2]> {
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
}
