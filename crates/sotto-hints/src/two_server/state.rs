//! The client's state: saved, loaded, replayed from a journal, and moved to the next epoch.
//! `spec/checklist.md` and `spec/lp-treepir.md` draw the bytes.

use super::client::{OpenQuery, Pending};
use super::sets::{AWAITED, Hint, KNOWN};
use super::{
    Client, Family, MessageLengths, Params, Plan, Prepare, Set, TreeScratch, Trees, TwoServerScheme,
};
use crate::codec::{StateReader, put, reserve};
use crate::delta::{self, RowsDelta};
use crate::journal::{self, ANSWER, HINT_RESPONSE, QUERY, REJECTION};
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Misuse, Result, Stateful};
use std::io::{Read, Write};
use zeroize::{Zeroize, Zeroizing};

/// The first bytes of a saved state.
#[derive(BorshSerialize, BorshDeserialize)]
struct StateHeader {
    key: [u8; 16],
    next: u64,
    ids_received: u32,
    /// The query that was recovered last and its slot; 0 and M for none.
    last: u64,
    slot: u32,
    open: u32,
}

impl<F: Family> Stateful for TwoServerScheme<F> {
    fn save(params: &Params<F>, client: &Client<F>, out: &mut dyn Write) -> Result<()> {
        // Open queries are fewer than 2^32, as all queries are; and so are hints.
        let (last, slot) = client.last.unwrap_or((0, params.hints() as u32));
        let (next, ids_received, open) = (client.next, client.blocks_received, client.open.len() as u32);
        let mut head = StateHeader { key: *client.key, next, ids_received, last, slot, open };
        let written = put(&head, out);
        head.key.zeroize();
        written?;
        client.hints().iter().try_for_each(|hint| put(hint, out))?;
        let kept = params.hints() * params.row_bytes();
        out.write_all(client.parities.get(..kept).unwrap_or_default())?;
        for open in &client.open {
            put(&open.number, out)?;
            put(&open.plan, out)?;
            put(&open.spent, out)?;
            out.write_all(&open.parity)?;
        }
        Ok(())
    }

    fn load(params: &Params<F>, from: &mut dyn Read) -> Result<Client<F>> {
        let from = &mut StateReader::state(from);
        let StateHeader { key, next, ids_received, last, slot, open } = from.get()?;
        let key = Zeroizing::new(key);
        let begun =
            next > 1 && ids_received == params.blocks() || next == 1 && ids_received <= params.blocks();
        if !begun || next > params.queries() + 1 || last >= next || slot as usize > params.hints() {
            return Err(from.malformed("the numbers contradict the parameters"));
        }
        let mut hints = Vec::new();
        reserve(&mut hints, params.hints() + 1)?;
        for _ in 0..params.hints() {
            hints.push(read_hint::<F>(params, next, from)?);
        }
        hints.push(Hint::default());
        let mut client = Client::with_hints(params.clone(), key, hints)?;
        let kept = params.hints() * params.row_bytes();
        from.exact(client.parities.get_mut(..kept).unwrap_or_default())?;
        (client.next, client.blocks_received) = (next, ids_received);
        client.last = (last > 0).then_some((last, slot));
        let mut least = 1;
        for _ in 0..open {
            let (number, plan): (u64, F::QueryPlan) = from.get()?;
            if number >= next || number < least || !plan.is_possible(params) {
                return Err(from.malformed("an open query contradicts the parameters"));
            }
            least = number + 1;
            let spent = read_hint::<F>(params, number, from)?;
            let mut parity = Zeroizing::new(vec![0; params.row_bytes()]);
            from.exact(&mut parity)?;
            client.open.push_back(OpenQuery { number, plan, spent, parity });
        }
        Ok(client)
    }

    fn journal(client: &mut Client<F>) -> Zeroizing<Vec<u8>> {
        client.journal.take()
    }

    fn replay(client: &mut Client<F>, entry: &[u8]) -> Result<()> {
        journal::replay(entry, |kind, number, from| client.replay(kind, number, from))
    }

    fn query_number(pending: &Pending) -> u64 {
        pending.number
    }

    fn reopen_query(client: &mut Client<F>, number: u64) -> Result<Pending> {
        client.find(number).ok_or(Misuse::ForeignValue("number"))?;
        Ok(client.pending(number))
    }

    fn reject(client: &mut Client<F>, number: u64) {
        client.withdraw(number);
        client.journal.add(&(REJECTION, number), &[]);
    }

    fn apply_delta(client: &mut Client<F>, delta: &[u8]) -> Result<()> {
        client.follow_rows(delta)
    }

    fn checkpoint(_: &Params<F>, prepare: &Prepare<F>, out: &mut dyn Write) -> Result<()> {
        Ok(out.write_all(prepare.key.as_slice())?)
    }

    fn resume(params: &Params<F>, from: &mut dyn Read) -> Result<Prepare<F>> {
        Ok(Prepare::with_key(params, Zeroizing::new(StateReader::state(from).get()?)))
    }

    /// A preparation absorbs no artifact.
    fn absorbed_bytes(_: &Prepare<F>) -> u64 {
        0
    }
}

impl<F: Family> Client<F> {
    /// Replays a record. One that the state contains already is skipped, so a journal may begin
    /// before the state was saved.
    fn replay(&mut self, kind: u8, number: u64, from: &mut StateReader<'_>) -> Result<()> {
        match kind {
            QUERY => self.replay_query(number, from),
            ANSWER => {
                let parity = journal::read_answer(from, self.params.row_bytes())?;
                if number >= self.next {
                    return Err(from.malformed("the answer is to a query that was not made"));
                }
                if let Some(open) = self.find(number).and_then(|at| self.open.remove(at)) {
                    self.apply_answer(&open, parity.as_ref().map(|parity| parity.as_slice()));
                }
                Ok(())
            }
            REJECTION => {
                self.withdraw(number);
                Ok(())
            }
            HINT_RESPONSE => {
                let next = u64::from(self.blocks_received);
                if number > next || number >= self.params.blocks().into() {
                    return Err(from.malformed("the hint response is not the next one"));
                }
                let mut response = Zeroizing::new(vec![0; self.params.hint_response_bytes()]);
                from.exact(&mut response)?;
                if number == next {
                    self.take_block(&response);
                }
                Ok(())
            }
            _ => Err(journal::unknown(from)),
        }
    }

    fn replay_query(&mut self, number: u64, from: &mut StateReader<'_>) -> Result<()> {
        let (plan, fresh): (F::QueryPlan, Set<F::Word>) = from.get()?;
        if number < self.next {
            return Ok(());
        }
        let possible = plan.is_possible(&self.params) && fresh.is_possible(&self.tools.trees);
        let within = self.blocks_received == self.params.blocks() && number <= self.params.queries();
        let next = number == self.next && possible && within;
        if !next || !F::is_fresh(&self.params, &plan, &fresh, &mut self.tools) {
            return Err(from.malformed("the query is not the next one"));
        }
        self.spend(plan, fresh);
        Ok(())
    }
}

/// Reads a hint that a query before `next` made. Whether its tree is a good one is not checked:
/// that would take as long as making it.
fn read_hint<F: Family>(params: &Params<F>, next: u64, from: &mut StateReader<'_>) -> Result<Hint<F::Word>> {
    let hint: Hint<F::Word> = from.get()?;
    let awaited = hint.standing == AWAITED && hint.made > 0;
    if !hint.set.is_possible(&params.trees()) || hint.made >= next || !(hint.standing < AWAITED || awaited) {
        return Err(from.malformed("a hint contradicts the parameters"));
    }
    Ok(hint)
}

impl<F: Family> Client<F> {
    /// Applies a whole rows delta: adds old xor new of each changed row to the parity of every set
    /// that contains the row. There is one pass over all sets, whose time depends on hints and
    /// changes, not on the rows that are requested.
    fn follow_rows(&mut self, delta: &[u8]) -> Result<()> {
        let (params, trees) = (&self.params, &self.tools.trees);
        let changed =
            ChangedRows::new(RowsDelta::read(delta, params.rows(), params.row_bytes())?, params.rows());
        let scratch = &mut TreeScratch::default();
        let slots = self.hints.iter().zip(self.parities.chunks_exact_mut(params.row_bytes()));
        let spent = self.open.iter_mut().map(|open| (&open.spent, open.parity.as_mut_slice()));
        let known = slots.chain(spent).filter(|(hint, _)| hint.standing == KNOWN);
        let mut known = known.map(|(hint, parity)| (&hint.set, parity));
        while !changed.changes.rows().is_empty() {
            let together: Vec<_> = known.by_ref().take(trees.together()).collect();
            if together.is_empty() {
                break;
            }
            changed.add::<F>(params, trees, together, scratch);
        }
        Ok(())
    }
}

/// The changed rows of an epoch, with a bit for each row of the table that is set if it changed:
/// sets have many rows, of which few have changed.
struct ChangedRows<'a> {
    changes: RowsDelta<'a>,
    bits: Vec<u64>,
}

impl<'a> ChangedRows<'a> {
    fn new(changes: RowsDelta<'a>, len: u64) -> Self {
        // One bit for each row of the table, which fits into memory.
        let mut bits = vec![0u64; if changes.rows().is_empty() { 0 } else { len.div_ceil(64) as usize }];
        for (row, _) in changes.rows() {
            if let Some(word) = bits.get_mut((row / 64) as usize) {
                *word |= 1 << (row % 64);
            }
        }
        ChangedRows { changes, bits }
    }

    fn of(&self, row: u64) -> Option<&'a [u8]> {
        self.bits.get((row / 64) as usize).filter(|word| *word >> (row % 64) & 1 == 1)?;
        let rows = self.changes.rows();
        let at = rows.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        rows.get(at).map(|(_, change)| *change)
    }

    fn add<F: Family>(
        &self,
        params: &Params<F>,
        trees: &Trees<F::Word>,
        sets: Vec<(&Set<F::Word>, &mut [u8])>,
        scratch: &mut TreeScratch<F::Word>,
    ) {
        let roots: Vec<_> = sets.iter().map(|(set, _)| set.root).collect();
        let numbers = trees.grow(roots.into_iter(), scratch);
        for ((set, parity), numbers) in sets.into_iter().zip(numbers.chunks_exact(trees.numbers())) {
            for (position, number) in (0..).zip(numbers) {
                if let Some(change) = self.of(F::row(params, position, *number ^ set.shift)) {
                    delta::add(parity, change);
                }
            }
        }
    }
}
