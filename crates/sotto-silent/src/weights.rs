//! Packing weights in an image, where groups are small and many: the contributions of the
//! coefficients of a query's key to the bodies of every group, as one more matrix. A number of a
//! group is three rows of signed bytes, from the lowest on, and a coefficient of the key is a
//! column.

use crate::lattice::{self, KEY_WORDS, PackingDigits, WEIGHT_BYTES, weight_layout};
use crate::matrix::{SectionOffset, times};
use crate::packed_groups::residues;
use crate::unit_vector::MessageBits;
use crate::weight_rows::{put_rows, write_rows};
use sotto_core::{Result, Sink};
use sotto_lattice::inspiring::{Inspiring, PackWeights};
use sotto_lattice::ring::ModulusLevel;
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_planes};

/// The layout of the weights of small groups, and their packing.
pub struct WeightLayout {
    packing: Inspiring,
    layout: PanelLayout,
    numbers: usize,
    bits: MessageBits,
}

impl WeightLayout {
    /// Weights of `groups` groups of at most N / 2 numbers each.
    ///
    /// # Errors
    /// [`sotto_core::Misuse::Rule`] for more numbers.
    pub fn new(numbers: usize, groups: usize, bits: MessageBits) -> Result<Self> {
        let packing = PackingDigits::TWO.packing(numbers.next_power_of_two())?;
        Ok(WeightLayout { packing, layout: weight_layout(numbers, groups), numbers, bits })
    }

    /// The layout for `numbers` consecutive numbers, whichever groups they belong to.
    #[must_use]
    pub fn of_some(self, numbers: usize) -> Self {
        WeightLayout { layout: weight_layout(numbers, 1), ..self }
    }

    /// Packs a group whose numbers have these masks: writes its rows, one after the other, and returns
    /// the mask of the packed ciphertext, coefficient by coefficient.
    ///
    /// # Errors
    /// [`sotto_core::Misuse::Rule`] if a weight needs more than three bytes, which is no more likely than
    /// guessing the digits.
    pub fn pack(&self, masks: &[u64], rows: &mut [u8]) -> Result<Vec<u64>> {
        let mut weights = PackWeights::new(&self.packing, masks);
        put_rows(&weights, PackingDigits::TWO, 0..self.numbers, rows)?;
        let mut mask = std::mem::take(&mut weights.mask);
        self.packing.ring().inverse(ModulusLevel::Main, &mut mask);
        Ok(mask)
    }

    /// Bytes of the rows of a group.
    pub fn group_bytes(&self) -> usize {
        WEIGHT_BYTES * self.numbers * KEY_WORDS
    }

    /// Writes the rows of some consecutive groups, from an offset on.
    ///
    /// # Errors
    /// Storage errors.
    pub fn write(&self, first: usize, rows: &[u8], at: SectionOffset, out: &dyn Sink) -> Result<()> {
        write_rows(self.layout, at, WEIGHT_BYTES * self.numbers * first, rows, out)
    }

    /// The contributions of many queries' keys to the bodies of all groups' numbers, in one pass
    /// over the weights. The coefficients of the keys are
    /// [words](crate::unit_vector::VectorEncryptor::key) as they are sent.
    pub fn bodies(&self, image: &[u8], keys: &[&QueryPlanes]) -> Vec<Vec<u64>> {
        let planes = self.bits.keys.div_ceil(8) as usize;
        let sums = times(image, &self.layout, keys, planes, scan_planes);
        let dropped = lattice::Q_BITS.saturating_sub(self.bits.keys);
        let rows = self.layout.rows() * planes;
        let of_query = |sums: &Vec<i64>| {
            residues(
                self.packing.ring(),
                sums.get(..rows).unwrap_or_default(),
                [WEIGHT_BYTES, planes],
                dropped,
            )
        };
        sums.iter().map(of_query).collect()
    }
}
