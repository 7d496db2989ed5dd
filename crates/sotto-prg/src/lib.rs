//! Randomness of two kinds that must never be confused: secret and public.
//!
//! ```
//! use sotto_prg::{PublicSeed, system_rng};
//!
//! // Secret: from the operating system. Public: a seed that both ends know.
//! let seed = PublicSeed::fresh(&mut system_rng()?);
//! let (mut ours, mut theirs) = ([0; 16], [0; 16]);
//! seed.stream("matrix", 0).fill(&mut ours);
//! seed.stream("matrix", 0).fill(&mut theirs);
//! assert_eq!(ours, theirs);
//! # Ok::<(), sotto_prg::EntropyError>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`system`] | secret randomness: the only access to the operating system's generator |
//! | [`public`] | public randomness: seeds everyone knows, and the streams they expand to |
//! | `chacha` | the generator under both for WebAssembly; elsewhere it is that of `rand_chacha` |
//!
//! Both are ChaCha20 underneath. They are different types, and only the secret one is a
//! [`rand_core::CryptoRng`], so a secret cannot be drawn from a public seed: such code does not
//! compile.
//!
//! ```compile_fail
//! fn samples_a_secret(_: &mut dyn rand_core::CryptoRng) {}
//! let seed = sotto_prg::PublicSeed([7; 32]);
//! samples_a_secret(&mut seed.stream("matrix", 0));
//! ```
#![forbid(unsafe_code)]

#[cfg(any(target_arch = "wasm32", test))]
#[cfg_attr(not(target_arch = "wasm32"), allow(unreachable_pub, reason = "elsewhere only tests know it"))]
mod chacha;
pub mod public;
pub mod system;

/// The generator itself, for values that are drawn again from a stored secret seed.
#[cfg(target_arch = "wasm32")]
pub use chacha::ChaCha20Rng;
/// The generator itself, for values that are drawn again from a stored secret seed.
#[cfg(not(target_arch = "wasm32"))]
pub use rand_chacha::ChaCha20Rng;

pub use public::{PublicSeed, PublicStream};
pub use system::{EntropyError, ReseedingRng, SystemRng, system_rng};
