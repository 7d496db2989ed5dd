//! Hints from one pass over the streamed table, without a second server.
//!
//! The table is c partitions of w rows. A client streams it once and keeps parities of M
//! pseudo-random sets, each of one row in each of some partitions: a set is a function of the
//! client's key and of an id. To fetch a row the client takes a hint that contains it and sends the
//! set with something else in the row's place. The parity of that set and the parity of the hint
//! differ by the row. The spent hint is dropped, and a backup from the same pass takes its place,
//! with the row as its own entry.
//!
//! A family defines which partitions a set has ([`HintFamily`]), what the pass sums up
//! ([`PassFamily`]), how a set is chosen and sent and which backup is next ([`Family`]), and what
//! bounds failures ([`ParamsFamily`]).
//!
//! | module | contents |
//! |---|---|
//! | [`family`] | what a scheme defines, and the client that it works on |
//! | [`params`] | the numbers of a table, their limits, their costs |
//! | [`row_order`] | the order of rows in partitions; choices without branches |
//! | [`prf`] | offsets and tags as a function of a key and an id |
//! | [`hints`] | the hints of a client: marks, entries, parities |
//! | [`run`], [`pass`], [`prepare`] | the pass over the table, and the client that results |
//! | [`query`] | a hint that contains a row; the offsets that are sent |
//! | [`client`] | query, recover, hints of the next epoch |
//! | [`state`] | the whole state, and what its journal replays |
//! | [`server`] | encode, open, answer, update; tables in parts (feature `server`) |

pub mod client;
pub mod family;
pub mod hints;
pub mod params;
pub mod pass;
pub mod prepare;
pub mod prf;
pub mod query;
pub mod row_order;
pub mod run;
#[cfg(feature = "server")]
pub mod server;
pub mod state;

pub use crate::message::{Answer, MessageLengths};
pub use client::Pending;
pub use family::{AnswerEffect, Client, Family, FamilyState, OneServerScheme, OpenQuery, Plan};
pub use hints::{BackupStock, Hint, HintFamily, Hints, LIVE, OWED};
pub use params::{HintNumbers, Literal, Params, ParamsFamily};
pub use pass::{ParitySums, PassFamily, TablePass};
pub use prepare::Prepare;
pub use prf::Prf;
pub use row_order::{IdentityOrder, NOWHERE, PartitionPlace, RowOrder};
#[cfg(feature = "server")]
pub use server::Server;

use sotto_core::{Caps, OneServer, Scheme, SchemeId, SchemeMetadata};

impl<F: Family> Scheme for OneServerScheme<F> {
    const ID: SchemeId = F::ID;
    const METADATA: SchemeMetadata = F::METADATA;
    type Params = Params<F>;
    type Fan<T> = OneServer<T>;
    type Keys = ();
    type Query = F::Query;
    type Answer = Answer;
    type Prepare = Prepare<F>;
    type Client = Client<F>;
    #[cfg(feature = "server")]
    type Server = Server<F>;
    const CAPS: Caps<Self> = Caps::NONE.update_image().parts().state();
}
