//! Lattice assumptions: certified parameter sets, the security gate, noise bounds.
#![forbid(unsafe_code)]
