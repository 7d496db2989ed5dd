//! Lattice assumptions and the ring-LWE machinery that rests on them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`security`] | the gate every lattice scheme's `Params::check` goes through |
//! | [`noise`] | from a variance to a failure probability, and the variance of each step below |
//! | [`ring`] | `Z[X]/(X^n + 1)` modulo `q`, or modulo `q q'` |
//! | [`secret`], [`cipher`], [`encrypt`] | keys, ciphertexts, masks from seeds, bodies truncated for the wire |
//! | [`keyswitch`], [`automorphism`] | switching keys, and ciphertexts under `X -> X^k` |
//! | [`expand`] | one ciphertext becomes many, with one key switch per split |
//! | [`lower`](mod@lower) | from `q q'` down to `q` |
//! | [`gsw`], [`convert`] | external products and choices; RGSW from ring-LWE |
//! | [`pack`](mod@pack) | several ciphertexts under one mask |
//! | [`cdks`] | many LWE samples packed into one ciphertext, merge by merge, or by digits that are known beforehand |
//! | [`inspiring`] | the same with two keys, by digits that are known beforehand |
//! | [`bgv`] | BGV and BFV: several primes, levels, slots that multiply and rotate, coefficients that expand |
//! | [`scratch`] | the working memory of all these |
//! | [`spare`] | memory from one answer to the next |
//! | `words` | words that start on a cache line |
//!
//! Ciphertexts are `(a, b)` with `b = a s + e + m`: the phase is `b - a s`; those of [`bgv`] are `(c0, c1)` or
//! `(c0, c1, c2)` with the phase `c0 + c1 s + c2 s^2`. The feature `server` lets expansion use the current rayon pool.
#![forbid(unsafe_code)]

mod aligned_words;
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
pub mod mod_down;
pub mod noise;
pub mod pack;
pub mod rgsw;
pub mod rgsw_conversion;
pub mod ring;
pub mod scratch;
pub mod secret;
pub mod security;
