//! Hints in slots, whose parities a second server makes: each hint is a set of rows and their
//! parity.
//!
//! A client draws the sets of M hints from a key, and the second server, which receives the key,
//! makes their parities on request. To fetch a row the client takes a hint whose set contains it,
//! and sends the set without the row to the first server; the answer and the parity of the hint
//! differ by the row. The spent hint is replaced, in its slot, by a fresh set that also contains
//! the row. The client obtains its parity from the second server in the same way.
//!
//! A family defines which row a number of a tree stands for ([`ParamsFamily`]), which hint is
//! chosen, what each server is sent, and what it computes from that ([`Family`]).

pub mod client;
pub mod family;
pub mod params;
#[cfg(feature = "server")]
pub mod server;
pub mod sets;
mod state;
pub mod tree;

pub use crate::message::{Answer, HintRequest, HintResponse, MessageLengths};
pub use client::{Client, Prepare};
pub use family::{DraftQuery, Family, Plan, TwoServerScheme, Workspace};
pub use params::{FamilyReport, Params, ParamsFamily};
#[cfg(feature = "server")]
pub use server::Server;
pub use sets::{Hint, KeyedSets, Set};
pub use tree::{Root, Seed, TreeNumber, TreeScratch, Trees};

use sotto_core::{Caps, Scheme, SchemeId, SchemeMetadata, TwoServers};

impl<F: Family> Scheme for TwoServerScheme<F> {
    const ID: SchemeId = F::ID;
    const METADATA: SchemeMetadata = F::METADATA;
    type Params = Params<F>;
    type Fan<T> = TwoServers<T>;
    type Keys = ();
    type Query = F::Query;
    type Answer = Answer;
    type Prepare = Prepare<F>;
    type Client = Client<F>;
    #[cfg(feature = "server")]
    type Server = Server<F>;
    const CAPS: Caps<Self> = Caps::NONE.update_image().hint_server();
}
