//! Parameter sets.

use sotto_bfv::{Set, rings};

/// Every set, the default first.
pub static SETS: [Set; 3] = [
    Set {
        name: "seal",
        about: "n = 4096, t = 2^14, q of 50 bits: sums are taken to digits, and the digits are selected",
        ring: rings::COEFFICIENTS,
        tried: true,
    },
    Set {
        name: "seal-12",
        about: "the same with t = 2^12: for batches of many buckets",
        ring: rings::COEFFICIENTS_SMALL,
        tried: true,
    },
    Set {
        name: "mul",
        about: "n = 4096, t = 2^10, q of 70 bits: sums are multiplied by the second selectors (MulPIR); the smallest answers",
        ring: rings::COEFFICIENTS_PRODUCT,
        tried: true,
    },
];
