//! The server: one pass over the matrix for up to eight queries at once.

use crate::SimplePir;
use crate::message::{Answer, Query};
use crate::params::Params;
use rayon::prelude::*;
use sotto_core::{Artifact, Held, Image, Result, Rows, Section, Sink, Stored};
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_u32};
use std::sync::Arc;

/// Where a client's hint lies in an image.
pub(crate) const HINT: Section = Section::Public(Artifact::Hint);

/// Queries in one pass. More would not be faster: eight already keep the multipliers busy, not the memory.
const BATCH: usize = 8;

/// An open table.
pub struct Server {
    params: Params,
    layout: PanelLayout,
    matrix: Held,
}

impl sotto_core::Server<SimplePir> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        crate::encode::encode(params, rows, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        // Clients fetch the hint, and none of it is needed here.
        Held::open(image.clone(), HINT, "hint", params.hint_bytes())?;
        let matrix = Held::open(image, Section::Resident, "matrix", params.matrix_bytes())?;
        Ok(Server { params: params.clone(), layout: PanelLayout::new(params.l(), params.m()), matrix })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn Rows>> {
        let held = Held::open(image, Section::Resident, "matrix", params.matrix_bytes())?;
        let layout = PanelLayout::new(params.l(), params.m());
        let read = move |matrix: &[u8], record: u64, offset: usize, out: &mut [u8]| {
            for (row, byte) in (offset..).zip(out) {
                *byte = *matrix.get(layout.offset(row, record as usize))?;
            }
            Some(())
        };
        Ok(Box::new(Stored { held, records: params.m() as u64, record_bytes: params.l(), read }))
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// Answer, for eight queries in one pass: `y = D c`, then the top t of b bits of every word.
    fn answer_many(&self, asks: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        let queries: Vec<Query> = asks.into_iter().map(|(_, query)| query).collect();
        queries.chunks(BATCH).flat_map(|batch| self.answers(batch)).map(Ok).collect()
    }
}

impl Server {
    fn answers(&self, queries: &[Query]) -> Vec<Answer> {
        let planes: Vec<QueryPlanes> = queries
            .iter()
            .map(|Query(c)| QueryPlanes::from_u32(c, self.params.planes(), &self.layout))
            .collect();
        let mut y = self.times_matrix(&planes);
        for words in &mut y {
            words.truncate(self.params.l());
            round(words, self.params.query_bits(), self.params.answer_bits());
        }
        y.into_iter().map(Answer).collect()
    }

    /// D c modulo 2^32 for several c, each thread of the pool reading one stretch of panels.
    fn times_matrix(&self, queries: &[QueryPlanes]) -> Vec<Vec<u32>> {
        let queries: Vec<&QueryPlanes> = queries.iter().collect();
        // One stretch per thread: more streams at once than that slow the memory down.
        let stretch = self.layout.panels().div_ceil(rayon::current_num_threads()).max(1);
        let parts: Vec<Vec<Vec<u32>>> = self
            .matrix
            .bytes()
            .par_chunks(stretch * self.layout.panel_bytes())
            .map(|part| {
                let rows = part.len() / self.layout.panel_bytes() * PANEL_ROWS;
                let mut out = vec![vec![0; rows]; queries.len()];
                let mut slices: Vec<&mut [u32]> = out.iter_mut().map(Vec::as_mut_slice).collect();
                scan_u32(part, &self.layout, &queries, &mut slices);
                out
            })
            .collect();
        (0..queries.len())
            .map(|i| parts.iter().filter_map(|part| part.get(i)).flatten().copied().collect())
            .collect()
    }
}

/// Rows in a panel of [`PanelLayout`].
pub(crate) const PANEL_ROWS: usize = 64;

/// Keeps the top t of b bits, rounded to nearest. Bits above b are the wrap of 2^b and are dropped.
fn round(words: &mut [u32], b: u32, t: u32) {
    let half = if t < b { 1 << (b - t - 1) } else { 0 };
    let mask = u32::MAX >> (32 - t);
    words.iter_mut().for_each(|y| *y = (y.wrapping_add(half) >> (b - t)) & mask);
}

#[cfg(test)]
mod tests {
    use super::round;

    #[test]
    fn rounding_wraps_at_the_top() {
        let mut words = [0, 1 << 15, (1 << 15) - 1, (1 << 26) - 1, 1 << 26, u32::MAX];
        round(&mut words, 26, 10);
        assert_eq!(words, [0, 1, 0, 0, 0, 0]);
        let mut whole = [5, u32::MAX];
        round(&mut whole, 32, 32);
        assert_eq!(whole, [5, u32::MAX]);
    }
}
