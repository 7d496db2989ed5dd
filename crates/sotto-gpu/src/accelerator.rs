//! A card as the accelerator of a server's tables.

use crate::byte_matrix::ByteMatrix;
use crate::card::{Card, Gpu};
use crate::error::{GpuError, Result};
use sotto_core::{AcceleratedMatrix, Accelerator, AcceleratorError, PassProducts, PassQuery, TableMatrix};
use sotto_math::matrix::PanelLayout;
use std::fmt;
use std::sync::Arc;

/// An open card that takes copies of tables.
pub struct CardAccelerator {
    gpu: Arc<Gpu>,
    name: String,
}

impl CardAccelerator {
    /// Opens a card whose tables may take some memory; `None` allows as much as its driver gives.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    pub fn open(card: &Card, table_bytes: Option<u64>) -> Result<Self> {
        Ok(CardAccelerator {
            gpu: Arc::new(card.open()?.with_table_bytes(table_bytes)),
            name: card.to_string(),
        })
    }

    /// Bytes that tables take at present.
    pub fn table_bytes(&self) -> u64 {
        self.gpu.table_bytes()
    }
}

impl fmt::Display for CardAccelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for CardAccelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CardAccelerator({})", self.name)
    }
}

impl Accelerator for CardAccelerator {
    fn copy(
        &self,
        matrices: &[TableMatrix<'_>],
    ) -> Result<Vec<Box<dyn AcceleratedMatrix>>, AcceleratorError> {
        let layouts = || matrices.iter().map(|matrix| PanelLayout::new(matrix.rows, matrix.cols));
        self.gpu.check_memory(layouts().map(|layout| ByteMatrix::bytes_of(&layout)).sum())?;
        // Memory for all is there before anything is copied.
        let copies: Vec<ByteMatrix> =
            layouts().map(|layout| ByteMatrix::new(self.gpu.clone(), layout)).collect::<Result<_>>()?;
        let written = copies.iter().zip(matrices).try_for_each(|(copy, matrix)| copy.write(0, matrix.panels));
        written?;
        Ok(copies.into_iter().map(|copy| Box::new(copy) as Box<dyn AcceleratedMatrix>).collect())
    }
}

impl AcceleratedMatrix for ByteMatrix {
    fn times_u32(&self, queries: &[PassQuery<'_>]) -> PassProducts<u32> {
        Ok(ByteMatrix::times_u32(self, queries)?)
    }

    fn times_planes(&self, queries: &[PassQuery<'_>]) -> PassProducts<i64> {
        Ok(ByteMatrix::times_planes(self, queries)?)
    }
}

impl From<GpuError> for AcceleratorError {
    fn from(error: GpuError) -> Self {
        match error {
            GpuError::Memory { want, left } => AcceleratorError::Memory { want, left },
            other => AcceleratorError::Failed(other.to_string()),
        }
    }
}
