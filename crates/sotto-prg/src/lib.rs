//! Randomness, of two kinds that must never be confused.
//!
//! | module | what lives there |
//! |---|---|
//! | [`system`] | secret randomness: the one door to the operating system's generator |
//! | [`public`] | public randomness: seeds everyone knows, and the streams they expand to |
//! | `chacha` | the generator under both for WebAssembly; elsewhere it is that of `rand_chacha` |
//!
//! Both are ChaCha20 underneath. They are different types, and only the first is a
//! [`rand_core::CryptoRng`], so a secret can never be drawn from a seed that the
//! whole world knows: the swap does not compile.
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

/// The generator itself, for what has to be drawn again from a seed that is kept secret.
#[cfg(target_arch = "wasm32")]
pub use chacha::ChaCha20Rng;
/// The generator itself, for what has to be drawn again from a seed that is kept secret.
#[cfg(not(target_arch = "wasm32"))]
pub use rand_chacha::ChaCha20Rng;

pub use public::{PublicSeed, PublicStream};
pub use system::{EntropyError, ReseedingRng, SystemRng, system_rng};
