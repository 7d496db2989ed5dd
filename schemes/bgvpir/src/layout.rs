//! The positions of a record's bits: strided slots of one row, the same in each layer.
//!
//! A row is a plaintext: `cycles` cycles of `cycle` slots of `slot_bits` bits. Queries repeat with
//! a period `p` that divides the cycle, so that all slots `beta`, `beta + p`, `beta + 2 p`, ... of
//! all cycles read the same folded vector and come back together: a *strided block* (design notes,
//! section 1.9), without further communication or computation. `layers` tables of rows share a
//! query. So a row has `p` records, and record `j` is block `j mod p` of row `j div p`.
//!
//! ```text
//! record    the bits of its slots, least significant bit first:
//!           layer 0: cycle 0: slots beta, beta + p, ...; cycle 1: ...; layer 1: ...
//!           the bits after its last whole byte hold nothing
//! ```
//!
//! **Order of products.** Both orders of the products that lead from u, v and the table to an
//! answer give `r = sum over a, b of u[a] v[b] X[a, b]`, a polynomial of three parts modulo the
//! primes of the table, and modulo integers products distribute over sums without an error: so both
//! give the *same* `r`, noise included, over the same image and for the same query. Nothing is
//! rounded before. The order is thus the server's own choice and not in a literal, and answers do
//! not reveal it.
//!
//! **Rotations** bring a query to every place of the folded vector: by one place at a time, and
//! with a second key by a *stride* too. With one key, rotations are a chain: each waits for the one
//! before, and the last has the noise of all. With two, place `k = i g + j` is in row `i` and
//! column `j` of a grid, `g` being the stride:
//!
//! ```text
//!  0 - 1 - 2 - 3 - ...     even rows: by one place, from left to right
//!  |   |   |   |
//!  g   .   .   .           odd rows: by a stride, each from the place above it
//!  |
//!  2g - . - . - ...        the first column: by a stride
//! ```
//!
//! So no place is more than `i + j` rotations away, pairs of rows do not wait for each other, and
//! both rotations of a ciphertext of an even row share its digits, which are half of a rotation's
//! work (Halevi and Shoup, CRYPTO 2018): half of the places are never split at all.

use sotto_math::modulus::divide;
use std::hint::black_box;

/// The layout of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Slots of a cycle.
    pub cycle: u32,
    /// Cycles of a plaintext.
    pub cycles: u32,
    /// Bits of data in a slot.
    pub slot_bits: u32,
    /// Slots after which a query repeats.
    pub period: u32,
    /// Tables of rows that share a query.
    pub layers: u32,
}

impl Layout {
    /// Slots of a record in each layer.
    pub fn record_slots(&self) -> usize {
        (self.cycle / self.period * self.cycles) as usize
    }

    /// Whole bytes of a record's slots.
    pub fn record_bytes(&self) -> usize {
        self.layers as usize * self.record_slots() * self.slot_bits as usize / 8
    }

    /// Number of rows that hold `records` records.
    pub fn rows(&self, records: u64) -> u64 {
        records.div_ceil(self.period.into())
    }

    /// The row alpha of a record and its block beta, in time that does not depend on the record.
    pub fn place(&self, record: u64) -> (u64, u64) {
        divide(record, self.period.into())
    }

    /// Slot number `i` of block `beta` in the whole plaintext, cycle after cycle.
    fn slot(&self, beta: usize, i: usize) -> usize {
        let each = (self.cycle / self.period) as usize;
        i / each * self.cycle as usize + beta + i % each * self.period as usize
    }

    /// Writes a record into the slots of one layer of its row.
    ///
    /// # Panics
    /// If the record is not [`record_bytes`](Self::record_bytes) long, `slots` is not a plaintext's, or there is no such
    /// layer or block.
    pub fn put(&self, record: &[u8], layer: usize, beta: usize, slots: &mut [u64]) {
        assert_eq!(record.len(), self.record_bytes(), "a record");
        assert!(
            layer < self.layers as usize && beta < self.period as usize,
            "a layer and a block of this layout"
        );
        let first = layer * self.record_slots();
        for i in 0..self.record_slots() {
            slots[self.slot(beta, i)] = bits(record, (first + i) * self.slot_bits as usize, self.slot_bits);
        }
    }

    /// The record in block `beta` of the layers of one row, with reads that do not depend on
    /// `beta`.
    ///
    /// # Panics
    /// If there is not one plaintext for each layer.
    pub fn take(&self, layers: &[&[u64]], beta: u64) -> Vec<u8> {
        assert_eq!(layers.len(), self.layers as usize, "one plaintext for each layer");
        let mut record = vec![0u8; self.record_bytes() + 8];
        for (layer, slots) in layers.iter().enumerate() {
            for i in 0..self.record_slots() {
                let mut value = 0;
                for block in 0..self.period as usize {
                    value |= slots[self.slot(block, i)] & equal(block as u64, beta);
                }
                set_bits(&mut record, (layer * self.record_slots() + i) * self.slot_bits as usize, value);
            }
        }
        record.truncate(self.record_bytes());
        record
    }

    /// The record in block `beta` of public layers, with reads that depend on `beta`.
    pub fn get(&self, layers: &[Vec<u64>], beta: usize) -> Vec<u8> {
        let mut record = vec![0u8; self.record_bytes() + 8];
        for (layer, slots) in layers.iter().enumerate() {
            for i in 0..self.record_slots() {
                let at = (layer * self.record_slots() + i) * self.slot_bits as usize;
                set_bits(&mut record, at, slots[self.slot(beta, i)]);
            }
        }
        record.truncate(self.record_bytes());
        record
    }

    /// The slots of a query for block `beta` whose folded vector has these ones: 1 at `ones + beta`
    /// and a period further, 0 elsewhere. The time does not depend on them.
    pub fn query(&self, ones: &[u64], beta: u64) -> Vec<u64> {
        let period = u64::from(self.period);
        // Both are below the period, so one subtraction at most is needed.
        let at: Vec<u64> = ones.iter().map(|one| divide(one + beta, period).1).collect();
        let one_period: Vec<u64> =
            (0..period).map(|slot| at.iter().fold(0, |any, at| any | equal(slot, *at)) & 1).collect();
        (0..self.cycles * self.cycle / self.period).flat_map(|_| one_period.iter().copied()).collect()
    }
}

/// All ones if equal, else zero.
fn equal(a: u64, b: u64) -> u64 {
    let x = a ^ b;
    // The top bit of `x | -x` says whether x is not zero. The black box keeps the mask from becoming a branch.
    black_box((x | x.wrapping_neg()) >> 63).wrapping_sub(1)
}

/// Some bits of a record, at most 17; bits past its end are zero.
fn bits(record: &[u8], at: usize, count: u32) -> u64 {
    let bytes = (0..3).map(|i| u64::from(record.get(at / 8 + i).copied().unwrap_or(0)) << (8 * i));
    (bytes.sum::<u64>() >> (at % 8)) & ((1 << count) - 1)
}

/// Sets bits of a record that are zero so far; the record has three bytes from there on.
fn set_bits(record: &mut [u8], at: usize, value: u64) {
    for (i, byte) in record[at / 8..][..3].iter_mut().enumerate() {
        *byte |= ((value << (at % 8)) >> (8 * i)) as u8;
    }
}

/// The order of the products of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProductOrder {
    /// `sum over a of u[a] (sum over b of v[b] X[a, b])`: two products of polynomials a row, and
    /// four a column.
    #[default]
    Distributed,
    /// The paper's order, `sum over a, b of (u[a] v[b]) X[a, b]`: four products of polynomials a
    /// row for the three parts of a raw product of ciphertexts, and three for those times the row.
    Paper,
}

impl ProductOrder {
    /// The names of all orders.
    pub const NAMES: [&'static str; 2] = [ProductOrder::Distributed.name(), ProductOrder::Paper.name()];

    /// The name of the order.
    pub const fn name(self) -> &'static str {
        match self {
            ProductOrder::Distributed => "distributed",
            ProductOrder::Paper => "paper",
        }
    }

    /// The order with a name.
    pub fn named(name: &str) -> Option<Self> {
        [ProductOrder::Distributed, ProductOrder::Paper].into_iter().find(|order| order.name() == name)
    }

    /// Products of polynomials modulo one prime, for `rows` rows in `columns` columns.
    pub(crate) fn products(self, rows: u64, columns: u64) -> u64 {
        match self {
            ProductOrder::Distributed => rows.saturating_mul(2).saturating_add(columns.saturating_mul(4)),
            ProductOrder::Paper => rows.saturating_mul(7),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const M8191: Layout = Layout { cycle: 630, cycles: 1, slot_bits: 13, period: 30, layers: 1 };
    const POW2: Layout = Layout { cycle: 4096, cycles: 2, slot_bits: 16, period: 32, layers: 1 };

    #[test]
    fn blocks_have_the_sizes_of_the_notes() {
        assert_eq!((M8191.record_slots(), M8191.record_slots() * 13, M8191.record_bytes()), (21, 273, 34));
        assert_eq!((POW2.record_slots(), POW2.record_bytes()), (256, 512));
        assert_eq!(Layout { period: 210, ..M8191 }.record_bytes(), 4);
        assert_eq!((M8191.rows(1), M8191.rows(30), M8191.rows(31), M8191.place(61)), (1, 1, 2, (2, 1)));
    }

    #[test]
    fn records_come_back_from_their_slots() {
        for layout in [
            M8191,
            POW2,
            Layout { period: 210, layers: 3, ..M8191 },
            Layout { period: 4096, layers: 2, ..POW2 },
        ] {
            let slots = (layout.cycle * layout.cycles) as usize;
            let record = |beta: usize| -> Vec<u8> {
                (0..layout.record_bytes()).map(|i| (i * 37 + beta * 101 + i * i * 11 + 255) as u8).collect()
            };
            let mut rows = vec![vec![0; slots]; layout.layers as usize];
            for beta in 0..layout.period as usize {
                for (layer, row) in rows.iter_mut().enumerate() {
                    layout.put(&record(beta), layer, beta, row);
                }
            }
            assert!(rows.iter().flatten().all(|slot| slot >> layout.slot_bits == 0));
            let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
            for beta in 0..layout.period as usize {
                assert_eq!(layout.take(&rows, beta as u64), record(beta), "{layout:?}, {beta}");
            }
        }
    }

    #[test]
    fn queries_repeat_and_are_shifted() {
        let layout = Layout { cycle: 12, cycles: 2, slot_bits: 13, period: 6, layers: 1 };
        let query = layout.query(&[0, 4], 3);
        // s = 100010 shifted right by three within the period: ones at 3 and at 1.
        assert_eq!(query, [0, 1, 0, 1, 0, 0].repeat(4));
        for beta in 0..6 {
            let query = layout.query(&[2, 3], beta);
            for k in 0..6 {
                // Rotated left by k, every slot of block beta reads entry k of s.
                assert_eq!(query[(beta as usize + k) % 6], u64::from(k == 2 || k == 3));
            }
        }
    }
}
