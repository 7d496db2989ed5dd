//! Key and answer.
//!
//! A key is canonical: its control bits fill whole bytes, and the unused bits are zero. Every other
//! string of its length is a key.
#![deny(clippy::indexing_slicing)]

use crate::generator::Seed;
use crate::params::Params;
use sotto_core::{PeerMisbehaved, Result, Wire, wire};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The key that a server is sent: the paper's key `k_b`. One alone reveals nothing; both together
/// reveal the record, so they are wiped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Query {
    /// The salt that the generator's keys are derived from; the same in both keys.
    pub(crate) salt: [u8; 16],
    /// The root's seed, `s_b`.
    pub(crate) root: Seed,
    /// The root's control bit, b: 0 in one key and 1 in the other.
    pub(crate) party: u8,
    /// Correction words from the root down; the same in both keys.
    pub(crate) levels: Vec<CorrectionWord>,
    /// The leaves' correction word, `CW^(n+1)`; the same in both keys.
    pub(crate) leaf: [u8; 64],
}

/// The correction word of a level: `CW^(i)`.
#[derive(Clone, PartialEq, Eq, Zeroize)]
pub(crate) struct CorrectionWord {
    /// The value that is added to the seeds of both children.
    pub(crate) seed: Seed,
    /// The bit that is added to the left child's control bit.
    pub(crate) left: u8,
    /// The bit that is added to the right child's control bit.
    pub(crate) right: u8,
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Query(..)")
    }
}

impl Wire<Params> for Query {
    fn size(params: &Params) -> usize {
        params.key_bytes()
    }

    fn put(&self, _: &Params, out: &mut Vec<u8>) {
        out.extend(self.salt);
        out.extend(self.root);
        self.levels.iter().for_each(|level| out.extend(level.seed));
        out.extend(self.leaf);
        let bits = self.levels.iter().flat_map(|level| [level.left, level.right]);
        let bits: Vec<u8> = std::iter::once(self.party).chain(bits).collect();
        out.extend(bits.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit)));
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("query", bytes, Self::size(params))?;
        let mut rest = bytes;
        let (salt, root) = (next(&mut rest)?, next(&mut rest)?);
        let mut seeds = Vec::with_capacity(params.depth());
        for _ in 0..params.depth() {
            seeds.push(next(&mut rest)?);
        }
        let leaf = next(&mut rest)?;
        let mut bits = rest.iter().flat_map(|byte| (0..8).map(move |i| byte >> i & 1));
        let mut bit = || bits.next().unwrap_or(0);
        let party = bit();
        let levels =
            seeds.into_iter().map(|seed| CorrectionWord { seed, left: bit(), right: bit() }).collect();
        if bits.any(|left_over| left_over != 0) {
            return Err(PeerMisbehaved::NotCanonical("query").into());
        }
        Ok(Query { salt, root, party, levels, leaf })
    }
}

/// Splits the next `N` bytes off.
fn next<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let short = PeerMisbehaved::Length { what: "query", got: rest.len() as u64, want: N as u64 };
    let (first, others) = rest.split_first_chunk().ok_or(short)?;
    *rest = others;
    Ok(*first)
}

/// The answer of a server: the exclusive or of the records that its key selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub(crate) Vec<u8>);

impl Wire<Params> for Answer {
    fn size(params: &Params) -> usize {
        params.record_bytes()
    }

    fn put(&self, _: &Params, out: &mut Vec<u8>) {
        out.extend(&self.0);
    }

    fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
        wire::exact("answer", bytes, params.record_bytes())?;
        Ok(Answer(bytes.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::literal::ParamsLiteral;
    use sotto_core::Params as _;

    #[test]
    fn every_key_survives_and_every_left_over_bit_is_refused() {
        for records in [1, 513, 2000, 1 << 13, 1 << 20, 1 << 40] {
            let params = Params::check(ParamsLiteral { records, record_bytes: 8, path: 0 }).unwrap();
            let size = Query::size(&params);
            let used = 1 + 2 * params.depth();
            for seed in 0..8u32 {
                let mut bytes: Vec<u8> =
                    (0..size as u32).map(|i| ((i * 8 + seed).wrapping_mul(2654435761) >> 13) as u8).collect();
                let first = size - used.div_ceil(8);
                for bit in used..(size - first) * 8 {
                    bytes[first + bit / 8] &= !(1 << (bit % 8));
                }
                let mut again = Vec::new();
                Query::take(&params, &bytes).unwrap().put(&params, &mut again);
                assert!(again == bytes, "{records} records");
                for bit in used..(size - first) * 8 {
                    let mut bad = bytes.clone();
                    bad[first + bit / 8] |= 1 << (bit % 8);
                    let refused = Query::take(&params, &bad);
                    assert!(
                        matches!(
                            refused,
                            Err(sotto_core::Error::Peer(PeerMisbehaved::NotCanonical("query")))
                        ),
                        "bit {bit} of {records}: {refused:?}"
                    );
                }
            }
        }
    }
}
