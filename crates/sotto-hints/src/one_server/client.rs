//! The client: query, recover, and follow an update of the table.
//!
//! No branch and no allocation depends on the requested index. The addresses that depend on it are
//! documented in [`query`](super::query) and in the schemes' READMEs.

use super::family::{AnswerEffect, Client, Family, FamilyState, OneServerScheme, OpenQuery, Plan};
use super::hints::Hints;
use super::params::Params;
use super::prf::{Prf, lanes};
use super::query::HintSearch;
use super::row_order::{PartitionPlace, RowOrder, equal, pick};
use crate::delta::{PartitionDelta, RowsDelta};
use crate::journal::{HINT_RESPONSE, Journal, QUERY};
use crate::message::Answer;
use sotto_core::{Budget, CryptoRng, Error, Misuse, OneServer, Record, RecordIndex, Result};
use std::collections::VecDeque;
use zeroize::{Zeroize, Zeroizing};

/// Ids that are processed together.
const CHUNK_IDS: usize = 2048;

/// The number that is written for no hint.
pub(super) const NO_HINT: u32 = u32::MAX;

/// The name of a query. Its secrets stay in the client, since they must survive a crash.
pub struct Pending {
    name: u64,
    pub(super) number: u64,
}

impl<F: Family> sotto_core::Client<OneServerScheme<F>> for Client<F> {
    type Pending = Pending;

    fn keys(&self) {}

    fn query(
        &mut self,
        index: RecordIndex,
        rng: &mut dyn CryptoRng,
    ) -> Result<(OneServer<F::Query>, Pending)> {
        let (index, len) = (index.0, self.params.rows());
        if index >= len {
            return Err(Misuse::IndexPastEnd { index, len }.into());
        }
        if F::left(self) == 0 {
            return Err(Error::Exhausted(Budget::Left(0)));
        }
        let row = self.order.of(index);
        let (query, mut plan) = F::make_query(self, row, rng)?;
        let ([chosen, _], none) = (plan.ids().map(|id| *id), self.hints.none());
        let chosen = pick(equal(chosen, none), NO_HINT, chosen);
        self.journal.add(&(QUERY, self.next, chosen, row.number(), plan.more()), &[]);
        let number = self.spend(plan, row);
        plan.zeroize();
        Ok((OneServer(query), self.pending(number)))
    }

    fn recover(&mut self, pending: Pending, OneServer(answer): OneServer<Answer>) -> Result<Record> {
        let at = self.find(pending.number).filter(|_| pending.name == self.name);
        let mut open = at.and_then(|at| self.open_queries.remove(at)).ok_or(Misuse::ForeignValue("query"))?;
        let (row, known) = F::read(self, &open.plan, &answer);
        self.apply_answer(&open, known.then_some(row.as_slice()));
        self.journal.add_answer(open.number, known, &row);
        open.zeroize();
        if known { Ok(Record(row)) } else { Err(Error::Unreadable) }
    }

    fn budget(&self) -> Budget {
        Budget::Left(F::left(self))
    }
}

impl<F: Family> Client<F> {
    /// A client that has made no query.
    pub fn new(params: Params<F>, key: Zeroizing<[u8; 16]>, hints: Hints<F>, own: F::FamilyState) -> Self {
        let prf = Prf::new(&params, &key);
        Client {
            name: prf.name(),
            order: F::Order::new(params.partitions(), params.partition_rows()),
            search: HintSearch::new(&params),
            scratch: F::Scratch::default(),
            params,
            key,
            prf,
            hints,
            own,
            next: 0,
            open_queries: VecDeque::new(),
            last: None,
            journal: Journal::default(),
        }
    }

    pub(super) fn pending(&self, number: u64) -> Pending {
        Pending { name: self.name, number }
    }

    /// The index of a query among those whose answers have not come.
    pub(super) fn find(&self, number: u64) -> Option<usize> {
        self.open_queries.binary_search_by_key(&number, |open_queries| open_queries.number).ok()
    }

    /// Spends a hint, promotes a backup, and numbers the query.
    pub(super) fn spend(&mut self, plan: F::QueryPlan, row: PartitionPlace) -> u64 {
        let number = self.next;
        F::promote(&mut self.hints, &self.prf, &plan, row);
        self.open_queries.push_back(OpenQuery { number, plan });
        self.next += 1;
        number
    }

    /// Completes a query that is no longer open: the replacement of the spent hint learns the row,
    /// if there is one, and the spent hint is wiped.
    pub(super) fn apply_answer(&mut self, open: &OpenQuery<F::QueryPlan>, row: Option<&[u8]>) {
        let mut plan = open.plan;
        let [chosen, promoted] = plan.ids().map(|id| *id);
        let kept = F::keep(self, open, row);
        if let Some(row) = row {
            self.hints.learn(promoted, row);
        }
        self.hints.forget(chosen);
        self.last = Some((open.number, AnswerEffect { promoted, kept }));
        plan.zeroize();
    }

    /// Reverts the effect of the last answer, if it belongs to this query.
    pub(super) fn withdraw(&mut self, number: u64) {
        if let Some((_, effect)) = self.last.filter(|(last, _)| *last == number) {
            self.hints.withdraw(effect.promoted);
            self.own.unlearn(effect.kept);
        }
    }

    /// Records that a block of hints came, for schemes with hint requests.
    pub fn log_hint_response(&mut self, block: u64, response: &[u8]) {
        self.journal.add(&(HINT_RESPONSE, block), response);
    }
}

impl<F: Family> Client<F> {
    /// Applies a whole rows delta, whose row numbers are numbers of places: adds old xor new of each
    /// changed row to everything that contains the row.
    ///
    /// There is one pass over all ids for each partition with a change. Its time depends on hints
    /// and changes, not on the rows that are requested.
    pub(super) fn follow_rows(&mut self, delta: &[u8]) -> Result<()> {
        let changes = RowsDelta::read(delta, self.params.places(), self.params.row_bytes())?;
        let partitions = changes.partitions(self.params.partition_rows());
        partitions.for_each(|(k, changes)| self.follow_partition(k, &changes));
        Ok(())
    }

    fn follow_partition(&mut self, k: u64, changes: &PartitionDelta<'_>) {
        let mut blocks = Zeroizing::new(vec![[0; 16]; CHUNK_IDS / 8]);
        // There are at most 2^25 ids.
        let ids = self.hints.ids_received as u32;
        for first in (0..ids).step_by(CHUNK_IDS) {
            let these = first..ids.min(first.saturating_add(CHUNK_IDS as u32));
            self.prf.aes().grid(F::OFFSET + k, 1, u64::from(first) / 8, blocks.len(), &mut blocks);
            let touched = these.zip(lanes(&blocks)).filter_map(|(id, offset)| {
                let change = changes.at(offset & self.prf.mask())?;
                Some((id, change))
            });
            let touched: Vec<(u32, &[u8])> = touched.collect();
            F::follow(&mut self.hints, &self.prf, k, &touched);
        }
        F::follow_own(self, k, changes);
    }
}

impl<F: Family> Drop for Client<F> {
    fn drop(&mut self) {
        self.open_queries.iter_mut().for_each(Zeroize::zeroize);
    }
}
