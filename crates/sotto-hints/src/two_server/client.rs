//! The client: a key, hints that are requested with it block by block before the first query, query
//! and recover.
//!
//! No branch and no allocation depends on the requested index. Two addresses depend on secrets:
//! that of the chosen hint, which is a random one of those that contain the row, and that of its
//! parity.

use super::family::{DraftQuery, Family, Plan, TwoServerScheme, Workspace};
use super::params::Params;
use super::sets::{AWAITED, Hint, KNOWN, KeyedSets, LOST, Set};
use crate::codec::reserve;
use crate::journal::{HINT_RESPONSE, Journal, QUERY};
use crate::message::{Answer, HintRequest, HintResponse};
use sotto_core::{Budget, CryptoRng, Error, HintScheme, Misuse, Record, RecordIndex, Result, TwoServers};
use std::collections::VecDeque;
use std::ops::Range;
use zeroize::{Zeroize, Zeroizing};

/// A query whose answers have not come.
pub(super) struct OpenQuery<F: Family> {
    pub(super) number: u64,
    pub(super) plan: F::QueryPlan,
    /// The hint that was spent.
    pub(super) spent: Hint<F::Word>,
    pub(super) parity: Zeroizing<Vec<u8>>,
}

/// A client with hints.
pub struct Client<F: Family> {
    pub(super) params: Params<F>,
    pub(super) tools: Workspace<F>,
    pub(super) key: Zeroizing<[u8; 16]>,
    /// M slots, and one more for hints that are written and dropped.
    pub(super) hints: Vec<Hint<F::Word>>,
    /// Parities: B bytes for each slot.
    pub(super) parities: Zeroizing<Vec<u8>>,
    /// Number of received blocks of hints.
    pub(super) blocks_received: u32,
    /// Whether a hint response is outstanding.
    is_requested: bool,
    /// The number of the next query; the first is 1.
    pub(super) next: u64,
    /// Queries without answers, by ascending number.
    pub(super) open: VecDeque<OpenQuery<F>>,
    /// The query that was recovered last, and its slot.
    pub(super) last: Option<(u64, u32)>,
    /// What was done since the journal was taken.
    pub(super) journal: Journal,
    /// A number that distinguishes this client's queries from those of other clients.
    name: u64,
}

/// The name of a query. Its secrets stay in the client, since they must survive a crash.
pub struct Pending {
    name: u64,
    pub(super) number: u64,
}

impl<F: Family> sotto_core::Client<TwoServerScheme<F>> for Client<F> {
    type Pending = Pending;

    fn keys(&self) {}

    fn query(
        &mut self,
        index: RecordIndex,
        rng: &mut dyn CryptoRng,
    ) -> Result<(TwoServers<F::Query>, Pending)> {
        let (row, len) = (index.0, self.params.rows());
        if row >= len {
            return Err(Misuse::IndexPastEnd { index: row, len }.into());
        }
        if self.left() == 0 {
            return Err(Error::Exhausted(Budget::Left(0)));
        }
        let hints = self.hints.get(..self.params.hints()).unwrap_or_default();
        let DraftQuery { queries, plan, mut fresh } =
            F::make_query(&self.params, hints, row, &mut self.tools, rng);
        self.journal.add(&(QUERY, self.next, plan, fresh), &[]);
        let number = self.spend(plan, fresh);
        fresh.zeroize();
        Ok((queries, self.pending(number)))
    }

    fn recover(&mut self, pending: Pending, TwoServers(first, second): TwoServers<Answer>) -> Result<Record> {
        let at = self.find(pending.number).filter(|_| pending.name == self.name);
        let open = at.and_then(|at| self.open.remove(at)).ok_or(Misuse::ForeignValue("query"))?;
        let zeros = || Zeroizing::new(vec![0; self.params.row_bytes()]);
        let (mut row, mut parity) = (zeros(), zeros());
        F::read(&self.params, &open.plan, TwoServers(&first, &second), &open.parity, &mut row, &mut parity);

        let readable = !open.plan.spends() || open.spent.standing == KNOWN;
        self.apply_answer(&open, readable.then_some(&parity));
        self.journal.add_answer(open.number, readable, &parity);
        if readable { Ok(Record(row)) } else { Err(Error::Unreadable) }
    }

    /// The budget, which is none before all hints came.
    fn budget(&self) -> Budget {
        Budget::Left(self.left())
    }
}

impl<F: Family> Client<F> {
    /// A client with the sets of its key and without parities.
    pub(super) fn new(params: Params<F>, key: Zeroizing<[u8; 16]>) -> Result<Self> {
        let mut tools = Workspace::new(&params);
        let mut hints = Vec::new();
        reserve(&mut hints, params.hints() + 1)?;
        hints.resize(params.hints() + 1, Hint::default());
        // There are fewer than 2^32 hints.
        F::sets(&KeyedSets::new(&tools.trees, &key), 0..params.hints() as u32, &mut tools, |id, set| {
            if let Some(hint) = hints.get_mut(id as usize) {
                *hint = Hint::without_parity(set);
            }
        });
        Client::with_hints(params, key, hints)
    }

    /// A client with these hints, whose parities are zeros.
    pub(super) fn with_hints(
        params: Params<F>,
        key: Zeroizing<[u8; 16]>,
        hints: Vec<Hint<F::Word>>,
    ) -> Result<Self> {
        let mut parities = Zeroizing::new(Vec::new());
        let bytes = hints.len() * params.row_bytes();
        reserve(&mut parities, bytes)?;
        parities.resize(bytes, 0);
        let tools = Workspace::new(&params);
        Ok(Client {
            name: KeyedSets::new(&tools.trees, &key).name(),
            blocks_received: 0,
            is_requested: false,
            next: 1,
            open: VecDeque::new(),
            last: None,
            journal: Journal::default(),
            params,
            tools,
            key,
            hints,
            parities,
        })
    }

    /// The client's hints, slot by slot.
    pub fn hints(&self) -> &[Hint<F::Word>] {
        self.hints.get(..self.params.hints()).unwrap_or_default()
    }

    /// Every set whose parity is known, with the parity: of hints in slots, and of hints that open
    /// queries spent.
    pub fn known(&self) -> impl Iterator<Item = (&Set<F::Word>, &[u8])> {
        let slots = self.hints().iter().zip(self.parities.chunks_exact(self.params.row_bytes()));
        let spent = self.open.iter().map(|open| (&open.spent, open.parity.as_slice()));
        let known = slots.chain(spent).filter(|(hint, _)| hint.standing == KNOWN);
        known.map(|(hint, parity)| (&hint.set, parity))
    }

    /// The plans of the queries whose answers have not come, the oldest first.
    pub fn plans(&self) -> impl Iterator<Item = &F::QueryPlan> {
        self.open.iter().map(|open| &open.plan)
    }

    fn left(&self) -> u64 {
        let made = self.next - 1;
        if self.blocks_received < self.params.blocks() {
            0
        } else {
            self.params.queries().saturating_sub(made)
        }
    }

    pub(super) fn pending(&self, number: u64) -> Pending {
        Pending { name: self.name, number }
    }

    /// The index of a query among those whose answers have not come.
    pub(super) fn find(&self, number: u64) -> Option<usize> {
        self.open.binary_search_by_key(&number, |open| open.number).ok()
    }

    /// The range of bytes of a slot's parity.
    fn span(&self, slot: u32) -> Range<usize> {
        let width = self.params.row_bytes();
        slot as usize * width..(slot as usize + 1) * width
    }

    /// Replaces a hint, and numbers the query.
    pub(super) fn spend(&mut self, plan: F::QueryPlan, fresh: Set<F::Word>) -> u64 {
        let (number, span) = (self.next, self.span(plan.slot()));
        let mut parity = Zeroizing::new(vec![0; self.params.row_bytes()]);
        let here = self.parities.get_mut(span).unwrap_or_default();
        parity.iter_mut().zip(here).for_each(|(spent, here)| *spent = std::mem::take(here));
        let fresh = Hint { set: fresh, made: number, standing: AWAITED };
        let spent = self.hints.get_mut(plan.slot() as usize).map(|hint| std::mem::replace(hint, fresh));
        let mut spent = spent.unwrap_or_default();
        if plan.slot() as usize == self.params.hints() {
            // No hint was spent, and the one that was written is dropped.
            spent = Hint::default();
            parity.fill(0);
        }
        self.open.push_back(OpenQuery { number, plan, spent, parity });
        self.next += 1;
        number
    }

    /// Completes a query that is no longer open: the hint that it made learns its parity, if there
    /// is one, in its slot or in the query that has spent it already.
    pub(super) fn apply_answer(&mut self, open: &OpenQuery<F>, parity: Option<&[u8]>) {
        self.learn(open.number, open.plan.slot(), parity);
        self.last = Some((open.number, open.plan.slot()));
    }

    /// Sets or removes the parity of the hint that a query made.
    fn learn(&mut self, made: u64, slot: u32, parity: Option<&[u8]>) {
        let span = self.span(slot);
        let here = self.hints.get_mut(slot as usize).filter(|hint| hint.made == made);
        let place = match here {
            Some(hint) => Some((&mut hint.standing, self.parities.get_mut(span).unwrap_or_default())),
            None => {
                let spent =
                    self.open.iter_mut().find(|open| open.plan.slot() == slot && open.spent.made == made);
                spent.map(|open| (&mut open.spent.standing, open.parity.as_mut_slice()))
            }
        };
        if let Some((standing, bytes)) = place {
            *standing = if parity.is_some() { KNOWN } else { LOST };
            match parity {
                Some(parity) => bytes.iter_mut().zip(parity).for_each(|(byte, new)| *byte = *new),
                None => bytes.fill(0),
            }
        }
    }

    /// Reverts the effect of the last answer, if it belongs to this query.
    pub(super) fn withdraw(&mut self, number: u64) {
        if let Some((_, slot)) = self.last.filter(|(last, _)| *last == number) {
            self.learn(number, slot, None);
        }
    }
}

/// A client in preparation.
pub struct Prepare<F> {
    params: Params<F>,
    pub(super) key: Zeroizing<[u8; 16]>,
}

impl<F: Family> Prepare<F> {
    pub(super) fn with_key(params: &Params<F>, key: Zeroizing<[u8; 16]>) -> Self {
        Prepare { params: params.clone(), key }
    }
}

impl<F: Family> sotto_core::Prepare<TwoServerScheme<F>> for Prepare<F> {
    fn begin(params: &Params<F>, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut key = Zeroizing::new([0; 16]);
        rng.fill_bytes(key.as_mut());
        Ok(Prepare::with_key(params, key))
    }

    fn finish(self) -> Result<Client<F>> {
        Client::new(self.params, self.key)
    }
}

impl<F: Family> Client<F> {
    /// Stores the parities of the next block.
    pub(super) fn take_block(&mut self, response: &[u8]) {
        let (width, hints) = (self.params.row_bytes(), self.params.block_hints());
        let first = self.blocks_received as usize * hints;
        let kept = self.parities.iter_mut().take(self.params.hints() * width).skip(first * width);
        kept.zip(response).for_each(|(byte, new)| *byte = *new);
        let slots = self.hints.iter_mut().take(self.params.hints()).skip(first).take(hints);
        slots.for_each(|hint| hint.standing = KNOWN);
        self.blocks_received += 1;
    }
}

impl<F: Family> HintScheme for TwoServerScheme<F> {
    const HINT_SERVER: usize = 1;
    type HintRequest = HintRequest;
    type HintResponse = HintResponse;

    fn next_hint_request(client: &mut Client<F>) -> Result<Option<HintRequest>> {
        let block = client.blocks_received;
        client.is_requested = block < client.params.blocks();
        Ok(client.is_requested.then(|| HintRequest { key: client.key.clone(), block }))
    }

    fn apply_hint_response(client: &mut Client<F>, response: HintResponse) -> Result<()> {
        // A hint response does not name its block: one that came twice would be taken for the next.
        if !std::mem::take(&mut client.is_requested) {
            return Err(
                Misuse::Rule("a hint response must follow a hint request, and be applied once").into()
            );
        }
        client.journal.add(&(HINT_RESPONSE, u64::from(client.blocks_received)), &response.0);
        client.take_block(&response.0);
        Ok(())
    }
}

impl<F: Family> Drop for Client<F> {
    fn drop(&mut self) {
        self.hints.zeroize();
        for open in &mut self.open {
            open.spent.zeroize();
            open.plan.zeroize();
        }
    }
}
