//! Saving and loading a client's whole state. `spec/checklist.md` and `spec/lp-treepir.md` draw the
//! bytes.

use super::client::{JournalEvent, OpenQuery, Pending};
use super::sets::{AWAITED, Hint};
use super::{Client, Family, Params, Plan, Prepare, TwoServerScheme};
use crate::codec::{StateReader, put, reserve};
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Misuse, Result, Stateful};
use std::io::{Read, Write};
use zeroize::{Zeroize, Zeroizing};

/// The first bytes of a saved state.
#[derive(BorshSerialize, BorshDeserialize)]
struct StateHeader {
    key: [u8; 16],
    next: u64,
    stocked: u32,
    /// The query that was recovered last and its slot; 0 and M for none.
    last: u64,
    slot: u32,
    open: u32,
}

impl<F: Family> Stateful for TwoServerScheme<F> {
    fn save(params: &Params<F>, client: &Client<F>, out: &mut dyn Write) -> Result<()> {
        // Open queries are fewer than 2^32, as all queries are; and so are hints.
        let (last, slot) = client.last.unwrap_or((0, params.hints() as u32));
        let (next, stocked, open) = (client.next, client.blocks_received, client.open.len() as u32);
        let mut head = StateHeader { key: *client.key, next, stocked, last, slot, open };
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
        let StateHeader { key, next, stocked, last, slot, open } = from.get()?;
        let key = Zeroizing::new(key);
        let begun = next > 1 && stocked == params.blocks() || next == 1 && stocked <= params.blocks();
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
        (client.next, client.blocks_received) = (next, stocked);
        client.last = (last > 0).then_some((last, slot));
        let mut least = 1;
        for _ in 0..open {
            let (number, plan): (u64, F::QueryPlan) = from.get()?;
            if number >= next || number < least || !plan.is_possible(params) {
                return Err(from.malformed("the open query is not possible"));
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
        client.take_journal()
    }

    fn replay(client: &mut Client<F>, entry: &[u8]) -> Result<()> {
        client.replay_journal(entry)
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
        client.note(JournalEvent::Rejected { number });
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

/// Reads a hint that a query before `next` made. Whether its tree is a good one is not checked:
/// that would take as long as making it.
fn read_hint<F: Family>(params: &Params<F>, next: u64, from: &mut StateReader<'_>) -> Result<Hint<F::Word>> {
    let hint: Hint<F::Word> = from.get()?;
    let awaited = hint.standing == AWAITED && hint.made > 0;
    if !hint.set.is_possible(&params.trees()) || hint.made >= next || !(hint.standing < AWAITED || awaited) {
        return Err(from.malformed("the hint is not possible"));
    }
    Ok(hint)
}
