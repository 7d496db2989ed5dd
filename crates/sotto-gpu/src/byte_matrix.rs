//! A table in the memory of a card.
//!
//! The card has the bytes of a panel in *slabs*, 16 columns of each of the 64 rows, so that threads
//! with neighboring rows read 16 bytes each, and a row of a tile of matrix products is read likewise.
//! The sign bit is flipped: a signed byte x is there as the unsigned byte x + 128, because cards
//! multiply unsigned bytes by unsigned bytes, and 128 times the sum of a query is subtracted in the
//! end. Panels are in several buffers, since a buffer of a card has a limit far below its memory.

use crate::card::{Gpu, MemoryGrant};
use crate::error::{GpuError, Result};
use sotto_math::matrix::{GROUP_BYTES, GROUP_COLS, PANEL_ROWS, PanelLayout};
use std::ops::Range;
use std::sync::Arc;
use wgpu::{BufferUsages, CommandEncoderDescriptor, ComputePassDescriptor};

/// Columns of a slab.
pub(crate) const SLAB_COLS: usize = 16;

/// Bytes of a slab of a panel.
const SLAB_BYTES: usize = SLAB_COLS * PANEL_ROWS;

/// Slabs that kernels multiply at a time.
const STEP: usize = 4;

/// Bytes that travel to the card at a time.
const STAGED_BYTES: usize = 32 << 20;

/// Maximum number of workgroups in a dimension, on every card.
pub(crate) const MAX_GROUPS: usize = 65535;

/// Consecutive panels in one buffer.
pub(crate) struct PanelBuffer {
    pub(crate) panels: Range<usize>,
    pub(crate) buffer: wgpu::Buffer,
}

/// A matrix of signed bytes in the memory of a card. Its panels are written one by one, and are zero
/// before.
pub struct ByteMatrix {
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) layout: PanelLayout,
    /// Slabs of a panel, with padding.
    pub(crate) slabs: usize,
    pub(crate) buffers: Vec<PanelBuffer>,
    _memory: MemoryGrant,
}

/// Slabs of a panel, with padding.
fn slabs_of(layout: &PanelLayout) -> usize {
    layout.padded_cols().div_ceil(SLAB_COLS).next_multiple_of(STEP)
}

impl ByteMatrix {
    /// Takes memory of the card for a matrix.
    ///
    /// # Errors
    /// [`GpuError::WideTable`] if a panel exceeds a buffer, [`GpuError::Driver`] if the memory of the
    /// card is full.
    pub fn new(gpu: Arc<Gpu>, layout: PanelLayout) -> Result<Self> {
        let limit = gpu.max_buffer_bytes();
        Self::in_buffers(gpu, layout, limit)
    }

    /// Takes memory in buffers of at most this many bytes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn in_buffers(gpu: Arc<Gpu>, layout: PanelLayout, buffer_bytes: u64) -> Result<Self> {
        let slabs = slabs_of(&layout);
        let panel = (slabs * SLAB_BYTES) as u64;
        let buffer = buffer_bytes.min(gpu.max_buffer_bytes());
        let most = (buffer / panel.max(1)).min(MAX_GROUPS as u64) as usize;
        if most == 0 {
            return Err(GpuError::WideTable { panel, buffer });
        }
        let workspace = gpu.workspace();
        // The memory of matrices that were dropped is released now.
        gpu.wait(&workspace)?;
        let memory = gpu.take_memory(Self::bytes_of(&layout))?;
        // Buffers of almost one size, so that a pass over one takes as long as over another.
        let each = layout.panels().div_ceil(layout.panels().div_ceil(most).max(1)).max(1);
        let buffer_from = |first: usize| {
            let panels = first..layout.panels().min(first + each);
            let buffer =
                gpu.buffer(panels.len() as u64 * panel, BufferUsages::STORAGE | BufferUsages::COPY_DST);
            PanelBuffer { panels, buffer }
        };
        let buffers = (0..layout.panels()).step_by(each).map(buffer_from).collect();
        gpu.wait(&workspace)?;
        drop(workspace);
        Ok(ByteMatrix { gpu, layout, slabs, buffers, _memory: memory })
    }

    /// Bytes of the card's memory that a matrix of this layout takes.
    pub fn bytes_of(layout: &PanelLayout) -> u64 {
        (slabs_of(layout) * SLAB_BYTES) as u64 * layout.panels() as u64
    }

    /// The layout of the matrix.
    pub fn layout(&self) -> &PanelLayout {
        &self.layout
    }

    /// Bytes of the card's memory that the matrix takes.
    pub fn card_bytes(&self) -> u64 {
        self.buffers.iter().map(|part| part.buffer.size()).sum()
    }

    /// Writes consecutive panels, from panel `first` on.
    ///
    /// # Errors
    /// [`GpuError::Panels`] for other bytes than whole panels of this matrix, [`GpuError::Driver`].
    pub fn write(&self, first: usize, panels: &[u8]) -> Result<()> {
        let panel = self.layout.panel_bytes();
        let count = panels.len().checked_div(panel).unwrap_or(0);
        if count * panel != panels.len() || first.saturating_add(count) > self.layout.panels() {
            return Err(GpuError::Panels { panel: panel as u64, got: panels.len() as u64 });
        }
        let mut left = panels;
        for part in &self.buffers {
            let mut from = part.panels.start.max(first);
            let to = part.panels.end.min(first + count);
            while from < to {
                // As many panels as can travel together, or a part of one.
                let together = (STAGED_BYTES / panel).clamp(1, MAX_GROUPS).min(to - from);
                let bytes = left.split_off(..together * panel).unwrap_or_default();
                self.write_some(part, from - part.panels.start, together, bytes)?;
                from += together;
            }
        }
        Ok(())
    }

    /// Writes panels of one buffer: several that fit what travels, or one.
    fn write_some(&self, to: &PanelBuffer, first: usize, panels: usize, bytes: &[u8]) -> Result<()> {
        let gpu = &self.gpu;
        let groups = self.layout.panel_bytes() / GROUP_BYTES;
        let together = if panels > 1 { self.slabs } else { STAGED_BYTES / SLAB_BYTES };
        let per_slab = SLAB_COLS / GROUP_COLS;
        for slab in (0..self.slabs).step_by(together) {
            let slabs = together.min(self.slabs - slab);
            // Groups beyond the last column do not travel.
            let range = (slab * per_slab).min(groups)..((slab + slabs) * per_slab).min(groups);
            let start = range.start * GROUP_BYTES;
            let sent = bytes.get(start..start + ((panels - 1) * groups + range.len()) * GROUP_BYTES);
            let mut workspace = gpu.workspace();
            let staged = workspace.reserve(
                &gpu.device,
                ("table", 0),
                STAGED_BYTES as u64,
                BufferUsages::STORAGE | BufferUsages::COPY_DST,
            );
            gpu.queue.write_buffer(&staged, 0, sent.unwrap_or_default());
            let piece = [first, slab, slabs, range.len(), self.slabs].map(|n| n as u32);
            let group = gpu.bind(&gpu.kernels.store, &[&staged, &to.buffer, &gpu.uniform(&piece)]);
            let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
            pass.set_pipeline(&gpu.kernels.store);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(slabs.div_ceil(STEP) as u32, panels as u32, 1);
            drop(pass);
            gpu.queue.submit([encoder.finish()]);
            // What travels is copied to memory of the driver before, which this bounds.
            gpu.wait(&workspace)?;
        }
        Ok(())
    }
}
