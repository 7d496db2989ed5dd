//! Where rows lie in the image.
//!
//! Modulo each prime that the table is multiplied at, the image has a table of tiles, one after the other. Row `alpha` of a
//! layer is the polynomial at `b = alpha mod d2`, `layer columns + alpha div d2`: the sum over b is the pass, and its
//! columns are the entries of u, layer after layer.

use crate::params::{Inner, Params};
use crate::rings::on_ring;
use crate::tree::Side;
use sotto_core::{Image, Misuse, PeerMisbehaved, Result, Section};
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
        let shape = shape(params)?;
        let want = shape.bytes();
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

    /// The table modulo one of the primes.
    ///
    /// # Errors
    /// Only if the image has lost it.
    pub(super) fn limb(&self, prime: usize) -> Result<&[u8]> {
        let bytes = self.shape.layout().bytes() as usize;
        let all = self.image.section(Section::Resident);
        all.and_then(|all| all.get(prime * bytes..(prime + 1) * bytes)).ok_or_else(lost)
    }
}

pub(super) fn lost() -> sotto_core::Error {
    PeerMisbehaved::Malformed { what: "image", why: "the table is gone".into() }.into()
}
