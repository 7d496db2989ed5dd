//! S3PIR with two servers (the paper, algorithms 1 to 3): one makes hints, the other answers
//! queries.
//!
//! Sets, queries and answers are those of the one-server scheme. Hints come from another source: a
//! client sends its key to the second server, which sums the parities of a block of ids at a time,
//! so that no table is ever streamed and backup pairs come when they are needed. That server knows
//! every set and sees no query; the first sees queries and no set. Together they would know every
//! requested row: README.md says what each learns.
//!
//! | module | contents |
//! |---|---|
//! | [`params`] | the literal, its check, its report; choosing one for a table |
//! | [`client`] | preparing a client; query, recover, hint requests, state |
//! | `blocks` | the block that is due, storing it, and its journal record |
//! | `server` | encode, open, answer queries and hint requests (feature `server`) |

pub(crate) mod blocks;
pub mod client;
pub mod params;
#[cfg(feature = "server")]
pub(crate) mod server;

use crate::message::Query;
use sotto_core::{Assumption, Caps, Hiding, OneServer, Scheme, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_hints::message::Answer;

pub use params::Params;

/// The S3PIR scheme with two servers.
pub struct S3pirTwo;

impl Scheme for S3pirTwo {
    const ID: SchemeId = SchemeId("s3pir-two/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "S3PIR (CCS 2024), two servers",
        paper: "https://eprint.iacr.org/2023/1072",
        hiding: &[Hiding::Preparation, Hiding::Splitting],
        assumptions: &[Assumption::Aes],
        client_keeps: "hints that one server made, each spent by a query",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    type Params = Params;
    type Fan<T> = OneServer<T>;
    type Keys = ();
    type Query = Query;
    type Answer = Answer;
    type Prepare = client::Prepare;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
    const CAPS: Caps<Self> = Caps::NONE.update_image().hint_server();
}

/// The registry entry of the scheme with two servers.
pub static TWO: SchemeEntry = SchemeEntry::of::<S3pirTwo>();
