//! InspiRING: packs `n` LWE samples into one ring-LWE ciphertext, with two switching keys and
//! almost all work done before any query (InsPIRe, Google, 2025, eprint 2025/1352, section 4).
//!
//! Sample `j` is a polynomial `a_j` and a number `b_j` with `b_j = c(a_j s) + e_j + m_j`, where `c`
//! is the constant coefficient. The sum of a polynomial's images under all `n` automorphisms is `n`
//! times its constant coefficient, so
//!
//! ```text
//! sum_j m_j X^j = sum_j b_j X^j - sum_h A_h tau_h(s)     A_h = n^-1 sum_j X^j tau_h(a_j)
//! ```
//!
//! up to the errors: one body, and a mask for each of the secrets `tau_h(s)`. The automorphisms are
//! `X -> X^h` for `h = 5^i` and `h = -5^i`. A switching key from `tau_5(s)` to `s`, under `tau_h`,
//! switches from `tau_5h(s)` to `tau_h(s)`. So each of the two lists of masks is folded from its
//! last to its first with that one key, and a key of `X -> X^-1` joins the two. Errors of switches
//! add up, and none of them is multiplied by `n`, as it is where ciphertexts are packed pair by
//! pair.
//!
//! Masks of samples and keys are public, and so is every digit of every switch. Online only the
//! bodies are left:
//!
//! ```text
//! b = sum_j b_j X^j + sum_i sum_l tau_i(y_l) d_il
//! ```
//!
//! with the bodies `y_l` of the keys. All switches but the last are together a linear function of
//! the coefficients of the first key, which is a product of integers: [`PackWeights`].
//!
//! **Fewer samples** take fewer switches and one key: the paper's partial packing. Of `g` samples,
//! a power of two up to `n / 2`, with `Y = X^(n / 2g)` and `A_i = g^-1 sum_j Y^j tau_h(a_j)` for
//! `h = 5^i`, `i < g`, the coefficients of `sum_j b_j Y^j - sum_i A_i tau_h(s)` at
//! `Y^0, ..., Y^(g-1)` are the messages: projecting onto `Z[Y]` commutes with automorphisms, and
//! the sum of `g` images of an element of `Z[Y]` leaves its constant coefficient and that at `Y^g`,
//! `g` times. So there is one list of `g` masks, `g - 1` switches of the key of `X -> X^5` fold it,
//! and all other coefficients are ignored.
//!
//! **Samples that carry several messages**, at powers of `X^g`, take `g - 1` switches for `n`
//! messages: [`TracePacking`].
//!
//! Masks that depend on a query are [packed](Inspiring::pack) when it arrives, at a few transforms
//! for each sample.
//!
//! Three things differ from the paper. All `A_h` at once are `2 n` transforms (see
//! `mask_reduction`) instead of `n^3` products; slots are in the order of cycles, where an
//! automorphism is a rotation, so that no image of a key is ever stored; and bodies are computed by
//! a product of integers.

mod diagonals;
mod mask_reduction;
mod trace;
mod weights;

use crate::automorphism::AutomorphismKey;
use crate::encrypt::{ErrorSource, MaskSource};
use crate::ring::{ModulusLevel, Ring};
use crate::secret::SecretKey;
use diagonals::RowTransform;
use mask_reduction::MaskReduction;
use sotto_math::gadget::Gadget;
pub use trace::{TraceDigits, TracePacking};
pub use weights::PackWeights;

/// InspiRING packing of a number of samples, for one ring and gadget, under one seed of key masks.
#[derive(Debug, Clone)]
pub struct Inspiring {
    ring: Ring,
    gadget: Gadget,
    samples: usize,
    /// Transform along the samples.
    along: RowTransform,
    /// Slot number at each position of the order of cycles.
    cycles: Vec<u32>,
    /// Masks of the keys in the order of cycles, digit by digit. Each cycle is stored twice.
    masks: Vec<Vec<u64>>,
}

impl Inspiring {
    /// Makes the packing of `samples` samples in a ring, level `Main`, with keys of these masks.
    ///
    /// `None` if the gadget does not reach the modulus, or `samples` is neither `n` nor a power of
    /// two up to `n / 2`, for which `n` is at least 128.
    pub fn new(ring: &Ring, gadget: &Gadget, masks: MaskSource<'_>, samples: usize) -> Option<Self> {
        let (n, digits) = (ring.n(), gadget.digits() as usize);
        gadget.fits(ring.q().bits()).then_some(())?;
        let along = RowTransform::new(ring, samples)?;
        let cycles: Vec<u32> = ring.plan().cycles().into_iter().map(|slot| slot as u32).collect();
        let polynomials = automorphisms(n, samples).count() * digits;
        let mask = |j| doubled(&ordered(&cycles, &masks.mask(ring, ModulusLevel::Main, j as u64)));
        Some(Inspiring {
            ring: ring.clone(),
            gadget: *gadget,
            samples,
            along,
            masks: (0..polynomials).map(mask).collect(),
            cycles,
        })
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Number of samples of one packed ciphertext.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Number of lists of masks.
    fn lists(&self) -> usize {
        1 + usize::from(self.samples == self.ring.n())
    }

    /// Number of switches of one packed ciphertext.
    pub fn steps(&self) -> usize {
        self.samples - 1
    }

    /// Distance of the messages: they are at multiples of this many coefficients.
    pub fn stride(&self) -> usize {
        if self.samples == self.ring.n() { 1 } else { self.ring.n() / 2 / self.samples }
    }

    /// Number of digits of a switch.
    pub fn digits(&self) -> usize {
        self.gadget.digits() as usize
    }

    /// Makes a client's keys for packing: the bodies of the key of `X -> X^5`, and then, if `n`
    /// samples are packed, those of `X -> X^-1`, in slots.
    pub fn generate(
        ring: &Ring,
        gadget: &Gadget,
        secret: &SecretKey,
        masks: MaskSource<'_>,
        errors: &mut ErrorSource<'_>,
        samples: usize,
    ) -> Vec<Vec<u64>> {
        let mut bodies = Vec::new();
        for k in automorphisms(ring.n(), samples) {
            let masks = MaskSource { first: masks.first + bodies.len() as u64, ..masks };
            bodies.extend(AutomorphismKey::generate(
                ring,
                ModulusLevel::Main,
                gadget,
                k,
                secret,
                masks,
                errors,
            ));
        }
        bodies
    }

    /// Packs samples whose masks are known only now, and returns the mask, in slots, and the body
    /// at the positions of the messages.
    ///
    /// # Panics
    /// Unless there are `n` slots of the mask of each sample, its body, and as many bodies of keys
    /// as [`generate`](Self::generate) makes, each in `n` slots.
    pub fn pack(&self, masks: &[u64], bodies: &[u64], keys: &[Vec<u64>]) -> [Vec<u64>; 2] {
        let n = self.ring.n();
        assert_eq!(keys.len(), self.masks.len(), "the bodies of all keys");
        assert_eq!(bodies.len(), self.samples, "a body for each sample");
        let keys: Vec<Vec<u64>> = keys.iter().map(|body| doubled(&ordered(&self.cycles, body))).collect();
        let mut descent = MaskReduction::new(self, masks);
        let (mut digits, mut rotated, mut sums) =
            (vec![0; n * self.digits()], vec![0; n], self.ring.plan().accumulator());
        for step in 0..self.steps() {
            descent.next(&mut digits);
            for (i, digit) in digits.chunks_exact(n).enumerate() {
                let rotation = PackStep::of(n, self.samples, step).digit_rotation(self.digits(), i);
                put_rotated(&keys, rotation, &mut rotated);
                self.ring.plan().mul_acc_wide(&mut sums, digit, &rotated);
            }
        }
        self.ring.plan().take(&mut sums, &mut rotated);
        let mut sums = self.slots(&rotated);
        self.ring.inverse(ModulusLevel::Main, &mut sums);
        let at_places = sums.iter().step_by(self.stride()).zip(bodies);
        let (mask, _) = descent.finish();
        [mask, at_places.map(|(x, b)| self.ring.q().add(*x, *b)).collect()]
    }

    /// Converts the order of cycles to that of the transform.
    pub fn slots(&self, places: &[u64]) -> Vec<u64> {
        let mut slots = vec![0; places.len()];
        self.cycles.iter().zip(places).for_each(|(slot, x)| slots[*slot as usize] = *x);
        slots
    }
}

/// The rotated key polynomial that a digit is multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DigitRotation {
    /// Number of the polynomial among those of the keys.
    polynomial: usize,
    /// Whether its cycles are swapped.
    swapped: bool,
    /// Number of slots that both cycles are rotated by: slot `k` receives that of slot `k + by`.
    by: usize,
}

/// Length of the shortest transform.
const SHORTEST: usize = 64;

/// The automorphisms that packing of `samples` samples has keys for.
fn automorphisms(n: usize, samples: usize) -> impl Iterator<Item = usize> {
    let inverse = (samples == n).then_some(2 * n - 1);
    std::iter::once(5).chain(inverse)
}

/// One switch of the reduction to one mask, in the order in which they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PackStep {
    /// From `tau_h(s)` with `h = 5^(to + 1)` to `h = 5^to`, or with `-h` where cycles are swapped.
    Fold { swapped: bool, to: usize },
    /// From `tau_-1(s)` to `s`.
    Join,
}

impl PackStep {
    /// The step of a number. Where there are two lists, they alternate.
    fn of(n: usize, samples: usize, step: usize) -> Self {
        if samples < n {
            return PackStep::Fold { swapped: false, to: samples - 2 - step };
        }
        match (n / 2 - 1).checked_sub(step / 2 + 1) {
            Some(to) => PackStep::Fold { swapped: step % 2 == 1, to },
            None => PackStep::Join,
        }
    }

    /// The key polynomial that a digit is multiplied by, for a gadget of `digits` digits.
    fn digit_rotation(self, digits: usize, digit: usize) -> DigitRotation {
        match self {
            PackStep::Fold { swapped, to } => DigitRotation { polynomial: digit, swapped, by: to },
            PackStep::Join => DigitRotation { polynomial: digits + digit, swapped: false, by: 0 },
        }
    }
}

/// Writes a rotated polynomial, from those whose cycles are stored twice.
fn put_rotated(doubled: &[Vec<u64>], rotation: DigitRotation, out: &mut [u64]) {
    let (n, half) = (out.len(), out.len() / 2);
    let (first, second) = doubled[rotation.polynomial].split_at(n);
    let [first, second] = if rotation.swapped { [second, first] } else { [first, second] };
    out[..half].copy_from_slice(&first[rotation.by..rotation.by + half]);
    out[half..].copy_from_slice(&second[rotation.by..rotation.by + half]);
}

/// Reorders slots to the order of cycles.
fn ordered(cycles: &[u32], slots: &[u64]) -> Vec<u64> {
    cycles.iter().map(|slot| slots[*slot as usize]).collect()
}

/// Repeats each cycle twice in a row.
fn doubled(places: &[u64]) -> Vec<u64> {
    let (first, second) = places.split_at(places.len() / 2);
    [first, first, second, second].concat()
}

#[cfg(test)]
mod tests;
