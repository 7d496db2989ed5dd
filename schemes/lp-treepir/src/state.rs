//! A client's whole state as bytes, and what else it takes to survive a crash. `spec/lp-treepir.md` draws the bytes.

use crate::TreePir;
use crate::client::{AWAITED, Asked, Client, Hint, Pending};
use crate::journal::Record;
use crate::params::Params;
use crate::prepare::Prepare;
use crate::set::{Place, Set};
use crate::tree::Root;
use sotto_core::{Error, Misuse, PeerMisbehaved, Result, Stateful};
use std::io::{self, Read, Write};
use zeroize::Zeroizing;

/// Bytes before the hints.
pub(crate) const HEAD: usize = 44;
/// Bytes of a hint without its parity.
pub(crate) const HINT: usize = 43;

impl Stateful for TreePir {
    fn save(params: &Params, client: &Client, out: &mut dyn Write) -> Result<()> {
        let (last, slot) = client.last.unwrap_or((0, client.none()));
        out.write_all(client.key.as_slice())?;
        out.write_all(&client.next.to_le_bytes())?;
        out.write_all(&client.stocked.to_le_bytes())?;
        out.write_all(&last.to_le_bytes())?;
        out.write_all(&slot.to_le_bytes())?;
        // Queries that are under way are fewer than 2^32, as all queries are.
        out.write_all(&(client.asked.len() as u32).to_le_bytes())?;
        for hint in client.hints.iter().take(params.hints()) {
            put(hint, out)?;
        }
        let kept = params.hints() * params.row_bytes();
        out.write_all(client.parities.get(..kept).unwrap_or_default())?;
        for asked in &client.asked {
            out.write_all(&asked.number.to_le_bytes())?;
            out.write_all(&asked.slot.to_le_bytes())?;
            out.write_all(&asked.place.partition.to_le_bytes())?;
            out.write_all(&asked.place.offset.to_le_bytes())?;
            put(&asked.spent, out)?;
            out.write_all(&asked.parity)?;
        }
        Ok(())
    }

    fn load(params: &Params, from: &mut dyn Read) -> Result<Client> {
        let key = Zeroizing::new(array(from)?);
        let next = u64::from_le_bytes(array(from)?);
        let stocked = u32::from_le_bytes(array(from)?);
        let last = (u64::from_le_bytes(array(from)?), u32::from_le_bytes(array(from)?));
        let count = u32::from_le_bytes(array(from)?);
        let none = params.hints() as u32;
        let begun = next > 1 && stocked == params.blocks() || next == 1 && stocked <= params.blocks();
        if !begun || next > params.queries() + 1 || last.0 >= next || last.1 > none {
            return Err(malformed("numbers that cannot be"));
        }
        let mut hints = Vec::new();
        let slots = params.hints() + 1;
        hints.try_reserve_exact(slots).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        for _ in 0..none {
            hints.push(hint(params, next, from)?);
        }
        hints.push(Hint::default());
        let mut client = Client::with_hints(params.clone(), key, hints)?;
        let kept = params.hints() * params.row_bytes();
        exact(from, client.parities.get_mut(..kept).unwrap_or_default())?;
        (client.next, client.stocked) = (next, stocked);
        client.last = (last.0 > 0).then_some(last);
        let mut least = 1;
        for _ in 0..count {
            let asked = asked(params, next, from)?;
            if asked.number < least {
                return Err(malformed("queries out of order"));
            }
            least = asked.number + 1;
            client.asked.push_back(asked);
        }
        Ok(client)
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
        client.find(number).ok_or(Misuse::Foreign("number"))?;
        Ok(client.pending(number))
    }

    fn reject(client: &mut Client, number: u64) {
        client.withdraw(number);
        client.note(Record::Rejected { number });
    }

    fn follow(client: &mut Client, delta: &[u8]) -> Result<()> {
        client.follow_rows(delta)
    }

    fn checkpoint(_: &Params, prepare: &Prepare, out: &mut dyn Write) -> Result<()> {
        Ok(out.write_all(prepare.key.as_slice())?)
    }

    fn resume(params: &Params, from: &mut dyn Read) -> Result<Prepare> {
        Ok(Prepare::with_key(params, Zeroizing::new(array(from)?)))
    }

    /// A preparation takes no artifact.
    fn kept(_: &Prepare) -> u64 {
        0
    }
}

fn put(hint: &Hint, out: &mut dyn Write) -> Result<()> {
    out.write_all(&hint.set.root.salt)?;
    out.write_all(&hint.set.root.seed)?;
    out.write_all(&hint.set.shift.to_le_bytes())?;
    out.write_all(&hint.made.to_le_bytes())?;
    Ok(out.write_all(&[hint.standing])?)
}

fn hint(params: &Params, next: u64, from: &mut dyn Read) -> Result<Hint> {
    let root = Root { salt: array(from)?, seed: array(from)? };
    let shift = u16::from_le_bytes(array(from)?);
    let made = u64::from_le_bytes(array(from)?);
    let [standing] = array(from)?;
    let awaited = standing == AWAITED && made > 0;
    if shift > params.mask() || made >= next || !(standing < AWAITED || awaited) {
        return Err(malformed("a hint that cannot be"));
    }
    Ok(Hint { set: Set { root, shift }, made, standing })
}

fn asked(params: &Params, next: u64, from: &mut dyn Read) -> Result<Asked> {
    let number = u64::from_le_bytes(array(from)?);
    let slot = u32::from_le_bytes(array(from)?);
    let place =
        Place { partition: u32::from_le_bytes(array(from)?), offset: u16::from_le_bytes(array(from)?) };
    if number >= next || slot > params.hints() as u32 || !place.is_of(params) {
        return Err(malformed("a query that cannot be"));
    }
    let spent = hint(params, number, from)?;
    let mut parity = Zeroizing::new(vec![0; params.row_bytes()]);
    exact(from, &mut parity)?;
    Ok(Asked { number, slot, place, spent, parity })
}

fn array<const N: usize>(from: &mut dyn Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    exact(from, &mut bytes)?;
    Ok(bytes)
}

/// The next bytes. That there are too few is no fault of the storage.
fn exact(from: &mut dyn Read, out: &mut [u8]) -> Result<()> {
    from.read_exact(out).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => malformed("cut short"),
        _ => error.into(),
    })
}

fn malformed(why: &str) -> Error {
    PeerMisbehaved::Malformed { what: "client state", why: why.into() }.into()
}
