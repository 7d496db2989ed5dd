//! The server's half of a band: computes the entries of a strip, whose sums are the slots of all
//! its keys.
//!
//! A strip is a system of linear equations with coefficients 0 and 1, of which those of a key are
//! in a band of 128 rows, modulo a power of two. Modulo 2 it is solved by Gaussian elimination,
//! which stays within bands where the equations begin with a 1 (Dillinger and Walzer, 2021). The
//! remainder of both sides is even, and half of it is a system with the same coefficients, and so
//! on, one bit of every number at a time (Dixon, *Exact solution of linear equations using p-adic
//! expansions*, 1982). So elimination is done once, on bits, and there is a solution whenever there
//! is one modulo 2.

use super::band::{BandHash, BandPattern};
use super::params::Params;
use super::sizing::BuildError;
use super::{Keyword, slot};
use sotto_core::{Error, Misuse, SumElement};

/// The number of no equation, for rows without a pivot.
const NONE: u32 = u32::MAX;

/// Numbers of an entry that are processed at once, padded if there are fewer.
const LANES: usize = 16;

/// The entries of a solved strip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SolvedStrip {
    /// The seed for which the strip has a solution.
    pub tried: u8,
    /// One entry for each row of the table, one after the other.
    pub entries: Vec<u8>,
}

impl Keyword {
    /// Solves a strip, whose keys are in the slots of `strip`, as in a row of a table with row
    /// bounds.
    ///
    /// # Errors
    /// [`BuildError::Crowded`] if no seed has a solution; [`Misuse::Rule`] for bytes that are no
    /// strip of a band.
    pub fn solve(&self, strip: &[u8]) -> Result<SolvedStrip, BuildError> {
        let params = self.params();
        let rule = |why| BuildError::Refused(Error::from(Misuse::Rule(why)));
        let band = params.band.as_ref().ok_or_else(|| rule("a strip is of a band"))?;
        if strip.len() as u64 != params.row_bytes() {
            return Err(rule("a strip must have a slot for each of its keys"));
        }
        let bands = BandHash::new(params, band);
        let slots: Vec<_> = strip
            .chunks_exact(params.slot_bytes() as usize)
            .filter_map(|bytes| Some((slot::digest(params, bytes)?, bytes)))
            .collect();
        for tried in 0..=u8::MAX {
            let mut keys: Vec<_> =
                slots.iter().map(|(digest, bytes)| (*bands.of(*digest, tried), *bytes)).collect();
            keys.sort_unstable();
            let ones: Vec<BandPattern> = keys.iter().map(|(ones, _)| within(*ones, band.rows)).collect();
            if let Some(echelon) = Echelon::of(&ones, band.rows as usize) {
                let slots: Vec<&[u8]> = keys.iter().map(|(_, bytes)| *bytes).collect();
                return Ok(SolvedStrip { tried, entries: echelon.entries(params, band.unit, &ones, &slots) });
            }
        }
        Err(BuildError::Crowded { rows: band.rows })
    }
}

/// The band of a key without rows past the end of the table.
fn within(BandPattern { first, ones }: BandPattern, rows: u64) -> BandPattern {
    let there = u32::try_from(rows.saturating_sub(first)).unwrap_or(u32::MAX);
    BandPattern { first, ones: if there < u128::BITS { ones & ((1 << there) - 1) } else { ones } }
}

/// The equations after elimination modulo 2: each begins at a row where no other does.
struct Echelon {
    /// The equation that begins at a row.
    pivots: Vec<u32>,
    /// The remainder of each equation, from the row on where it begins.
    left: Vec<u128>,
    /// The equations that were added to each equation, one list after the other, and the ends of
    /// the lists.
    added: Vec<u32>,
    ends: Vec<usize>,
}

impl Echelon {
    /// `None` if equations depend on each other.
    fn of(equations: &[BandPattern], rows: usize) -> Option<Self> {
        let (mut left, mut ends) = (Vec::with_capacity(equations.len()), Vec::with_capacity(equations.len()));
        let (mut pivots, mut added) = (vec![NONE; rows], Vec::new());
        for (equation, BandPattern { first, ones }) in (0..).zip(equations) {
            let (mut at, mut ones) = (usize::try_from(*first).ok()?, *ones);
            loop {
                let skipped = ones.trailing_zeros();
                // Nothing is left of a dependent equation.
                ones = ones.checked_shr(skipped)?;
                at += skipped as usize;
                let pivot = pivots.get_mut(at)?;
                if *pivot == NONE {
                    *pivot = equation;
                    break;
                }
                added.push(*pivot);
                ones ^= left.get(*pivot as usize)?;
            }
            left.push(ones);
            ends.push(added.len());
        }
        Some(Echelon { pivots, left, added, ends })
    }

    /// The entries of all rows, whose sums are these slots.
    fn entries(
        &self,
        params: &Params,
        unit: SumElement,
        equations: &[BandPattern],
        slots: &[&[u8]],
    ) -> Vec<u8> {
        let width = params.entry_bytes(unit) as usize;
        let lanes = (width / unit.bytes()).next_multiple_of(LANES);
        let mut targets = vec![0u16; slots.len() * lanes];
        for (targets, slot) in targets.chunks_exact_mut(lanes).zip(slots) {
            targets
                .iter_mut()
                .zip(slot.chunks(unit.bytes()))
                .for_each(|(out, bytes)| *out = unit.number(bytes));
        }
        let rows = self.pivots.len();
        let (mut found, mut bits) = (vec![0u16; rows * lanes], vec![0u8; rows * lanes]);
        let mut sides = vec![0u8; slots.len() * lanes];
        for bit in 0..8 * unit.bytes() {
            sides.iter_mut().zip(&targets).for_each(|(side, targets)| *side = *targets as u8 & 1);
            self.add_sides(&mut sides, lanes);
            self.solve(&sides, &mut bits, lanes);
            found.iter_mut().zip(&bits).for_each(|(found, one)| *found |= u16::from(*one) << bit);
            halve(equations, &bits, &mut targets, lanes);
        }
        let entry = |numbers: &[u16]| {
            let numbers = numbers.iter().take(width / unit.bytes());
            numbers
                .flat_map(|number| unit.bytes_of(*number).into_iter().take(unit.bytes()))
                .collect::<Vec<u8>>()
        };
        found.chunks_exact(lanes).flat_map(entry).collect()
    }

    /// Applies the additions of the elimination to right sides.
    fn add_sides(&self, sides: &mut [u8], lanes: usize) {
        let mut begin = 0;
        for (equation, end) in self.ends.iter().enumerate() {
            let (before, rest) = sides.split_at_mut(equation * lanes);
            let side = &mut rest[..lanes];
            for other in &self.added[begin..*end] {
                add(side, &before[*other as usize * lanes..][..lanes]);
            }
            begin = *end;
        }
    }

    /// Substitutes from the last row to the first: rows where no equation begins are zero.
    fn solve(&self, sides: &[u8], bits: &mut [u8], lanes: usize) {
        for (row, pivot) in self.pivots.iter().enumerate().rev() {
            let (upto, after) = bits.split_at_mut((row + 1) * lanes);
            let here = &mut upto[row * lanes..];
            if *pivot == NONE {
                here.fill(0);
                continue;
            }
            here.copy_from_slice(&sides[*pivot as usize * lanes..][..lanes]);
            // The first one is this row.
            for i in ones_of(self.left[*pivot as usize] >> 1) {
                add(here, &after[i * lanes..][..lanes]);
            }
        }
    }
}

/// Subtracts the sums of these bits, which leaves even numbers, and halves them.
fn halve(equations: &[BandPattern], bits: &[u8], targets: &mut [u16], lanes: usize) {
    let mut sum = vec![0u8; lanes];
    for (BandPattern { first, ones }, targets) in equations.iter().zip(targets.chunks_exact_mut(lanes)) {
        sum.fill(0);
        for i in ones_of(*ones) {
            let bits = &bits[(*first as usize + i) * lanes..][..lanes];
            sum.iter_mut().zip(bits).for_each(|(sum, bit)| *sum += bit);
        }
        targets
            .iter_mut()
            .zip(&sum)
            .for_each(|(targets, sum)| *targets = targets.wrapping_sub((*sum).into()) >> 1);
    }
}

fn add(to: &mut [u8], other: &[u8]) {
    to.iter_mut().zip(other).for_each(|(to, other)| *to ^= other);
}

/// The positions of ones, from the lowest on.
fn ones_of(mut ones: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = ones.trailing_zeros();
        ones &= ones.wrapping_sub(1);
        (place < u128::BITS).then_some(place as usize)
    })
}
