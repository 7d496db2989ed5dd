//! The cards of the machine, and the one that is opened.

use crate::cooperative;
use crate::error::{GpuError, Result};
use crate::kernels::Kernels;
use crate::workspace::{Workspace, buffer};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wgpu::{BufferUsages, Features};
use zerocopy::IntoBytes;

/// Maximum time that a card may take for what it was given: longer than any pass takes, and short enough
/// for clients to wait.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A card that a driver of the machine lists.
pub struct Card {
    adapter: wgpu::Adapter,
    info: wgpu::AdapterInfo,
}

impl Card {
    /// Finds the cards of the machine: those with memory of their own first, software last.
    pub fn find() -> Vec<Card> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::PRIMARY;
        let instance = wgpu::Instance::new(descriptor);
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        let mut cards: Vec<Card> =
            adapters.into_iter().map(|adapter| Card { info: adapter.get_info(), adapter }).collect();
        cards.sort_by_key(|card| match card.info.device_type {
            wgpu::DeviceType::DiscreteGpu => 0,
            wgpu::DeviceType::IntegratedGpu => 1,
            wgpu::DeviceType::VirtualGpu | wgpu::DeviceType::Other => 2,
            wgpu::DeviceType::Cpu => 3,
        });
        cards
    }

    /// Whether the processor does the work of this card.
    pub fn is_software(&self) -> bool {
        self.info.device_type == wgpu::DeviceType::Cpu
    }

    /// Opens the card, and compiles the kernels for it.
    ///
    /// # Errors
    /// [`GpuError::Driver`] if the driver refuses.
    pub fn open(&self) -> Result<Gpu> {
        let limits = self.adapter.limits();
        let cooperative = cooperative::supported(&self.adapter, &self.info);
        let required_features = if cooperative { cooperative::FEATURES } else { Features::empty() };
        let (device, queue) = pollster::block_on(self.adapter.request_device(&wgpu::DeviceDescriptor {
            required_features: required_features | (self.adapter.features() & Features::TIMESTAMP_QUERY),
            required_limits: limits.clone(),
            experimental_features: cooperative::experimental(cooperative),
            memory_hints: wgpu::MemoryHints::Performance,
            ..Default::default()
        }))
        .map_err(GpuError::driver)?;
        // Without a handler an error ends the process.
        let failure = Arc::new(Mutex::new(None));
        let first = Arc::clone(&failure);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            lock(&first).get_or_insert_with(|| error.to_string());
        }));
        let kernels = Kernels::compile(&device, cooperative);
        let gpu = Gpu {
            device,
            queue,
            limits,
            kernels,
            failure,
            table_bytes: Arc::default(),
            max_table_bytes: u64::MAX,
            turn: Mutex::default(),
            workspace: Mutex::default(),
        };
        gpu.wait(&gpu.workspace())?;
        Ok(gpu)
    }
}

impl fmt::Display for Card {
    /// The card and its driver.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wgpu::AdapterInfo { name, driver, driver_info, backend, .. } = &self.info;
        write!(f, "{name} ({backend}, {driver} {driver_info})")
    }
}

/// An open card with compiled kernels. One pass runs at a time.
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: wgpu::Limits,
    pub(crate) kernels: Kernels,
    failure: Arc<Mutex<Option<String>>>,
    /// Bytes that tables take, and how many they may take.
    table_bytes: Arc<AtomicU64>,
    max_table_bytes: u64,
    /// Held by who waits for the workspace first, so that a pass waits for one piece of a table that is
    /// written, and not for all of them.
    turn: Mutex<()>,
    workspace: Mutex<Workspace>,
}

/// Bytes of the card's memory that a table has, until it is dropped.
pub(crate) struct MemoryGrant {
    taken: Arc<AtomicU64>,
    bytes: u64,
}

impl Drop for MemoryGrant {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Gpu {
    /// Sets the number of bytes that tables may take; `None` allows what the driver gives.
    pub fn with_table_bytes(self, max: Option<u64>) -> Self {
        Gpu { max_table_bytes: max.unwrap_or(u64::MAX), ..self }
    }

    /// Bytes that tables take at present.
    pub fn table_bytes(&self) -> u64 {
        self.table_bytes.load(Ordering::Relaxed)
    }

    /// Checks that tables may take this many bytes more.
    pub(crate) fn check_memory(&self, want: u64) -> Result<()> {
        let left = self.max_table_bytes.saturating_sub(self.table_bytes());
        if want > left { Err(GpuError::Memory { want, left }) } else { Ok(()) }
    }

    /// Takes memory for a table. The caller holds the workspace, so that no other does at the same time.
    pub(crate) fn take_memory(&self, bytes: u64) -> Result<MemoryGrant> {
        self.check_memory(bytes)?;
        self.table_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(MemoryGrant { taken: self.table_bytes.clone(), bytes })
    }

    /// Maximum number of bytes that a kernel can use of one buffer.
    pub fn max_buffer_bytes(&self) -> u64 {
        self.limits.max_buffer_size.min(self.limits.max_storage_buffer_binding_size)
    }

    /// Names of the kernels that can make a pass.
    pub fn kernels(&self) -> Vec<&str> {
        self.kernels.passes.iter().map(|kernel| kernel.name.as_str()).collect()
    }

    /// Whether the driver reports the times of passes.
    pub fn has_timestamps(&self) -> bool {
        self.device.features().contains(Features::TIMESTAMP_QUERY)
    }

    pub(crate) fn buffer(&self, bytes: u64, usage: BufferUsages) -> wgpu::Buffer {
        buffer(&self.device, bytes, usage)
    }

    /// Binds buffers to a kernel.
    pub(crate) fn bind(
        &self,
        pipeline: &wgpu::ComputePipeline,
        buffers: &[&wgpu::Buffer],
    ) -> wgpu::BindGroup {
        let entries: Vec<_> = (0..)
            .zip(buffers)
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        let layout = pipeline.get_bind_group_layout(0);
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &layout,
            entries: &entries,
        })
    }

    /// A buffer with these words, for the sizes that a kernel takes.
    pub(crate) fn uniform(&self, words: &[u32]) -> wgpu::Buffer {
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let buffer = self.buffer(size_of_val(words) as u64, usage);
        self.queue.write_buffer(&buffer, 0, words.as_bytes());
        buffer
    }

    /// The workspace, which everything that asks something of the driver holds, so that what the driver
    /// reports is about that.
    pub(crate) fn workspace(&self) -> MutexGuard<'_, Workspace> {
        let _turn = lock(&self.turn);
        lock(&self.workspace)
    }

    /// Waits until the card has done everything, and returns the first error that the driver reported
    /// since the last time.
    pub(crate) fn wait(&self, _: &Workspace) -> Result<()> {
        let all = wgpu::PollType::Wait { submission_index: None, timeout: Some(MAX_WAIT) };
        self.device.poll(all).map_err(GpuError::driver)?;
        lock(&self.failure).take().map_or(Ok(()), |failure| Err(GpuError::Driver(failure)))
    }
}

/// The value of a mutex, also after a panic of another thread.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
