//! The digits of groups, written behind a matrix that is there.

use crate::packed::Packed;
use crate::samples::{STEPS, Samples};
use sotto_core::{Result, Section, Sink};
use sotto_math::matrix::PanelLayout;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes the digits of some groups, those that are written [`together`](Packed::together) each. The matrix of this layout is at
/// the start of the section, and they lie behind it.
///
/// # Errors
/// Storage errors.
pub fn write_digits(
    layout: PanelLayout,
    packed: &Packed,
    groups: Vec<Range<usize>>,
    (out, section): (&dyn Sink, Section),
) -> Result<()> {
    let samples = Samples::new(layout)?;
    let total = groups.iter().map(|groups| groups.len() * STEPS + packed.steps()).sum::<usize>() as u64;
    let done = AtomicU64::new(0);
    let step = || out.progress("digits", done.fetch_add(1, Ordering::Relaxed) + 1, total);
    out.progress("digits", 0, total);
    for groups in groups {
        let read = |at, bytes: &mut [u8]| out.read_at(section, at, bytes);
        let of_group = |group| samples.of_group(group, read, step);
        packed.write(groups, of_group, step, (out, section, layout.bytes() as u64))?;
    }
    Ok(())
}
