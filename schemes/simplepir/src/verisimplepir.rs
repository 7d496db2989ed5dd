//! VeriSimplePIR (de Castro, Lee; USENIX Security 2024, eprint 2024/341): SimplePIR whose clients verify every answer.
//!
//! A client streams the table once. It computes the hint H = D A itself, and `Z = C D mod Q` for a
//! secret, uniform C of four rows. An answer v to a query c must be `D c mod Q` exactly; the client
//! accepts it only if `Z c = C v mod Q`. A wrong answer passes with probability Q^-4, whatever the
//! server's power, so whether a lookup fails reveals whether the server deviated, and nothing about
//! the index, the key or the errors. README.md has the argument and the differences from the paper.
//!
//! | module | contents |
//! |---|---|
//! | [`literal`] | parameters as a catalog states them, with sizes and costs, and their selection |
//! | [`check`] | C, Z, and the comparison; hint and Z, from one pass over the streamed table |
//! | [`client`] | the paper's Query, Verify and Recover |
//! | `server` | the matrix, and the pass of an answer (feature `server`) |

pub mod check;
pub mod client;
pub mod literal;
#[cfg(feature = "server")]
pub mod server;

use sotto_core::{AbortLeakage, Assumption, Caps, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_silent::{MatrixScheme, Method};

/// The method of VeriSimplePIR.
pub struct VeriSimplePir;

impl Method for VeriSimplePir {
    const ID: SchemeId = SchemeId("verisimplepir/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "VeriSimplePIR (USENIX Security 2024), ring form, the table streamed",
        paper: "https://eprint.iacr.org/2024/341",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe],
        client_keeps: "a hint and a check, computed from one stream of the table in each epoch",
        is_verified: true,
        abort_leakage: AbortLeakage::Nothing,
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    const CAPS: Caps<MatrixScheme<Self>> = Caps::NONE.update_image().parts();
    type Literal = literal::ParamsLiteral;
    type Keys = ();
    type Prepare = client::Streaming;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
}

/// The registry entry of VeriSimplePIR.
pub static VERIFIED: SchemeEntry = SchemeEntry::of::<MatrixScheme<VeriSimplePir>>();
