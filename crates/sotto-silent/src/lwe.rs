//! SimplePIR's lattice (Henzinger et al., USENIX Security 2023), for every scheme that multiplies its matrix by plain LWE: n =
//! 1024, a prime just below 2^32, public matrices made of ring blocks.
//!
//! | module | what lives there |
//! |---|---|
//! | [`ring`] | the modulus, the public blocks, switching between moduli |
//! | [`encrypt`] | encrypted unit vectors, and the masks they are read with |
//! | [`hint`] | rows of the hint, from panels of the matrix |
//! | [`bound`] | the noise bound: from (l, m, b, t) to a failure probability |

pub mod bound;
pub mod encrypt;
pub mod hint;
pub mod ring;
