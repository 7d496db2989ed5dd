//! All compiled kernels, and which of them makes a pass.

use crate::pass_kernel::{PassKernel, compile};
use crate::{cooperative, dot_kernel};

/// Planes up to which products of four bytes are faster than those of matrices: two queries of words.
const MAX_DOT_PLANES: u32 = 8;

/// All kernels.
pub(crate) struct Kernels {
    pub(crate) store: wgpu::ComputePipeline,
    pub(crate) arrange: wgpu::ComputePipeline,
    pub(crate) combine: wgpu::ComputePipeline,
    pub(crate) read: wgpu::ComputePipeline,
    /// Those of four bytes first, of ever more planes, then those of matrices.
    pub(crate) passes: Vec<PassKernel>,
    dots: usize,
}

impl Kernels {
    /// Compiles all kernels, with those of matrices if the device has them.
    pub(crate) fn compile(device: &wgpu::Device, cooperative: bool) -> Self {
        let wgsl = |name: &str, source: &str| compile(device, name, source);
        let mut passes = dot_kernel::kernels(device);
        let dots = passes.len();
        if cooperative {
            passes.extend(cooperative::kernels(device));
        }
        Kernels {
            store: wgsl("store", include_str!("shaders/store.wgsl")),
            arrange: wgsl("arrange", include_str!("shaders/arrange.wgsl")),
            combine: wgsl("combine", include_str!("shaders/combine.wgsl")),
            read: wgsl("read", include_str!("shaders/read.wgsl")),
            passes,
            dots,
        }
    }

    /// The number of the kernel for a pass with this many planes.
    pub(crate) fn choose(&self, planes: usize) -> usize {
        let (dots, matrices) = self.passes.split_at_checked(self.dots).unwrap_or((&self.passes, &[]));
        let smallest = |kernels: &[PassKernel]| {
            let fits = kernels.iter().position(|kernel| kernel.tile_planes as usize >= planes);
            fits.unwrap_or(kernels.len().saturating_sub(1))
        };
        if planes <= MAX_DOT_PLANES as usize || matrices.is_empty() {
            smallest(dots)
        } else {
            dots.len() + smallest(matrices)
        }
    }
}
