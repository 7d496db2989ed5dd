//! S3PIR with two servers (the paper, algorithms 1 to 3): one makes hints, the other is asked.
//!
//! Sets, requests and answers are those of the one-server scheme. What differs is where hints come from: a client sends its
//! key to the second server, which adds up the parities of a block of ids at a time, so that no table is ever streamed and
//! backup pairs come when they are needed. That server knows every set and sees no query; the first sees queries and no set.
//! Together they would know every row asked for: README.md says what each learns.
//!
//! | module | what lives there |
//! |---|---|
//! | [`params`] | the literal, its check, its report |
//! | [`select`] | choosing hints, pairs and blocks for a table |
//! | [`message`] | order and supply on the wire |
//! | [`client`] | becoming a client; query, recover, order, state |
//! | `stock` | taking supplies in, and writing them down |
//! | `server` | encode, open, answer, supply (feature `server`) |

pub mod client;
pub mod message;
pub mod params;
pub mod select;
#[cfg(feature = "server")]
pub(crate) mod server;
mod stock;

use sotto_core::{Caps, One, Scheme, SchemeEntry, SchemeId};

/// The scheme.
pub struct S3pirTwo;

impl Scheme for S3pirTwo {
    const ID: SchemeId = SchemeId("s3pir-two/1");
    const TITLE: &'static str = "S3PIR (CCS 2024), two servers";
    type Params = params::Params;
    type Fan<T> = One<T>;
    type Keys = ();
    type Query = crate::message::Query;
    type Answer = crate::message::Answer;
    type Prepare = client::Prepare;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
    const CAPS: Caps<Self> = Caps::NONE.revise().upkeep();
}

/// What the registry knows of this scheme.
pub static TWO: SchemeEntry = SchemeEntry::of::<S3pirTwo>();
