//! SimplePIR's lattice (Henzinger et al., USENIX Security 2023), for every scheme that multiplies
//! its matrix by plain LWE samples: n = 1024, a prime just below 2^32, public matrices made of ring
//! blocks.
//!
//! | module | contents |
//! |---|---|
//! | [`ring`] | the modulus, the public blocks, switching between moduli |
//! | [`encrypt`] | encrypted unit vectors, and the masks that answers are read with |
//! | [`hint`] | rows of the hint, from panels of the matrix |
//! | [`update`] | updating rows of a hint for changed bytes |
//! | [`bound`] | the noise bound: from (l, m, b, t) to a failure probability |
//! | [`dense`] | plain LWE modulo 2^32 at dimensions that are no powers of two, for baselines |

pub mod bound;
pub mod dense;
pub mod encrypt;
pub mod hint;
pub mod ring;
pub mod update;
