//! Where plaintexts lie in the image: table after table, as values modulo each prime that they are multiplied at.

use crate::cost;
use crate::family::Family;
use crate::params::Params;
use sotto_core::{Held, Image, Misuse, Result, Section};
use sotto_lattice::bgv::rows::Table as Shape;
use std::sync::Arc;

/// The shape of each table.
///
/// # Errors
/// None for checked parameters.
pub(super) fn shape<F: Family>(params: &Params<F>) -> Result<Shape> {
    let layout = &params.layout;
    let level = params.ring.level(params.layout.primes);
    let shape = level.and_then(|level| Shape::new(&params.ring, level, layout.rows, layout.cols()));
    shape.ok_or_else(|| Misuse::Rule("checked parameters have a table").into())
}

/// Bytes of the image.
pub(super) fn bytes<F: Family>(params: &Params<F>) -> u64 {
    cost::image_bytes(&params.layout)
}

/// An open image.
pub struct Table<F: Family> {
    params: Params<F>,
    held: Held,
    /// The shape of each table.
    pub(super) shape: Shape,
}

impl<F: Family> Table<F> {
    /// Opens an image.
    ///
    /// # Errors
    /// [`sotto_core::PeerMisbehaved::Length`] if it is not the image of these parameters.
    pub(super) fn open(params: &Params<F>, image: Arc<dyn Image>) -> Result<Self> {
        let shape = shape(params)?;
        let held = Held::open(image, Section::Resident, "table", bytes(params))?;
        Ok(Table { params: params.clone(), held, shape })
    }

    /// The parameters.
    pub(crate) fn params(&self) -> &Params<F> {
        &self.params
    }

    /// Reads bytes of the image.
    ///
    /// # Errors
    /// [`Misuse::Rule`] past its end.
    pub(super) fn at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset).ok();
        let bytes = start.and_then(|start| self.held.bytes().get(start..start.checked_add(out.len())?));
        out.copy_from_slice(bytes.ok_or(Misuse::Rule("an image has every line of its layout"))?);
        Ok(())
    }

    /// The bytes of one table.
    pub(super) fn table(&self, table: usize) -> &[u8] {
        let each = self.shape.bytes() as usize;
        self.held.bytes().chunks_exact(each).nth(table).unwrap_or_default()
    }
}
