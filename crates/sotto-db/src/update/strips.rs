//! Solves the strips of a band again whose keys changed; each strip is a part of every row.

use super::changes::{MAX_BYTES, OVERHEAD_BYTES, RowChanges};
use crate::{DbError, Result};
use rayon::prelude::*;
use sotto_core::{Misuse, RecordChange};
use sotto_layers::Keyword;
use sotto_layers::keyword::{BuildError, SolvedStrip};

/// Strips that were solved again, and the keyword layer of the table that has them.
pub(super) struct SolvedStrips {
    strips: Vec<(u64, SolvedStrip)>,
    /// Keyword layer of the table with the solved strips.
    pub(super) keyword: Keyword,
}

impl SolvedStrips {
    /// Solves the strips whose slots changed.
    ///
    /// # Errors
    /// [`DbError::Scheme`] for more strips than fit in memory, and for one that has no solution.
    pub(super) fn solve(slots: &RowChanges, keyword: Keyword) -> Result<Self> {
        let band = keyword.params().band.clone();
        let mut band = band.ok_or_else(|| refused("the keys are not encoded as sums of rows"))?;
        let row_bytes = keyword.params().table_row_bytes() / keyword.params().rows;
        let each = band.rows.saturating_mul(row_bytes + OVERHEAD_BYTES);
        if each.saturating_mul(slots.len() as u64) > MAX_BYTES {
            return Err(refused("over 1 GiB of sums change: encode the table afresh instead"));
        }
        let solve = |(strip, slots): (&u64, &Vec<u8>)| match keyword.solve(slots) {
            Ok(solved) => Ok((*strip, solved)),
            Err(BuildError::Refused(error)) => Err(error.into()),
            Err(_) => Err(refused(
                "the sums have no room for these keys: encode the table afresh, with room for more",
            )),
        };
        let strips: Vec<_> = slots.par_iter().map(solve).collect::<Result<_>>()?;
        for (strip, solved) in &strips {
            let tried = usize::try_from(*strip).ok().and_then(|strip| band.tries.0.get_mut(strip));
            *tried.ok_or_else(|| refused("a strip of the table"))? = solved.tried;
        }
        Ok(SolvedStrips { strips, keyword: keyword.with_tries(band.tries.0) })
    }

    /// Changes to each record, in the order of the records.
    pub(super) fn changes(&self) -> Result<Vec<RecordChange>> {
        let params = self.keyword.params();
        let (rows, entry) = (params.table_rows(), params.table_row_bytes() / params.rows);
        let mut changes: Vec<RecordChange> = Vec::new();
        let width = usize::try_from(entry).map_err(|_| refused("an entry fits in memory"))?;
        let mut entries: Vec<_> = self
            .strips
            .iter()
            .map(|(strip, solved)| (strip * entry, solved.entries.chunks_exact(width)))
            .collect();
        for record in 0..rows {
            for (offset, entries) in &mut entries {
                let bytes = entries.next().ok_or_else(|| refused("an entry for each row"))?;
                match changes.last_mut() {
                    Some(last)
                        if last.record == record && last.offset + last.bytes.len() as u64 == *offset =>
                    {
                        last.bytes.extend_from_slice(bytes);
                    }
                    _ => changes.push(RecordChange { record, offset: *offset, bytes: bytes.to_vec() }),
                }
            }
        }
        Ok(changes)
    }
}

fn refused(why: &'static str) -> DbError {
    Misuse::Rule(why).into()
}
