//! Arguments of kernels: what the backends and the modules above [`simd`](super) both name.
//!
//! A type that is part of the public interface is re-exported by the module whose functions take
//! it, and has its functions that call kernels there.

pub(crate) mod gadget;
pub(crate) mod grid;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
pub(crate) mod key_schedule;
pub(crate) mod ntt;
pub(crate) mod tiles;

use crate::modulus::{Modulus, gcd};
use ::aes::cipher::KeyInit;
use core::fmt;
use ntt::{Factor, Tables};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
use zeroize::Zeroize;

/// Rows in a panel of a byte matrix.
pub const PANEL_ROWS: usize = 64;
/// Columns in a group of a byte matrix.
pub const GROUP_COLS: usize = 4;
/// Bytes of one group of columns in one panel.
pub const GROUP_BYTES: usize = PANEL_ROWS * GROUP_COLS;

/// Byte planes of one query for a run of column groups.
#[derive(Clone, Copy)]
pub(crate) struct Planes<'a> {
    /// One word per group and plane, group-major.
    pub(crate) dwords: &'a [u32],
    pub(crate) planes: usize,
}

/// Records that a query's 64 selection bytes cover: 64 blocks of eight.
pub const RUN_RECORDS: usize = 512;

/// The selections of eight queries for 64 blocks: byte `7 - i` of word `k` has query `i`'s bits for
/// block `k`, the lowest bit for the block's first record.
pub type SelectionMatrices = [u64; RUN_RECORDS / 8];

/// The selection of one query, as a distributed point function gives it: 64 bytes for each run of
/// 512 records, to which a word common to all runs is xored where the run's mask says so.
#[derive(Clone, Copy)]
pub struct SelectionShare<'a> {
    /// Selection bytes, before the word is xored.
    pub bytes: &'a [[u8; 64]],
    /// Mask of each run: 0x00 or 0xFF.
    pub masks: &'a [u8],
    /// The word that is xored where the mask is 0xFF.
    pub word: &'a [u8; 64],
}

/// Positions that a kernel tests at once, so that their bits stay in the nearest cache.
pub(crate) const PART: usize = 64 * 64;

/// The values that a search compares with: a word under a mask, and a tag. They may be secret, so
/// that there is no `Debug`.
#[derive(Clone, Copy)]
pub struct Needle {
    /// Words that equal this one in the bits of the mask match.
    pub word: u16,
    /// The bits of words that are compared.
    pub mask: u16,
    /// Positions with this tag match.
    pub tag: u16,
}

/// Largest number of partitions of a window: the bits of a choice.
pub const LANES: usize = 16;

/// The rows of a table, partition after partition.
///
/// The last partitions may lack rows, which count as zeros.
#[derive(Clone, Copy, Debug)]
pub struct PartitionRows<'a> {
    /// The rows, concatenated.
    pub bytes: &'a [u8],
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Rows of a partition: a power of two, at most 2^16.
    pub partition_rows: usize,
}

/// One row of each partition, and its half.
#[derive(Clone, Copy, Debug)]
pub struct RowPicks<'a> {
    /// Number of the row within each partition. Bits above those that number the rows of a
    /// partition are ignored.
    pub offsets: &'a [u16],
    /// Half of each partition, one bit each from the lowest bit of the first byte on.
    pub halves: &'a [u8],
}

impl RowPicks<'_> {
    /// The half of partition `k`: 0 or 1.
    #[inline(always)]
    pub(crate) fn half(&self, k: usize) -> u8 {
        self.halves[k / 8] >> (k % 8) & 1
    }
}

impl PartitionRows<'_> {
    /// The offset in bytes of row `offset` of partition `k`.
    #[inline(always)]
    pub(crate) fn at(&self, k: usize, offset: u16) -> usize {
        (k * self.partition_rows + (usize::from(offset) & (self.partition_rows - 1))) * self.row_bytes
    }
}

/// The offsets of many sets in the partitions of a window.
#[derive(Clone, Copy)]
pub(crate) struct SetOffsets<'a> {
    /// Partitions of the window.
    pub(crate) count: usize,
    /// Rows of a partition.
    pub(crate) rows: usize,
    /// Blocks of eight offsets, partition after partition.
    pub(crate) offsets: &'a [[u8; 16]],
    /// Number of blocks of a partition.
    pub(crate) blocks: usize,
}

impl SetOffsets<'_> {
    /// Position of the row of zeros.
    pub(crate) fn zeros(&self) -> u32 {
        (self.count * self.rows) as u32
    }
}

/// The rows of a window, the last one being the zeros.
#[derive(Clone, Copy)]
pub(crate) struct RowSources<'a> {
    pub(crate) rows: &'a [u8],
    pub(crate) stride: usize,
    pub(crate) lanes: usize,
}

impl RowSources<'_> {
    /// Position of the row of zeros.
    pub(crate) fn zeros(&self) -> u32 {
        (self.rows.len() / self.stride - 1) as u32
    }
}

/// Number of rows that are added to each parity without testing how many there are, by the
/// partitions of the window: all up to eight, and twelve of sixteen.
pub(crate) const ALWAYS: usize = 12;

/// Number of products that fit 64 bits: a product of two factors below 2^52 adds less than 2^52 to
/// each half.
const MAX_PRODUCTS: usize = 1 << 12;

/// Number of products that fit 128 bits: a product of two factors below 2^60 is below 2^120.
const MAX_WIDE_PRODUCTS: usize = 1 << 8;

/// Slot-wise sums of products, in redundant form.
///
/// The value of a slot is `lo + 2^52 hi`. These are the two halves that the 52-bit multipliers of
/// AVX-512 IFMA return, so a product costs two instructions and no reduction. Modulo a product of
/// primes of 2^50 or more it is `lo + 2^64 hi`. The contents of the halves depend on the backend;
/// only the reduced value, from [`NttPlan::take`](crate::ntt::NttPlan::take), does not.
#[derive(Debug, Clone)]
pub struct Accumulator {
    cells: Vec<Cell>,
    /// Buffer of a transform between its levels, before it is added to the sum.
    scratch: Vec<u64>,
    products: usize,
}

/// Eight slots in two halves, each half a cache line.
#[derive(Debug, Clone, Default)]
#[repr(C, align(64))]
pub(crate) struct Cell {
    pub(crate) lo: [u64; 8],
    pub(crate) hi: [u64; 8],
}

/// An accumulator that can take one more product.
pub(crate) struct AccumulatorMut<'a> {
    pub(crate) cells: &'a mut [Cell],
    pub(crate) scratch: &'a mut [u64],
}

impl Accumulator {
    pub(crate) fn new(n: usize) -> Self {
        // Seven words more than needed, to start on a cache line wherever the vector is.
        Accumulator { cells: vec![Cell::default(); n / 8], scratch: vec![0; n + 7], products: 0 }
    }

    /// Makes sure that one more product per slot fits, by reducing if necessary.
    pub(crate) fn reserve(&mut self, tables: &Tables) -> AccumulatorMut<'_> {
        assert_eq!(self.cells.len(), tables.n / 8, "an accumulator of the plan's length");
        if self.products == if tables.wide { MAX_WIDE_PRODUCTS } else { MAX_PRODUCTS } {
            for cell in &mut self.cells {
                *cell = Cell { lo: cell.reduced(tables), hi: [0; 8] };
            }
            // The reduced sum is below q, like one product at most.
            self.products = 1;
        }
        self.products += 1;
        // Without an answer from align_offset the scratch is only not aligned.
        let start = self.scratch.as_ptr().align_offset(64).min(7);
        AccumulatorMut { cells: &mut self.cells, scratch: &mut self.scratch[start..start + tables.n] }
    }

    pub(crate) fn take(&mut self, tables: &Tables, out: &mut [u64]) {
        assert_eq!(self.cells.len(), tables.n / 8, "an accumulator of the plan's length");
        assert_eq!(out.len(), tables.n, "a slice of the plan's length");
        for (out, cell) in out.as_chunks_mut::<8>().0.iter_mut().zip(&mut self.cells) {
            *out = std::mem::take(cell).reduced(tables);
        }
        self.products = 0;
    }
}

impl Cell {
    fn reduced(&self, tables: &Tables) -> [u64; 8] {
        let bits = if tables.wide { 64 } else { 52 };
        let mut out = self.lo;
        for (out, &hi) in out.iter_mut().zip(&self.hi) {
            // The sum itself, not modulo 2^128: products are below 2^104 or 2^120, and counted.
            *out = tables.reduce((u128::from(hi) << bits) + u128::from(*out));
        }
        out
    }
}

/// AES-128 under one key, wiped on drop.
pub struct Aes {
    /// The cipher without vector instructions, which wipes itself.
    #[cfg(not(target_feature = "simd128"))]
    plain: ::aes::Aes128,
    /// The round keys of FIPS 197, section 5.2, for backends with instructions for a round.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
    pub(crate) rounds: [[u8; 16]; 11],
}

impl Aes {
    /// Expands a key to its round keys.
    pub fn new(key: &[u8; 16]) -> Self {
        Aes {
            #[cfg(not(target_feature = "simd128"))]
            plain: ::aes::Aes128::new(key.into()),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
            rounds: key_schedule::expand(key),
        }
    }

    /// The cipher without vector instructions.
    #[cfg(not(target_feature = "simd128"))]
    pub(crate) fn plain(&self) -> &::aes::Aes128 {
        &self.plain
    }

    /// The cipher without vector instructions, made anew: with vectors only tests use it, and
    /// browsers need not load it.
    #[cfg(target_feature = "simd128")]
    pub(crate) fn plain(&self) -> ::aes::Aes128 {
        ::aes::Aes128::new(&self.rounds[0].into())
    }
}

impl fmt::Debug for Aes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Aes(..)")
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
impl Drop for Aes {
    fn drop(&mut self) {
        self.rounds.zeroize();
    }
}

/// The number that stands for a residue when it is converted to another modulus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResidueLift {
    /// The residue itself, from 0 on.
    Unsigned,
    /// The representative nearest to zero.
    Centered,
}

/// Two coprime moduli whose product is below 2^110.
#[derive(Debug, Clone, Copy)]
pub struct ModulusPair {
    q: Modulus,
    special: Modulus,
    /// The first multiple of the special modulus that is not below q.
    pub(crate) positive: u64,
    /// 1/q modulo the special modulus, with a quotient of 64 bits.
    pub(crate) inverse: Factor,
    /// 1 over the special modulus, modulo q, with a quotient of 64 bits.
    pub(crate) special_inverse: Factor,
}

impl ModulusPair {
    /// Makes a pair; `None` unless the moduli are coprime and their product is below 2^110.
    pub fn new(q: Modulus, special: Modulus) -> Option<Self> {
        if u128::from(q.value()) * u128::from(special.value()) >= 1 << 110
            || gcd(q.value(), special.value()) != 1
        {
            return None;
        }
        let inverse_of = |a: &Modulus, modulo: &Modulus| {
            let inverse = modulo.inv(modulo.reduce(a.value()));
            Factor::new(inverse, modulo.value(), true)
        };
        Some(ModulusPair {
            q,
            special,
            positive: q.value().div_ceil(special.value()) * special.value(),
            inverse: inverse_of(&q, &special),
            special_inverse: inverse_of(&special, &q),
        })
    }

    /// The modulus that remains after a division.
    pub fn modulus(&self) -> &Modulus {
        &self.q
    }

    /// The special modulus, which is divided by.
    pub fn special(&self) -> &Modulus {
        &self.special
    }

    /// The product of both.
    pub fn product(&self) -> u128 {
        u128::from(self.q.value()) * u128::from(self.special.value())
    }

    /// Computes the number in `0..Q` with these reduced residues.
    pub fn lift(&self, x: u64, x_special: u64) -> u128 {
        // Garner's formula: x + q ((x' - x) / q mod q').
        let difference = x_special + self.positive - x;
        let v = self.inverse.times(difference, self.special.value());
        u128::from(x) + u128::from(self.q.value()) * u128::from(v)
    }

    /// Computes the residues of any number, modulo `q` and modulo the special modulus.
    pub fn residues(&self, x: u128) -> [u64; 2] {
        [self.q.reduce_u128(x), self.special.reduce_u128(x)]
    }
}
