//! Seeds that anyone can compute.

use sotto_catalog::Hex32;

/// The seed of something that vectors need, for the vector of this name.
pub(crate) fn derived(what: &str, name: &str) -> Hex32 {
    blake3::hash(format!("sotto vectors: {what} {name}").trim_end().as_bytes()).into()
}
