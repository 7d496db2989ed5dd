//! Symmetric lookups for any scheme: a client learns the item that it looked up, and nothing else.
//!
//! ```
//! use sotto_oprf::{Input, MaskVersion, RowMask, SecretKey, blind};
//!
//! // The publisher masks row 5 of a table under the key that it shares with the server.
//! let rng = &mut sotto_prg::system_rng()?;
//! let (key, version) = (SecretKey::generate(rng)?, MaskVersion(1));
//! let row = || Input::row("salaries", 5, version);
//! let masked = RowMask::new(&key.at(&row()?)?).close(version, b"the row");
//!
//! // The client blinds the row's name, and the server evaluates it: the output opens this row.
//! let blinded = blind(vec![row()?], rng)?;
//! let evaluated = key.evaluate(blinded.elements(), rng)?;
//! let outputs = blinded.finish(&evaluated.elements, &evaluated.proof, &key.public())?;
//! assert_eq!(RowMask::new(&outputs[0]).open(&masked)?.as_slice(), b"the row");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A table is masked before it is encoded: each item under a key of its own, which is the output of
//! an oblivious pseudorandom function (OPRF) at the item's name. A client can fetch any number of
//! masked rows by any scheme, but opens only one item for each evaluation that the server grants.
//! The server does not learn which item, since the name is blinded.
//!
//! | module | contents |
//! |---|---|
//! | [`key`] | the function's secret and public key, and their text and bytes |
//! | [`input`] | the function's inputs: a row in one of its versions, or a key |
//! | [`blind`](mod@blind) | the client's half: blinding, and unblinding what a proof covers |
//! | [`mask`] | masked items: a version, the ciphertext, a tag |
//! | `p384` | the function over P-384, for Apple's protocol (feature `p384`) |
//! | `rng_compat` | the project's generators, as the `voprf` crate takes them |
//!
//! The function is RFC 9497's in its verifiable mode, ristretto255-SHA512. This crate does no I/O.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod blind;
pub mod input;
pub mod key;
pub mod mask;
#[cfg(feature = "p384")]
pub mod p384;
mod rng_compat;
#[cfg(test)]
mod vector;

pub use crate::blind::{BlindedInputs, Evaluations, PROOF_BYTES, blind};
pub use crate::input::Input;
pub use crate::key::{PublicKey, SecretKey};
pub use crate::mask::{MaskVersion, OVERHEAD_BYTES, RowMask};
use std::fmt;
use voprf::Ristretto255;
use zeroize::Zeroizing;

/// Result of this crate's functions.
pub type Result<T, E = OprfError> = std::result::Result<T, E>;

/// Name of the cipher suite in RFC 9497.
pub const SUITE: &str = "ristretto255-SHA512";

/// Bytes of a group element.
pub const ELEMENT_BYTES: usize = 32;

/// Bytes of an output of the function.
pub const OUTPUT_BYTES: usize = 64;

/// An encoded element of the group. The receiver checks that it is one.
pub type Element = [u8; ELEMENT_BYTES];

/// The cipher suite as a type, for the `voprf` crate.
type Suite = Ristretto255;

/// The output of the function at one input: a secret that opens an item. Wiped on drop.
pub struct OprfOutput(Zeroizing<[u8; OUTPUT_BYTES]>);

impl OprfOutput {
    /// The bytes of the output.
    pub fn bytes(&self) -> &[u8; OUTPUT_BYTES] {
        &self.0
    }
}

impl fmt::Debug for OprfOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Output(..)")
    }
}

/// The reason why bytes of a peer or of a file are refused. No variant holds a secret or names the
/// item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OprfError {
    /// Bytes that are not an element of the group, or the identity, or an element in a
    /// non-canonical encoding.
    #[error("bytes are not an element of the group, or are its identity")]
    Element,
    /// A proof that does not hold for these elements and this public key.
    #[error("the proof of an evaluation does not hold for the key that the catalog names")]
    Proof,
    /// More or fewer evaluations than requested; or none.
    #[error("expected {want} evaluations, got {got}")]
    Count {
        /// Number of evaluations received.
        got: usize,
        /// Number of evaluations requested.
        want: usize,
    },
    /// An input whose length the function does not accept.
    #[error("an input must have 1 to 65535 bytes")]
    Input,
    /// Text that is not a key file.
    #[error("{0}")]
    KeyText(&'static str),
    /// Masked bytes that the function's output does not open.
    #[error("an item does not open: it is damaged, or was masked with another key")]
    Closed,
    /// An item whose version is a future epoch.
    #[error("the version of an item is an epoch later than the table's")]
    Future,
}
