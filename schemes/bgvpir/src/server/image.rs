//! Where rows lie in the image.
//!
//! **Values.** Modulo each prime that the table is multiplied at, the image has a table of tiles, one after the other. Row `alpha` of a
//! layer is the polynomial at `b = alpha mod d2`, `layer columns + alpha div d2`: the sum over b is the pass, and its
//! columns are the entries of u, layer after layer.
//!
//! **Coefficients.** The same polynomials as [`Stored`], column after column, each from row 0 to the last.

use crate::cost;
use crate::literal::Form;
use crate::params::{Inner, Params};
use crate::rings::on_ring;
use crate::tree::Side;
use sotto_core::{Image, Misuse, PeerMisbehaved, Result, Section};
use sotto_lattice::bgv::Stored;
use sotto_lattice::bgv::rows::Table as Shape;
use std::sync::Arc;

/// The shape of the table, modulo each prime it is multiplied at.
///
/// # Errors
/// None for checked parameters.
pub(super) fn shape(params: &Inner) -> Result<Shape> {
    let rows = params.tree.length(Side::Right) as usize;
    let cols = params.columns() * params.literal.layers as usize;
    let shape = on_ring!(&*params.ring, rns => {
        rns.level(params.literal.scan_primes.into()).and_then(|level| Shape::new(rns, level, rows, cols))
    });
    shape.ok_or_else(|| Misuse::Rule("checked parameters have a table").into())
}

/// The cell of a layer of row `alpha`.
pub(super) fn cell(params: &Inner, alpha: u64, layer: usize) -> (usize, usize) {
    let rows = params.tree.length(Side::Right);
    ((alpha % rows) as usize, layer * params.columns() + (alpha / rows) as usize)
}

/// The row and the layer in a cell, whether there is such a row or not.
pub(super) fn owner(params: &Inner, (row, col): (usize, usize)) -> (u64, usize) {
    let columns = params.columns();
    ((col % columns) as u64 * params.tree.length(Side::Right) + row as u64, col / columns)
}

/// How a plaintext is stored as coefficients.
pub(super) fn stored(params: &Inner) -> Stored {
    on_ring!(&*params.ring, rns => Stored::new(rns.ring()))
}

/// Where the coefficients of a cell lie, in an image that holds those.
pub(super) fn offset(params: &Inner, (row, col): (usize, usize)) -> u64 {
    let cells = col as u64 * params.tree.length(Side::Right) + row as u64;
    cells * stored(params).bytes() as u64
}

/// Bytes of the image.
pub(super) fn bytes(params: &Inner) -> u64 {
    cost::image_bytes(&params.literal, params.set, &params.tree)
}

/// An open image.
pub struct Table {
    params: Params,
    image: Arc<dyn Image>,
    pub(super) shape: Shape,
}

impl Table {
    /// Opens an image.
    ///
    /// # Errors
    /// [`PeerMisbehaved::Length`] if it is not the table of these parameters.
    pub fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let (shape, want) = (shape(params)?, bytes(params));
        let got = image.section(Section::Resident).map_or(0, <[u8]>::len) as u64;
        if got != want {
            return Err(PeerMisbehaved::Length { what: "table", got, want }.into());
        }
        Ok(Table { params: params.clone(), image, shape })
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// All rows as coefficients, in the order of their cells; `None` if the image holds values.
    ///
    /// # Errors
    /// Only if the image has lost them.
    pub(super) fn coefficients(&self) -> Result<Option<Coefficients<'_>>> {
        if self.params.literal.form == Form::Values {
            return Ok(None);
        }
        let (rows, each) = (self.params.tree.length(Side::Right) as usize, stored(&self.params).bytes());
        let bytes = self.image.section(Section::Resident).ok_or_else(lost)?;
        // What is cut off here is checked here, so that no row is missing later.
        let bytes = bytes.get(..rows * self.shape.layout().cols() * each).ok_or_else(lost)?;
        Ok(Some(Coefficients { rows, each, bytes }))
    }

    /// The table modulo one of the primes, of an image that holds values.
    ///
    /// # Errors
    /// Only if the image has lost it.
    pub(super) fn limb(&self, prime: usize) -> Result<&[u8]> {
        let bytes = self.shape.layout().bytes() as usize;
        let all = self.image.section(Section::Resident);
        all.and_then(|all| all.get(prime * bytes..(prime + 1) * bytes)).ok_or_else(lost)
    }
}

/// The rows of an image that holds coefficients.
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

pub(super) fn lost() -> sotto_core::Error {
    PeerMisbehaved::Malformed { what: "image", why: "the table is gone".into() }.into()
}
