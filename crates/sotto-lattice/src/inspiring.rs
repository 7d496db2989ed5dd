//! InspiRING: `n` LWE samples become one ring-LWE ciphertext, with two switching keys and almost all work done before any
//! query (InsPIRe, Google, 2025, eprint 2025/1352, section 4).
//!
//! A sample `j` is a polynomial `a_j` and a number `b_j` with `b_j = c(a_j s) + e_j + m_j`, where `c` takes the constant
//! coefficient. The sum of a polynomial's images under all `n` automorphisms is `n` times its constant coefficient, so
//!
//! ```text
//! sum_j m_j X^j = sum_j b_j X^j - sum_h A_h tau_h(s)     A_h = n^-1 sum_j X^j tau_h(a_j)
//! ```
//!
//! up to the errors: one body, and a mask for each of the secrets `tau_h(s)`. The automorphisms are `X -> X^h` for `h = 5^i`
//! and `h = -5^i`. A switching key from `tau_5(s)` to `s`, under `tau_h`, brings what `tau_5h(s)` opens to `tau_h(s)`. So each of
//! the two lists of masks is folded from its last to its first with that one key, and a key of `X -> X^-1` joins the two.
//! Errors of switches add up, and none of them is multiplied by `n` as where ciphertexts are packed pair by pair.
//!
//! Masks of samples and keys are public, and so is every digit of every switch. Online only the bodies are left:
//!
//! ```text
//! b = sum_j b_j X^j + sum_i sum_l tau_i(y_l) d_il
//! ```
//!
//! with the bodies `y_l` of the keys. That is one pass over a table of the digits `d_il`, in slots, whose selectors are turns of
//! `2 l` polynomials ([`sotto_math::tiles::turned`]).
//!
//! Two things differ from the paper. All `A_h` at once are `2 n` transforms (see [`Descent`]) and no `n^3` products; and slots
//! are in the order of cycles, where an automorphism is a turn, so that no image of a key is ever written down.

mod descent;

use crate::automorphism::AutomorphismKey;
use crate::encrypt::{Errors, Masks};
use crate::ring::{Level, Ring};
use crate::secret::Secret;
pub use descent::Descent;
use sotto_math::gadget::Gadget;
use sotto_math::tiles::{TileLayout, Turn, Turned, Turns, Words};

/// Packing for one ring and gadget, under one seed of key masks.
#[derive(Debug, Clone)]
pub struct Inspiring {
    ring: Ring,
    gadget: Gadget,
    words: Words,
    turns: Turns,
    /// Place by place, which slot comes there.
    cycles: Vec<usize>,
    /// The masks of both keys in the order of cycles, digit by digit; of the first key each cycle is there twice.
    masks: [Vec<Vec<u64>>; 2],
}

impl Inspiring {
    /// Packing in a ring, level `Main`, with keys whose masks are these.
    ///
    /// `None` if the gadget does not reach the modulus, or its words have no stored form.
    pub fn new(ring: &Ring, gadget: &Gadget, masks: Masks<'_>) -> Option<Self> {
        let (n, digits) = (ring.n(), gadget.digits() as usize);
        let words = Words::new(ring.q()).filter(|_| gadget.fits(ring.q().bits()))?;
        let cycles = ring.plan().cycles();
        let mask = |j: usize| ordered(&cycles, &masks.mask(ring, Level::Main, j as u64));
        let turns = (0..n - 1).flat_map(|step| {
            let (polynomial, swapped, by) = match Step::of(n, step) {
                Step::Fold { swapped, to } => (0, swapped, to),
                Step::Join => (digits, false, 0),
            };
            (0..digits).map(move |digit| Turn { polynomial: polynomial + digit, swapped, by })
        });
        Some(Inspiring {
            ring: ring.clone(),
            gadget: *gadget,
            words,
            turns: Turns::new(n, 2 * digits, turns)?,
            masks: [
                (0..digits).map(|j| doubled(&mask(j))).collect(),
                (digits..2 * digits).map(mask).collect(),
            ],
            cycles,
        })
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// How the digits are stored.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// What a query's selectors are.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// The digits of so many packed ciphertexts as a table: a row for each digit of each switch, a column for each ciphertext.
    /// `None` if there is no such layout.
    pub fn layout(&self, ciphertexts: usize) -> Option<TileLayout> {
        TileLayout::new(self.words.packing(), self.ring.n(), self.steps() * self.digits(), ciphertexts)
    }

    /// Switches of one packed ciphertext.
    pub fn steps(&self) -> usize {
        self.ring.n() - 1
    }

    /// Digits of a switch.
    pub fn digits(&self) -> usize {
        self.gadget.digits() as usize
    }

    /// Makes a client's keys: the bodies of the key of `X -> X^5`, then those of `X -> X^-1`, in slots.
    pub fn generate(
        ring: &Ring,
        gadget: &Gadget,
        secret: &Secret,
        masks: Masks<'_>,
        errors: &mut Errors<'_>,
    ) -> Vec<Vec<u64>> {
        let mut bodies = Vec::new();
        for k in [5, 2 * ring.n() - 1] {
            let masks = Masks { first: masks.first + bodies.len() as u64, ..masks };
            bodies.extend(AutomorphismKey::generate(ring, Level::Main, gadget, k, secret, masks, errors));
        }
        bodies
    }

    /// A client's keys as the pass over the digits takes them.
    ///
    /// # Panics
    /// Unless these are as many bodies as [`generate`](Self::generate) makes, each in `n` slots.
    pub fn keys(&self, bodies: &[Vec<u64>]) -> Turned {
        assert_eq!(bodies.len(), 2 * self.digits(), "the bodies of both keys");
        let bodies: Vec<Vec<u64>> = bodies.iter().map(|body| ordered(&self.cycles, body)).collect();
        Turned::new(&self.words, &bodies.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// The body of a packed ciphertext, coefficient by coefficient: the bodies of its samples, plus what the pass over the
    /// digits gave for it, in the order of cycles.
    ///
    /// # Panics
    /// If either is not `n` long.
    pub fn body(&self, samples: &[u64], sums: &[u64]) -> Vec<u64> {
        let q = self.ring.q();
        assert_eq!((samples.len(), sums.len()), (self.ring.n(), self.ring.n()), "a body of n coefficients");
        let mut body = self.slots(sums);
        self.ring.inverse(Level::Main, &mut body);
        body.iter_mut().zip(samples).for_each(|(x, b)| *x = q.add(*x, *b));
        body
    }

    /// From the order of cycles to that of the transform.
    pub fn slots(&self, places: &[u64]) -> Vec<u64> {
        let mut slots = vec![0; places.len()];
        self.cycles.iter().zip(places).for_each(|(slot, x)| slots[*slot] = *x);
        slots
    }
}

/// One switch of the way down to one mask, in the order in which they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// From `tau_h(s)` with `h = 5^(to + 1)` to `h = 5^to`, or both with a minus where cycles are swapped.
    Fold { swapped: bool, to: usize },
    /// From `tau_-1(s)` to `s`.
    Join,
}

impl Step {
    /// Both lists take turns.
    fn of(n: usize, step: usize) -> Self {
        match (n / 2 - 1).checked_sub(step / 2 + 1) {
            Some(to) => Step::Fold { swapped: step % 2 == 1, to },
            None => Step::Join,
        }
    }
}

/// Slots in the order of cycles.
fn ordered(cycles: &[usize], slots: &[u64]) -> Vec<u64> {
    cycles.iter().map(|slot| slots[*slot]).collect()
}

/// Each cycle twice in a row.
fn doubled(places: &[u64]) -> Vec<u64> {
    let (first, second) = places.split_at(places.len() / 2);
    [first, first, second, second].concat()
}

#[cfg(test)]
mod tests;
