//! The pass: queries go to the card, are multiplied, and their products come back.
//!
//! Three steps, each a kernel: planes of all queries are arranged in slabs as the table is; tiles of
//! rows are multiplied by tiles of planes, in splits of the columns; and the sums of the splits become
//! products, without what the flipped sign bits added.
//!
//! All sums are modulo 2^32. Those of a *segment* of 2^16 columns are exact as signed numbers, since
//! 2^16 times 128 times 255 is below 2^31; sums of segments are added up in 64 bits by the processor.

use crate::byte_matrix::{ByteMatrix, PanelBuffer, SLAB_COLS};
use crate::card::Gpu;
use crate::error::{GpuError, Result};
use crate::pass_kernel::PassKernel;
use crate::stamps::Stamps;
use crate::workspace::{PassTimes, Workspace};
use rayon::prelude::*;
use sotto_core::PassQuery;
use sotto_math::matrix::{GROUP_COLS, PANEL_ROWS};
use wgpu::{BufferUsages, MapMode};
use zerocopy::{FromBytes, IntoBytes};

/// Slabs of a segment.
const SEGMENT: usize = (1 << 16) / SLAB_COLS;

/// Slabs of the smallest split.
const MIN_SPLIT: usize = 256;

/// Rows that a split's sums are padded to: those of the largest tile of a kernel.
const PADDED_ROWS: usize = 256;

/// Planes of one pass at most, and bytes of its sums and of its queries: memory of the card beyond the
/// table.
const MAX_PLANES: usize = 512;
const MAX_PASS_BYTES: u64 = 1 << 30;

/// Parts in which queries travel.
const MAX_UPLOADS: usize = 8;

/// Planes of a query that an output adds up: the first, and their number.
type Output = [u32; 2];

/// How a pass is divided.
struct Division {
    planes: usize,
    segments: usize,
    split_slabs: usize,
    splits: usize,
}

impl Division {
    fn new(matrix: &ByteMatrix, kernel: &PassKernel, planes: usize) -> Self {
        let planes = planes.next_multiple_of(kernel.tile_planes as usize);
        let tiles = matrix.layout.padded_rows().div_ceil(kernel.tile_rows as usize);
        let segments = matrix.slabs.div_ceil(SEGMENT);
        let workgroups = tiles * segments * (planes / kernel.tile_planes as usize);
        let room = matrix.pass_bytes() / (matrix.layout.padded_rows() * planes * segments * size_of::<u32>());
        // A segment has a power of two of splits.
        let most = (matrix.slabs.min(SEGMENT) / MIN_SPLIT).min(room).max(1);
        let cuts = kernel.workgroups.div_ceil(workgroups).clamp(1, 1 << most.ilog2()).next_power_of_two();
        let split_slabs = SEGMENT / cuts;
        Division { planes, segments, split_slabs, splits: matrix.slabs.div_ceil(split_slabs) }
    }
}

impl ByteMatrix {
    /// Multiplies the matrix by queries, modulo 2^32: one word for each row, padding included.
    ///
    /// # Errors
    /// [`GpuError::ForeignQuery`] for a query of another number of columns, [`GpuError::Driver`].
    pub fn times_u32(&self, queries: &[PassQuery<'_>]) -> Result<Vec<Vec<u32>>> {
        self.times_u32_with(None, queries)
    }

    /// Multiplies the matrix by queries, in exact integers: a sum for each row and byte plane of the
    /// query, in the order of [`sotto_math::matrix::scan_planes`].
    ///
    /// # Errors
    /// As [`times_u32`](Self::times_u32).
    pub fn times_planes(&self, queries: &[PassQuery<'_>]) -> Result<Vec<Vec<i64>>> {
        self.times_planes_with(None, queries)
    }

    /// Computes [`times_u32`](Self::times_u32) by the kernel of this number.
    ///
    /// # Errors
    /// As [`times_u32`](Self::times_u32).
    pub fn times_u32_with(&self, kernel: Option<usize>, queries: &[PassQuery<'_>]) -> Result<Vec<Vec<u32>>> {
        let rows = self.layout.padded_rows();
        self.in_batches(queries, |queries| {
            let mut first = 0;
            let output = |query: &PassQuery<'_>| {
                let output = [first, query.planes.min(4) as u32];
                first += query.planes as u32;
                output
            };
            let outputs: Vec<Output> = queries.iter().map(output).collect();
            self.pass(kernel, queries, &outputs, false, |words| {
                let of_query = |i: usize| words.get(i * rows..(i + 1) * rows).unwrap_or_default().to_vec();
                (0..queries.len()).into_par_iter().map(of_query).collect()
            })
        })
    }

    /// Computes [`times_planes`](Self::times_planes) by the kernel of this number.
    ///
    /// # Errors
    /// As [`times_u32`](Self::times_u32).
    pub fn times_planes_with(
        &self,
        kernel: Option<usize>,
        queries: &[PassQuery<'_>],
    ) -> Result<Vec<Vec<i64>>> {
        let rows = self.layout.padded_rows();
        self.in_batches(queries, |queries| {
            let planes: usize = queries.iter().map(|query| query.planes).sum();
            let outputs: Vec<Output> = (0..planes as u32).map(|plane| [plane, 1]).collect();
            let starts = queries.iter().scan(0, |end, query| {
                let start = *end;
                *end += query.planes * rows;
                Some((start, query.planes))
            });
            let starts: Vec<(usize, usize)> = starts.collect();
            self.pass(kernel, queries, &outputs, true, |words| {
                let of_query = |(start, planes): &(usize, usize)| {
                    let mut sums = vec![0; rows * planes];
                    let segments = words.chunks_exact((rows * outputs.len()).max(1));
                    for segment in segments.filter_map(|words| words.get(*start..start + rows * planes)) {
                        for (plane, words) in segment.chunks_exact(rows).enumerate() {
                            for (sum, word) in sums.iter_mut().skip(plane).step_by(*planes).zip(words) {
                                *sum += i64::from(*word as i32);
                            }
                        }
                    }
                    sums
                };
                starts.par_iter().map(of_query).collect()
            })
        })
    }

    /// The times of the last pass of any matrix on this card, if the driver reports times.
    pub fn last_times(&self) -> Option<PassTimes> {
        self.gpu.workspace().times
    }

    /// Bytes of sums that a pass may have: half a buffer, since planes are padded to those of a tile.
    fn pass_bytes(&self) -> usize {
        MAX_PASS_BYTES.min(self.gpu.max_buffer_bytes() / 2) as usize
    }

    /// Makes passes with as many queries as fit one.
    fn in_batches<T>(
        &self,
        queries: &[PassQuery<'_>],
        pass: impl Fn(&[PassQuery<'_>]) -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        let want = self.layout.padded_cols() / GROUP_COLS;
        let segments = self.slabs.div_ceil(SEGMENT);
        let plane_bytes =
            (self.layout.padded_rows() * segments * size_of::<u32>()).max(self.slabs * SLAB_COLS);
        let most = MAX_PLANES.min(self.pass_bytes() / plane_bytes.max(1));
        let mut out = Vec::with_capacity(queries.len());
        let mut left = queries;
        while let Some(first) = left.first() {
            let mut planes = first.planes;
            let more = left.iter().skip(1).take_while(|query| {
                planes += query.planes;
                planes <= most
            });
            let batch = left.split_off(..1 + more.count()).unwrap_or_default();
            let groups = |query: &PassQuery<'_>| query.words.len().checked_div(query.planes).unwrap_or(0);
            if let Some(got) = batch.iter().map(groups).find(|got| *got != want) {
                return Err(GpuError::ForeignQuery { want, got });
            }
            // A failed pass may leave buffers behind that no other can use.
            let products = pass(batch).inspect_err(|_| *self.gpu.workspace() = Workspace::default());
            out.extend(products?);
        }
        Ok(out)
    }

    /// One pass. `read` makes the results from the words of all outputs, for each segment if sums are
    /// `exact`, each with a word for every row.
    fn pass<T>(
        &self,
        kernel: Option<usize>,
        queries: &[PassQuery<'_>],
        outputs: &[Output],
        exact: bool,
        read: impl FnOnce(&[u32]) -> Vec<T>,
    ) -> Result<Vec<T>> {
        let (gpu, rows) = (&*self.gpu, self.layout.padded_rows());
        let planes = queries.iter().map(|query| query.planes).sum();
        let kernel = gpu.kernels.passes.get(kernel.unwrap_or_else(|| gpu.kernels.choose(planes)));
        let kernel = kernel.ok_or_else(|| GpuError::driver("there is no such kernel"))?;
        if rows == 0 || self.slabs == 0 {
            return Ok(read(&vec![0; outputs.len() * rows]));
        }
        let by = Division::new(self, kernel, planes);
        let results = if exact { by.segments } else { 1 } * outputs.len() * rows * size_of::<u32>();
        let query_bytes: usize = queries.iter().map(|query| size_of_val(query.words)).sum();

        let mut workspace = gpu.workspace();
        let mut reserve =
            |name, bytes: usize, usage| workspace.reserve(&gpu.device, (name, 0), bytes as u64, usage);
        let (storage, copied) = (BufferUsages::STORAGE, BufferUsages::STORAGE | BufferUsages::COPY_DST);
        let staged = reserve("queries", query_bytes, copied);
        let arranged = reserve("arranged queries", self.slabs * by.planes * SLAB_COLS, storage);
        let totals = reserve("totals", by.segments * by.planes * size_of::<u32>(), copied);
        let result = reserve("results", results, storage | BufferUsages::COPY_SRC);
        let download = reserve("download", results, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let places = reserve("places", by.planes * size_of::<Output>(), copied);
        let of_results = reserve("outputs", size_of_val(outputs), copied);
        let sum_bytes = |panels: usize| by.splits * by.planes * padded(panels) * size_of::<u32>();
        let uploads = uploads(gpu, &mut workspace, queries);
        // Buffers with sums of their own are multiplied at the same time.
        let sums_of = |(i, part): (usize, &PanelBuffer)| {
            workspace.reserve(&gpu.device, ("sums", i), sum_bytes(part.panels.len()) as u64, storage)
        };
        let sums: Vec<wgpu::Buffer> = self.buffers.iter().enumerate().map(sums_of).collect();

        gpu.queue.write_buffer(&places, 0, places_of(queries, by.planes).as_bytes());
        gpu.queue.write_buffer(&of_results, 0, outputs.as_bytes());
        gpu.wait(&workspace)?;
        uploads.par_iter().try_for_each(Upload::fill)?;

        let mut stamps = Stamps::new(gpu);
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut start = 0;
        for Upload { buffer, bytes, .. } in &uploads {
            encoder.copy_buffer_to_buffer(buffer, 0, &staged, start, Some(*bytes));
            start += bytes;
        }
        encoder.clear_buffer(&totals, 0, None);
        let shape =
            [self.slabs, by.planes, self.layout.padded_cols() / GROUP_COLS, SEGMENT].map(|n| n as u32);
        let group =
            gpu.bind(&gpu.kernels.arrange, &[&staged, &places, &arranged, &totals, &gpu.uniform(&shape)]);
        let mut pass = encoder.begin_compute_pass(&stamps.next());
        pass.set_pipeline(&gpu.kernels.arrange);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(self.slabs.div_ceil(256) as u32, by.planes as u32, 1);
        drop(pass);

        let mut pass = encoder.begin_compute_pass(&stamps.next());
        pass.set_pipeline(&kernel.pipeline);
        for (part, sums) in self.buffers.iter().zip(&sums) {
            let panels = part.panels.len();
            let shape = [self.slabs, by.planes, panels, by.split_slabs, padded(panels)].map(|n| n as u32);
            let group = gpu.bind(&kernel.pipeline, &[&part.buffer, &arranged, sums, &gpu.uniform(&shape)]);
            pass.set_bind_group(0, &group, &[]);
            let tiles = (panels * PANEL_ROWS).div_ceil(kernel.tile_rows as usize);
            pass.dispatch_workgroups(by.planes as u32 / kernel.tile_planes, tiles as u32, by.splits as u32);
        }
        drop(pass);

        let mut pass = encoder.begin_compute_pass(&stamps.next());
        pass.set_pipeline(&gpu.kernels.combine);
        let together = if exact { [SEGMENT / by.split_slabs, 1] } else { [by.splits, by.segments] };
        for (part, sums) in self.buffers.iter().zip(&sums) {
            let part_rows = part.panels.len() * PANEL_ROWS;
            let [splits, segments] = together;
            let shape = [
                padded(part.panels.len()),
                part_rows,
                by.planes,
                splits,
                segments,
                by.splits,
                by.segments,
                part.panels.start * PANEL_ROWS,
                rows,
                outputs.len(),
            ];
            let shape = gpu.uniform(&shape.map(|n| n as u32));
            let group = gpu.bind(&gpu.kernels.combine, &[sums, &totals, &of_results, &result, &shape]);
            pass.set_bind_group(0, &group, &[]);
            let segments = if exact { by.segments } else { 1 };
            pass.dispatch_workgroups(part_rows.div_ceil(256) as u32, outputs.len() as u32, segments as u32);
        }
        drop(pass);
        encoder.copy_buffer_to_buffer(&result, 0, &download, 0, Some(results as u64));
        stamps.resolve(&mut encoder);
        gpu.queue.submit([encoder.finish()]);

        download.map_async(MapMode::Read, ..results as u64, |_| {});
        let times = stamps.read(gpu, &workspace)?;
        gpu.wait(&workspace)?;
        let out = {
            let view = download.get_mapped_range(..results as u64).map_err(GpuError::driver)?;
            let words =
                <[u32]>::ref_from_bytes(&view).map_err(|_| GpuError::driver("memory is not aligned"))?;
            read(words)
        };
        download.unmap();
        workspace.times = times;
        Ok(out)
    }
}

/// Rows of some panels in sums.
fn padded(panels: usize) -> usize {
    (panels * PANEL_ROWS).next_multiple_of(PADDED_ROWS)
}

/// Where each plane begins in the words of all queries, and the words from one group to the next; none
/// for padding.
fn places_of(queries: &[PassQuery<'_>], planes: usize) -> Vec<Output> {
    let mut places = Vec::with_capacity(planes);
    let mut start = 0;
    for query in queries {
        let step = query.planes as u32;
        places.extend((0..step).map(|plane| [start + plane, step]));
        start += query.words.len() as u32;
    }
    places.resize(planes, [0, 0]);
    places
}

/// Queries on their way to the card, in memory that it can read. Several threads fill some each.
struct Upload<'a> {
    buffer: wgpu::Buffer,
    bytes: u64,
    queries: &'a [PassQuery<'a>],
}

/// Divides queries, and asks for memory for them, which can be written after the next wait.
fn uploads<'a>(gpu: &Gpu, workspace: &mut Workspace, queries: &'a [PassQuery<'a>]) -> Vec<Upload<'a>> {
    let each = queries.len().div_ceil(MAX_UPLOADS).max(1);
    let upload = |(i, queries): (usize, &'a [PassQuery<'a>])| {
        let bytes = queries.iter().map(|query| size_of_val(query.words) as u64).sum();
        let usage = BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC;
        let buffer = workspace.reserve(&gpu.device, ("upload", i), bytes, usage);
        buffer.map_async(MapMode::Write, ..bytes, |_| {});
        Upload { buffer, bytes, queries }
    };
    queries.chunks(each).enumerate().map(upload).collect()
}

impl Upload<'_> {
    fn fill(&self) -> Result<()> {
        let mut view = self.buffer.get_mapped_range_mut(..self.bytes).map_err(GpuError::driver)?;
        let mut left = view.slice(..);
        for query in self.queries {
            let words = query.words.as_bytes();
            if let Some(mut place) = left.split_off(..words.len()) {
                place.copy_from_slice(words);
            }
        }
        drop(view);
        self.buffer.unmap();
        Ok(())
    }
}
