//! Tables in parts: a part holds some columns, folds them by the lower bits, and sends the result
//! modulo q; the join folds the results of all parts by the higher bits.
//!
//! The 2^nu2 columns are split into pieces whose size is a power of two. So the order of folding,
//! and with it every byte, is that of the whole table.

use super::{BATCH, CubeTable, ExpandedQuery, halve};
use crate::message::{Answer, Keys, Query};
use crate::params::{CubeScheme, Family, Inner, Params};
use crate::session::Session;
use rayon::prelude::*;
use sotto_core::server::with_successes;
use sotto_core::{Image, Misuse, PartIndex, PartScheme, PeerMisbehaved, Result};
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::ring::ModulusLevel;
use sotto_math::tiles::TileLayout;
use std::ops::Range;
use std::sync::Arc;

/// Smallest number of pieces of each part, where the number of parts is not a power of two and
/// there are enough pieces.
const PIECES: u32 = 4;

/// The columns that a server holds.
pub(super) struct ColumnRange {
    /// Layout of the columns: those of one polynomial (or column of the matrix) after those of the
    /// previous one.
    pub(super) layout: TileLayout,
    /// Number of bits that fold one piece.
    pub(super) levels: usize,
}

impl ColumnRange {
    /// The range of all columns.
    pub(super) fn all(params: &Inner) -> Self {
        ColumnRange { layout: *params.grid.layout(), levels: params.literal.nu2.into() }
    }
}

/// The split of the columns into pieces, which the parts and the join fold.
struct FoldSplit {
    /// log2 of the columns in a piece.
    levels: usize,
    /// log2 of the number of pieces.
    above: usize,
}

impl FoldSplit {
    /// Splits the columns for a table in `parts` parts.
    fn of(params: &Inner, parts: u32) -> Self {
        let nu2 = usize::from(params.literal.nu2);
        let pieces = if parts.is_power_of_two() { parts } else { (parts * PIECES).next_power_of_two() };
        let above = (pieces.ilog2() as usize).min(max_levels_above(params));
        FoldSplit { levels: nu2 - above, above }
    }

    /// The pieces of one part.
    fn share(&self, cut: PartIndex) -> Range<usize> {
        let share = cut.share(1 << self.above);
        share.start as usize..share.end as usize
    }
}

/// Largest number of bits that can be left to the join: pieces are whole groups of columns.
fn max_levels_above(params: &Inner) -> usize {
    usize::from(params.literal.nu2).saturating_sub(TileLayout::GROUP_COLS.ilog2() as usize)
}

/// Number of polynomials of a unit (or columns of its matrix).
fn groups(params: &Inner) -> usize {
    params.grid.layout().cols() / params.grid.columns()
}

/// Bytes of a ciphertext modulo q.
fn bytes(params: &Inner) -> usize {
    Ciphertext::sent_bytes(&params.ring, ModulusLevel::Main, params.rank())
}

fn layout_of(params: &Inner, cut: PartIndex) -> Result<ColumnRange> {
    let whole = params.grid.layout();
    let pieces = FoldSplit::of(params, cut.parts());
    let cols = groups(params) * (pieces.share(cut).len() << pieces.levels);
    let layout = TileLayout::new(whole.packing(), whole.n(), whole.rows(), cols);
    let layout = layout.ok_or(Misuse::Rule("a part must have at least one piece"))?;
    Ok(ColumnRange { layout, levels: pieces.levels })
}

impl<F: Family> PartScheme for CubeScheme<F> {
    type Part = CubeTable<F>;
    type Joiner = ();

    fn max_parts(params: &Params<F>) -> u32 {
        1 << max_levels_above(params)
    }

    fn part_ranges(params: &Params<F>, cut: PartIndex) -> Vec<Range<u64>> {
        let layout = params.grid.layout();
        if cut.parts() == 1 {
            // Where there are few columns, those of several polynomials share tiles and cannot be
            // separated.
            return std::iter::once(0..params.grid.region(params.grid.units())).collect();
        }
        let pieces = FoldSplit::of(params, cut.parts());
        let share = pieces.share(cut);
        let mut all = Vec::new();
        for unit in 0..params.grid.units() {
            let of_group = |group: usize| {
                let first = group * params.grid.columns();
                layout.columns(first + (share.start << pieces.levels)..first + (share.end << pieces.levels))
            };
            let mut of_groups: Vec<_> = (0..groups(params)).map(of_group).collect();
            let region = params.grid.region(unit);
            // Tile by tile, which is the order of the columns in the image.
            while let Some(tile) = of_groups.iter_mut().map(Iterator::next).collect::<Option<Vec<_>>>() {
                all.extend(tile.into_iter().map(|range| region + range.start..region + range.end));
            }
        }
        all
    }

    fn open_part(params: &Params<F>, cut: PartIndex, image: Arc<dyn Image>) -> Result<CubeTable<F>> {
        CubeTable::open_share(params, layout_of(params, cut)?, image)
    }

    fn partial_bytes(params: &Params<F>, cut: PartIndex) -> usize {
        let pieces = FoldSplit::of(params, cut.parts()).share(cut).len();
        params.grid.units() as usize * groups(params) * pieces * bytes(params)
    }

    fn admit(params: &Params<F>, keys: Keys) -> Result<Session> {
        Session::admit(params, &keys)
    }

    fn answer_part(part: &CubeTable<F>, queries: Vec<(&Session, Query)>) -> Vec<Result<Vec<u8>>> {
        let queries: Vec<(&Session, &Query)> =
            queries.iter().map(|(session, query)| (*session, query)).collect();
        with_successes(part.prepare_all(&queries), |queries: Vec<ExpandedQuery>| {
            let queries: Vec<&ExpandedQuery> = queries.iter().collect();
            queries.chunks(BATCH).flat_map(|chunk| part.partials(chunk)).map(Ok).collect()
        })
    }

    fn prepare_join(_: &Params<F>) -> Result<()> {
        Ok(())
    }

    fn join(
        params: &Params<F>,
        (): &(),
        session: &Session,
        query: Query,
        partials: &[Vec<u8>],
    ) -> Result<Answer> {
        let bits = params.bits_of(session, &query)?;
        let parts = u32::try_from(partials.len()).unwrap_or(u32::MAX);
        let pieces = FoldSplit::of(params, parts);
        let high = bits.get(pieces.levels..).unwrap_or_default();
        let mut shares: Vec<_> = partials.iter().map(|partial| partial.chunks_exact(bytes(params))).collect();
        let mut unit = || -> Result<_> {
            let mut folded = Vec::new();
            for _ in 0..groups(params) {
                let mut ciphers = Vec::with_capacity(1 << pieces.above);
                for (cut, share) in PartIndex::all(parts).zip(&mut shares) {
                    for bytes in share.take(pieces.share(cut).len()) {
                        let cipher = Ciphertext::take(&params.ring, params.rank(), bytes);
                        ciphers.push(cipher.ok_or(PeerMisbehaved::NotCanonical("partial"))?);
                    }
                }
                folded.extend(halve(&params.ring, ciphers, high));
            }
            Ok(params.respond(folded, &session.pack))
        };
        Ok(Answer((0..params.grid.units()).map(|_| unit()).collect::<Result<_>>()?))
    }
}

impl<F> CubeTable<F> {
    /// The partials of at most [`BATCH`] queries: their folded columns, unit by unit.
    fn partials(&self, queries: &[&ExpandedQuery]) -> Vec<Vec<u8>> {
        let mut partials = vec![Vec::new(); queries.len()];
        for unit in 0..self.params.grid.units() {
            let columns = self.first_dimension(unit, queries);
            let folded: Vec<Vec<Ciphertext>> = columns
                .into_par_iter()
                .zip(queries)
                .map(|(columns, query)| self.fold(columns, query))
                .collect();
            for (partial, folded) in partials.iter_mut().zip(folded) {
                folded.iter().for_each(|cipher| cipher.put(partial));
            }
        }
        partials
    }
}
