//! What is written into a catalog: public numbers, enough to make everything else.

use serde::{Deserialize, Serialize};
use sotto_core::ParamsError;
use sotto_lattice::noise::steps::GadgetNoise;
use sotto_math::gadget::Gadget;
use sotto_prg::PublicSeed;

/// The seed in literals that were selected for a table whose rows nobody has read. No table is published with it.
pub const NO_TABLES_MASK: PublicSeed = PublicSeed([0; 32]);

/// How selectors reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Upload {
    /// One ciphertext that the server expands.
    Expanded,
    /// Every selector is sent: the *Stream* variants.
    Direct,
}

/// What the table is multiplied by, and what comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableForm {
    /// One polynomial to a unit, selected and answered under one secret: FSpiral, OnionPIR, and Spiral with n = 1.
    Plain,
    /// n² polynomials to a unit, each selected as in `Plain`, then packed into one answer: the *Pack* variants.
    Packed,
    /// An n by n matrix of polynomials to a unit, selected by matrix ciphertexts: Spiral as first described.
    Matrix,
}

/// A gadget as [l, log2 B, log2 A]; [0, 0, 0] where there is none.
pub type GadgetTriple = [u8; 3];

/// The gadget of a triple.
///
/// # Errors
/// [`ParamsError::Field`] if it is none.
pub fn gadget(field: &'static str, [l, b, a]: GadgetTriple) -> Result<Gadget, ParamsError> {
    Gadget::new(l.into(), b.into(), a.into())
        .ok_or_else(|| ParamsError::Field { field, why: "is no gadget [digits, log2 B, log2 A]".into() })
}

/// The same, as noise sees it.
pub fn digits([count, base_log2, drop_log2]: GadgetTriple) -> GadgetNoise {
    GadgetNoise { count: count.into(), base_log2: base_log2.into(), drop_log2: drop_log2.into() }
}

/// What is written into a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Literal {
    /// Name of the ring: see [`rings`](crate::rings).
    pub ring: String,
    /// How selectors are sent.
    pub upload: Upload,
    /// What comes back.
    pub form: TableForm,
    /// n: 1 in the plain form, polynomials to a side of a unit in the others.
    pub n: u8,
    /// How many records.
    pub records: u64,
    /// Bytes in a record; it takes as many units as it needs.
    pub record_bytes: u64,
    /// log2 p: bits of data in a coefficient.
    pub p_log2: u8,
    /// Records along the first dimension: 2^nu1 at most.
    pub rows: u32,
    /// nu2: further dimensions, of two records each.
    pub nu2: u8,
    /// Gadget of expansion, of the tree that ends in selectors.
    pub expand: GadgetTriple,
    /// Gadget of expansion, of the tree that ends in the bits of the further dimensions.
    pub expand_right: GadgetTriple,
    /// Gadget of the conversion to RGSW.
    pub convert: GadgetTriple,
    /// Gadget of the external products that fold.
    pub fold: GadgetTriple,
    /// Gadget of packing, and of the conversion to matrices.
    pub pack: GadgetTriple,
    /// Bits sent of every word of a query.
    pub query_bits: u8,
    /// Bits sent of every word of a key modulo Q.
    pub key_bits: u8,
    /// Bits sent of every word of a key modulo q.
    pub pack_key_bits: u8,
    /// Bits of a word of an answer: of masks, and of what they mask.
    pub answer_bits: [u8; 2],
    /// Rows of a column that may be written under one mask: those which the failure bound takes at their worst.
    pub written: u32,
    /// Seed of the public mask on the data.
    pub mask: PublicSeed,
}

impl Literal {
    /// Polynomials in a unit.
    pub fn unit_polynomials(&self) -> u64 {
        u64::from(self.n) * u64::from(self.n)
    }

    /// Rank of the ciphertexts that are folded: n in the matrix form, else 1.
    pub fn rank(&self) -> usize {
        if self.form == TableForm::Matrix { usize::from(self.n) } else { 1 }
    }

    /// Messages that the right tree of expansion ends in, or that are sent for it: l of each further
    /// dimension.
    pub fn bit_rows(&self) -> usize {
        usize::from(self.fold[0]) * usize::from(self.nu2)
    }
    /// Polynomials in a query.
    pub fn query_polynomials(&self) -> usize {
        let rows = self.rows as usize;
        match (self.upload, self.form) {
            (Upload::Expanded, _) => 1,
            // Rows m g_j and -s m g_j of every bit, or the first alone where the server converts.
            (Upload::Direct, TableForm::Matrix) => rows + self.bit_rows(),
            (Upload::Direct, _) => rows + 2 * self.bit_rows(),
        }
    }
}
