//! A kernel that makes a pass, and how shaders are compiled.

use std::borrow::Cow;
use std::num::NonZeroU64;
use wgpu::BufferBindingType;

/// A kernel that multiplies a table by planes of queries.
///
/// Workgroup (x, y, z) multiplies tile y of rows by tile x of planes, in split z of the columns.
pub(crate) struct PassKernel {
    pub(crate) name: String,
    /// Rows of a tile, a multiple of those of a panel or their number.
    pub(crate) tile_rows: u32,
    /// Planes of a tile.
    pub(crate) tile_planes: u32,
    /// Workgroups that keep the card busy.
    pub(crate) workgroups: usize,
    pub(crate) pipeline: wgpu::ComputePipeline,
}

/// Compiles the only kernel of a shader.
pub(crate) fn compile(device: &wgpu::Device, name: &str, source: &str) -> wgpu::ComputePipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(name),
        source: wgpu::ShaderSource::Wgsl(Cow::Borrowed(source)),
    });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(name),
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    })
}

/// The layout of what every kernel of a pass has: table, queries, sums, shape.
pub(crate) fn pass_layout(device: &wgpu::Device) -> wgpu::PipelineLayout {
    let storage = |read_only| (BufferBindingType::Storage { read_only }, None);
    let shape = (BufferBindingType::Uniform, NonZeroU64::new(SHAPE_WORDS as u64 * 4));
    let entries: Vec<_> = (0..)
        .zip([storage(true), storage(true), storage(false), shape])
        .map(|(binding, (ty, min_binding_size))| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size },
            count: None,
        })
        .collect();
    let group =
        device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
    device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &[Some(&group)],
        immediate_size: 0,
    })
}

/// Words of the shape of a pass: slabs of a row, planes, panels of the buffer, slabs of a split, rows
/// with padding.
pub(crate) const SHAPE_WORDS: usize = 5;
