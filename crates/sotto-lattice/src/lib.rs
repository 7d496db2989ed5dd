//! Lattice assumptions: which parameter sets are hard enough, and how noise behaves.
//!
//! | module | what lives there |
//! |---|---|
//! | [`security`] | the gate every lattice scheme's `Params::check` goes through |
//! | [`noise`] | sub-Gaussian tails: from a variance to a failure probability |
#![forbid(unsafe_code)]

pub mod noise;
pub mod security;
