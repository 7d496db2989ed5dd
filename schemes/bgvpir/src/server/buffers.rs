//! Memory that is reused from one answer to the next: see [`BufferPool`].

use crate::cost;
use crate::params::Inner;
use sotto_lattice::bgv::{Ciphertext, RnsRing, SlotRing};
use sotto_lattice::buffer_pool::BufferPool;
use sotto_math::tiles::{SelectorBuffer, Selectors};

/// Maximum number of queries whose memory is pooled.
const KEPT: u64 = 2 * super::BATCH as u64;

/// Maximum bytes of each kind that are pooled.
const KEPT_BYTES: u64 = 256 << 20;

/// The pooled memory of answers.
pub(super) struct AnswerBuffers {
    primes: usize,
    /// Ciphertexts of the top level, with two parts.
    ciphers: BufferPool<Ciphertext>,
    selectors: BufferPool<SelectorBuffer>,
    pub(super) sums: BufferPool<Vec<u64>>,
}

impl AnswerBuffers {
    pub(super) fn new(params: &Inner) -> Self {
        let literal = &params.literal;
        let kept = |each: u64, bytes: u64| (KEPT * each).min(KEPT_BYTES / bytes.max(1)) as usize;
        let (primes, scan) = (u64::from(literal.primes), u64::from(literal.scan_primes));
        let cipher = cost::cipher_bytes(1);
        let columns = params.columns() as u64 * u64::from(literal.layers);
        AnswerBuffers {
            primes: literal.primes.into(),
            ciphers: BufferPool::new(kept(literal.rotations(&params.tree).places as u64, primes * cipher)),
            selectors: BufferPool::new(kept(
                scan,
                params.tree.length(crate::folding_tree::Side::Right) * cipher,
            )),
            sums: BufferPool::new(kept(scan, columns * cipher)),
        }
    }

    /// A ciphertext of the top level, with two parts, of arbitrary content.
    pub(super) fn cipher<R: SlotRing>(&self, rns: &RnsRing<R>) -> Ciphertext {
        self.ciphers.take().unwrap_or_else(|| Ciphertext::zero(rns, rns.top(), 2))
    }

    /// Returns ciphertexts of that shape to the pool.
    pub(super) fn keep(&self, ciphers: impl IntoIterator<Item = Ciphertext>) {
        let fits = |c: &Ciphertext| (c.level().primes(), c.parts()) == (self.primes, 2);
        ciphers.into_iter().filter(fits).for_each(|c| self.ciphers.keep(c));
    }

    /// Memory for selectors.
    pub(super) fn selectors(&self) -> SelectorBuffer {
        self.selectors.take().unwrap_or_default()
    }

    /// Returns the memory of selectors that are no longer needed.
    pub(super) fn keep_selectors(&self, selectors: &mut [Selectors]) {
        selectors.iter_mut().for_each(|some| self.selectors.keep(some.take_buffer()));
    }
}
