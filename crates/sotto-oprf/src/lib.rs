//! Symmetric lookups, around any scheme: a client learns the item that it asked for, and nothing else.
//!
//! A table is masked before it is encoded: each item under a key of its own, which is the output of an oblivious
//! pseudorandom function at the item's name. A client fetches masked bytes by any scheme, as many and of whatever rows it
//! can, and opens one item for each evaluation that the server grants. The server does not learn of which item, since the
//! name is blinded.
//!
//! | module | what lives there |
//! |---|---|
//! | [`key`] | the function's key, its public half, and their text and bytes |
//! | [`input`] | what the function is taken of: a row in one of its versions, or a key |
//! | [`blind`](mod@blind) | the client's half: blinding, and unblinding what a proof vouches for |
//! | [`evaluate`] | the server's half: blinded elements in, evaluations and one proof out |
//! | [`mask`] | what an output masks: a version, the bytes under it, a tag |
//! | `p384` | the function over another group, for a protocol of others (feature `p384`) |
//! | `text` | files of keys |
//! | `rng` | the project's generators, as the function's crate takes them |
//! | [`error`] | whose fault, and what to do |
//!
//! The function is RFC 9497's in its verifiable mode, ristretto255-SHA512. No I/O.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod blind;
pub mod error;
pub mod evaluate;
pub mod input;
pub mod key;
mod key_file;
pub mod mask;
#[cfg(feature = "p384")]
pub mod p384;
mod rng_compat;
#[cfg(test)]
mod vector;

pub use blind::{BlindedInputs, blind};
pub use error::OprfError;
pub use evaluate::{Evaluations, PROOF_BYTES};
pub use input::Input;
pub use key::{PublicKey, SecretKey};
pub use mask::{MaskVersion, OVERHEAD_BYTES, RowMask};

use std::fmt;
use voprf::Ristretto255;
use zeroize::Zeroizing;

/// Shorthand for results of this crate.
pub type Result<T, E = OprfError> = std::result::Result<T, E>;

/// The suite, by its name in RFC 9497.
pub const SUITE: &str = "ristretto255-SHA512";

/// Bytes of a group element.
pub const ELEMENT_BYTES: usize = 32;

/// Bytes of an output of the function.
pub const OUTPUT_BYTES: usize = 64;

/// An element of the group as it travels. Whether it is one is checked by whoever takes it.
pub type Element = [u8; ELEMENT_BYTES];

/// The suite, for the crate that has the function.
type Suite = Ristretto255;

/// The function at one input: a secret of whoever may open the item. Wiped on drop.
pub struct OprfOutput(Zeroizing<[u8; OUTPUT_BYTES]>);

impl OprfOutput {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8; OUTPUT_BYTES] {
        &self.0
    }
}

impl fmt::Debug for OprfOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Output(..)")
    }
}
