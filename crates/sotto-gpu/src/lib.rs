//! Byte matrices in the memory of a graphics card, and the pass over them that answers queries.
//!
//! The numbers are those of [`sotto_math::matrix::scan_u32`] and [`sotto_math::matrix::scan_planes`],
//! whatever the card: integers modulo 2^32, and exact integers.
//!
//! ```no_run
//! # #[cfg(feature = "wgpu")]
//! # fn main() -> Result<(), sotto_gpu::GpuError> {
//! use sotto_core::PassQuery;
//! use sotto_gpu::{ByteMatrix, Card};
//! use sotto_math::matrix::{PanelLayout, QueryPlanes};
//!
//! let gpu = Card::find().first().ok_or(sotto_gpu::GpuError::NoCard)?.open()?;
//! let layout = PanelLayout::new(64, 4);
//! let matrix = ByteMatrix::new(gpu.into(), layout)?;
//! matrix.write(0, &vec![1; layout.bytes()])?;
//! let query = QueryPlanes::from_u32(&[1, 2, 3, 4], 4, &layout);
//! let query = PassQuery { planes: query.planes(), words: query.words() };
//! assert_eq!(matrix.times_u32(&[query])?, [vec![10; 64]]);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "wgpu"))]
//! # fn main() {}
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `accelerator` | a card as the accelerator of a server's tables |
//! | `card` | the cards of the machine, their drivers and limits |
//! | `kernels` | the compiled kernels, and which of them makes a pass |
//! | `pass_kernel` | one of them, and how shaders are compiled |
//! | `dot_kernel` | the pass by products of four bytes, which every card has |
//! | `cooperative` | the pass by products of matrices, where the driver has them |
//! | `byte_matrix` | a table in the memory of a card |
//! | `pass` | queries go to the card, are multiplied, and come back |
//! | `workspace` | buffers that passes use again |
//! | `stamps` | the card's own clock |
//! | `memory_speed` | what the memory of a card gives |
//!
//! Without the feature `wgpu` the crate is empty, so that the workspace needs no driver.
#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

#[cfg(feature = "wgpu")]
mod accelerator;
#[cfg(feature = "wgpu")]
mod byte_matrix;
#[cfg(feature = "wgpu")]
mod card;
#[cfg(feature = "wgpu")]
#[allow(unsafe_code, reason = "modules that the compiler of shaders does not know")]
mod cooperative;
#[cfg(feature = "wgpu")]
mod dot_kernel;
#[cfg(feature = "wgpu")]
mod error;
#[cfg(feature = "wgpu")]
mod kernels;
#[cfg(feature = "wgpu")]
mod memory_speed;
#[cfg(feature = "wgpu")]
mod pass;
#[cfg(feature = "wgpu")]
mod pass_kernel;
#[cfg(feature = "wgpu")]
mod stamps;
#[cfg(feature = "wgpu")]
mod workspace;

#[cfg(feature = "wgpu")]
pub use accelerator::CardAccelerator;
#[cfg(feature = "wgpu")]
pub use byte_matrix::ByteMatrix;
#[cfg(feature = "wgpu")]
pub use card::{Card, Gpu};
#[cfg(feature = "wgpu")]
pub use error::{GpuError, Result};
#[cfg(feature = "wgpu")]
pub use memory_speed::MemorySpeed;
#[cfg(feature = "wgpu")]
pub use workspace::PassTimes;
