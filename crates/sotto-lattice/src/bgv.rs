//! BGV and BFV over several primes, on any ring whose plaintexts consist of slots that rotate.
//!
//! Both are one here: messages are in the top bits, as in BFV, and key switching and rounding are
//! BFV's; products of ciphertexts are BGV's, which are exact, need no larger modulus, and fit
//! primes that are 1 modulo the plain modulus ([`rns`], [`tensor`](mod@tensor)). A plaintext is
//! encoded by slots, or by the coefficients themselves.
//!
//! | module | contents |
//! |---|---|
//! | [`ring`] | the trait of rings: primes, transforms, levels, slots and their rotation |
//! | [`pow2`] | `X^n + 1` with a plain modulus that splits it: two cycles of `n / 2` numbers |
//! | [`m8191`] | the cyclotomic polynomial of 8191, messages modulo 2: one cycle of 630 fields of 2^13 |
//! | [`rns`] | polynomials modulo the primes of a level, and the scale of messages |
//! | [`encrypt`] | keys, ciphertexts, bodies under masks from seeds, decryption |
//! | [`bfv`] | unmodified BFV, compatible with other implementations: any plain modulus, any primes |
//! | [`keyswitch`], [`rotate`] | switching keys and their working memory, division by a prime, rotations |
//! | `rotation_chain` | successive rotations under public masks, where only bodies are computed online (feature `server`) |
//! | [`rotation_grid`] | rotations of one ciphertext to consecutive places, with one key or two |
//! | [`expand`] | expansion of one ciphertext of coefficients to a ciphertext of each |
//! | [`tensor`](mod@tensor) | products of ciphertexts |
//! | [`noise`] | the variance that each step adds, on average and at most |
//! | [`table_product`] | sums of ciphertexts times rows: the pass over a table |
//! | `pass`, `cells` | that pass on several threads (feature `server`); single plaintexts of a table |
//! | [`coefficients`] | plaintexts stored in about as many bits as they hold |
//! | [`wire`], [`answer`] | bodies as bytes, and answers of a few bits |
//!
//! Nothing here starts threads: most functions work on one ciphertext, and callers distribute those
//! over their pool. With the feature `server`, grids of rotations, `pass` and the selectors and columns
//! of a table use the current one.

pub mod answer;
pub mod bfv;
mod cells;
pub mod coefficients;
pub mod encrypt;
pub mod expand;
#[cfg(test)]
mod fixture;
pub mod keyswitch;
pub mod m8191;
pub mod noise;
#[cfg(feature = "server")]
pub mod pass;
pub mod pow2;
pub mod ring;
pub mod rns;
pub mod rotate;
#[cfg(feature = "server")]
pub mod rotation_chain;
pub mod rotation_grid;
pub mod table_product;
pub mod tensor;
pub mod wire;

pub use answer::{Answer, AnswerBits};
pub use coefficients::CoefficientFormat;
pub use encrypt::{Ciphertext, SecretKey};
pub use keyswitch::Scratch;
pub use m8191::M8191;
pub use pow2::Pow2;
pub use ring::{Level, SlotRing};
pub use rns::RnsRing;
pub use rotate::RotationKey;
pub use table_product::TableProduct;
