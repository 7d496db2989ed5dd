//! Moduli, transforms, matrices, samplers, and the SIMD kernels under them.
//!
//! ```
//! use sotto_math::modulus::Modulus;
//! use sotto_math::ntt::NttPlan;
//!
//! // Multiplication modulo X^64 + 1 and q: X times X^63 is -1.
//! let q = Modulus::new(1_125_899_904_679_937).ok_or("a prime below 2^50")?;
//! let plan = NttPlan::new(64, q).ok_or("q is 1 modulo 128")?;
//! let (mut a, mut b, mut product) = (vec![0; 64], vec![0; 64], vec![0; 64]);
//! (a[1], b[63]) = (1, 1);
//! plan.forward(&mut a);
//! plan.forward(&mut b);
//! plan.mul_acc(&mut product, &a, &b);
//! plan.inverse(&mut product);
//! assert_eq!(product[0], q.neg(1));
//! assert!(product[1..].iter().all(|coefficient| *coefficient == 0));
//! # Ok::<(), &str>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`aes`] | AES-128 over whole slices: a pseudo-random function, and trees of seeds |
//! | [`modulus`] | primes below 2^50, products of two, arithmetic modulo them, and division of secret numbers |
//! | [`ntt`] | the negacyclic number-theoretic transform, and products under it |
//! | [`modulus_pair`] | numbers modulo two moduli at once, and division by one of them |
//! | [`rader`] | the transform modulo the cyclotomic polynomial of 8191 |
//! | [`gadget`] | numbers as a few small digits |
//! | [`bits`] | words of any width as bytes |
//! | [`matrix`] | the byte matrix, its layout, and the one pass that answers queries |
//! | [`gather`] | two parities of one row of each partition of a table |
//! | [`parities`] | the rows of a few partitions, added to many parities |
//! | [`rank`] | the smaller half of many bytes |
//! | [`tiles`] | a table of polynomials, and the one pass that answers queries |
//! | [`affine`](mod@affine) | many lines at one point |
//! | [`find`] | the positions of a word in a list, in constant time |
//! | [`bitslice`] | records in bit slices, and the one pass that xors the selected ones |
//! | [`sha256`] | the nodes of hash trees, many at a time |
//! | [`sample`] | the discrete Gaussian, in constant time |
//! | [`machine`] | the kernels that this machine runs, and its memory bandwidth |
//!
//! Every kernel exists once per backend (scalar, AVX2, AVX-512, NEON), is chosen when first used,
//! and gives the same bytes on all of them. `SOTTO_SIMD=scalar|avx2|avxvnni|avx512|neon|neondot`
//! forces one. The *shape* of a kernel, its order of memory accesses, is data: [`machine::shapes`]
//! returns the shapes in use, and `SOTTO_SHAPES` pins them. All `unsafe` of the crate is in the
//! private module `simd`.
#![deny(unsafe_code)]

pub mod aes;
pub mod affine;
pub mod bits;
pub mod bitslice;
pub mod find;
pub mod gadget;
pub mod gather;
pub mod machine;
pub mod matrix;
pub mod modulus;
pub mod modulus_pair;
pub mod ntt;
pub mod parities;
pub mod rader;
pub mod rank;
pub mod sample;
pub mod sha256;
#[allow(unsafe_code)]
mod simd;
pub mod tiles;
