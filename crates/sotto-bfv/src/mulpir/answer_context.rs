//! The precomputed values of a ring that answers need.

use crate::rings::Ring;
use sotto_lattice::bgv::SlotRing;
use sotto_lattice::bgv::bfv::product::BaseExtension;
use sotto_lattice::buffer_pool::BufferPool;
use sotto_math::tiles::{SelectorBuffer, WordFormat};

/// Number of concurrent answers whose buffers are stored for the next ones.
const POOLED_BUFFERS: usize = 4;

/// The precomputed values of a ring, and the buffers that one answer leaves to the next.
pub(super) struct AnswerContext {
    pub(super) extension: BaseExtension,
    /// Word format of stored values of both primes.
    pub(super) form: WordFormat,
    /// For each round of expansion, the values of `X^(-2^round)` modulo every prime.
    pub(super) monomials: Vec<Vec<u64>>,
    pub(super) selectors: BufferPool<SelectorBuffer>,
    pub(super) sums: BufferPool<Vec<u64>>,
}

impl AnswerContext {
    /// Makes the context; `None` unless a ciphertext has two primes that share a word.
    pub(super) fn new(ring: &Ring) -> Option<Self> {
        let moduli: Vec<_> = ring.plans(ring.top()).map(|plan| *plan.modulus()).collect();
        let [first, second] = *moduli.as_array()?;
        let monomial = |round: u32| {
            ring.plans(ring.top()).flat_map(|plan| plan.monomial(-(1i64 << round))).collect::<Vec<_>>()
        };
        Some(AnswerContext {
            extension: BaseExtension::new(ring)?,
            form: WordFormat::pair(first, second)?,
            monomials: (0..ring.ring().degree().trailing_zeros()).map(monomial).collect(),
            selectors: BufferPool::new(POOLED_BUFFERS),
            sums: BufferPool::new(POOLED_BUFFERS),
        })
    }
}

impl std::fmt::Debug for AnswerContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AnswerContext")
    }
}
