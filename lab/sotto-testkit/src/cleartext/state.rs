//! Saving and loading a client's state. All numbers are u64, little-endian.
//!
//! ```text
//! client:       key | next number | supplies | queries | sums | for each query: number | index | 1 if it is learnt
//! preparation:  key | sums | so many sums
//! journal:      u8 what happened | number of a query or a supply | index or sum
//! ```
//!
//! The journal has the slot of each query and the content of its answer, as a private scheme's
//! would. An observer of the server can detect at once what must never happen: one slot of one key
//! in two different queries ([`used`]).

use super::client::{ClientState, OpenClearQuery, Pending, SETTLED, malformed};
use super::message::{fold, word};
use super::params::ClearParams;
use super::{Clear, SchemeKind};
use sotto_core::{Misuse, PeerMisbehaved, Result, Stateful};
use std::io::{ErrorKind, Read, Write};
use zeroize::Zeroizing;

/// Bytes of one entry of the journal.
const ENTRY: usize = 17;

/// The key and the slot that an encoded query of [`super::CLEAR_STATE`] uses; `None` if it is
/// malformed.
pub fn used(query: &[u8]) -> Option<(u64, u64)> {
    word(query, 0).zip(word(query, 1)).filter(|_| query.len() == 32)
}

impl<K: SchemeKind> Stateful for Clear<K> {
    fn save(_: &ClearParams<K>, client: &ClientState<K>, out: &mut dyn Write) -> Result<()> {
        put(out, &[client.key, client.next, client.supplies, client.known.len() as u64])?;
        put(out, &client.sums)?;
        client
            .known
            .iter()
            .try_for_each(|(number, asked)| put(out, &[*number, asked.index, asked.is_learnt.into()]))
    }

    fn load(params: &ClearParams<K>, from: &mut dyn Read) -> Result<ClientState<K>> {
        let mut client = ClientState::new(params, take(from)?);
        let (next, supplies, count) = (take(from)?, take(from)?, take(from)?);
        (client.next, client.supplies) = (next, supplies);
        let most = params.most_queries(supplies).unwrap_or(u64::MAX >> 1);
        if next > most || count > next || supplies > if K::HELPED { u64::MAX >> 32 } else { 0 } {
            return Err(malformed("more was used than there is"));
        }
        let sums = if K::HELPED { supplies.min(1) } else { params.records() };
        client.sums = (0..sums).map(|_| take(from)).collect::<Result<_>>()?;
        for _ in 0..count {
            let (number, index, learnt) = (take(from)?, take(from)?, take(from)?);
            let is_later = client.known.last_key_value().is_none_or(|(last, _)| *last < number);
            let is_learnt = learnt == 1 && K::SLOTS;
            if number >= next || !is_later || index >= params.records() || learnt != u64::from(is_learnt) {
                return Err(malformed("a query that cannot be"));
            }
            client.known.insert(number, OpenClearQuery { index, is_learnt });
        }
        Ok(client)
    }

    fn journal(client: &mut ClientState<K>) -> Zeroizing<Vec<u8>> {
        std::mem::take(&mut client.journal)
    }

    fn replay(client: &mut ClientState<K>, entry: &[u8]) -> Result<()> {
        let (entries, rest) = entry.as_chunks::<ENTRY>();
        for [what, fields @ ..] in entries {
            let (number, about) =
                word(fields, 0).zip(word(fields, 1)).ok_or_else(|| malformed("no words"))?;
            client.enter(*what, number, about)?;
        }
        client.journal.clear();
        rest.is_empty().then_some(()).ok_or_else(|| malformed("an entry is cut short"))
    }

    fn query_number(pending: &Pending<K>) -> u64 {
        pending.number
    }

    fn reopen_query(client: &mut ClientState<K>, number: u64) -> Result<Pending<K>> {
        match client.known.get(&number) {
            Some(OpenClearQuery { index, is_learnt: false }) => Ok(Pending::new(number, *index)),
            _ => Err(Misuse::ForeignValue("query number").into()),
        }
    }

    fn reject(client: &mut ClientState<K>, number: u64) {
        // Nothing is left of an answer that taught nothing.
        let _ = client.enter(SETTLED, number, 0);
    }

    fn apply_delta(client: &mut ClientState<K>, delta: &[u8]) -> Result<()> {
        let each = 8 + client.params.record_bytes();
        let mut from = 0;
        for entry in delta.chunks(each) {
            let index = word(entry, 0)
                .filter(|index| entry.len() == each && (from..client.params.records()).contains(index));
            let index = index.ok_or(PeerMisbehaved::NotCanonical("rows-delta"))?;
            from = index + 1;
            // A client without hints does not know the table's sum, nor need it.
            if let Some(sum) = client.sums.get_mut(if K::HELPED { 0 } else { index as usize }) {
                *sum ^= fold(entry.get(8..).unwrap_or(&[]));
            }
        }
        Ok(())
    }

    fn checkpoint(_: &ClearParams<K>, prepare: &ClientState<K>, out: &mut dyn Write) -> Result<()> {
        put(out, &[prepare.key, prepare.sums.len() as u64])?;
        put(out, &prepare.sums)
    }

    fn resume(params: &ClearParams<K>, from: &mut dyn Read) -> Result<ClientState<K>> {
        let mut prepare = ClientState::new(params, take(from)?);
        let count = take(from)?;
        if count > params.records() {
            return Err(malformed("there are not so many records"));
        }
        prepare.sums = (0..count).map(|_| take(from)).collect::<Result<_>>()?;
        Ok(prepare)
    }

    /// A record whose end has not come is fetched again.
    fn absorbed_bytes(prepare: &ClientState<K>) -> u64 {
        prepare.kept()
    }
}

fn put(out: &mut dyn Write, words: &[u64]) -> Result<()> {
    Ok(words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))?)
}

fn take(from: &mut dyn Read) -> Result<u64> {
    let mut word = [0; 8];
    // Bytes that end too early are the fault of the writer, not of the disk.
    from.read_exact(&mut word).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => malformed("it is cut short"),
        _ => error.into(),
    })?;
    Ok(u64::from_le_bytes(word))
}
