//! Spiral (Menon, Wu; IEEE S&P 2022), with its variants: Stream (selectors are sent, not expanded), Pack (n² plain
//! ciphertexts are folded each on its own and packed at the end), StreamPack (both).
//!
//! The machinery is [`sotto_cube`]'s, which FSpiral shares. README.md has the symbol table, the parameter sets,
//! the deviations from the paper, and figures.
//!
//! | module | what lives there |
//! |---|---|
//! | [`sets`] | the parameter sets: the paper's, and ours |
//! | `server` | the server's capabilities: units, changed rows (feature `server`) |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

#[cfg(feature = "server")]
mod server;
pub mod sets;

use sotto_core::{Caps, One, Record, Result, Scheme, SchemeEntry, SchemeId, Streamed};
use sotto_cube::{Family, Params, Template, client, message};

/// The scheme.
pub struct Spiral;

impl Family for Spiral {
    fn templates() -> &'static [Template] {
        &sets::SETS
    }
}

impl Scheme for Spiral {
    const ID: SchemeId = SchemeId("spiral/1");
    const TITLE: &'static str = "Spiral (S&P 2022) and its Stream, Pack and StreamPack variants";
    type Params = Params<Spiral>;
    type Fan<T> = One<T>;
    type Keys = message::Keys;
    type Query = message::Query;
    type Answer = message::Answer;
    type Prepare = client::Prepare<Spiral>;
    type Client = client::Client<Spiral>;
    #[cfg(feature = "server")]
    type Server = sotto_cube::answer::Cube<Self>;
    const CAPS: Caps<Self> = Caps::NONE.revise().stream();
}

impl Streamed for Spiral {
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
pub static ENTRY: SchemeEntry = SchemeEntry::of::<Spiral>();
