//! What the memory of a card gives: the limit of every pass for one query.

use crate::card::Gpu;
use crate::error::Result;
use std::time::{Duration, Instant};
use wgpu::{BufferUsages, ComputePassDescriptor};

/// Workgroups that read, each a stretch after the other.
const WORKGROUPS: u32 = 4096;

/// Times of reading and copying memory of a card, once each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySpeed {
    /// Bytes that were read, or copied.
    pub bytes: u64,
    /// The time of reading them.
    pub read: Duration,
    /// The time of copying them.
    pub copy: Duration,
}

impl MemorySpeed {
    /// Measures a card, with two buffers of at most this many bytes. Each time is the best of some, with
    /// the way to the card and back.
    ///
    /// # Errors
    /// [`GpuError::Driver`](crate::GpuError::Driver).
    pub fn measure(gpu: &Gpu, bytes: u64) -> Result<Self> {
        let bytes = bytes.min(gpu.max_buffer_bytes()) / 4096 * 4096;
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let workspace = gpu.workspace();
        let [from, to] = [usage; 2].map(|usage| gpu.buffer(bytes, usage));
        let sums = gpu.buffer(u64::from(WORKGROUPS) * 1024, BufferUsages::STORAGE);
        let group = gpu.bind(&gpu.kernels.read, &[&from, &sums]);
        let time = |copies: bool| -> Result<Duration> {
            let mut best = Duration::MAX;
            for _ in 0..5 {
                let mut encoder =
                    gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                if copies {
                    encoder.copy_buffer_to_buffer(&from, 0, &to, 0, Some(bytes));
                } else {
                    let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
                    pass.set_pipeline(&gpu.kernels.read);
                    pass.set_bind_group(0, &group, &[]);
                    pass.dispatch_workgroups(WORKGROUPS, 1, 1);
                }
                let commands = encoder.finish();
                let begin = Instant::now();
                gpu.queue.submit([commands]);
                gpu.wait(&workspace)?;
                best = best.min(begin.elapsed());
            }
            Ok(best)
        };
        Ok(MemorySpeed { bytes, read: time(false)?, copy: time(true)? })
    }
}
