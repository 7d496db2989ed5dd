//! The requested rows whose answers came, by the number of their query.
//!
//! A row that was recovered is not requested again: each time would take another backup of its
//! partition. The paper's client stores rows for the same reason. A row whose answer came and could
//! not be used is not requested again either: queries must not depend on the content of answers,
//! only on which came.

use crate::{FullSets, Params};
use sotto_core::Result;
use sotto_hints::codec::{StateReader, put, reserve};
use sotto_hints::one_server::row_order::{equal, pick};
use sotto_hints::one_server::{FamilyState, PartitionPlace};
use std::io::Write;
use zeroize::{Zeroize, Zeroizing};

/// The number that stands for no query, and for the place of a missing row.
pub(crate) const NEVER: u32 = u32::MAX;

/// Rows by the number of the query that requested them.
pub struct AnsweredRows {
    row_bytes: usize,
    /// The data of each row, and one more that stands for "none".
    kept: Zeroizing<Vec<AnsweredRow>>,
    /// The bytes of the rows, in the same order.
    rows: Zeroizing<Vec<u8>>,
}

/// The data of a requested row, without its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroize)]
struct AnsweredRow {
    /// The place of the row; of no meaning before the answer came.
    place: u32,
    /// 1 if the answer came.
    came: u8,
    /// 1 if the row is known.
    known: u8,
}

impl AnsweredRows {
    /// The last query before `next` for a row whose answer came; [`NEVER`] if there is none. Reads
    /// all of them.
    pub(crate) fn find(&self, row: PartitionPlace, next: u64) -> u32 {
        let row = row.number();
        let hits = self.kept.iter().zip(0..).take(next as usize);
        hits.fold(NEVER, |found, (kept, n)| pick(equal(kept.place, row) & u32::from(kept.came), n, found))
    }

    /// The offset of a query's row.
    fn at(&self, query: u32) -> usize {
        (query as usize).min(self.kept.len() - 1)
    }

    /// The row of a query; zeros if it is not known.
    pub(crate) fn row(&self, query: u32) -> &[u8] {
        let at = self.row_bytes * self.at(query);
        self.rows.get(at..at + self.row_bytes).unwrap_or_default()
    }

    /// Whether the row of a query is known.
    pub(crate) fn is_known(&self, query: u32) -> bool {
        self.kept.get(self.at(query)).is_some_and(|kept| kept.known == 1)
    }

    /// Records that an answer came, and its row if it is known. For no query, records nothing.
    pub(crate) fn put(&mut self, query: u32, place: u32, row: Option<&[u8]>) {
        let last = self.kept.len() - 1;
        let Some(kept) = self.kept.get_mut(..last).and_then(|kept| kept.get_mut(query as usize)) else {
            return;
        };
        *kept = AnsweredRow { place, came: 1, known: u8::from(row.is_some()) };
        let at = self.row_bytes * query as usize;
        let bytes = self.rows.get_mut(at..at + self.row_bytes).unwrap_or_default();
        bytes.iter_mut().zip(row.unwrap_or_default()).for_each(|(byte, row)| *byte = *row);
    }

    /// Calls `change` with the place and the bytes of every row that is known.
    pub(crate) fn each_known(&mut self, next: u64, mut change: impl FnMut(u32, &mut [u8])) {
        let all = self.kept.iter().zip(self.rows.chunks_exact_mut(self.row_bytes)).take(next as usize);
        all.filter(|(kept, _)| kept.known == 1).for_each(|(kept, row)| change(kept.place, row));
    }
}

impl FamilyState<FullSets> for AnsweredRows {
    /// The query under which the row is stored.
    type StateChange = u32;

    /// Reserves space for the rows of all queries, which is not touched before they come.
    fn new(params: &Params) -> Result<Self> {
        let (count, row_bytes) = (params.queries() + 1, params.row_bytes());
        reserve(&mut Vec::<u8>::new(), count.saturating_mul(row_bytes))?;
        let none = AnsweredRow { place: NEVER, came: 0, known: 0 };
        let kept = Zeroizing::new(vec![none; count]);
        Ok(AnsweredRows { row_bytes, kept, rows: Zeroizing::new(vec![0; count * row_bytes]) })
    }

    /// Removes a row, but not the record that it was requested.
    fn unlearn(&mut self, query: u32) {
        let at = self.row_bytes * self.at(query);
        self.rows.get_mut(at..at + self.row_bytes).unwrap_or_default().zeroize();
        let at = self.at(query);
        if let Some(kept) = self.kept.get_mut(at) {
            kept.known = 0;
        }
    }

    /// Writes the data of the queries before `next`: whether the answer came and its row is known,
    /// the place, the row.
    fn save(&self, next: u64, out: &mut dyn Write) -> Result<()> {
        let all = self.kept.iter().zip(self.rows.chunks_exact(self.row_bytes)).take(next as usize);
        for (AnsweredRow { place, came, known }, row) in all {
            put(&(came + known), out)?;
            if *came == 1 {
                put(place, out)?;
            }
            if *known == 1 {
                out.write_all(row)?;
            }
        }
        Ok(())
    }

    fn load(params: &Params, next: u64, from: &mut StateReader<'_>) -> Result<Self> {
        let mut seen = AnsweredRows::new(params)?;
        let mut row = Zeroizing::new(vec![0; params.row_bytes()]);
        // Below 2^24.
        for query in 0..next as u32 {
            let what: u8 = from.get()?;
            if what == 0 {
                continue;
            }
            let place = from.get()?;
            if what > 2 || !params.has(PartitionPlace::of(place)) {
                return Err(from.malformed("an answered row is invalid"));
            }
            if what == 2 {
                from.exact(&mut row)?;
            }
            seen.put(query, place, (what == 2).then_some(&row));
        }
        Ok(seen)
    }
}
