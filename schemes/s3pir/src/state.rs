//! A client's whole state as bytes, and what else it takes to survive a crash. `spec/s3pir.md` draws the bytes.

use crate::S3pir;
use crate::client::{Asked, Client, Pending};
use crate::hints::{Hint, Hints, KNOWN, LIVE, OUTSIDE, OWED, place};
use crate::journal::{Event, NONE};
use crate::params::Params;
use crate::prepare::Prepare;
use crate::prf::{Prf, VOID};
use sotto_core::{Misuse, Result, Stateful};
use sotto_hints::bytes::{Source, put, reserve};
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// Bytes before those of the first hint, while no query waits for its answer.
pub(crate) const HEAD_BYTES: u64 = 16 + 8 + 4 + 8 + 4 + 4;

impl Stateful for S3pir {
    fn save(_: &Params, client: &Client, out: &mut dyn Write) -> Result<()> {
        client.save(out)
    }

    fn load(params: &Params, from: &mut dyn Read) -> Result<Client> {
        let from = &mut Source::state(from);
        let head = Head::read(params, from)?;
        Client::load(params, head, params.ids(), params.pairs(), from)
    }

    fn journal(client: &mut Client) -> Zeroizing<Vec<u8>> {
        client.take_journal()
    }

    fn replay(client: &mut Client, entry: &[u8]) -> Result<()> {
        client.replay_journal(entry)
    }

    fn number(pending: &Pending) -> u64 {
        pending.number
    }

    fn reopen(client: &mut Client, number: u64) -> Result<Pending> {
        client.find(number).ok_or(Misuse::Foreign("query"))?;
        Ok(client.pending(number))
    }

    fn reject(client: &mut Client, number: u64) {
        client.withdraw(number);
        client.events.push(Event::Rejected { number });
    }

    fn follow(client: &mut Client, delta: &[u8]) -> Result<()> {
        client.follow_rows(delta)
    }

    fn checkpoint(_: &Params, prepare: &Prepare, out: &mut dyn Write) -> Result<()> {
        prepare.save(out)
    }

    fn resume(params: &Params, from: &mut dyn Read) -> Result<Prepare> {
        Prepare::resume(params, &mut Source::state(from))
    }

    fn kept(prepare: &Prepare) -> u64 {
        prepare.kept()
    }
}

impl Client {
    /// Writes the whole state, but for how many ids came: whoever orders them writes that first.
    pub(crate) fn save(&self, out: &mut dyn Write) -> Result<()> {
        let hints = &self.hints;
        let (last, learnt) = self.last.unwrap_or((u64::MAX, 0));
        let id = |id: u32| if id == hints.none() { NONE } else { id };
        out.write_all(self.key.as_ref())?;
        // At most 2^24 pairs, and no more queries that wait than pairs.
        put(&(self.next, hints.next as u32, last, learnt, self.asked.len() as u32), out)?;
        for asked in &self.asked {
            put(&Asked { chosen: id(asked.chosen), ..*asked }, out)?;
        }
        let (used, pairs) = hints.split();
        used.iter().try_for_each(|hint| put(hint, out))?;
        pairs.iter().try_for_each(|pair| put(&pair.cut, out))?;
        // As many as there are ids, which fit 32 bits. What was spent has no parity any more, and what is void none at all.
        for (id, _) in (0..).zip(used).filter(|(_, hint)| hint.mark != 0) {
            out.write_all(hints.parity(id))?;
        }
        for half in 0..2 {
            for (id, _) in (used.len() as u32..).zip(pairs) {
                out.write_all(hints.pair(id)[half])?;
            }
        }
        Ok(())
    }

    /// Reads what follows a head, where the first `stocked` ids came and there is room for the other halves of `room` pairs.
    pub(crate) fn load(
        params: &Params,
        head: Head,
        stocked: usize,
        room: usize,
        from: &mut Source<'_>,
    ) -> Result<Client> {
        let Head { key, next, promoted, last, asked } = head;
        let (first, used) = (params.hints(), params.hints() + promoted);
        let mut of = Zeroizing::new(Vec::new());
        reserve(&mut of, params.ids() + 1)?;
        for id in 0..stocked {
            let hint = if id < used { from.get()? } else { Hint { cut: from.get()?, ..Hint::default() } };
            if id < used && !is_possible(params, id, &hint) {
                return Err(from.malformed("a hint that cannot be"));
            }
            of.push(hint);
        }
        of.resize(params.ids(), Hint::default());
        let row_bytes = params.row_bytes();
        let mut parities = Zeroizing::new(Vec::new());
        reserve(&mut parities, (params.ids() + room).saturating_mul(row_bytes))?;
        for hint in of.iter().take(used.min(stocked)) {
            let there = if hint.mark == 0 { 0 } else { row_bytes };
            from.append(&mut parities, there)?;
            let end = parities.len() + row_bytes - there;
            parities.resize(end, 0);
        }
        from.append(&mut parities, stocked.saturating_sub(used) * row_bytes)?;
        parities.resize((params.ids() + room) * row_bytes, 0);
        let others = parities.get_mut(params.ids() * row_bytes..).unwrap_or_default();
        for id in used..stocked {
            let at = (id - first) % room.max(1) * row_bytes;
            from.exact(others.get_mut(at..at + row_bytes).unwrap_or_default())?;
        }

        let hints = Hints::new(params, &Prf::new(params, &key), of, parities, promoted);
        let mut client = Client::new(params.clone(), key, hints);
        client.next = next;
        let hint = |id: u32| (first..used).contains(&(id as usize));
        client.last = (last.0 != u64::MAX).then_some(last);
        if client.last.is_some_and(|(last, learnt)| last >= next || !hint(learnt)) {
            return Err(from.malformed("an answer to a query that was not made"));
        }
        let mut least = 0;
        for mut asked in asked {
            if asked.chosen == NONE {
                asked.chosen = client.hints.none();
            } else if !client.hints.is(asked.chosen, OWED) {
                return Err(from.malformed("a query without its hint"));
            }
            if asked.number < least || asked.number >= next || !hint(asked.promoted) || asked.coin > 1 {
                return Err(from.malformed("a query that cannot have been made"));
            }
            least = asked.number + 1;
            client.asked.push_back(asked);
        }
        Ok(client)
    }
}

/// What a state begins with.
pub(crate) struct Head {
    key: Zeroizing<[u8; 16]>,
    next: u64,
    /// Pairs that were promoted or passed over.
    pub(crate) promoted: usize,
    last: (u64, u32),
    asked: Vec<Asked>,
}

impl Head {
    pub(crate) fn read(params: &Params, from: &mut Source<'_>) -> Result<Self> {
        let key = Zeroizing::new(from.get()?);
        let (next, promoted, last): (u64, u32, (u64, u32)) = from.get()?;
        let waiting: u32 = from.get()?;
        let promoted = promoted as usize;
        if promoted > params.pairs() || next > promoted as u64 || u64::from(waiting) > next {
            return Err(from.malformed("more queries than pairs"));
        }
        let mut asked = Vec::new();
        for _ in 0..waiting {
            asked.push(from.get()?);
        }
        Ok(Head { key, next, promoted, last, asked })
    }
}

/// Whether a hint can be, and leads nowhere outside a table.
fn is_possible(params: &Params, id: usize, hint: &Hint) -> bool {
    let Hint { cut, extra, mark } = *hint;
    let extra = place(extra);
    let inside = usize::from(extra.partition) < params.partitions()
        && usize::from(extra.offset) < params.partition_rows();
    let standing = mark & (LIVE | OWED);
    let possible = if id < params.hints() {
        [0, LIVE | KNOWN, OWED | KNOWN].contains(&mark)
    } else {
        mark == 0 || [LIVE, OWED].contains(&standing) && mark & !(LIVE | OWED | OUTSIDE | KNOWN) == 0
    };
    possible && inside && (cut != VOID || standing == 0)
}
