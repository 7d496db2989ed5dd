//! CDKS: packs `n` LWE samples into one ring-LWE ciphertext by merging pairs (Chen, Dai, Kim and
//! Song, ACNS 2021, eprint 2020/015, algorithm 2), as YPIR does. There are `log2 n` switching keys,
//! one for each level of merges.
//!
//! A node of level `l` holds `2^l` messages, in the coefficients that `n / 2^l` divides. It is made
//! of an even and an odd node:
//!
//! ```text
//! c = (even + X^(n / 2^l) odd) + tau(even - X^(n / 2^l) odd)     tau: X -> X^(2^l + 1)
//! ```
//!
//! Messages double, so samples are divided by `n` beforehand; errors of switches double too, level
//! by level.
//!
//! **With masks known beforehand**, as in YPIR, all digits are known: they are stored, and only
//! bodies go up the tree, with a product of a digit and a key's body for each digit of each of the
//! `n - 1` nodes. Leaves' bodies are constants, of which the whole tree makes a sum of monomials,
//! so they are added at the end.

use crate::automorphism::AutomorphismKey;
use crate::ciphertext::Ciphertext;
use crate::encrypt::{ErrorSource, MaskSource};
use crate::ring::{ModulusLevel, Ring};
use crate::scratch::Scratch;
use crate::secret::SecretKey;
use sotto_math::gadget::Gadget;
use sotto_math::ntt::{Automorphism, NttPlan};

/// CDKS packing for one ring, under one seed of key masks. Every level of merges has a gadget of
/// its own.
#[derive(Debug, Clone)]
pub struct Cdks {
    ring: Ring,
    levels: Vec<MergeLevel>,
}

/// One level of merges.
#[derive(Debug, Clone)]
struct MergeLevel {
    gadget: Gadget,
    automorphism: Automorphism,
    /// The slots of `X^(n / 2^l)`.
    monomial: Vec<u64>,
    /// Masks of the level's key, digit by digit.
    masks: Vec<Vec<u64>>,
}

/// The values that are derived from the masks of `n` samples.
#[derive(Debug, Clone)]
pub struct PreparedMasks {
    /// Mask of the packed ciphertext, in slots.
    pub mask: Vec<u64>,
    /// Digits of all switches in slots, node by node, each after its two children.
    pub digits: Vec<Vec<u64>>,
}

/// The exponents of the last `levels` levels of merges, whose automorphisms are `X -> X^(2^l + 1)`
/// for `l` up to log2 n.
fn elements(ring: &Ring, levels: usize) -> impl Iterator<Item = usize> {
    let top = ring.n().trailing_zeros() as usize;
    (top.saturating_sub(levels) + 1..=top).map(|l| (1 << l) + 1)
}

/// Makes a client's keys, level `Main`: the bodies of all keys, level by level of merges. If there
/// are fewer gadgets than levels, they are those of the last levels, for [`pack`]ing fewer
/// ciphertexts.
pub fn generate(
    ring: &Ring,
    gadgets: &[Gadget],
    secret: &SecretKey,
    masks: MaskSource<'_>,
    errors: &mut ErrorSource<'_>,
) -> Vec<Vec<u64>> {
    let mut bodies = Vec::new();
    for (gadget, k) in gadgets.iter().zip(elements(ring, gadgets.len())) {
        let masks = MaskSource { first: masks.first + bodies.len() as u64, ..masks };
        bodies.extend(AutomorphismKey::generate(ring, ModulusLevel::Main, gadget, k, secret, masks, errors));
    }
    bodies
}

/// Assembles the keys for [`pack`]; `None` unless there is a body for each digit.
pub fn assemble(
    ring: &Ring,
    gadgets: &[Gadget],
    mut bodies: &[Vec<u64>],
    mut masks: MaskSource<'_>,
) -> Option<Vec<AutomorphismKey>> {
    let mut keys = Vec::new();
    for (gadget, k) in gadgets.iter().zip(elements(ring, gadgets.len())) {
        let (own, rest) = bodies.split_at_checked(gadget.digits() as usize)?;
        keys.push(AutomorphismKey::assemble(ring, ModulusLevel::Main, gadget, k, own, masks)?);
        masks.first += own.len() as u64;
        bodies = rest;
    }
    Some(keys)
}

/// Packs ciphertexts of rank 1 and level `Main`, merge by merge, as a server does that has no masks
/// beforehand.
///
/// The constant coefficients of `n` ciphertexts become the coefficients of one. Of `r < n`
/// ciphertexts, with the keys of the last levels, the coefficients whose index `r` divides are
/// packed, and coefficient `i` of ciphertext `k` becomes coefficient `i + k` (algorithm 4).
///
/// # Panics
/// Unless the number of ciphertexts is the one that merges by that many keys pack.
pub fn pack(
    ring: &Ring,
    keys: &[AutomorphismKey],
    mut ciphers: Vec<Ciphertext>,
    scratch: &mut Scratch,
) -> Ciphertext {
    assert_eq!(ciphers.len(), 1 << keys.len(), "a key for each level");
    let inverse = u128::from(ring.q().inv(ciphers.len() as u64));
    let scale = |x| ring.scale(ModulusLevel::Main, x, inverse);
    ciphers.iter_mut().for_each(|c| c.components_mut().for_each(scale));
    let mut image = Ciphertext::unfilled(ring, ModulusLevel::Main, 1);
    for key in keys {
        let odds = ciphers.split_off(ciphers.len() / 2);
        let monomial = ring.plan().monomial(odds.len() as i64);
        for (even, mut odd) in ciphers.iter_mut().zip(odds) {
            odd.mul(ring, &monomial);
            let mut difference = even.clone();
            difference.sub(ring, &odd);
            even.add(ring, &odd);
            key.apply(ring, &difference, &mut image, scratch);
            even.add(ring, &image);
        }
    }
    ciphers.swap_remove(0)
}

impl Cdks {
    /// Makes the packing for a ring, level `Main`, with keys of these masks. `None` unless there is
    /// a gadget for each level that reaches the modulus.
    pub fn new(ring: &Ring, gadgets: &[Gadget], mut masks: MaskSource<'_>) -> Option<Self> {
        let (n, plan) = (ring.n(), ring.plan());
        if 1 << gadgets.len() != n || gadgets.iter().any(|g| !g.fits(ring.q().bits())) {
            return None;
        }
        let mut levels = Vec::new();
        for (gadget, k) in gadgets.iter().zip(elements(ring, gadgets.len())) {
            let digits = u64::from(gadget.digits());
            levels.push(MergeLevel {
                gadget: *gadget,
                automorphism: plan.automorphism(k)?,
                monomial: plan.monomial((n / (k - 1)) as i64),
                masks: (0..digits).map(|j| masks.mask(ring, ModulusLevel::Main, j)).collect(),
            });
            masks.first += digits;
        }
        Some(Cdks { ring: ring.clone(), levels })
    }

    /// Computes the tree for the masks of `n` samples, in slots and concatenated.
    ///
    /// # Panics
    /// Unless these are `n` polynomials of `n` reduced slots.
    pub fn known(&self, samples: &[u64]) -> PreparedMasks {
        let n = self.ring.n();
        assert_eq!(samples.len(), n * n, "a sample for each coefficient");
        let mut digits = Vec::new();
        let mask = self.mask(self.levels.len(), 0, samples, &mut digits);
        PreparedMasks { mask, digits }
    }

    /// Computes the mask of a node.
    fn mask(&self, level: usize, node: usize, samples: &[u64], known: &mut Vec<Vec<u64>>) -> Vec<u64> {
        let (n, plan) = (self.ring.n(), self.ring.plan());
        let Some((below, merge)) =
            level.checked_sub(1).and_then(|below| Some((below, self.levels.get(below)?)))
        else {
            let mut mask = samples[node * n..][..n].to_vec();
            self.ring.scale(ModulusLevel::Main, &mut mask, plan.modulus().inv(n as u64).into());
            return mask;
        };
        let even = self.mask(below, node, samples, known);
        let odd = self.mask(below, node + (n >> level), samples, known);
        let [mut sum, mut image] = merge.pair(plan, even, odd);
        plan.inverse(&mut image);
        let mut digits = vec![0; merge.masks.len() * n];
        merge.gadget.decompose(self.ring.q(), &image, &mut digits);
        for (digit, mask) in digits.chunks_exact_mut(n).zip(&merge.masks) {
            plan.forward(digit);
            plan.mul_acc(&mut sum, digit, mask);
            known.push(digit.to_vec());
        }
        sum
    }

    /// Computes the body of the packed ciphertext, coefficient by coefficient, from a client's keys
    /// and the bodies of its samples.
    ///
    /// # Panics
    /// Unless there is a body for each digit of each level, and a sample for each coefficient.
    pub fn body(&self, known: &PreparedMasks, keys: &[Vec<u64>], samples: &[u64]) -> Vec<u64> {
        let plan = self.ring.plan();
        let counts = self.levels.iter().map(|level| level.masks.len());
        assert_eq!((keys.len(), samples.len()), (counts.clone().sum(), plan.n()), "all keys and samples");
        let mut keys = keys.iter().map(Vec::as_slice);
        let keys: Vec<Vec<&[u64]>> = counts.map(|count| keys.by_ref().take(count).collect()).collect();
        let mut body = self.switched(&keys, &mut known.digits.iter().map(Vec::as_slice));
        plan.inverse(&mut body);
        body.iter_mut().zip(samples).for_each(|(x, b)| *x = plan.modulus().add(*x, *b));
        body
    }

    /// Computes what switches add to the body of a node: those below it, whose keys come first, and
    /// its own.
    fn switched<'a>(&self, keys: &[Vec<&[u64]>], digits: &mut impl Iterator<Item = &'a [u64]>) -> Vec<u64> {
        let plan = self.ring.plan();
        let Some((own, below)) = keys.split_last() else {
            return vec![0; plan.n()];
        };
        // Leaves are zero, and so is their merge.
        let mut sum = vec![0; plan.n()];
        if let Some(merge) = self.levels.get(below.len()).filter(|_| !below.is_empty()) {
            let even = self.switched(below, digits);
            let odd = self.switched(below, digits);
            let [pair, image] = merge.pair(plan, even, odd);
            sum = pair;
            plan.add(&mut sum, &image);
        }
        let digits: Vec<&[u64]> = digits.by_ref().take(own.len()).collect();
        plan.add_sum_of_products(&digits, own, &mut sum);
        sum
    }
}

impl MergeLevel {
    /// Computes `even + X^(n / 2^l) odd`, and `tau` of the difference.
    fn pair(&self, plan: &NttPlan, mut even: Vec<u64>, mut odd: Vec<u64>) -> [Vec<u64>; 2] {
        plan.mul(&mut odd, &self.monomial);
        let mut sum = even.clone();
        plan.add(&mut sum, &odd);
        plan.sub(&mut even, &odd);
        self.automorphism.apply(&even, &mut odd);
        [sum, odd]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encrypt::phase;
    use crate::fixture::{
        SIGMA, approximate, digits, encrypted, exact, masks, message, noise_log2, norm, phases, rings,
        samples, secret, with_errors,
    };
    use crate::noise::steps;

    /// The gadgets of all levels, which alternate.
    fn gadgets(ring: &Ring, turns: &[Gadget]) -> Vec<Gadget> {
        turns.iter().copied().cycle().take(ring.n().trailing_zeros() as usize).collect()
    }

    /// The messages decrypt with the noise of the formula, and both methods make the same ciphertext,
    /// bit for bit.
    #[test]
    fn both_methods_give_the_same_ciphertext() {
        for n in [256, 1024] {
            let ring = &rings(n)[2];
            let [four, five] = [4, 5].map(|digits| exact(ring, ModulusLevel::Main, digits));
            for turns in [&[four][..], &[five, four], &[approximate(ring, ModulusLevel::Main, 3)]] {
                let gadgets = gadgets(ring, turns);
                let secret = secret(ring, 1);
                let keys = with_errors(5, |errors| generate(ring, &gadgets, &secret, masks(7), errors));
                let (a, bodies, messages) = samples(ring, &secret, 0, ring.n(), 1 << 46);
                let whole = |b: u64| vec![b; n];
                let ciphers = a.chunks_exact(n).zip(&bodies);
                let ciphers = ciphers.map(|(a, b)| {
                    Ciphertext::new(ring, ModulusLevel::Main, a, [whole(*b)].iter().map(Vec::as_slice))
                });
                let assembled = assemble(ring, &gadgets, &keys, masks(7)).unwrap();
                let merged = pack(ring, &assembled, ciphers.collect(), &mut Scratch::new(ring));

                let packing = Cdks::new(ring, &gadgets, masks(7)).unwrap();
                let known = packing.known(&a);
                let mut body = packing.body(&known, &keys, &bodies);
                ring.forward(ModulusLevel::Main, &mut body);
                assert_eq!((merged.comp(0), merged.comp(1)), (&known.mask[..], &body[..]));

                let phase = phase(ring, ModulusLevel::Main, &secret, &known.mask, &body);
                let noise = noise_log2(ring, ModulusLevel::Main, &phase, &messages);
                let switch = |gadget: &Gadget| {
                    steps::key_switch(
                        n,
                        &digits(gadget),
                        ring.log2_q(ModulusLevel::Main),
                        SIGMA * SIGMA,
                        norm(n),
                    )
                };
                let predicted = steps::cdks(gadgets.iter().map(switch)).log2() / 2.0;
                assert!((noise - predicted).abs() < 0.3, "{n}: {noise} {predicted}");
            }
        }
    }

    /// Packs eight ciphertexts of polynomials, also under the composite modulus.
    #[test]
    fn whole_ciphertexts_are_packed_by_the_last_levels() {
        let (n, count) = (256, 8);
        for ring in &rings(n)[2..] {
            let secret = secret(ring, 1);
            let gadgets = [exact(ring, ModulusLevel::Main, 4); 3];
            let keys = with_errors(5, |errors| generate(ring, &gadgets, &secret, masks(7), errors));
            let assembled = assemble(ring, &gadgets, &keys, masks(7)).unwrap();
            let made: Vec<_> = (0..count).map(|k| message(ring, ModulusLevel::Main, k, 1 << 40)).collect();
            let cipher = |(k, (_, slots)): (u64, &(Vec<i128>, Vec<u64>))| {
                encrypted(ring, ModulusLevel::Main, &secret, slots, k)
            };
            let ciphers = (0..).zip(&made).map(cipher).collect();
            let packed = pack(ring, &assembled, ciphers, &mut Scratch::new(ring));
            let expected: Vec<i128> = (0..n).map(|i| made[i % count].0[i - i % count]).collect();
            let noise =
                noise_log2(ring, ModulusLevel::Main, &phases(ring, &[&secret], &packed)[0], &expected);
            let switch = |gadget: &Gadget| {
                steps::key_switch(n, &digits(gadget), ring.log2_q(ModulusLevel::Main), SIGMA * SIGMA, norm(n))
            };
            let predicted = (SIGMA * SIGMA + steps::cdks(gadgets.iter().map(switch))).log2() / 2.0;
            assert!((noise - predicted).abs() < 0.3, "{noise} {predicted}");
        }
    }

    #[test]
    fn what_is_missing_or_falls_short_is_refused() {
        let ring = &rings(64)[2];
        let whole = gadgets(ring, &[exact(ring, ModulusLevel::Main, 4)]);
        let short = gadgets(ring, &[Gadget::new(2, 10, 10).unwrap()]);
        assert!(Cdks::new(ring, &whole, masks(0)).is_some());
        assert!(Cdks::new(ring, &whole[1..], masks(0)).is_none());
        assert!(Cdks::new(ring, &short, masks(0)).is_none());
        assert!(assemble(ring, &whole, &vec![vec![0; 64]; 23], masks(0)).is_none());
    }
}
