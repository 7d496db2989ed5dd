//! The weights of groups, written behind a matrix that is there.

use crate::matrix::Place;
use crate::packed::Packed;
use crate::samples::{STEPS, Samples};
use sotto_core::{Result, Sink};
use sotto_math::matrix::PanelLayout;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes the weights and masks of some groups, those that are written [`together`](Packed::together) each. The matrix of
/// this layout begins at a place, and they lie behind it.
///
/// # Errors
/// As [`Packed::write`].
pub fn write_behind(
    layout: PanelLayout,
    matrix: impl Into<Place>,
    packed: &Packed,
    groups: Vec<Range<usize>>,
    out: &dyn Sink,
) -> Result<()> {
    let (samples, Place { section, start }) = (Samples::new(layout)?, matrix.into());
    let total = (groups.iter().map(Range::len).sum::<usize>() * (STEPS + packed.steps())) as u64;
    let done = AtomicU64::new(0);
    let step = || out.progress("weights", done.fetch_add(1, Ordering::Relaxed) + 1, total);
    out.progress("weights", 0, total);
    for groups in groups {
        let read = |at, bytes: &mut [u8]| out.read_at(section, start + at, bytes);
        let of_group = |group| samples.of_group(group, read, step);
        packed.write(groups, of_group, step, (out, section, start + layout.bytes() as u64))?;
    }
    Ok(())
}
