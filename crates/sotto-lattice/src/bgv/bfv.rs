//! BFV proper, as others speak it: any plain modulus under any primes, and every residue as others compute it.
//!
//! Elsewhere in this folder primes are 1 modulo the plain modulus, which makes products exact. Here they need not be: a message
//! is scaled by rounding ([`encrypt`]), and a product is taken over a base that is large enough for the integers, then
//! divided ([`product`]). Given the same ciphertexts and keys, what comes out is the same, to the last bit of the noise, as from
//! any implementation that follows the same formulas; so those are fixed here where the rest of the folder is free:
//!
//! - digits of a key switch are residues as numbers from 0 on, and not the ones nearest to zero;
//! - an automorphism turns the ciphertext first, and switches keys afterwards ([`galois`]).
//!
//! Division by a prime is [`lower`](mod@super::lower), which rounds to the nearest.

pub mod encrypt;
pub mod galois;
pub mod product;
#[cfg(test)]
mod tests;
