//! Responses: from folded ciphertexts to the bits that are sent.

use super::{CubeTable, ExpandedQuery};
use crate::literal::TableForm;
use crate::message::UnitAnswer;
use crate::params::Inner;
use rayon::prelude::*;
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::keyswitch::SwitchKey;
use sotto_lattice::pack;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::scratch::Scratch;
use sotto_math::modulus_pair::round_to_bits;

impl<F> CubeTable<F> {
    /// Packs the ciphertexts if the form requires it, and switches to the bits that are sent.
    pub fn respond(&self, folded: Vec<Ciphertext>, query: &ExpandedQuery) -> UnitAnswer {
        self.params.respond(folded, &query.pack)
    }
}

impl Inner {
    /// Does the work of [`CubeTable::respond`], with the client's keys for packing.
    pub(super) fn respond(&self, folded: Vec<Ciphertext>, keys: &[SwitchKey]) -> UnitAnswer {
        let columns = match self.literal.form {
            TableForm::Plain | TableForm::Matrix => folded,
            TableForm::Packed => self.pack(&folded, keys),
        };
        let switched = columns.into_par_iter().map(|column| self.switch(column));
        UnitAnswer { polynomials: switched.collect::<Vec<_>>().into_iter().flatten().collect() }
    }

    /// Packs column j of the unit: ciphertexts (1, j) to (n, j), under one mask polynomial.
    pub(super) fn pack(&self, folded: &[Ciphertext], keys: &[SwitchKey]) -> Vec<Ciphertext> {
        let n = keys.len();
        let column = |j: usize| {
            let entries: Vec<Ciphertext> = folded.iter().skip(j).step_by(n).cloned().collect();
            pack::pack(&self.ring, keys, &entries, &mut Scratch::new(&self.ring))
        };
        (0..n).into_par_iter().map(column).collect()
    }

    /// Switches the modulus to powers of two: more bits for the mask, whose rounding error the
    /// secret multiplies, and fewer for the bodies.
    fn switch(&self, mut column: Ciphertext) -> Vec<Vec<u64>> {
        let ring = &self.ring;
        let [mask, body] = self.literal.answer_bits.map(u32::from);
        let rounded = |(i, slots): (usize, &mut [u64])| {
            ring.inverse(ModulusLevel::Main, slots);
            let mut out = vec![0; slots.len()];
            round_to_bits(ring.q(), slots, if i == 0 { mask } else { body }, &mut out);
            out
        };
        column.components_mut().enumerate().map(rounded).collect()
    }
}
