//! The pass by products of matrices of bytes, where the driver has them: the tensor cores of a card.
//!
//! The language of the other shaders has no matrices of bytes yet. So this kernel is written in GLSL
//! (`shaders/cooperative.comp`, for `GL_KHR_cooperative_matrix`) and committed as what
//! `shaders/compile` makes of it, one module for each size.

use crate::pass_kernel::{PassKernel, pass_layout};
use std::borrow::Cow;
use wgpu::{ExperimentalFeatures, Features};

/// What a device needs for these kernels.
pub(crate) const FEATURES: Features =
    Features::PASSTHROUGH_SHADERS.union(Features::EXPERIMENTAL_COOPERATIVE_MATRIX);

/// The vendor of the cards whose drivers all have matrices of 16 by 32 unsigned bytes where they have
/// any. `wgpu` does not report matrices of bytes, so that those of others cannot be asked for.
const VENDOR: u32 = 0x10DE;

/// Lanes of a subgroup that the kernels rely on.
const LANES: u32 = 32;

/// Workgroups that keep a card busy.
const WORKGROUPS: usize = 1024;

macro_rules! modules {
    ($($rows:literal x $planes:literal, $threads:literal threads;)*) => {
        [$(($rows, $planes, $threads, include_bytes!(concat!("shaders/cooperative-", $rows, "x", $planes, ".spv")))),*]
    };
}

/// Rows and planes of a tile, threads of a workgroup, and the module, of ever more planes.
const MODULES: [(u32, u32, u32, &[u8]); 3] = modules! {
    128 x 32, 128 threads;
    128 x 64, 128 threads;
    128 x 128, 128 threads;
};

/// Whether a card has what the kernels need.
pub(crate) fn supported(adapter: &wgpu::Adapter, info: &wgpu::AdapterInfo) -> bool {
    info.vendor == VENDOR
        && info.backend == wgpu::Backend::Vulkan
        && [info.subgroup_min_size, info.subgroup_max_size] == [LANES; 2]
        && adapter.features().contains(FEATURES)
}

/// The permission to use features that `wgpu` calls experimental.
pub(crate) fn experimental(wanted: bool) -> ExperimentalFeatures {
    if wanted {
        // SAFETY: the only such feature that is requested is that of cooperative matrices, and the only modules
        // that use it are those below, which were validated when they were compiled.
        unsafe { ExperimentalFeatures::enabled() }
    } else {
        ExperimentalFeatures::disabled()
    }
}

/// Creates the kernels, of ever more planes.
pub(crate) fn kernels(device: &wgpu::Device) -> Vec<PassKernel> {
    let layout = pass_layout(device);
    let kernel = |(tile_rows, tile_planes, threads, bytes): (u32, u32, u32, &[u8])| {
        let name = format!("matrices of {tile_rows} x {tile_planes}");
        let words: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let entry = wgpu::PassthroughShaderEntryPoint {
            name: Cow::Borrowed("main"),
            workgroup_size: (threads, 1, 1),
        };
        // SAFETY: the words are a constant of this crate that was validated when it was compiled, the device has
        // the features that it declares, and the driver checks bounds (`robustBufferAccess`).
        let module = unsafe {
            device.create_shader_module_passthrough(wgpu::ShaderModuleDescriptorPassthrough {
                label: Some(&name),
                entry_points: Cow::Owned(vec![entry]),
                spirv: Some(Cow::Owned(words)),
                ..Default::default()
            })
        };
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&name),
            layout: Some(&layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        PassKernel { name, tile_rows, tile_planes, workgroups: WORKGROUPS, pipeline }
    };
    MODULES.map(kernel).into()
}
