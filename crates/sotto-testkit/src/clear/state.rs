//! One server, which is told the index; a client whose slots are used up by asking, as the hints of a private scheme
//! would be. **No privacy at all.**
//!
//! A query names the client's key, a slot and a coin beside the index. Whoever watches the server can tell at once
//! what must never happen: one slot of one key in two queries that differ ([`used`]).
//!
//! | module | what lives there |
//! |---|---|
//! | `message` | what travels |
//! | `held` | the client: what it keeps, writes down and reads back |
//! | `served` | the server, which has the rows and nothing else |

mod held;
mod message;
mod served;

use held::{Held, Making};
use message::{Answer, Query};
use serde::{Deserialize, Serialize};
use sotto_core::{
    Caps, Costs, One, Params, ParamsDigest, ParamsError, ParamsReport, Scheme, SchemeEntry, SchemeId,
    Security,
};

pub use message::used;
use served::Table;

/// One server, told the index; slots that are used up, a journal, and deltas to follow. **No privacy at all.**
pub static CLEAR_STATE: SchemeEntry = SchemeEntry::of::<Slots>();

/// The scheme.
struct Slots;

/// What is written into a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotsLiteral {
    /// How many records, 1 to 2^32.
    pub records: u64,
    /// Bytes in each, 1 to 65536.
    pub record_bytes: u64,
    /// How many queries a client can make, 1 to 2^32.
    pub slots: u64,
}

/// Checked parameters.
#[derive(Clone)]
struct P(SlotsLiteral);

impl P {
    fn record_bytes(&self) -> usize {
        self.0.record_bytes as usize
    }
    fn table_bytes(&self) -> u64 {
        self.0.records.saturating_mul(self.0.record_bytes)
    }
}

impl Params for P {
    type Literal = SlotsLiteral;

    /// A slot for each lookup a client is expected to make, and eight at least. Splits rows above 1024 bytes.
    fn select(shape: &sotto_core::Shape) -> sotto_core::Result<SlotsLiteral> {
        let records_per_row = shape.row_bytes.div_ceil(1024).max(1);
        let literal = SlotsLiteral {
            records: shape.rows.saturating_mul(records_per_row),
            record_bytes: if records_per_row > 1 { 1024 } else { shape.row_bytes },
            slots: shape.lookups_per_client.max(8),
        };
        Self::check(literal.clone()).map_err(|error| ParamsError::NoFit {
            rows: shape.rows,
            row_bytes: shape.row_bytes,
            why: error.to_string(),
        })?;
        Ok(literal)
    }

    fn check(literal: SlotsLiteral) -> sotto_core::Result<Self> {
        let within = |field, value, most: u64| match (1..=most).contains(&value) {
            true => Ok(()),
            false => Err(ParamsError::Field { field, why: format!("must be 1 to {most}, is {value}") }),
        };
        within("records", literal.records, 1 << 32)?;
        within("record_bytes", literal.record_bytes, 1 << 16)?;
        within("slots", literal.slots, 1 << 32)?;
        Ok(P(literal))
    }

    fn literal(&self) -> &SlotsLiteral {
        &self.0
    }

    fn report(&self) -> ParamsReport {
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: self.0.records,
            record_bytes: self.0.record_bytes,
            costs: Costs {
                artifact_bytes: self.table_bytes(),
                keys_bytes: 0,
                query_bytes: message::QUERY_BYTES as u64,
                answer_bytes: self.0.record_bytes,
                server_ops: 1,
                client_ops: 1,
                resident_bytes: self.table_bytes(),
                client_bytes: held::most_bytes(self),
                budget: self.0.slots,
            },
            security: Security {
                bits: f64::INFINITY,
                model: "none at all: a test double claims what the gate asks for".into(),
            },
            failure_log2: f64::NEG_INFINITY,
            details: Vec::new(),
        }
    }
}

impl Scheme for Slots {
    const ID: SchemeId = SchemeId("clear-state/1");
    const TITLE: &'static str =
        "No privacy: the index in the clear, and slots that are used up, for tests only";
    type Params = P;
    type Fan<T> = One<T>;
    type Keys = ();
    type Query = Query;
    type Answer = Answer;
    type Prepare = Making;
    type Client = Held;
    type Server = Table;
    const CAPS: Caps<Self> = Caps::NONE.revise().state();
}
