//! FSpiral (Luo, Wang; Cryptography 9(1), 2025): a query is expanded modulo Q = q q', where keys are large and
//! their noise is small; what comes out is switched to q, and the table is multiplied and folded there.
//!
//! The machinery is [`sotto_cube`]'s, which Spiral shares. README.md has the symbol table, the parameter sets,
//! the deviations from the paper, and figures.
//!
//! | module | what lives there |
//! |---|---|
//! | [`sets`] | the parameter sets: the paper's, ours, the one with the smallest queries |
//! | `server` | the server's capabilities: units, changed rows (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

#[cfg(feature = "server")]
mod server;
pub mod sets;

use sotto_core::{Caps, One, Record, Result, Scheme, SchemeEntry, SchemeId, Streamed};
use sotto_cube::{Family, Params, Template, client, message};

/// The scheme.
pub struct FSpiral;

impl Family for FSpiral {
    fn templates() -> &'static [Template] {
        &sets::SETS
    }
}

impl Scheme for FSpiral {
    const ID: SchemeId = SchemeId("fspiral/1");
    const TITLE: &'static str = "FSpiral (Cryptography 2025), small queries and answers, no hint";
    type Params = Params<FSpiral>;
    type Fan<T> = One<T>;
    type Keys = message::Keys;
    type Query = message::Query;
    type Answer = message::Answer;
    type Prepare = client::Prepare<FSpiral>;
    type Client = client::Client<FSpiral>;
    #[cfg(feature = "server")]
    type Server = sotto_cube::answer::Cube<Self>;
    const CAPS: Caps<Self> = Caps::NONE.revise().stream();
}

impl Streamed for FSpiral {
    type UnitAnswer = message::UnitAnswer;

    fn units(params: &Self::Params) -> u64 {
        params.grid.units()
    }

    fn unit_bytes(params: &Self::Params) -> usize {
        params.grid.bytes_of_unit(0).len()
    }

    fn open_unit(
        client: &mut Self::Client,
        pending: &client::Pending,
        unit: u64,
        answer: message::UnitAnswer,
    ) -> Result<Record> {
        client.open(pending, unit, &answer)
    }
}

/// What the registry knows of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<FSpiral>();
