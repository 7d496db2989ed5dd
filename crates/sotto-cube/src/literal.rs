//! Literal parameters: public numbers in a catalog, from which everything else is derived.

use crate::rings;
use serde::{Deserialize, Serialize};
use sotto_core::ParamsError;
use sotto_lattice::noise::steps::GadgetNoise;
use sotto_math::gadget::Gadget;
use sotto_prg::PublicSeed;
use std::ops::RangeInclusive;

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
    /// Name of the ring: see [`rings`].
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

/// When a set is tried for tables that name no set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenTried {
    /// Always.
    Always,
    /// For the goal [`sotto_core::Goal::Rate`] alone, since its queries are megabytes.
    ForRateGoal,
    /// Never; a caller has to name the set.
    ByName,
}

/// A parameter set that fits itself to a table.
#[derive(Debug, Clone)]
pub struct Template {
    /// Name of the set on the command line.
    pub name: &'static str,
    /// Description of the set in one line.
    pub about: &'static str,
    /// When it is tried for tables that name no set.
    pub tried: WhenTried,
    /// Name of the ring.
    pub ring: &'static str,
    /// How selectors are sent.
    pub upload: Upload,
    /// Form of a unit and of its answer.
    pub form: TableForm,
    /// n: polynomials on a side of a unit.
    pub n: u8,
    /// log2 p: bits of data in a coefficient.
    pub p_log2: u8,
    /// Numbers of further dimensions that are tried. Smaller tables may have fewer.
    pub nu2: RangeInclusive<u8>,
    /// Gadget of expansion in the tree that ends in selectors, as in [`Literal`].
    pub expand: GadgetTriple,
    /// Gadget of expansion in the tree that ends in bits.
    pub expand_right: GadgetTriple,
    /// Gadget of the conversion to RGSW.
    pub convert: GadgetTriple,
    /// Gadget of folding.
    pub fold: GadgetTriple,
    /// Gadget of packing, and of the conversion to matrices.
    pub pack: GadgetTriple,
    /// Bits that are sent of a word of a query, of a key modulo Q, and of a key modulo q.
    pub sent_bits: [u8; 3],
}

impl Template {
    /// Whether a literal has the ring, upload and form of this set, and so belongs to the same
    /// scheme.
    pub fn is_compatible(&self, literal: &Literal) -> bool {
        self.ring == literal.ring && self.upload == literal.upload && self.form == literal.form
    }

    /// Whether this set makes exactly this literal, for as many records of that size in as many
    /// columns.
    pub fn makes(&self, literal: &Literal) -> bool {
        let Literal { records, record_bytes, nu2, answer_bits, written, mask, .. } = *literal;
        let made = self.literal(records, record_bytes, nu2, answer_bits);
        made.is_some_and(|made| Literal { written, mask, ..made } == *literal)
    }

    /// Bytes of data in a unit.
    pub fn unit_bytes(&self) -> Result<u64, ParamsError> {
        let polynomials = u64::from(self.n) * u64::from(self.n);
        Ok(polynomials * rings::find(self.ring)?.n as u64 * u64::from(self.p_log2) / 8)
    }

    /// Makes the literal for `records` records of `record_bytes` bytes in 2^`nu2` columns, none of
    /// which is written in place; `None` if there are too many records. Unused gadgets are zero.
    pub fn literal(&self, records: u64, record_bytes: u64, nu2: u8, answer_bits: [u8; 2]) -> Option<Literal> {
        let rows = u32::try_from(records.div_ceil(1 << nu2)).ok()?;
        let expands = self.upload == Upload::Expanded;
        let used = |triple, used: bool| if used { triple } else { [0; 3] };
        Some(Literal {
            ring: self.ring.to_owned(),
            upload: self.upload,
            form: self.form,
            n: self.n,
            records,
            record_bytes,
            p_log2: self.p_log2,
            rows,
            nu2,
            expand: used(self.expand, expands),
            expand_right: used(self.expand_right, expands && nu2 > 0),
            convert: used(self.convert, nu2 > 0 && (expands || self.form == TableForm::Matrix)),
            fold: used(self.fold, nu2 > 0),
            pack: used(self.pack, self.form != TableForm::Plain),
            query_bits: self.sent_bits[0],
            key_bits: self.sent_bits[1],
            pack_key_bits: self.sent_bits[2],
            answer_bits,
            written: 0,
            mask: NO_TABLES_MASK,
        })
    }
}
