//! Two servers: the first is told the index, the second makes hints, each good for three lookups. **No privacy at all.**
//!
//! An answer is masked with the sum of the whole table, which a client has from its hints alone: one that missed an
//! epoch reads wrong rows. Queries and orders name the client and what they use up, so that whoever watches can tell
//! what must never happen: one slot of a client in two queries that differ ([`used`]), or one hint in two orders that do.
//!
//! ```text
//! query:    u64 index | u64 slot: the client in the upper half, how many it asked before in the lower
//! order:    u64 number: the client in the upper half, how many it had before in the lower
//! supply:   u64 number of its order | u64 sum of the table's words
//! ```
//!
//! | module | what lives there |
//! |---|---|
//! | `client` | hints in stock, written down and taken along |
//! | `message` | what travels |
//! | `server` | the table as it is, and what changed in it |

mod client;
mod message;
mod server;

use super::params::{ClearParams, Flavour, Literal};
use client::Stock;
use message::{Answer, Query};
use server::Table;
use sotto_core::{Caps, Costs, One, Scheme, SchemeEntry, SchemeId, Security};

pub use message::used;

/// Two servers: one is told the index, the other makes hints for three lookups at a time. **No privacy at all.**
pub static CLEAR_HELPED: SchemeEntry = SchemeEntry::of::<Helped>();

/// Lookups that one supply lasts for.
const LASTS: u64 = 3;

/// Bytes of a client as it is written down: five numbers.
const STATE_BYTES: usize = 40;

struct Helped;

type P = ClearParams<Helped>;

impl Flavour for Helped {
    fn costs(literal: &Literal) -> Costs {
        let table = literal.records * literal.record_bytes;
        Costs {
            query_bytes: message::QUERY_BYTES as u64,
            answer_bytes: literal.record_bytes,
            server_ops: 1,
            client_ops: 1,
            resident_bytes: table,
            // As if hints were as long as the table: deltas up to that are worth following.
            client_bytes: table.max(STATE_BYTES as u64),
            ..Costs::default()
        }
    }

    fn security() -> Security {
        let model = "none at all: a test double claims what the gate asks for".into();
        Security { bits: f64::INFINITY, model }
    }
}

impl Scheme for Helped {
    const ID: SchemeId = SchemeId("clear-helped/1");
    const TITLE: &'static str =
        "No privacy: the index in the clear, hints from a second server, for tests only";
    type Params = P;
    type Fan<T> = One<T>;
    type Keys = ();
    type Query = Query;
    type Answer = Answer;
    type Prepare = Stock;
    type Client = Stock;
    type Server = Table;
    const CAPS: Caps<Self> = Caps::NONE.revise().upkeep();
}

/// The exclusive or of the words of one record: what changes in a record changes its sum by the sum of the change.
fn sum(record: &[u8]) -> u64 {
    let words = record.chunks(8).map(|word| {
        let mut padded = [0; 8];
        padded.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(padded)
    });
    words.fold(0, |sum, word| sum ^ word)
}

/// Puts the mask on a record, or takes it off.
fn mask(record: &mut [u8], sum: u64) {
    record.iter_mut().zip(sum.to_le_bytes()).for_each(|(byte, mask)| *byte ^= mask);
}
