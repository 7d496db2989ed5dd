//! Parameter sets.

use sotto_bfv::{ParamsSet, rings};

/// Every set, the default first.
pub static SETS: [ParamsSet; 3] = [
    ParamsSet {
        name: "seal",
        about: "n = 4096, t = 2^14, q of 50 bits: sums are taken to digits, and the digits are selected",
        ring: rings::COEFFICIENTS,
        tried: true,
    },
    ParamsSet {
        name: "seal-12",
        about: "the same with t = 2^12: for batches of many buckets",
        ring: rings::COEFFICIENTS_SMALL,
        tried: true,
    },
    ParamsSet {
        name: "mul",
        about: "n = 4096, t = 2^10, q of 70 bits: sums are multiplied by the second selectors (MulPIR); the smallest answers",
        ring: rings::COEFFICIENTS_PRODUCT,
        tried: true,
    },
];
