//! The client: ask, read the answer.
//!
//! Nothing branches or allocates by the index asked for. Where an address depends on it, [`search`](super::search) and the
//! schemes' READMEs say so.

use super::family::{FamilyState, FamilyStateChange};
use super::journal::JournalEvent;
use super::search::HintSearch;
use super::{Answer, Family, Hints, OneServerScheme, Params, PartitionPlace, Plan, Prf, RowOrder};
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Budget, CryptoRng, Error, Misuse, OneServer, Record, RecordIndex, Result};
use std::collections::VecDeque;
use zeroize::{Zeroize, Zeroizing};

/// A client with hints.
pub struct Client<F: Family> {
    /// The table's parameters.
    pub params: Params<F>,
    /// What all sets are drawn from.
    pub key: Zeroizing<[u8; 16]>,
    /// The function under that key.
    pub prf: Prf<F>,
    order: F::Order,
    /// What is kept of its hints.
    pub hints: Hints<F>,
    /// What is kept besides.
    pub own: F::FamilyState,
    /// The number of the next query.
    pub next: u64,
    /// Queries whose answers have not come, by ascending number.
    pub asked: VecDeque<OpenQuery<F::QueryPlan>>,
    /// The query that was read last, and what its answer taught.
    pub last: Option<(u64, AnswerEffect<FamilyStateChange<F>>)>,
    /// What the journal has not given yet.
    pub(super) events: Vec<JournalEvent<F::QueryPlan>>,
    /// What of it is in words already.
    pub(super) written: Vec<Zeroizing<Vec<u8>>>,
    /// Tells its queries from other clients'.
    name: u64,
    /// Room to find a hint in.
    pub search: HintSearch<F>,
    /// Room to make requests in.
    pub room: F::Scratch,
}

/// A query whose answer has not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroize, BorshSerialize, BorshDeserialize)]
pub struct OpenQuery<P> {
    /// Its number.
    pub number: u64,
    /// The hint that was spent on it, what took its place, and what else is needed to read the answer.
    pub plan: P,
}

/// What the last answer taught.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct AnswerEffect<K> {
    /// The hint that learnt the row; none if none did.
    pub promoted: u32,
    /// What else changed.
    pub kept: K,
}

/// The name of a query. What is secret about it stays in its client, since it has to survive a crash.
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
        let (query, mut plan) = F::ask(self, row, rng)?;
        self.events.push(JournalEvent::Asked { number: self.next, row, plan });
        let number = self.spend(plan, row);
        plan.zeroize();
        Ok((OneServer(query), self.pending(number)))
    }

    fn recover(&mut self, pending: Pending, OneServer(answer): OneServer<Answer>) -> Result<Record> {
        let at = self.find(pending.number).filter(|_| pending.name == self.name);
        let mut asked = at.and_then(|at| self.asked.remove(at)).ok_or(Misuse::ForeignValue("query"))?;
        let (row, known) = F::read(self, &asked.plan, &answer);
        self.apply_answer(&asked, known.then_some(row.as_slice()));
        let [_, promoted] = asked.plan.ids();
        self.events.push(JournalEvent::Settled { number: asked.number, promoted: *promoted });
        asked.zeroize();
        if known { Ok(Record(row)) } else { Err(Error::Unreadable) }
    }

    fn budget(&self) -> Budget {
        Budget::Left(F::left(self))
    }
}

impl<F: Family> Client<F> {
    /// A client that has asked nothing.
    pub fn new(params: Params<F>, key: Zeroizing<[u8; 16]>, hints: Hints<F>, own: F::FamilyState) -> Self {
        let prf = Prf::new(&params, &key);
        Client {
            name: prf.name(),
            order: F::Order::new(params.partitions(), params.partition_rows()),
            search: HintSearch::new(&params),
            room: F::Scratch::default(),
            params,
            key,
            prf,
            hints,
            own,
            next: 0,
            asked: VecDeque::new(),
            last: None,
            events: Vec::new(),
            written: Vec::new(),
        }
    }

    pub(super) fn pending(&self, number: u64) -> Pending {
        Pending { name: self.name, number }
    }

    /// Where a query is among those whose answers have not come.
    pub(super) fn find(&self, number: u64) -> Option<usize> {
        self.asked.binary_search_by_key(&number, |asked| asked.number).ok()
    }

    /// Spends a hint and promotes a backup, and gives the query its number.
    pub(super) fn spend(&mut self, plan: F::QueryPlan, row: PartitionPlace) -> u64 {
        let number = self.next;
        F::promote(&mut self.hints, &self.prf, &plan, row);
        self.asked.push_back(OpenQuery { number, plan });
        self.next += 1;
        number
    }

    /// Ends a query that is not among those asked any more: the hint that took the place of the one spent learns the row,
    /// if there is one, and the one spent is forgotten.
    pub fn apply_answer(&mut self, asked: &OpenQuery<F::QueryPlan>, row: Option<&[u8]>) {
        let mut plan = asked.plan;
        let [chosen, promoted] = plan.ids().map(|id| *id);
        let kept = F::keep(self, asked, row);
        if let Some(row) = row {
            self.hints.learn(promoted, row);
        }
        self.hints.forget(chosen);
        self.last = Some((asked.number, AnswerEffect { promoted, kept }));
        plan.zeroize();
    }

    /// Takes back what the last answer taught, if it was to this query.
    pub(super) fn withdraw(&mut self, number: u64) {
        if let Some((_, learnt)) = self.last.filter(|(last, _)| *last == number) {
            self.hints.withdraw(learnt.promoted);
            self.own.unlearn(learnt.kept);
        }
    }
}

impl<F: Family> Drop for Client<F> {
    fn drop(&mut self) {
        self.asked.iter_mut().for_each(Zeroize::zeroize);
        self.events.iter_mut().for_each(Zeroize::zeroize);
    }
}
