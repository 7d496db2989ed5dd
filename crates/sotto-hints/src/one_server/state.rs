//! The client's state: saved, loaded, and replayed from a journal. `spec/s3pir.md` and
//! `spec/piano.md` draw the bytes.

use super::client::{NO_HINT, Pending};
use super::family::{
    AnswerEffect, Client, Family, FamilyState, FamilyStateChange, OneServerScheme, OpenQuery, Plan,
};
use super::hints::{BackupStock, Hint, HintFamily, Hints};
use super::{Params, PartitionPlace, Prepare, Prf};
use crate::codec::{StateReader, put, reserve};
use crate::journal::{self, ANSWER, HINT_RESPONSE, QUERY, REJECTION};
use sotto_core::{Misuse, Result, Stateful};
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// Bytes of a state before the hints, while no query waits for its answer: key, next query, last
/// query, the hint that learned its row, number of waiting queries.
pub const HEAD_BYTES: u64 = 16 + 8 + 8 + 4 + 4;

/// The counts that a state has after the number of the next query.
type CountedOf<F> = <<F as HintFamily>::BackupStock as BackupStock<F>>::StockCounts;

impl<F: Family> Stateful for OneServerScheme<F> {
    fn save(_: &Params<F>, client: &Client<F>, out: &mut dyn Write) -> Result<()> {
        client.save(out)
    }

    fn load(params: &Params<F>, from: &mut dyn Read) -> Result<Client<F>> {
        Client::load(params, &mut StateReader::state(from), |next, counted, from| {
            Ok((params.ids(), F::BackupStock::get(params, next, counted, from)?))
        })
    }

    fn journal(client: &mut Client<F>) -> Zeroizing<Vec<u8>> {
        client.journal.take()
    }

    fn replay(client: &mut Client<F>, entry: &[u8]) -> Result<()> {
        client.replay(entry, |_, _, from| Err(journal::unknown(from)))
    }

    fn query_number(pending: &Pending) -> u64 {
        pending.number
    }

    fn reopen_query(client: &mut Client<F>, number: u64) -> Result<Pending> {
        client.find(number).ok_or(Misuse::ForeignValue("query"))?;
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
        prepare.save(out)
    }

    fn resume(params: &Params<F>, from: &mut dyn Read) -> Result<Prepare<F>> {
        Prepare::resume(params, &mut StateReader::state(from))
    }

    fn absorbed_bytes(prepare: &Prepare<F>) -> u64 {
        prepare.kept()
    }
}

impl<F: Family> Client<F> {
    /// Writes the whole state.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn save(&self, out: &mut dyn Write) -> Result<()> {
        let (params, hints) = (&self.params, &self.hints);
        let id = |id: u32| if id == hints.none() { NO_HINT } else { id };
        let (last, effect) = self.last.unwrap_or((u64::MAX, F::NOTHING));
        let effect = AnswerEffect { promoted: id(effect.promoted), ..effect };
        out.write_all(self.key.as_ref())?;
        // There are no more queries than 2^24.
        put(&(self.next, hints.backup_stock.counted(), last, effect, self.open_queries.len() as u32), out)?;
        for open_queries in &self.open_queries {
            let mut open_queries = *open_queries;
            open_queries.plan.ids().into_iter().for_each(|named| *named = id(*named));
            put(&open_queries, out)?;
        }
        hints.backup_stock.put(out)?;
        let ids = || hints.of.iter().take(hints.ids_received).enumerate();
        ids().try_for_each(|(id, hint)| hints.backup_stock.put_hint(params, id, hint, out))?;
        // There are at most 2^25 ids.
        for (id, _) in ids().filter(|(id, hint)| hints.backup_stock.has(params, *id, hint)[0]) {
            out.write_all(hints.parity(id as u32))?;
        }
        for (id, _) in ids().filter(|(id, hint)| hints.backup_stock.has(params, *id, hint)[1]) {
            out.write_all(hints.second(id as u32))?;
        }
        self.own.save(self.next, out)
    }

    /// Reads what [`Client::save`] wrote. `backup_stock` gets the number of the next query and the counts
    /// of backups, and returns the number of ids and the backups that are left.
    ///
    /// # Errors
    /// The errors of [`Stateful::load`].
    pub fn load(
        params: &Params<F>,
        from: &mut StateReader<'_>,
        backup_stock: impl FnOnce(u64, CountedOf<F>, &mut StateReader<'_>) -> Result<(usize, F::BackupStock)>,
    ) -> Result<Client<F>> {
        let head = StateHeader::<F>::read(params, from)?;
        let (ids_received, mut backup_stock) = backup_stock(head.next, head.counted, from)?;
        let mut of = Zeroizing::new(Vec::new());
        reserve(&mut of, params.ids() + 1)?;
        for id in 0..ids_received {
            let hint = backup_stock.get_hint(params, id, from)?;
            of.push(hint.ok_or_else(|| from.malformed("a hint contradicts the parameters"))?);
        }
        of.resize(params.ids() + 1, Hint::default());
        let rows = read_rows(params, &backup_stock, of.get(..ids_received).unwrap_or_default(), from)?;
        let own = F::FamilyState::load(params, head.next, from)?;
        let mut hints = Hints::new(params, &Prf::new(params, &head.key), of, rows, backup_stock);
        hints.ids_received = ids_received;
        let mut client = Client::new(params.clone(), head.key, hints, own);
        client.next = head.next;
        let none = client.hints.none();
        let id = |id: u32| if id == NO_HINT { none } else { id };

        let (number, mut effect) = head.last;
        if number != u64::MAX {
            effect.promoted = id(effect.promoted);
            if number >= client.next || !F::effect_is_possible(&client, number, &effect) {
                return Err(from.malformed("the answer is to a query that was not made"));
            }
            client.last = Some((number, effect));
        }
        let mut least = 0;
        for mut open_queries in head.open_queries {
            open_queries.plan.ids().into_iter().for_each(|named| *named = id(*named));
            if !(least..client.next).contains(&open_queries.number)
                || !F::query_is_possible(&client, &open_queries)
            {
                return Err(from.malformed("an open query contradicts the parameters"));
            }
            least = open_queries.number + 1;
            client.open_queries.push_back(open_queries);
        }
        Ok(client)
    }
}

impl<F: Family> Client<F> {
    /// Replays an entry of the journal. Records that the state contains already are skipped, so a
    /// journal may begin before the state was saved. `take_block` replays a hint response, and gets
    /// the number of its block.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] for an entry that cannot follow the state; those of `take_block`.
    pub fn replay(
        &mut self,
        entry: &[u8],
        mut take_block: impl FnMut(&mut Self, u64, &mut StateReader<'_>) -> Result<()>,
    ) -> Result<()> {
        journal::replay(entry, |kind, number, from| match kind {
            QUERY => self.replay_query(number, from),
            ANSWER => self.replay_answer(number, from),
            REJECTION => {
                self.withdraw(number);
                Ok(())
            }
            HINT_RESPONSE => take_block(self, number, from),
            _ => Err(journal::unknown(from)),
        })
    }

    fn replay_query(&mut self, number: u64, from: &mut StateReader<'_>) -> Result<()> {
        let (chosen, row): (u32, u32) = from.get()?;
        let (row, more) = (PartitionPlace::of(row), from.get()?);
        if number < self.next {
            return Ok(());
        }
        let inside = self.params.has(row) && self.params.index(row) < self.params.places();
        if number != self.next || number >= self.params.queries() as u64 || !inside {
            return Err(from.malformed("the query is not the next one"));
        }
        let chosen = if chosen == NO_HINT { self.hints.none() } else { chosen };
        if chosen != self.hints.none() && !self.hints.contain(&self.prf, chosen, row) {
            return Err(from.malformed("the query spends a hint that lacks its row"));
        }
        let plan = F::replay_query(self, chosen, row, more).map_err(|why| from.malformed(why))?;
        self.spend(plan, row);
        Ok(())
    }

    fn replay_answer(&mut self, number: u64, from: &mut StateReader<'_>) -> Result<()> {
        let row = journal::read_answer(from, self.params.row_bytes())?;
        if number >= self.next {
            return Err(from.malformed("the answer is to a query that was not made"));
        }
        if let Some(open) = self.find(number).and_then(|at| self.open_queries.remove(at)) {
            self.apply_answer(&open, row.as_ref().map(|row| row.as_slice()));
        }
        Ok(())
    }
}

/// Reads parities and second rows of all ids and of none; zeros for those that were not written.
fn read_rows<F: Family>(
    params: &Params<F>,
    backup_stock: &F::BackupStock,
    of: &[Hint<F::Set>],
    from: &mut StateReader<'_>,
) -> Result<[Zeroizing<Vec<u8>>; 2]> {
    let row_bytes = params.row_bytes();
    let (mut parities, mut seconds) = (Zeroizing::new(Vec::new()), Zeroizing::new(Vec::new()));
    let bytes = |rows: usize| (rows + 1).saturating_mul(row_bytes);
    reserve(&mut parities, bytes(params.ids()))?;
    reserve(&mut seconds, bytes(backup_stock.seconds(params)))?;
    for (id, hint) in of.iter().enumerate() {
        let [there, _] = backup_stock.has(params, id, hint);
        from.append(&mut parities, if there { row_bytes } else { 0 })?;
        parities.resize((id + 1) * row_bytes, 0);
    }
    parities.resize(bytes(params.ids()), 0);
    seconds.resize(bytes(backup_stock.seconds(params)), 0);
    for (id, hint) in of.iter().enumerate() {
        if let [_, true] = backup_stock.has(params, id, hint) {
            let at = row_bytes * backup_stock.second(id.saturating_sub(params.hints()));
            from.exact(seconds.get_mut(at..at + row_bytes).unwrap_or_default())?;
        }
    }
    Ok([parities, seconds])
}

/// The first bytes of a saved state.
struct StateHeader<F: Family> {
    key: Zeroizing<[u8; 16]>,
    next: u64,
    counted: CountedOf<F>,
    last: (u64, AnswerEffect<FamilyStateChange<F>>),
    open_queries: Vec<OpenQuery<F::QueryPlan>>,
}

impl<F: Family> StateHeader<F> {
    fn read(params: &Params<F>, from: &mut StateReader<'_>) -> Result<Self> {
        let key = Zeroizing::new(from.get()?);
        let (next, counted, last): (u64, CountedOf<F>, (u64, AnswerEffect<FamilyStateChange<F>>)) =
            from.get()?;
        let waiting: u32 = from.get()?;
        if next > params.queries() as u64 || u64::from(waiting) > next {
            return Err(from.malformed("there are more open queries than queries"));
        }
        let mut open_queries = Vec::new();
        for _ in 0..waiting {
            open_queries.push(from.get()?);
        }
        Ok(StateHeader { key, next, counted, last, open_queries })
    }
}
