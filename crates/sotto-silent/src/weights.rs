//! Packing weights in an image, where groups are small and many: the contributions of the
//! coefficients of a query's key to the bodies of every group, as one more matrix. A number of a
//! group is three rows of signed bytes, from the lowest on, and a coefficient of the key is a
//! column.

use crate::lattice::{self, KEY_WORDS, N, PackingDigits, WEIGHT_BYTES, weight_layout};
use crate::matrix::{SectionOffset, times, write_part};
use crate::packed_groups::residues;
use crate::unit_vector::MessageBits;
use sotto_core::{ExpectOrDefault, Misuse, Result, Sink};
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
    /// [`Misuse::Rule`] for more numbers.
    pub fn new(numbers: usize, groups: usize, bits: MessageBits) -> Result<Self> {
        let packing = PackingDigits::TWO.packing(numbers.next_power_of_two())?;
        Ok(WeightLayout { packing, layout: weight_layout(numbers, groups), numbers, bits })
    }

    /// The layout for `numbers` consecutive numbers, whichever groups they belong to.
    #[must_use]
    pub fn of_some(self, numbers: usize) -> Self {
        WeightLayout { layout: weight_layout(numbers, 1), ..self }
    }

    /// Packs a group whose numbers have these masks. Returns its rows, one after the other, and the
    /// mask of the packed ciphertext, coefficient by coefficient.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if a weight needs more than three bytes, which is no more likely than
    /// guessing the digits.
    pub fn rows(&self, mut masks: Vec<u64>) -> Result<(Vec<u8>, Vec<u64>)> {
        masks.resize(self.packing.samples() * N, 0);
        let PackWeights { rows, mut mask } = PackWeights::new(&self.packing, &masks, self.numbers);
        let mut bytes = Vec::with_capacity(WEIGHT_BYTES * rows.len());
        for row in rows.chunks(KEY_WORDS) {
            let mut rest = row.to_vec();
            for _ in 0..WEIGHT_BYTES {
                bytes.extend(rest.iter().map(|x| *x as u8));
                rest.iter_mut().for_each(|x| *x = (*x - i32::from(*x as i8)) >> 8);
            }
            if rest.iter().any(|x| *x != 0) {
                return Err(Misuse::Rule("a packing weight must fit three bytes").into());
            }
        }
        self.packing.ring().inverse(ModulusLevel::Main, &mut mask);
        Ok((bytes, mask))
    }

    /// Writes the rows of some consecutive groups, from an offset on.
    ///
    /// # Errors
    /// Storage errors.
    pub fn write(&self, first: usize, rows: &[Vec<u8>], at: SectionOffset, out: &dyn Sink) -> Result<()> {
        let height = WEIGHT_BYTES * self.numbers;
        let first = first * height;
        let fill = |row: usize, bytes: &mut [u8]| {
            let (group, row) = ((row - first) / height, (row - first) % height);
            let row = rows.get(group).and_then(|rows| rows.chunks_exact(KEY_WORDS).nth(row));
            bytes.copy_from_slice(row.expect_or_default("a group has three rows for each of its numbers"));
        };
        write_part(self.layout, at, first..first + rows.len() * height, 0..KEY_WORDS, fill, out)
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
