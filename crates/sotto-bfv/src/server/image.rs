//! The image: table after table, as values modulo each prime that the plaintexts are multiplied at.

use crate::cost;
use crate::family::Family;
use crate::params::Params;
use sotto_core::{Image, ImageSection, Misuse, Result, Section};
use sotto_lattice::bgv::table_product::TableProduct as Shape;
use std::ops::Range;
use std::sync::Arc;

/// The shape of each table.
///
/// # Errors
/// None for checked parameters.
pub(super) fn shape<F: Family>(params: &Params<F>) -> Result<Shape> {
    shape_of(params, params.layout.cols())
}

/// The shape of `cols` columns of each table.
fn shape_of<F: Family>(params: &Params<F>, cols: usize) -> Result<Shape> {
    let level = params.ring.level(params.layout.primes);
    let shape = level.and_then(|level| Shape::new(&params.ring, level, params.layout.rows, cols));
    shape.ok_or_else(|| Misuse::Rule("checked parameters must have a table").into())
}

/// Bytes of the image.
pub(super) fn bytes<F: Family>(params: &Params<F>) -> u64 {
    cost::image_bytes(&params.layout)
}

/// An open image of plaintext values, or of some columns of each of its tables.
pub struct PlaintextTable<F: Family> {
    params: Params<F>,
    held: ImageSection,
    /// The shape of each table.
    pub(super) shape: Shape,
    /// Columns of each table that the image has.
    pub(super) share: ColumnRange,
}

/// Columns of each table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ColumnRange {
    pub(super) cols: Range<usize>,
    /// Whether all columns of each answer are in one share.
    pub(super) whole: bool,
}

impl<F: Family> PlaintextTable<F> {
    /// Opens an image.
    ///
    /// # Errors
    /// [`sotto_core::PeerMisbehaved::Length`] if it is not the image of these parameters.
    pub(super) fn open(params: &Params<F>, image: Arc<dyn Image>) -> Result<Self> {
        Self::open_some(params, ColumnRange { cols: 0..params.layout.cols(), whole: true }, image)
    }

    /// Opens an image that has some columns of each table.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub(super) fn open_some(params: &Params<F>, share: ColumnRange, image: Arc<dyn Image>) -> Result<Self> {
        let shape = shape_of(params, share.cols.len())?;
        let bytes = params.layout.tables() as u64 * shape.bytes();
        let held = ImageSection::open(image, Section::Resident, "table", bytes)?;
        Ok(PlaintextTable { params: params.clone(), held, shape, share })
    }

    /// The parameters of the table.
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
        out.copy_from_slice(bytes.ok_or(Misuse::Rule("the range must be within the image"))?);
        Ok(())
    }

    /// The bytes of one table.
    pub(super) fn table(&self, table: usize) -> &[u8] {
        let each = self.shape.bytes() as usize;
        self.held.bytes().chunks_exact(each).nth(table).unwrap_or_default()
    }
}
