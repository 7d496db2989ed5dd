//! Writing the weights of groups after a matrix that is in the image already.

use crate::matrix::SectionOffset;
use crate::packed_groups::PackedGroups;
use crate::samples::{STEPS, SampleMasks};
use sotto_core::{Result, Sink};
use sotto_math::matrix::PanelLayout;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes the weights and masks of some groups, in ranges that are processed
/// [`together`](PackedGroups::together). A matrix of this layout begins at `matrix`, and the
/// weights follow it.
///
/// # Errors
/// Those of [`PackedGroups::write`].
pub fn write_packed(
    layout: PanelLayout,
    matrix: impl Into<SectionOffset>,
    packed: &PackedGroups,
    groups: Vec<Range<usize>>,
    out: &dyn Sink,
) -> Result<()> {
    let (samples, SectionOffset { section, start }) = (SampleMasks::new(layout)?, matrix.into());
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
