//! Lattice assumptions, and ring-LWE encryption based on them.
//!
//! ```
//! use sotto_lattice::encrypt::{encrypt, mask, phase};
//! use sotto_lattice::ring::{ModulusLevel, Ring};
//! use sotto_lattice::secret::{Distribution, SecretKey};
//! use sotto_math::modulus::Modulus;
//! use sotto_math::sample::Gaussian;
//! use sotto_prg::{PublicSeed, system_rng};
//!
//! // A toy: security needs a dimension of 2048 at this modulus.
//! let q = Modulus::new(1_125_899_904_679_937).ok_or("not a prime")?;
//! let ring = Ring::new(64, q, None).ok_or("no such ring")?;
//! let level = ModulusLevel::Main;
//! let rng = &mut system_rng()?;
//! let secret = SecretKey::sample(&ring, Distribution::Ternary, rng);
//!
//! // The message 42 X, scaled above the noise.
//! let scale = 1 << 40;
//! let mut coefficients = vec![0; 64];
//! coefficients[1] = 42;
//! let mut message = ring.from_small(level, &coefficients);
//! ring.scale(level, &mut message, scale);
//!
//! let a = mask(&ring, level, &PublicSeed::fresh(rng), "example", 0);
//! let b = encrypt(&ring, level, &[&secret], &a, &[&message], &Gaussian::new(3.2), rng);
//!
//! // Message and noise: rounding takes the noise off.
//! let noisy = phase(&ring, level, &secret, &a, &b[0]);
//! let scale = scale as i128;
//! assert_eq!((noisy[1] + scale / 2).div_euclid(scale), 42);
//! assert_eq!((noisy[0] + scale / 2).div_euclid(scale), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`security`] | the security estimate that every lattice scheme's `Params::check` requires |
//! | [`noise`] | from a variance to a failure probability, and the variance of each step below |
//! | [`ring`] | `Z[X]/(X^n + 1)` modulo `q`, or modulo `q q'` |
//! | [`secret`], [`ciphertext`], [`encrypt`] | keys, ciphertexts, masks from seeds, truncated bodies |
//! | [`keyswitch`], [`automorphism`] | switching keys, ciphertexts under `X -> X^k`, modulus switching from `q q'` to `q` |
//! | [`expand`] | expansion of one ciphertext to many, with one key switch per split |
//! | [`rgsw`], [`rgsw_conversion`] | external products and CMUX; RGSW from ring-LWE |
//! | [`pack`](mod@pack) | several ciphertexts packed under one mask |
//! | [`cdks`] | CDKS packing of LWE samples: merge by merge, or by digits known beforehand |
//! | [`inspiring`] | InspiRING packing of LWE samples, with two keys, by digits known beforehand |
//! | [`bgv`] | BGV and BFV: several primes, levels, slots that multiply and rotate, expansion |
//! | [`scratch`] | the working memory of all these |
//! | [`threads`] | how one answer is split among the threads of the current pool |
//! | [`buffer_pool`] | buffers that one answer leaves to the next, words that start on a cache line |
//!
//! Ciphertexts are `(a, b)` with `b = a s + e + m`: the phase is `b - a s`; those of [`bgv`] are
//! `(c0, c1)` or `(c0, c1, c2)` with the phase `c0 + c1 s + c2 s^2`. The feature `server` lets
//! expansion, rotations and passes use the current rayon pool.
#![forbid(unsafe_code)]

pub mod automorphism;
pub mod bgv;
pub mod buffer_pool;
pub mod cdks;
pub mod ciphertext;
pub mod encrypt;
pub mod expand;
#[cfg(test)]
mod fixture;
pub mod inspiring;
pub mod keyswitch;
pub mod noise;
pub mod pack;
pub mod rgsw;
pub mod rgsw_conversion;
pub mod ring;
pub mod scratch;
pub mod secret;
pub mod security;
pub mod threads;
