//! Memory that answers leave to the next: see [`Spare`].

use crate::cost;
use crate::params::Inner;
use sotto_lattice::bgv::{Cipher, Rns, SlotRing};
use sotto_lattice::spare::Spare;
use sotto_math::tiles::{Room, Selectors};

/// Queries whose memory is kept at most.
const KEPT: u64 = 2 * super::BATCH as u64;

/// Bytes of each kind that are kept at most.
const KEPT_BYTES: u64 = 256 << 20;

/// Memory between answers.
pub(super) struct Rooms {
    primes: usize,
    /// Of the top level, and of two parts.
    ciphers: Spare<Cipher>,
    selectors: Spare<Room>,
    pub(super) sums: Spare<Vec<u64>>,
}

impl Rooms {
    pub(super) fn new(params: &Inner) -> Self {
        let literal = &params.literal;
        let kept = |each: u64, bytes: u64| (KEPT * each).min(KEPT_BYTES / bytes.max(1)) as usize;
        let (primes, scan) = (u64::from(literal.primes), u64::from(literal.scan_primes));
        let cipher = cost::cipher_bytes(1);
        let columns = params.columns() as u64 * u64::from(literal.layers);
        Rooms {
            primes: literal.primes.into(),
            ciphers: Spare::new(kept(literal.turns(&params.tree).places as u64, primes * cipher)),
            selectors: Spare::new(kept(scan, params.tree.length(crate::tree::Side::Right) * cipher)),
            sums: Spare::new(kept(scan, columns * cipher)),
        }
    }

    /// A ciphertext of the top level and of two parts, of anything.
    pub(super) fn cipher<R: SlotRing>(&self, rns: &Rns<R>) -> Cipher {
        self.ciphers.take().unwrap_or_else(|| Cipher::zero(rns, rns.top(), 2))
    }

    /// Keeps ciphertexts that are of that shape.
    pub(super) fn keep(&self, ciphers: impl IntoIterator<Item = Cipher>) {
        let fits = |c: &Cipher| (c.level().primes(), c.parts()) == (self.primes, 2);
        ciphers.into_iter().filter(fits).for_each(|c| self.ciphers.keep(c));
    }

    /// Room for selectors.
    pub(super) fn selectors(&self) -> Room {
        self.selectors.take().unwrap_or_default()
    }

    /// Keeps the room of selectors that are not needed any more.
    pub(super) fn keep_selectors(&self, selectors: &mut [Selectors]) {
        selectors.iter_mut().for_each(|some| self.selectors.keep(some.take_room()));
    }
}
