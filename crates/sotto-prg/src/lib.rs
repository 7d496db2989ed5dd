//! Randomness: the one door to the operating system's, and public seeds.
#![forbid(unsafe_code)]
