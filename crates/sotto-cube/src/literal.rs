//! Literal parameters: public numbers in a catalog, from which everything else is derived.

use serde::{Deserialize, Serialize};
use sotto_core::ParamsError;
use sotto_lattice::noise::steps::GadgetNoise;
use sotto_math::gadget::Gadget;
use sotto_prg::PublicSeed;

/// The seed in literals that were selected without reading a table's rows. No table is published
/// with it.
pub const NO_TABLES_MASK: PublicSeed = PublicSeed([0; 32]);

/// Largest number of records along the first dimension: an expanded query has room for no more, and
/// one that is sent selector by selector stays near a hundred megabytes.
pub const MAX_ROWS: u32 = 4096;

/// Largest number of bits of an answer's mask: N times such a word times the largest coefficient of
/// a secret is below q / 2 in every ring, so that clients multiply modulo q without a wrap.
pub const MAX_MASK_BITS: u32 = 36;

/// The form in which selectors reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Upload {
    /// One ciphertext that the server expands.
    Expanded,
    /// Every selector: the *Stream* variants.
    Direct,
}

/// The form of a unit of the table and of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableForm {
    /// One polynomial in a unit, selected and answered under one secret: FSpiral, OnionPIR, and
    /// Spiral with n = 1.
    Plain,
    /// n² polynomials in a unit, each selected as in `Plain`, then packed into one answer: the
    /// *Pack* variants.
    Packed,
    /// An n by n matrix of polynomials in a unit, selected by matrix ciphertexts: Spiral as first
    /// described.
    Matrix,
}

/// A gadget as [l, log2 B, log2 A]; [0, 0, 0] for no gadget.
pub type GadgetTriple = [u8; 3];

/// Makes the gadget of a triple.
///
/// # Errors
/// [`ParamsError::Field`] if the triple is not a gadget.
pub fn gadget(field: &'static str, [l, b, a]: GadgetTriple) -> Result<Gadget, ParamsError> {
    Gadget::new(l.into(), b.into(), a.into())
        .ok_or_else(|| ParamsError::Field { field, why: "must be a gadget [digits, log2 B, log2 A]".into() })
}

/// Converts a gadget triple to the form of the noise model.
pub fn digits([count, base_log2, drop_log2]: GadgetTriple) -> GadgetNoise {
    GadgetNoise { count: count.into(), base_log2: base_log2.into(), drop_log2: drop_log2.into() }
}

/// The parameters that are written into a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Literal {
    /// Name of the ring: see [`rings`](crate::rings).
    pub ring: String,
    /// How selectors are sent.
    pub upload: Upload,
    /// Form of a unit and of its answer.
    pub form: TableForm,
    /// n: 1 in the plain form, the polynomials on a side of a unit in the other forms.
    pub n: u8,
    /// Number of records.
    pub records: u64,
    /// Bytes in a record, which takes as many units as it needs.
    pub record_bytes: u64,
    /// log2 p: bits of data in a coefficient.
    pub p_log2: u8,
    /// Records along the first dimension, at most 2^nu1.
    pub rows: u32,
    /// nu2: number of further dimensions, of two records each.
    pub nu2: u8,
    /// Gadget of expansion in the tree that ends in selectors.
    pub expand: GadgetTriple,
    /// Gadget of expansion in the tree that ends in the bits of the further dimensions.
    pub expand_right: GadgetTriple,
    /// Gadget of the conversion to RGSW.
    pub convert: GadgetTriple,
    /// Gadget of the external products that fold.
    pub fold: GadgetTriple,
    /// Gadget of packing, and of the conversion to matrices.
    pub pack: GadgetTriple,
    /// Bits of every word of a query that are sent.
    pub query_bits: u8,
    /// Bits of every word of a key modulo Q that are sent.
    pub key_bits: u8,
    /// Bits of every word of a key modulo q that are sent.
    pub pack_key_bits: u8,
    /// Bits of a word of an answer: of a mask, and of a body.
    pub answer_bits: [u8; 2],
    /// Rows of a column that may be written under one whitening seed; the failure bound assumes
    /// their worst values.
    pub written: u32,
    /// Seed of the whitening stream.
    pub mask: PublicSeed,
}

impl Literal {
    /// Number of polynomials in a unit.
    pub fn unit_polynomials(&self) -> u64 {
        u64::from(self.n) * u64::from(self.n)
    }

    /// Rank of the ciphertexts that are folded: n in the matrix form, else 1.
    pub fn rank(&self) -> usize {
        if self.form == TableForm::Matrix { usize::from(self.n) } else { 1 }
    }

    /// Number of messages at the end of the right tree of expansion, or sent in place of it: l of
    /// each further dimension.
    pub fn bit_rows(&self) -> usize {
        usize::from(self.fold[0]) * usize::from(self.nu2)
    }
    /// Number of polynomials in a query.
    pub fn query_polynomials(&self) -> usize {
        let rows = self.rows as usize;
        match (self.upload, self.form) {
            (Upload::Expanded, _) => 1,
            // Rows m g_j and -s m g_j of every bit, or only the first ones if the server converts.
            (Upload::Direct, TableForm::Matrix) => rows + self.bit_rows(),
            (Upload::Direct, _) => rows + 2 * self.bit_rows(),
        }
    }
}
