//! One plaintext of a table that is stored as values: where it lies, read, and written.

use super::ring::SlotRing;
use super::rns::Rns;
use super::rows::Table;

/// Words of a line, and its bytes.
const LINE: usize = 8;
const LINE_BYTES: usize = 8 * LINE;

impl Table {
    /// Where the lines of a plaintext lie modulo one prime of the table, from the table's first byte on.
    ///
    /// # Panics
    /// If there is no such row or column.
    pub fn lines(&self, limb: usize, (row, col): (usize, usize)) -> impl Iterator<Item = u64> + use<> {
        let (layout, region) = (*self.layout(), limb as u64 * self.layout().bytes());
        (0..layout.blocks()).map(move |block| region + layout.line(block, row, col))
    }

    /// The coefficients of a plaintext. `at` reads bytes of the table; of a damaged one it gives other numbers in `0..t`.
    ///
    /// # Errors
    /// Those of `at`.
    pub fn read_cell<R: SlotRing, E>(
        &self,
        rns: &Rns<R>,
        cell: (usize, usize),
        at: impl Fn(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Vec<u64>, E> {
        let ring = rns.ring();
        let mut words = Vec::with_capacity(ring.words());
        let mut line = [0; LINE_BYTES];
        for offset in self.lines(0, cell) {
            at(offset, &mut line)?;
            words.extend(line.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
        }
        // One prime tells them, since they are smaller than any.
        let Some(plan) = ring.plans().first() else { return Ok(words) };
        let q = plan.modulus();
        words.iter_mut().for_each(|word| *word = q.reduce(*word));
        words.iter_mut().skip(ring.degree()).for_each(|word| *word = 0);
        ring.inverse(0, &mut words);
        words.iter_mut().for_each(|word| *word = q.centred(*word).rem_euclid(ring.plain() as i64) as u64);
        Ok(words)
    }

    /// Writes a plaintext, given by its coefficients, modulo every prime of the table. `put` writes bytes of the table.
    ///
    /// # Errors
    /// Those of `put`.
    ///
    /// # Panics
    /// If there is not one limb of coefficients.
    pub fn write_cell<R: SlotRing, E>(
        &self,
        rns: &Rns<R>,
        cell: (usize, usize),
        coefficients: &[u64],
        put: impl Fn(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let values = rns.from_plain(self.level(), coefficients);
        for (limb, words) in values.chunks_exact(rns.ring().words()).enumerate() {
            for (offset, line) in self.lines(limb, cell).zip(words.as_chunks::<LINE>().0) {
                let bytes: Vec<u8> = line.iter().flat_map(|word| word.to_le_bytes()).collect();
                put(offset, &bytes)?;
            }
        }
        Ok(())
    }
}
