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
mod chacha;
pub mod public;
pub mod system;

#[cfg(target_arch = "wasm32")]
use chacha::ChaCha20Rng;
#[cfg(not(target_arch = "wasm32"))]
use rand_chacha::ChaCha20Rng;

pub use public::{PublicSeed, PublicStream};
pub use system::{FreshRng, NoEntropy, SystemRng, system_rng};
