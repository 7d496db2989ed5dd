//! Successive rotations by one position, of ciphertexts that every client makes under one public
//! mask.
//!
//! Ciphertext `i` is ciphertext `i - 1` rotated by one position, with one key for all. Its mask,
//! and the digits of its key switch, are derived from the mask of ciphertext 0 and from those of
//! the key's rows. Both are public, so a server computes them once for all clients: composable
//! preprocessing (Li, Micciancio, Raykova and Schultz-Wu, CRYPTO 2024). The rest of each switch is
//! digits times the bodies of a key. That is a pass over a table of tiles, with a row for each
//! digit and a column for each rotation, and no rotation waits for the one before; then bodies are
//! added up and rotated.

use super::encrypt::Ciphertext;
use super::keyswitch::{Scratch, SwitchKey, leave};
use super::pass::pass;
use super::ring::SlotRing;
use super::rns::RnsRing;
use super::table_product::TableProduct;
use crate::encrypt::MaskSource;
use rayon::prelude::*;
use sotto_math::tiles::{Selectors, Strip};

/// Rotations whose digits are written together, and whose sums are extracted together.
const TOGETHER: usize = 32;

/// A chain of ciphertexts: the first one, and its rotations by 1 to `count - 1` positions.
pub struct RotationChain<R: SlotRing> {
    rotation: R::Rotation,
    digits: TableProduct,
}

/// The public masks of a chain: of the first ciphertext, as values, and of the key's rows.
#[derive(Debug, Clone, Copy)]
pub struct ChainMasks<'a> {
    /// Mask of the first ciphertext, of the top level.
    pub mask: &'a [u64],
    /// Source of the masks of the key's rows.
    pub keys: MaskSource<'a>,
}

impl<R: SlotRing> RotationChain<R> {
    /// Makes a chain of `count` ciphertexts; `None` if it has no rotations, or too many for a
    /// layout.
    pub fn new(rns: &RnsRing<R>, count: usize) -> Option<Self> {
        let digits = TableProduct::of_parts(rns, rns.full(), 1, rns.top().primes(), count.checked_sub(1)?)?;
        Some(RotationChain { rotation: rns.ring().rotation(1), digits })
    }

    /// Bytes of the digits.
    pub fn bytes(&self) -> u64 {
        self.digits.bytes()
    }

    /// Number of rotations.
    fn rotations(&self) -> usize {
        self.digits.layout().cols()
    }

    /// Writes the digits of all rotations, and returns the mask of each ciphertext of the chain.
    ///
    /// # Errors
    /// The errors of `put`.
    ///
    /// # Panics
    /// If the mask is not of the top level.
    pub fn prepare<E>(
        &self,
        rns: &RnsRing<R>,
        public: ChainMasks<'_>,
        put: impl Fn(u64, &[u8]) -> Result<(), E>,
    ) -> Result<Vec<Vec<u64>>, E> {
        let (level, words) = (rns.top(), rns.ring().words());
        let bodies = vec![vec![0; rns.words(rns.full())]; level.primes()];
        let mut masks = vec![public.mask.to_vec()];
        let Some(key) = SwitchKey::assemble(rns, &bodies, public.keys) else { return Ok(masks) };
        let mut scratch = Scratch::new(rns);
        for first in (0..self.rotations()).step_by(TOGETHER) {
            let cols = first..self.rotations().min(first + TOGETHER);
            let strip = Strip { rows: 0..level.primes(), cols: cols.clone() };
            let mut digits = Vec::with_capacity(cols.len() * level.primes());
            for col in cols {
                let mask = &masks[col];
                scratch.split(rns, level, mask);
                let cells = digits.len();
                digits.extend((0..level.primes()).map(|row| ((row, col), Vec::new())));
                for limb in 0..level.raised().limbs() {
                    let made = scratch.digits.of_limb(mask, level, limb);
                    digits[cells..].iter_mut().zip(made).for_each(|((_, out), digit)| out.extend(digit));
                }
                key.sum(rns, level, mask, &mut scratch);
                let mut next = vec![0; rns.words(level)];
                for (x, out) in scratch.parts[1].chunks_exact(words).zip(next.chunks_exact_mut(words)) {
                    rns.ring().rotate(&self.rotation, x, out);
                }
                masks.push(next);
            }
            self.digits.write_strip(&strip, &digits, &put)?;
        }
        Ok(masks)
    }

    /// Computes the bodies of all ciphertexts of the chain, each as a ciphertext of one part, for
    /// each client's first body and key. The pass over the digits is shared, and runs on the
    /// threads of the current pool.
    ///
    /// # Panics
    /// If `digits` are not the ones written by [`prepare`](Self::prepare), or bodies are not of the
    /// top level and those of the key of all primes.
    pub fn bodies(
        &self,
        rns: &RnsRing<R>,
        digits: &[u8],
        clients: &[(&[u64], &[Vec<u64>])],
    ) -> Vec<Vec<Ciphertext>> {
        let keys = |(_, bodies): &(&[u64], &[Vec<u64>])| {
            let rows: Vec<Ciphertext> =
                bodies.iter().map(|body| Ciphertext::new(rns, rns.full(), &[body])).collect();
            self.digits.selectors(&rows)
        };
        let keys: Vec<Vec<Selectors>> = clients.iter().map(keys).collect();
        let keys: Vec<&[Selectors]> = keys.iter().map(Vec::as_slice).collect();
        let sums = pass(&self.digits, digits, &keys);
        let chains = clients.iter().zip(sums).map(|((body, _), sums)| {
            let mut chain = vec![Ciphertext::new(rns, rns.top(), &[body])];
            for switched in self.switched(rns, &sums) {
                let next = chain.last().map(|last| self.next(rns, last, switched));
                chain.extend(next);
            }
            chain
        });
        chains.collect()
    }

    /// Computes what each switch adds to a body: sums modulo all primes, without the special one.
    fn switched(&self, rns: &RnsRing<R>, sums: &[Vec<u64>]) -> Vec<Ciphertext> {
        let (level, sums): (_, Vec<&[u64]>) = (rns.top(), sums.iter().map(Vec::as_slice).collect());
        let firsts: Vec<usize> = (0..self.rotations()).step_by(TOGETHER).collect();
        let some = |first: usize| {
            let cols = first..self.rotations().min(first + TOGETHER);
            let mut scratch = Scratch::new(rns);
            let leave = |c: Ciphertext| {
                let (main, special) = c.part(0).split_at(rns.words(level));
                let mut out = Ciphertext::new(rns, level, &[main]);
                leave(rns, level, rns.special(), out.part_mut(0), special, &mut scratch.limbs);
                out
            };
            let columns = self.digits.columns(rns, &sums, self.rotations(), cols);
            columns.into_iter().map(leave).collect::<Vec<_>>()
        };
        firsts.into_par_iter().flat_map_iter(some).collect()
    }

    /// Computes the next body of the chain, rotated one position further.
    fn next(&self, rns: &RnsRing<R>, body: &Ciphertext, mut switched: Ciphertext) -> Ciphertext {
        switched.add(rns, body);
        let mut out = Ciphertext::zero(rns, body.level(), 1);
        for limb in 0..body.level().limbs() {
            rns.ring().rotate(&self.rotation, switched.limb(0, limb), out.limb_mut(0, limb));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::fixture::{SEED, encrypted, masks, on_every_ring, plaintexts, secret};
    use crate::bgv::rotate::RotationKey;
    use crate::fixture::with_errors;
    use std::cell::RefCell;

    on_every_ring!(a_chain_is_rotations_one_after_the_other);

    fn a_chain_is_rotations_one_after_the_other<R: SlotRing>(rns: &RnsRing<R>) {
        let (secret, count) = (secret(rns), TOGETHER + 7);
        let chain = RotationChain::new(rns, count).unwrap();
        let table = RefCell::new(vec![0u8; chain.bytes() as usize]);
        let put = |at: u64, bytes: &[u8]| {
            table.borrow_mut()[at as usize..][..bytes.len()].copy_from_slice(bytes);
            Ok::<_, ()>(())
        };
        let keys = masks("rotation");
        let mask = rns.mask(rns.top(), &SEED, "ciphertext", 0);
        let prepared = chain.prepare(rns, ChainMasks { mask: &mask, keys }, put).unwrap();
        // Two clients: two plaintexts, and two keys of one secret.
        let clients: Vec<(Ciphertext, Vec<Vec<u64>>)> = (0..2)
            .map(|i| {
                let c = encrypted(rns, rns.top(), &secret, &plaintexts(rns)[i], 0);
                let key =
                    with_errors(9 + i as u8, |errors| RotationKey::generate(rns, 1, &secret, keys, errors));
                (c, key)
            })
            .collect();
        let views: Vec<(&[u64], &[Vec<u64>])> =
            clients.iter().map(|(c, key)| (c.part(0), &key[..])).collect();
        let chains = chain.bodies(rns, &table.borrow(), &views);
        assert_eq!((prepared.len(), chains.len()), (count, 2));
        for ((first, bodies), chain) in clients.iter().zip(&chains) {
            let key = RotationKey::assemble(rns, rns.ring().rotation(1), bodies, keys).unwrap();
            let (mut scratch, mut c, mut next) = (Scratch::new(rns), first.clone(), first.clone());
            assert_eq!(chain.len(), count);
            for (body, mask) in chain.iter().zip(&prepared) {
                assert!(body.part(0) == c.part(0) && mask == c.part(1));
                key.apply(rns, &c, &mut next, &mut scratch);
                std::mem::swap(&mut c, &mut next);
            }
        }
        assert!(RotationChain::new(rns, 1).is_none() && RotationChain::new(rns, 0).is_none());
    }
}
