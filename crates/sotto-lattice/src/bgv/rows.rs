//! Sums of ciphertexts times rows: the pass over a table.
//!
//! A table is `rows` by `cols` plaintexts; column `a` gets the sum over `b` of selector `b` times row `(b, a)`. Modulo each
//! prime this is the pass that Spiral's first dimension is too, over its own table of tiles ([`sotto_math::tiles`]): rows
//! are read once and in order, both parts are summed from one read, and sums are reduced every 32 rows. One table a prime
//! of the level follows another.

use super::cipher::Cipher;
use super::level::Level;
use super::ring::SlotRing;
use super::rns::Rns;
use crate::scratch::sum_of_products;
use sotto_math::tiles::{self, Selectors, TileLayout, Words};
use std::ops::Range;

/// Parts of a selector.
const PARTS: usize = 2;

/// The shape of a table at one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    level: Level,
    layout: TileLayout,
    /// How values modulo each prime are stored.
    forms: Vec<Words>,
}

impl Table {
    /// A table of `rows` by `cols` plaintexts; `None` if there is no such layout.
    pub fn new<R: SlotRing>(rns: &Rns<R>, level: Level, rows: usize, cols: usize) -> Option<Self> {
        let layout = TileLayout::new(rns.ring().words(), rows, cols)?;
        let forms = rns.plans(level).map(|plan| Words::new(plan.modulus())).collect::<Option<_>>()?;
        Some(Table { level, layout, forms })
    }

    /// Where the values of one prime lie, of each plaintext.
    pub fn layout(&self) -> &TileLayout {
        &self.layout
    }

    /// The bytes of all primes' tables.
    pub fn bytes(&self) -> u64 {
        self.layout.bytes() * self.forms.len() as u64
    }

    /// Selectors laid out as the pass reads them, one for each prime.
    ///
    /// # Panics
    /// If there is not one ciphertext a row, or one is of another level or has not two parts.
    pub fn selectors(&self, ciphers: &[Cipher]) -> Vec<Selectors> {
        assert_eq!(ciphers.len(), self.layout.rows(), "one ciphertext a row");
        assert!(
            ciphers.iter().all(|c| (c.level(), c.parts()) == (self.level, PARTS)),
            "selectors of this level"
        );
        let laid = |(limb, form): (usize, &Words)| {
            let mut laid = Selectors::new(form, &self.layout, PARTS);
            // Four of them are runs of 512 bytes.
            for (i, some) in ciphers.chunks(4).enumerate() {
                let polynomials: Vec<&[u64]> =
                    some.iter().flat_map(|c| [c.limb(0, limb), c.limb(1, limb)]).collect();
                laid.set_rows(4 * i, &polynomials);
            }
            laid
        };
        self.forms.iter().enumerate().map(laid).collect()
    }

    /// The words of one query's sums, modulo one prime and for one block.
    pub fn block_words(&self) -> usize {
        self.layout.cols() * PARTS * 8
    }

    /// The pass over some blocks of one prime's table, for any number of queries: `out[i]` gets the sums of query `i`.
    ///
    /// # Panics
    /// If `tiles` are not those blocks, a query's selectors are not those of this limb, or an output is not
    /// [`block_words`](Self::block_words) long for each block.
    pub fn scan(
        &self,
        limb: usize,
        tiles: &[u8],
        blocks: Range<usize>,
        queries: &[&Selectors],
        out: &mut [&mut [u64]],
    ) {
        tiles::scan(&self.forms[limb], &self.layout, tiles, blocks, queries, out);
    }

    /// The ciphertexts of some columns, from the sums of all blocks modulo each prime.
    ///
    /// # Panics
    /// If there are not all sums, or no such columns.
    pub fn columns<R: SlotRing>(&self, rns: &Rns<R>, sums: &[&[u64]], cols: Range<usize>) -> Vec<Cipher> {
        assert_eq!(sums.len(), self.forms.len(), "the sums modulo each prime");
        let mut out = vec![Cipher::zero(rns, self.level, PARTS); cols.len()];
        for (limb, (form, sums)) in self.forms.iter().zip(sums).enumerate() {
            let mut parts: Vec<&mut [u64]> = out.iter_mut().flat_map(|c| c.limbs_mut(limb)).collect();
            tiles::gather(form, &self.layout, PARTS, sums, cols.clone(), &mut parts);
        }
        out
    }
}

/// `out = sum over j of ciphers[j] rows[j]`, for rows given as values: of few rows, wherever they lie.
///
/// # Panics
/// If there are not as many rows, a ciphertext is not of the shape of `out`, or a row is too short for its level.
pub fn product_sum<R: SlotRing>(rns: &Rns<R>, ciphers: &[&Cipher], rows: &[&[u64]], out: &mut Cipher) {
    let (level, parts, words) = (out.level(), out.parts(), rns.ring().words());
    assert_eq!(ciphers.len(), rows.len(), "one row a ciphertext");
    assert!(ciphers.iter().all(|c| (c.level(), c.parts()) == (level, parts)), "ciphertexts of one shape");
    for (limb, plan) in rns.plans(level).enumerate() {
        for part in 0..parts {
            let rows = rows.iter().map(|row| &row[limb * words..][..words]);
            let products = ciphers.iter().map(|c| c.limb(part, limb)).zip(rows);
            sum_of_products(plan, products, out.limb_mut(part, limb), false);
        }
    }
}

#[cfg(test)]
mod tests;
