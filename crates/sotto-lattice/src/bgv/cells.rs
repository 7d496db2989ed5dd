//! Single plaintexts of a table that is stored as values: their positions, reads and writes.

use super::ring::SlotRing;
use super::rns::RnsRing;
use super::table_product::TableProduct;
use sotto_math::tiles::Strip;

impl TableProduct {
    /// Reads the values of a plaintext modulo one prime. `at` reads bytes of the table.
    fn words<E>(
        &self,
        limb: usize,
        cell: (usize, usize),
        at: impl Fn(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Vec<u64>, E> {
        let (layout, region) = (self.layout(), limb as u64 * self.layout().bytes());
        let mut words = Vec::with_capacity(layout.n());
        for block in 0..layout.blocks() {
            words.extend(layout.read(block, cell, |offset, out| at(region + offset, out))?);
        }
        Ok(words)
    }

    /// Reads the coefficients of a plaintext. `at` reads bytes of the table; a damaged table gives
    /// other numbers in `0..t`.
    ///
    /// # Errors
    /// The errors of `at`.
    pub fn read_cell<R: SlotRing, E>(
        &self,
        rns: &RnsRing<R>,
        cell: (usize, usize),
        at: impl Fn(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Vec<u64>, E> {
        let ring = rns.ring();
        // One prime determines them, since they are smaller than any prime.
        let mut words = self.words(0, cell, at)?;
        let Some(plan) = ring.plans().first() else { return Ok(words) };
        let q = plan.modulus();
        words.iter_mut().for_each(|word| *word = q.reduce(*word));
        words.iter_mut().skip(ring.degree()).for_each(|word| *word = 0);
        ring.inverse(0, &mut words);
        words.iter_mut().for_each(|word| *word = q.centered(*word).rem_euclid(ring.plain() as i64) as u64);
        Ok(words)
    }

    /// Writes a plaintext, given by its coefficients, modulo every prime of the table. `at` and
    /// `put` read and write bytes of the table. Rows that
    /// [share](sotto_math::tiles::TileLayout::sharing) cache lines must not be written at the same
    /// time.
    ///
    /// # Errors
    /// The errors of `at` and `put`.
    ///
    /// # Panics
    /// If there is not one limb of coefficients.
    pub fn write_cell<R: SlotRing, E>(
        &self,
        rns: &RnsRing<R>,
        cell: (usize, usize),
        coefficients: &[u64],
        at: impl Fn(u64, &mut [u8]) -> Result<(), E>,
        put: impl Fn(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let values = rns.from_plain(self.level(), coefficients);
        for (limb, words) in values.chunks_exact(rns.ring().words()).enumerate() {
            let region = limb as u64 * self.layout().bytes();
            for (block, words) in words.as_chunks::<8>().0.iter().enumerate() {
                let at = |offset, out: &mut [u8]| at(region + offset, out);
                self.layout().write(block, cell, words, at, |offset, bytes| put(region + offset, bytes))?;
            }
        }
        Ok(())
    }

    /// Fills a strip modulo every prime of the table with polynomials, each as values limb by limb,
    /// and writes the strip's range of each block, which is contiguous.
    ///
    /// # Errors
    /// The errors of `put`.
    ///
    /// # Panics
    /// If a polynomial is not in the strip, or is not as long as the level requires.
    pub fn write_strip<E>(
        &self,
        strip: &Strip,
        polynomials: &[((usize, usize), Vec<u64>)],
        put: impl Fn(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let layout = self.layout();
        let (n, part) = (layout.n(), strip.block_bytes(layout));
        let mut bytes = vec![0; part * layout.blocks()];
        for limb in 0..self.level().limbs() {
            let of_limb = polynomials.iter().map(|(cell, words)| (*cell, &words[limb * n..][..n]));
            let words: Vec<((usize, usize), &[u64])> = of_limb.collect();
            bytes.fill(0);
            strip.put(layout, &words, &mut bytes);
            let region = limb as u64 * layout.bytes();
            for (block, bytes) in bytes.chunks_exact(part).enumerate() {
                put(region + strip.offset(layout, block), bytes)?;
            }
        }
        Ok(())
    }
}
