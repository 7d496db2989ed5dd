//! A client's whole state as bytes, and what else it takes to survive a crash. `spec/s3pir.md` draws the bytes.

use crate::S3pir;
use crate::client::{Asked, Client, Pending};
use crate::hints::{Hint, Hints, KNOWN, LIVE, OUTSIDE, OWED, place};
use crate::journal::{Event, NONE};
use crate::params::Params;
use crate::prepare::Prepare;
use crate::prf::{Prf, VOID};
use sotto_core::{Error, Misuse, PeerMisbehaved, Result, Stateful};
use std::io::{self, Read, Write};
use zeroize::Zeroizing;

/// Bytes before those of the first hint, while no query waits for its answer.
pub(crate) const HEAD_BYTES: u64 = 16 + 8 + 4 + 8 + 4 + 4;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;

impl Stateful for S3pir {
    fn save(_: &Params, client: &Client, out: &mut dyn Write) -> Result<()> {
        client.save(out)
    }

    fn load(params: &Params, from: &mut dyn Read) -> Result<Client> {
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
        Prepare::resume(params, from)
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
        out.write_all(&self.next.to_le_bytes())?;
        // At most 2^24 pairs, and no more queries that wait than pairs.
        out.write_all(&(hints.next as u32).to_le_bytes())?;
        out.write_all(&last.to_le_bytes())?;
        out.write_all(&learnt.to_le_bytes())?;
        out.write_all(&(self.asked.len() as u32).to_le_bytes())?;
        for asked in &self.asked {
            out.write_all(&asked.number.to_le_bytes())?;
            out.write_all(&id(asked.chosen).to_le_bytes())?;
            out.write_all(&asked.promoted.to_le_bytes())?;
            out.write_all(&[asked.coin])?;
        }
        let (used, pairs) = hints.split();
        for hint in used {
            out.write_all(&hint.cut.to_le_bytes())?;
            out.write_all(&hint.extra.to_le_bytes())?;
            out.write_all(&[hint.mark])?;
        }
        for pair in pairs {
            out.write_all(&pair.cut.to_le_bytes())?;
        }
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
        from: &mut dyn Read,
    ) -> Result<Client> {
        let Head { key, next, promoted, last, asked } = head;
        let (first, used) = (params.hints(), params.hints() + promoted);
        let mut of = Zeroizing::new(Vec::new());
        reserve(&mut of, params.ids() + 1)?;
        for id in 0..stocked {
            let cut = u32::from_le_bytes(array(from)?);
            let mut hint = Hint { cut, ..Hint::default() };
            if id < used {
                hint.extra = u32::from_le_bytes(array(from)?);
                [hint.mark] = array(from)?;
                check(params, id, &hint)?;
            }
            of.push(hint);
        }
        of.resize(params.ids(), Hint::default());
        let row_bytes = params.row_bytes();
        let mut parities = Zeroizing::new(Vec::new());
        reserve(&mut parities, (params.ids() + room).saturating_mul(row_bytes))?;
        for hint in of.iter().take(used.min(stocked)) {
            let there = if hint.mark == 0 { 0 } else { row_bytes };
            fill(&mut parities, there, from)?;
            let end = parities.len() + row_bytes - there;
            parities.resize(end, 0);
        }
        fill(&mut parities, stocked.saturating_sub(used) * row_bytes, from)?;
        parities.resize((params.ids() + room) * row_bytes, 0);
        let others = parities.get_mut(params.ids() * row_bytes..).unwrap_or_default();
        for id in used..stocked {
            let at = (id - first) % room.max(1) * row_bytes;
            exact(from, others.get_mut(at..at + row_bytes).unwrap_or_default())?;
        }

        let hints = Hints::new(params, &Prf::new(params, &key), of, parities, promoted);
        let mut client = Client::new(params.clone(), key, hints);
        client.next = next;
        let hint = |id: u32| (first..used).contains(&(id as usize));
        client.last = (last.0 != u64::MAX).then_some(last);
        if client.last.is_some_and(|(last, learnt)| last >= next || !hint(learnt)) {
            return Err(malformed("an answer to a query that was not made"));
        }
        let mut least = 0;
        for mut asked in asked {
            if asked.chosen == NONE {
                asked.chosen = client.hints.none();
            } else if !client.hints.is(asked.chosen, OWED) {
                return Err(malformed("a query without its hint"));
            }
            if asked.number < least || asked.number >= next || !hint(asked.promoted) || asked.coin > 1 {
                return Err(malformed("a query that cannot have been made"));
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
    pub(crate) fn read(params: &Params, from: &mut dyn Read) -> Result<Self> {
        let key = Zeroizing::new(array(from)?);
        let next = u64::from_le_bytes(array(from)?);
        let promoted = u32::from_le_bytes(array(from)?) as usize;
        let last = (u64::from_le_bytes(array(from)?), u32::from_le_bytes(array(from)?));
        let waiting = u32::from_le_bytes(array(from)?);
        if promoted > params.pairs() || next > promoted as u64 || u64::from(waiting) > next {
            return Err(malformed("more queries than pairs"));
        }
        let mut asked = Vec::new();
        for _ in 0..waiting {
            let number = u64::from_le_bytes(array(from)?);
            let (chosen, promoted) = (u32::from_le_bytes(array(from)?), u32::from_le_bytes(array(from)?));
            let [coin] = array(from)?;
            asked.push(Asked { number, chosen, promoted, coin });
        }
        Ok(Head { key, next, promoted, last, asked })
    }
}

/// Refuses what no hint can be, and what would lead outside a table.
fn check(params: &Params, id: usize, hint: &Hint) -> Result<()> {
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
    if possible && inside && (cut != VOID || standing == 0) {
        return Ok(());
    }
    Err(malformed("a hint that cannot be"))
}

/// Room for just as many as there will be, so that no secret is left behind where a list grew.
pub(crate) fn reserve<T>(list: &mut Vec<T>, len: usize) -> Result<()> {
    Ok(list.try_reserve_exact(len).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?)
}

/// Appends the next `len` bytes. Memory that is reserved is not touched before they come.
pub(crate) fn fill(list: &mut Vec<u8>, len: usize, from: &mut dyn Read) -> Result<()> {
    let end = list.len() + len;
    while list.len() < end {
        let start = list.len();
        list.resize(end.min(start + CHUNK), 0);
        exact(from, list.get_mut(start..).unwrap_or_default())?;
    }
    Ok(())
}

/// The next bytes.
pub(crate) fn array<const N: usize>(from: &mut dyn Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    exact(from, &mut bytes)?;
    Ok(bytes)
}

fn exact(from: &mut dyn Read, out: &mut [u8]) -> Result<()> {
    from.read_exact(out).map_err(|error| cut_short(error.into()))
}

/// Bytes that end too early are no fault of the storage.
pub(crate) fn cut_short(error: Error) -> Error {
    match error {
        Error::Storage(error) if error.kind() == io::ErrorKind::UnexpectedEof => malformed("cut short"),
        error => error,
    }
}

pub(crate) fn malformed(why: &str) -> sotto_core::Error {
    PeerMisbehaved::Malformed { what: "client state", why: why.into() }.into()
}
