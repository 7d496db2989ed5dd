//! Randomness that repeats itself: the same label gives the same bytes on every run and machine.

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// A generator for tests, seeded from a label that names its purpose.
pub fn seeded(label: &str) -> ChaCha20Rng {
    ChaCha20Rng::from_seed(*blake3::hash(label.as_bytes()).as_bytes())
}
