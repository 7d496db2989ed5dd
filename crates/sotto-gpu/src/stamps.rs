//! The card's own clock.

use crate::card::Gpu;
use crate::error::{GpuError, Result};
use crate::workspace::{PassTimes, Workspace};
use std::time::Duration;
use wgpu::{BufferUsages, ComputePassDescriptor, MapMode};

/// Steps of a pass.
const STEPS: u32 = 3;

/// The times at which the steps of a pass begin and end.
pub(crate) struct Stamps {
    buffers: Option<(wgpu::QuerySet, [wgpu::Buffer; 2])>,
    step: u32,
}

impl Stamps {
    const BYTES: u64 = 2 * STEPS as u64 * 8;

    pub(crate) fn new(gpu: &Gpu) -> Self {
        let make = || {
            let count = 2 * STEPS;
            let ty = wgpu::QueryType::Timestamp;
            let set = gpu.device.create_query_set(&wgpu::QuerySetDescriptor { label: None, ty, count });
            let [resolved, read] = [
                BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC,
                BufferUsages::MAP_READ | BufferUsages::COPY_DST,
            ]
            .map(|usage| gpu.buffer(Self::BYTES, usage));
            (set, [resolved, read])
        };
        Stamps { buffers: gpu.has_timestamps().then(make), step: 0 }
    }

    /// Describes the next step.
    pub(crate) fn next(&mut self) -> ComputePassDescriptor<'_> {
        let step = self.step;
        self.step += 1;
        let timestamp_writes = self.buffers.as_ref().map(|(query_set, _)| wgpu::ComputePassTimestampWrites {
            query_set,
            beginning_of_pass_write_index: Some(2 * step),
            end_of_pass_write_index: Some(2 * step + 1),
        });
        ComputePassDescriptor { label: None, timestamp_writes }
    }

    pub(crate) fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        if let Some((set, [resolved, read])) = &self.buffers {
            encoder.resolve_query_set(set, 0..2 * STEPS, resolved, 0);
            encoder.copy_buffer_to_buffer(resolved, 0, read, 0, Some(Self::BYTES));
        }
    }

    pub(crate) fn read(&self, gpu: &Gpu, workspace: &Workspace) -> Result<Option<PassTimes>> {
        let Some((_, [_, read])) = &self.buffers else { return Ok(None) };
        read.map_async(MapMode::Read, ..Self::BYTES, |_| {});
        gpu.wait(workspace)?;
        let view = read.get_mapped_range(..Self::BYTES).map_err(GpuError::driver)?;
        let period = f64::from(gpu.queue.get_timestamp_period());
        let mut steps = view.as_chunks::<16>().0.iter().map(|pair| {
            let [from, to] = [0, 8]
                .map(|at| pair.iter().skip(at).take(8).rev().fold(0, |x, byte| x << 8 | u64::from(*byte)));
            Duration::from_nanos((to.saturating_sub(from) as f64 * period) as u64)
        });
        let mut next = || steps.next().unwrap_or_default();
        Ok(Some(PassTimes { arrange: next(), multiply: next(), combine: next() }))
    }
}
