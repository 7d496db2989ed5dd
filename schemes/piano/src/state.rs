//! A client's whole state as bytes, and what else it takes to survive a crash. `spec/piano.md` draws the bytes.

use crate::Piano;
use crate::client::{Asked, Client, Learnt, Pending};
use crate::hints::{FRESH, Hint, Hints, KNOWN, LIVE, NO_HINT, OWED, PROMOTED, WAITING, place};
use crate::journal::Event;
use crate::params::Params;
use crate::prepare::Prepare;
use crate::prf::Prf;
use crate::seen::{NEVER, Seen};
use sotto_core::{Error, Misuse, PeerMisbehaved, Result, Stateful};
use std::io::{self, Read, Write};
use zeroize::Zeroizing;

/// Bytes before the counts of used backups, while no query waits for its answer.
pub(crate) const HEAD_BYTES: u64 = 16 + 8 + 8 + 4 + 4 + 4;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;

impl Stateful for Piano {
    fn save(_: &Params, client: &Client, out: &mut dyn Write) -> Result<()> {
        client.save(out)
    }

    fn load(params: &Params, from: &mut dyn Read) -> Result<Client> {
        Client::load(params, from)
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

/// Whether the parity of a hint is written.
fn has_parity(mark: u8) -> bool {
    mark & (LIVE | OWED | FRESH) != 0
}

/// Whether the replacement entry of a backup is written.
fn has_entry(mark: u8) -> bool {
    mark & (FRESH | WAITING) != 0
}

impl Client {
    fn save(&self, out: &mut dyn Write) -> Result<()> {
        let (hints, none) = (&self.hints, self.hints.none());
        let last = self.last.unwrap_or(Learnt { number: u64::MAX, promoted: none, kept: NEVER });
        let id = |id: u32| if id == none { NO_HINT } else { id };
        out.write_all(self.key.as_ref())?;
        out.write_all(&self.next.to_le_bytes())?;
        out.write_all(&last.number.to_le_bytes())?;
        out.write_all(&id(last.promoted).to_le_bytes())?;
        out.write_all(&last.kept.to_le_bytes())?;
        // No more than there are queries, at most 2^24.
        out.write_all(&(self.asked.len() as u32).to_le_bytes())?;
        for asked in &self.asked {
            out.write_all(&asked.number.to_le_bytes())?;
            out.write_all(&asked.place.to_le_bytes())?;
            out.write_all(&id(asked.chosen).to_le_bytes())?;
            out.write_all(&id(asked.promoted).to_le_bytes())?;
            out.write_all(&asked.before.to_le_bytes())?;
        }
        for used in hints.used.iter() {
            out.write_all(&used.to_le_bytes())?;
        }
        let of = || hints.of.iter().zip(0..none);
        for (hint, id) in of() {
            match hints.home(id) {
                None => out.write_all(&[hint.mark])?,
                Some(_) if hint.mark & FRESH != 0 => {}
                Some(_) => {
                    // The partition is that of the backup.
                    out.write_all(&[hint.mark])?;
                    out.write_all(&place(hint.own).offset.to_le_bytes())?;
                }
            }
        }
        for (_, id) in of().filter(|(hint, _)| has_parity(hint.mark)) {
            out.write_all(hints.parity(id))?;
        }
        for (_, id) in of().filter(|(hint, _)| has_entry(hint.mark)) {
            out.write_all(hints.replacement(id))?;
        }
        for (place, row) in self.seen.all(self.next) {
            out.write_all(&[u8::from(place.is_some()) + u8::from(row.is_some())])?;
            if let Some(place) = place {
                out.write_all(&place.to_le_bytes())?;
            }
            if let Some(row) = row {
                out.write_all(row)?;
            }
        }
        Ok(())
    }

    fn load(params: &Params, from: &mut dyn Read) -> Result<Client> {
        let head = Head::read(params, from)?;
        let used = read_used(params, &head, from)?;
        let of = read_hints(params, &used, from)?;
        let (row_bytes, first) = (params.row_bytes(), params.hints());
        let parities = read_rows(row_bytes, &of, has_parity, from)?;
        let entries = read_rows(row_bytes, of.get(first..).unwrap_or_default(), has_entry, from)?;
        let seen = read_seen(params, &head, from)?;
        let hints = Hints::new(params, &Prf::new(params, &head.key), of, [parities, entries], used);
        let mut client = Client::new(params.clone(), head.key, hints, seen);
        client.next = head.next;
        let none = client.hints.none();
        let id = |id: u32| if id == NO_HINT { none } else { id };

        let Learnt { number, promoted, kept } = head.last;
        if number != u64::MAX {
            let promoted = id(promoted);
            let is = promoted == none || client.hints.home(promoted).is_some();
            if number >= head.next || u64::from(kept) > number || !is || client.hints.is(promoted, FRESH) {
                return Err(malformed("an answer to a query that was not made"));
            }
            client.last = Some(Learnt { number, promoted, kept });
        }
        let mut least = 0;
        for mut asked in head.asked {
            (asked.chosen, asked.promoted) = (id(asked.chosen), id(asked.promoted));
            let spent = client.hints.is(asked.chosen, OWED) && client.hints.is(asked.promoted, WAITING);
            let nothing = asked.chosen == none && asked.promoted == none;
            let repeats = asked.before == NEVER || nothing && u64::from(asked.before) < asked.number;
            let inside = is_place(params, asked.place);
            if asked.number < least || asked.number >= head.next || !inside || !repeats || !(spent || nothing)
            {
                return Err(malformed("a query that cannot have been made"));
            }
            least = asked.number + 1;
            client.asked.push_back(asked);
        }
        Ok(client)
    }
}

/// What a state begins with.
struct Head {
    key: Zeroizing<[u8; 16]>,
    next: u64,
    last: Learnt,
    asked: Vec<Asked>,
}

impl Head {
    fn read(params: &Params, from: &mut dyn Read) -> Result<Self> {
        let key = Zeroizing::new(array(from)?);
        let next = u64::from_le_bytes(array(from)?);
        let number = u64::from_le_bytes(array(from)?);
        let (promoted, kept) = (u32::from_le_bytes(array(from)?), u32::from_le_bytes(array(from)?));
        let open = u32::from_le_bytes(array(from)?);
        if next > params.queries() as u64 || u64::from(open) > next {
            return Err(malformed("more queries than there are"));
        }
        let mut asked = Vec::new();
        for _ in 0..open {
            asked.push(Asked {
                number: u64::from_le_bytes(array(from)?),
                place: u32::from_le_bytes(array(from)?),
                chosen: u32::from_le_bytes(array(from)?),
                promoted: u32::from_le_bytes(array(from)?),
                before: u32::from_le_bytes(array(from)?),
            });
        }
        Ok(Head { key, next, last: Learnt { number, promoted, kept }, asked })
    }
}

fn read_used(params: &Params, head: &Head, from: &mut dyn Read) -> Result<Zeroizing<Vec<u16>>> {
    let mut used = Zeroizing::new(vec![0; params.partitions()]);
    for used in used.iter_mut() {
        *used = u16::from_le_bytes(array(from)?);
    }
    let all: u64 = used.iter().copied().map(u64::from).sum();
    if all > head.next || used.iter().any(|used| usize::from(*used) > params.backups()) {
        return Err(malformed("more backups used than there are"));
    }
    Ok(used)
}

fn read_hints(params: &Params, used: &[u16], from: &mut dyn Read) -> Result<Zeroizing<Vec<Hint>>> {
    let mut of = Hints::fresh(params);
    let (hints, backups) = of.split_at_mut(params.hints());
    for hint in hints {
        [hint.mark] = array(from)?;
        if ![0, LIVE | KNOWN, OWED | KNOWN].contains(&hint.mark) {
            return Err(malformed("a hint that cannot be"));
        }
    }
    for ((backups, used), partition) in backups.chunks_exact_mut(params.backups()).zip(used).zip(0u32..) {
        for hint in backups.iter_mut().take(usize::from(*used)) {
            [hint.mark] = array(from)?;
            let offset = u16::from_le_bytes(array(from)?);
            let standing = hint.mark & !(WAITING | KNOWN);
            let live = [LIVE | PROMOTED, OWED | PROMOTED].contains(&standing);
            let possible = if live {
                hint.mark & WAITING == 0 || hint.mark & KNOWN == 0
            } else {
                hint.mark & !WAITING == 0 && offset == 0
            };
            hint.own = if live { partition << 16 | u32::from(offset) } else { 0 };
            if !possible || usize::from(offset) >= params.partition_rows() {
                return Err(malformed("a backup that cannot be"));
            }
        }
    }
    Ok(of)
}

/// A row for each id, zeros for those that have none.
fn read_rows(
    row_bytes: usize,
    of: &[Hint],
    has: fn(u8) -> bool,
    from: &mut dyn Read,
) -> Result<Zeroizing<Vec<u8>>> {
    let mut rows = Zeroizing::new(Vec::new());
    reserve(&mut rows, of.len().saturating_mul(row_bytes))?;
    for hint in of {
        let there = if has(hint.mark) { row_bytes } else { 0 };
        fill(&mut rows, there, from)?;
        let end = rows.len() + row_bytes - there;
        rows.resize(end, 0);
    }
    Ok(rows)
}

fn read_seen(params: &Params, head: &Head, from: &mut dyn Read) -> Result<Seen> {
    let mut seen = Seen::new(params)?;
    let mut row = Zeroizing::new(vec![0; params.row_bytes()]);
    // Below 2^24.
    for query in 0..head.next as u32 {
        let [what] = array(from)?;
        if what == 0 {
            continue;
        }
        let place = u32::from_le_bytes(array(from)?);
        if what > 2 || !is_place(params, place) {
            return Err(malformed("a row that cannot be kept"));
        }
        if what == 2 {
            exact(from, &mut row)?;
        }
        seen.put(query, place, (what == 2).then_some(&row));
    }
    Ok(seen)
}

fn is_place(params: &Params, number: u32) -> bool {
    let place = place(number);
    usize::from(place.partition) < params.partitions() && usize::from(place.offset) < params.partition_rows()
}

/// Room for just as many as there will be, so that no secret is left behind where a list grew.
pub(crate) fn reserve<T>(list: &mut Vec<T>, len: usize) -> Result<()> {
    Ok(list.try_reserve_exact(len).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?)
}

/// Appends the next `len` bytes. Memory that is reserved is not touched before they come.
fn fill(list: &mut Vec<u8>, len: usize, from: &mut dyn Read) -> Result<()> {
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
