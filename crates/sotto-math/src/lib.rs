//! Moduli, transforms, matrices, samplers, and the SIMD kernels under them.
#![deny(unsafe_code)]
