//! Unmodified BFV, as other implementations have it: any plain modulus under any primes, and every
//! residue as they compute it.
//!
//! In the rest of [`bgv`](super), primes are 1 modulo the plain modulus, which makes products
//! exact. Here they need not be: a message is scaled by rounding ([`encrypt`]), and a product is
//! computed over a base that is large enough for the integers, then divided ([`product`]). Given
//! the same ciphertexts and keys, the result is the same to the last bit of the noise as that of
//! any implementation that follows the same formulas; so two choices are fixed here that are free
//! elsewhere:
//!
//! - digits of a key switch are residues from 0 on, not centered around zero;
//! - an automorphism is applied to the ciphertext first, and keys are switched afterwards
//!   ([`galois`]).
//!
//! Division by a prime is [`mod_down`](mod@super::mod_down), which rounds to the nearest.

pub mod encrypt;
pub mod galois;
pub mod product;
#[cfg(test)]
mod tests;
