//! What passes leave behind for the next.

use std::time::Duration;
use wgpu::BufferUsages;

/// Times of a pass on the card.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct PassTimes {
    /// Arranging the queries.
    pub arrange: Duration,
    /// Multiplying.
    pub multiply: Duration,
    /// Combining the sums.
    pub combine: Duration,
}

/// What passes leave behind: buffers, which the next one uses again, and the times of the last.
#[derive(Default)]
pub(crate) struct Workspace {
    buffers: Vec<((&'static str, usize), wgpu::Buffer)>,
    pub(crate) times: Option<PassTimes>,
}

impl Workspace {
    /// A buffer with this name and number, and at least this many bytes.
    pub(crate) fn reserve(
        &mut self,
        device: &wgpu::Device,
        name: (&'static str, usize),
        bytes: u64,
        usage: BufferUsages,
    ) -> wgpu::Buffer {
        self.buffers.retain(|(other, buffer)| *other != name || buffer.size() >= bytes);
        if let Some((_, buffer)) = self.buffers.iter().find(|(other, _)| *other == name) {
            return buffer.clone();
        }
        let buffer = buffer(device, bytes, usage);
        self.buffers.push((name, buffer.clone()));
        buffer
    }
}

/// A new buffer of at least this many bytes.
pub(crate) fn buffer(device: &wgpu::Device, bytes: u64, usage: BufferUsages) -> wgpu::Buffer {
    let size = bytes.next_multiple_of(16).max(16);
    device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}
