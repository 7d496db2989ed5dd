//! A key's value as the sum of a few rows, which one query fetches: a *band* in place of one row or
//! several.
//!
//! A row consists of entries, each as wide as a slot, and the entries of one number are a *strip*,
//! with one in each row. A key's hash determines its strip ([`super::row_bounds`]), the row at
//! which its band begins, and which of the 128 rows from there on are added. The entries of a strip
//! solve the equations of all its keys. So there is a sum for every key, hardly more rows than keys
//! of a strip, and the catalog has just two bytes for each strip: hundreds of strips, where row
//! bounds take a byte for each row (Dietzfelbinger and Walzer, *Efficient Gauss Elimination for
//! Near-Quadratic Matrices with One Short Random Block per Row*, 2019; Dillinger and Walzer,
//! *Ribbon filter*, 2021; for lookups, Bienstock, Patel, Seo and Yeo, 2023).
//!
//! ```text
//! row    an entry of each strip
//! entry  as wide as a slot, and a zero byte where numbers have two bytes and it is odd
//! slot   the sum of entry strip of the rows first + i, for each bit i of ones; rows past the end count as zeros
//! strip  the row of the key, if strips were rows that are cut
//! W      BLAKE3-derive-key("sotto 2026 keyword band v1", seed)
//! draw   BLAKE3 keyed with W ( tag | tries[strip] ), 24 bytes
//! first  floor( (max(rows, 128) - 127) * (draw's first 8 bytes, LE) / 2^64 )
//! ones   draw's last 16 bytes, LE; the lowest bit is 1
//! ```

use super::params::{BandParams, Params};
use super::tag::KeyDigest;
use sotto_core::{ExpectOrDefault, PeerMisbehaved, Result, Row};
use sotto_prg::PublicSeed;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

const CONTEXT: &str = "sotto 2026 keyword band v1";

/// Number of rows of a band, from the first that may be added to the last.
pub const WIDTH: u64 = 128;

/// Rows of a table whose strips have space for `strip_keys` keys: a fiftieth more, so that hardly a
/// strip has no solution at its first seeds, and a few more for small strips.
pub(super) fn rows_for(strip_keys: u32) -> u64 {
    u64::from(strip_keys) + u64::from(strip_keys) / 50 + 8
}

/// Space for keys in each of `strips` strips, which have about equally many keys: they end at
/// cells, which have 64 to a strip on average.
pub(super) fn strip_keys_for(keys: u64, strips: u64) -> u64 {
    (keys as f64 / strips as f64 * (1.0 + 1.0 / 64.0)).ceil() as u64 + 1
}

/// The hash that determines the bands of keys.
pub(super) struct BandHash {
    key: [u8; 32],
    tag_bytes: u32,
    starts: u64,
}

/// The rows that are added for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BandPattern {
    pub(super) first: u64,
    pub(super) ones: u128,
}

impl BandHash {
    pub(super) fn new(params: &Params, band: &BandParams) -> Self {
        let PublicSeed(seed) = &params.seed;
        let starts = band.rows.max(WIDTH) - (WIDTH - 1);
        BandHash { key: blake3::derive_key(CONTEXT, seed), tag_bytes: params.tag_bytes, starts }
    }

    /// The band of a key, if its strip has this seed.
    pub(super) fn of(&self, digest: KeyDigest, tried: u8) -> Zeroizing<BandPattern> {
        let mut hasher = Zeroizing::new(blake3::Hasher::new_keyed(&self.key));
        let tag = Zeroizing::new(digest.bytes());
        hasher.update(tag.get(..self.tag_bytes as usize).expect_or_default("a tag is shorter than a digest"));
        hasher.update(&[tried]);
        let (mut first, mut ones) = (Zeroizing::new([0; 8]), Zeroizing::new([0; 16]));
        let mut draw = hasher.finalize_xof();
        draw.fill(first.as_mut());
        draw.fill(ones.as_mut());
        let first = ((u128::from(u64::from_le_bytes(*first)) * u128::from(self.starts)) >> 64) as u64;
        Zeroizing::new(BandPattern { first, ones: u128::from_le_bytes(*ones) | 1 })
    }
}

impl zeroize::Zeroize for BandPattern {
    fn zeroize(&mut self) {
        self.first.zeroize();
        self.ones.zeroize();
    }
}

impl BandParams {
    /// The seed of a strip. Every strip is read.
    pub(super) fn tried(&self, strip: u64) -> u8 {
        let mut tried = 0;
        for (i, byte) in (0u64..).zip(&self.tries.0) {
            tried.conditional_assign(byte, i.ct_eq(&strip));
        }
        tried
    }

    /// The slot of a strip in a sum of rows, as a row of one slot. Every entry is read.
    pub(super) fn slot(&self, params: &Params, strip: u64, sum: &[u8]) -> Result<Row> {
        let (got, want) = (sum.len() as u64, params.table_row_bytes());
        if got != want {
            return Err(PeerMisbehaved::Length { what: "sum of rows", got, want }.into());
        }
        let mut slot = Row::new(vec![0; params.slot_bytes() as usize]);
        for (i, entry) in (0u64..).zip(sum.chunks_exact(params.entry_bytes(self.unit) as usize)) {
            let is_it = i.ct_eq(&strip);
            slot.iter_mut().zip(entry).for_each(|(out, byte)| out.conditional_assign(byte, is_it));
        }
        Ok(slot)
    }
}
