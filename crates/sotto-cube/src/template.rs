//! Parameter sets before they are fitted to a table: everything but the number of records.

use crate::literal::{GadgetTriple, Literal, NO_TABLES_MASK, TableForm, Upload};
use crate::rings;
use sotto_core::ParamsError;
use std::ops::RangeInclusive;

/// When a set is tried for tables that name no set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenTried {
    /// Always.
    Always,
    /// Only for the goal [`sotto_core::Goal::Rate`], since its queries are megabytes.
    ForRateGoal,
    /// Only by its name.
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
