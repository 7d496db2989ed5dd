//! The positions of rows in the image.
//!
//! **Values.** Modulo each prime of the scan, the image has a table of tiles, one after the other.
//! Row `alpha` of a layer is the polynomial at `b = alpha mod d2`, `layer columns + alpha div d2`:
//! the sum over b is the pass, and its columns are the entries of u, layer after layer.
//!
//! **Coefficients.** The same polynomials as [`CoefficientFormat`], column after column, each from
//! row 0 to the last.

use super::AnswerBuffers;
use crate::cost;
use crate::folding_tree::Side;
use crate::literal::RowFormat;
use crate::params::{Inner, Params};
use crate::rings::on_ring;
use sotto_core::{Image, ImageSection, Misuse, Result, Section};
use sotto_lattice::bgv::CoefficientFormat;
use sotto_lattice::bgv::table_product::TableProduct as Shape;
use std::ops::Range;
use std::sync::Arc;

/// The shape of the table, modulo each prime of the scan.
///
/// # Errors
/// None for checked parameters.
pub(super) fn shape(params: &Inner) -> Result<Shape> {
    shape_of(params, columns(params))
}

/// Columns of all layers.
pub(super) fn columns(params: &Inner) -> usize {
    params.columns() * params.literal.layers as usize
}

/// The shape of `cols` columns.
fn shape_of(params: &Inner, cols: usize) -> Result<Shape> {
    let rows = params.tree.length(Side::Right) as usize;
    let shape = on_ring!(&*params.ring, rns => {
        rns.level(params.literal.scan_primes.into()).and_then(|level| Shape::new(rns, level, rows, cols))
    });
    shape.ok_or_else(|| Misuse::Rule("checked parameters must have a table").into())
}

/// The cell of a layer of row `alpha`.
pub(super) fn cell(params: &Inner, alpha: u64, layer: usize) -> (usize, usize) {
    let rows = params.tree.length(Side::Right);
    ((alpha % rows) as usize, layer * params.columns() + (alpha / rows) as usize)
}

/// The row and the layer of a cell, whether the table has the row or not.
pub(super) fn owner(params: &Inner, (row, col): (usize, usize)) -> (u64, usize) {
    let columns = params.columns();
    ((col % columns) as u64 * params.tree.length(Side::Right) + row as u64, col / columns)
}

/// The storage format of a plaintext as coefficients.
pub(super) fn stored(params: &Inner) -> CoefficientFormat {
    on_ring!(&*params.ring, rns => CoefficientFormat::new(rns.ring()))
}

/// The offset of a cell's coefficients, in an image of coefficients.
pub(super) fn offset(params: &Inner, (row, col): (usize, usize)) -> u64 {
    let cells = col as u64 * params.tree.length(Side::Right) + row as u64;
    cells * stored(params).bytes() as u64
}

/// Bytes of the image.
pub(super) fn bytes(params: &Inner) -> u64 {
    cost::image_bytes(&params.literal, params.set, &params.tree)
}

/// An open image, or some columns of one.
pub struct PlaintextTable {
    params: Params,
    bytes: ImageSection,
    pub(super) shape: Shape,
    pub(super) buffers: Arc<AnswerBuffers>,
    /// The columns of this part.
    pub(super) cols: Range<usize>,
}

impl PlaintextTable {
    /// Opens an image of a whole table.
    ///
    /// # Errors
    /// [`sotto_core::PeerMisbehaved::Length`] if it is not the table of these parameters.
    pub fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        Self::open_some(params, 0..columns(params), image)
    }

    /// Opens an image that has some columns.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub(super) fn open_some(params: &Params, cols: Range<usize>, image: Arc<dyn Image>) -> Result<Self> {
        let shape = shape_of(params, cols.len())?;
        let bytes = match params.literal.form {
            RowFormat::Values => shape.bytes(),
            _ => offset(params, (0, cols.end)) - offset(params, (0, cols.start)),
        };
        let bytes = ImageSection::open(image, Section::Resident, "table", bytes)?;
        Ok(PlaintextTable {
            params: params.clone(),
            bytes,
            shape,
            buffers: Arc::new(AnswerBuffers::new(params)),
            cols,
        })
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// All rows as coefficients, in the order of their cells; `None` if the image holds values.
    pub(super) fn coefficients(&self) -> Option<Coefficients<'_>> {
        let (rows, each) = (self.params.tree.length(Side::Right) as usize, stored(&self.params).bytes());
        let bytes = self.bytes.bytes();
        (self.params.literal.form != RowFormat::Values).then_some(Coefficients { rows, each, bytes })
    }

    /// The table modulo each of its primes, for an image of values.
    pub(super) fn values(&self) -> &[u8] {
        self.bytes.bytes()
    }

    /// The table modulo one of the primes, for an image of values.
    ///
    /// # Panics
    /// If the table is not multiplied at that prime.
    pub(super) fn limb(&self, prime: usize) -> &[u8] {
        let bytes = self.shape.layout().bytes() as usize;
        let (_, limb) = self.bytes.bytes().split_at(prime * bytes);
        limb.split_at(bytes).0
    }
}

/// The rows of an image of coefficients.
#[derive(Clone, Copy)]
pub(super) struct Coefficients<'a> {
    rows: usize,
    each: usize,
    bytes: &'a [u8],
}

impl<'a> Coefficients<'a> {
    /// The plaintext of a cell.
    pub(super) fn row(&self, row: usize, col: usize) -> &'a [u8] {
        &self.bytes[(col * self.rows + row) * self.each..][..self.each]
    }
}
