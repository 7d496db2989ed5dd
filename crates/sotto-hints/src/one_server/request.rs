//! The offsets of one id in many partitions, from which requests are made.
//!
//! The loop covers all partitions for every hint, and replacements of an offset are chosen by
//! masks.

use super::params::ParamsFamily;
use super::prf::Prf;
use sotto_math::bits;
use std::hint::black_box;
use zeroize::Zeroizing;

/// Partitions that are processed together: their blocks stay in the processor's first-level cache.
pub const CHUNK_PARTITIONS: usize = 256;

/// The blocks of [`CHUNK_PARTITIONS`] partitions. They are reused from one query to the next, and wiped on
/// drop.
pub struct RequestScratch(Zeroizing<Vec<[u8; 16]>>);

impl Default for RequestScratch {
    fn default() -> Self {
        RequestScratch(Zeroizing::new(vec![[0; 16]; CHUNK_PARTITIONS]))
    }
}

impl RequestScratch {
    /// Writes the offsets of an id in the partitions from `first` on, at most [`CHUNK_PARTITIONS`] of them;
    /// `put` maps each partition and offset to the value that is sent.
    #[inline]
    pub fn offsets<F: ParamsFamily>(
        &mut self,
        prf: &Prf<F>,
        id: u32,
        first: usize,
        out: &mut [u16],
        put: impl Fn(u32, u16) -> u16,
    ) {
        let blocks = self.0.get_mut(..out.len()).unwrap_or_default();
        prf.aes().grid(F::OFFSET + first as u64, blocks.len(), u64::from(id) / 8, 1, blocks);
        let mask = prf.mask();
        // The black box keeps the mask from becoming a branch.
        let upper = black_box(u64::from(id >> 2 & 1).wrapping_neg());
        let shift = (id & 3) * 16;
        // There are at most 2^16 partitions.
        for ((out, block), k) in out.iter_mut().zip(blocks).zip(first as u32..) {
            let block = u128::from_le_bytes(*block);
            let word = (block as u64 & !upper) | ((block >> 64) as u64 & upper);
            *out = put(k, (word >> shift) as u16 & mask);
        }
    }
}

/// Appends offsets of `bits` bits each, which may be 0.
pub fn put_offsets(offsets: &[u16], bits: u32, out: &mut Vec<u8>) {
    if bits > 0 {
        bits::pack16(offsets, bits, out);
    }
}

/// Reads `count` offsets of `bits` bits each; none if the bytes are malformed.
pub fn take_offsets(bytes: &[u8], bits: u32, count: usize) -> Option<Vec<u16>> {
    if bits == 0 {
        return Some(vec![0; count]);
    }
    bits::unpack16(bytes, bits, count)
}
