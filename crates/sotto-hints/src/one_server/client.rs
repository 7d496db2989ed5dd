//! The client: query and recover.
//!
//! No branch and no allocation depends on the requested index. The addresses that depend on it are
//! documented in [`search`](super::search) and in the schemes' READMEs.

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
    /// Parameters of the table.
    pub params: Params<F>,
    /// The key that all sets are derived from.
    pub key: Zeroizing<[u8; 16]>,
    /// The pseudo-random function under the client's key.
    pub prf: Prf<F>,
    order: F::Order,
    /// The client's hints and backups.
    pub hints: Hints<F>,
    /// The family's state besides hints.
    pub own: F::FamilyState,
    /// The number of the next query.
    pub next: u64,
    /// Queries whose answers have not come, by ascending number.
    pub asked: VecDeque<OpenQuery<F::QueryPlan>>,
    /// The number of the query that was recovered last, and the effect of its answer.
    pub last: Option<(u64, AnswerEffect<FamilyStateChange<F>>)>,
    /// Events that are not in the journal yet.
    pub(super) events: Vec<JournalEvent<F::QueryPlan>>,
    /// Journal records that are encoded and not taken yet.
    pub(super) written: Vec<Zeroizing<Vec<u8>>>,
    /// A number that distinguishes this client's queries from those of other clients.
    name: u64,
    /// Scratch memory of the search for a hint.
    pub search: HintSearch<F>,
    /// Scratch memory of requests.
    pub room: F::Scratch,
}

/// A query whose answer has not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroize, BorshSerialize, BorshDeserialize)]
pub struct OpenQuery<P> {
    /// The number of the query.
    pub number: u64,
    /// The spent hint, its replacement, and whatever else is needed to read the answer.
    pub plan: P,
}

/// The effect of an answer on a client's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct AnswerEffect<K> {
    /// The hint that learned the row; the id of none if there is none.
    pub promoted: u32,
    /// The change of the family's state.
    pub kept: K,
}

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
    /// A client that has made no query.
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

    /// The index of a query among those whose answers have not come.
    pub(super) fn find(&self, number: u64) -> Option<usize> {
        self.asked.binary_search_by_key(&number, |asked| asked.number).ok()
    }

    /// Spends a hint, promotes a backup, and numbers the query.
    pub(super) fn spend(&mut self, plan: F::QueryPlan, row: PartitionPlace) -> u64 {
        let number = self.next;
        F::promote(&mut self.hints, &self.prf, &plan, row);
        self.asked.push_back(OpenQuery { number, plan });
        self.next += 1;
        number
    }

    /// Completes a query that is no longer open: the replacement of the spent hint learns the row,
    /// if there is one, and the spent hint is wiped.
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

    /// Reverts the effect of the last answer, if it belongs to this query.
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
