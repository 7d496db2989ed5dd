//! The automorphisms that a query needs keys for.
//!
//! Round `r` of an expansion applies `X -> X^(2^(log2 n - r) + 1)`. A client may send keys of
//! smaller powers in place of some of these, since repeated squaring of `2^p + 1` gives the
//! following ones: fewer keys, and more key switches.

/// How many keys a client saves at the cost of more key switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// One key for each round.
    None,
    /// Keys of the later rounds, and one for all other rounds together.
    Hybrid,
    /// Keys of the later rounds only.
    Most,
}

/// The automorphisms that need keys, in ascending order, for a query of `outputs` selectors.
pub fn elements(degree: usize, outputs: usize, compression: Compression) -> Vec<usize> {
    let log2_n = degree.ilog2();
    let rounds = outputs.clamp(1, degree).next_power_of_two().ilog2();
    let least = log2_n - rounds + 1;
    let most = match compression {
        Compression::None => log2_n,
        Compression::Hybrid | Compression::Most => least.max((log2_n + 1).div_ceil(2)),
    };
    let mut powers: Vec<u32> = (least..=most).collect();
    if compression == Compression::Hybrid {
        powers.push(most.max((log2_n + most).div_ceil(2)));
    }
    powers.dedup();
    powers.into_iter().map(|power| (1 << power) + 1).collect()
}
