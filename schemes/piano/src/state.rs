//! A client's whole state as bytes, and what else it takes to survive a crash. `spec/piano.md` draws the bytes.

use crate::Piano;
use crate::client::{Asked, Client, Learnt, Pending};
use crate::hints::{FRESH, Hint, Hints, KNOWN, LIVE, NO_HINT, OWED, PROMOTED, WAITING, place};
use crate::journal::Event;
use crate::params::Params;
use crate::prepare::Prepare;
use crate::prf::Prf;
use crate::seen::{NEVER, Seen};
use sotto_core::{Misuse, Result, Stateful};
use sotto_hints::bytes::{Source, put, reserve};
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// Bytes before the counts of used backups, while no query waits for its answer.
pub(crate) const HEAD_BYTES: u64 = 16 + 8 + 8 + 4 + 4 + 4;

impl Stateful for Piano {
    fn save(_: &Params, client: &Client, out: &mut dyn Write) -> Result<()> {
        client.save(out)
    }

    fn load(params: &Params, from: &mut dyn Read) -> Result<Client> {
        Client::load(params, &mut Source::state(from))
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
        client.write_down();
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
        let last = Learnt { promoted: id(last.promoted), ..last };
        // No more than there are queries, at most 2^24.
        put(&(self.next, last, self.asked.len() as u32), out)?;
        for asked in &self.asked {
            put(&Asked { chosen: id(asked.chosen), promoted: id(asked.promoted), ..*asked }, out)?;
        }
        hints.used.iter().try_for_each(|used| put(used, out))?;
        let of = || hints.of.iter().zip(0..none);
        for (hint, id) in of() {
            match hints.home(id) {
                None => put(&hint.mark, out)?,
                Some(_) if hint.mark & FRESH != 0 => {}
                // The partition is that of the backup.
                Some(_) => put(&(hint.mark, place(hint.own).offset), out)?,
            }
        }
        for (_, id) in of().filter(|(hint, _)| has_parity(hint.mark)) {
            out.write_all(hints.parity(id))?;
        }
        for (_, id) in of().filter(|(hint, _)| has_entry(hint.mark)) {
            out.write_all(hints.replacement(id))?;
        }
        for (place, row) in self.seen.all(self.next) {
            put(&(u8::from(place.is_some()) + u8::from(row.is_some())), out)?;
            if let Some(place) = place {
                put(&place, out)?;
            }
            if let Some(row) = row {
                out.write_all(row)?;
            }
        }
        Ok(())
    }

    fn load(params: &Params, from: &mut Source<'_>) -> Result<Client> {
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
                return Err(from.malformed("an answer to a query that was not made"));
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
                return Err(from.malformed("a query that cannot have been made"));
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
    fn read(params: &Params, from: &mut Source<'_>) -> Result<Self> {
        let key = Zeroizing::new(from.get()?);
        let (next, last, open): (u64, Learnt, u32) = from.get()?;
        if next > params.queries() as u64 || u64::from(open) > next {
            return Err(from.malformed("more queries than there are"));
        }
        let mut asked = Vec::new();
        for _ in 0..open {
            asked.push(from.get()?);
        }
        Ok(Head { key, next, last, asked })
    }
}

fn read_used(params: &Params, head: &Head, from: &mut Source<'_>) -> Result<Zeroizing<Vec<u16>>> {
    let mut used = Zeroizing::new(vec![0; params.partitions()]);
    for used in used.iter_mut() {
        *used = from.get()?;
    }
    let all: u64 = used.iter().copied().map(u64::from).sum();
    if all > head.next || used.iter().any(|used| usize::from(*used) > params.backups()) {
        return Err(from.malformed("more backups used than there are"));
    }
    Ok(used)
}

fn read_hints(params: &Params, used: &[u16], from: &mut Source<'_>) -> Result<Zeroizing<Vec<Hint>>> {
    let mut of = Hints::fresh(params);
    let (hints, backups) = of.split_at_mut(params.hints());
    for hint in hints {
        hint.mark = from.get()?;
        if ![0, LIVE | KNOWN, OWED | KNOWN].contains(&hint.mark) {
            return Err(from.malformed("a hint that cannot be"));
        }
    }
    for ((backups, used), partition) in backups.chunks_exact_mut(params.backups()).zip(used).zip(0u32..) {
        for hint in backups.iter_mut().take(usize::from(*used)) {
            let offset: u16;
            (hint.mark, offset) = from.get()?;
            let standing = hint.mark & !(WAITING | KNOWN);
            let live = [LIVE | PROMOTED, OWED | PROMOTED].contains(&standing);
            let possible = if live {
                hint.mark & WAITING == 0 || hint.mark & KNOWN == 0
            } else {
                hint.mark & !WAITING == 0 && offset == 0
            };
            hint.own = if live { partition << 16 | u32::from(offset) } else { 0 };
            if !possible || usize::from(offset) >= params.partition_rows() {
                return Err(from.malformed("a backup that cannot be"));
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
    from: &mut Source<'_>,
) -> Result<Zeroizing<Vec<u8>>> {
    let mut rows = Zeroizing::new(Vec::new());
    reserve(&mut rows, of.len().saturating_mul(row_bytes))?;
    for hint in of {
        let there = if has(hint.mark) { row_bytes } else { 0 };
        from.append(&mut rows, there)?;
        let end = rows.len() + row_bytes - there;
        rows.resize(end, 0);
    }
    Ok(rows)
}

fn read_seen(params: &Params, head: &Head, from: &mut Source<'_>) -> Result<Seen> {
    let mut seen = Seen::new(params)?;
    let mut row = Zeroizing::new(vec![0; params.row_bytes()]);
    // Below 2^24.
    for query in 0..head.next as u32 {
        let what: u8 = from.get()?;
        if what == 0 {
            continue;
        }
        let place = from.get()?;
        if what > 2 || !is_place(params, place) {
            return Err(from.malformed("a row that cannot be kept"));
        }
        if what == 2 {
            from.exact(&mut row)?;
        }
        seen.put(query, place, (what == 2).then_some(&row));
    }
    Ok(seen)
}

fn is_place(params: &Params, number: u32) -> bool {
    let place = place(number);
    usize::from(place.partition) < params.partitions() && usize::from(place.offset) < params.partition_rows()
}
