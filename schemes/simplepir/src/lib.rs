//! SimplePIR (Henzinger et al., USENIX Security 2023) on ring-structured public matrices.
#![forbid(unsafe_code)]
