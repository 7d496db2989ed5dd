//! A table in parts, for a calibration: the time of one part's partial answer, and of joining.

use super::client::BenchClient;
use crate::error::BenchError;
use crate::median::{Samples, ns};
use crate::plan::PreparedCase;
use sotto_core::{CryptoRng, ExpectOrDefault, Image, PartIndex, Section};
use sotto_pages::HugeBuffer;
use sotto_plan::calibration::PartSample;
use std::ops::Range;
use std::sync::Arc;

/// Number of parts of the table.
const PARTS: u32 = 4;

/// Number of repetitions; the shortest time counts.
const TURNS: usize = 3;

/// One section of an image, in memory.
struct SectionImage {
    section: Section,
    bytes: HugeBuffer,
    len: usize,
}

impl Image for SectionImage {
    fn section(&self, section: Section) -> Option<&[u8]> {
        if section == self.section { self.bytes.get(..self.len) } else { None }
    }
}

/// Measures the parts of a table; `None` if the scheme has none, or the table is too small for this
/// number.
pub(super) fn sample(
    plan: &PreparedCase<'_>,
    image: &dyn Image,
    client: &mut BenchClient<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Option<PartSample>, BenchError> {
    let Some(entry) = plan.entry.server.parts else { return Ok(None) };
    let fail = |step, why| BenchError::Scheme { case: plan.label.clone(), step, why };
    if (entry.max_parts)(&plan.params).map_err(|why| fail("counting parts", why))? < PARTS {
        return Ok(None);
    }
    let Some(whole) = image.section(entry.section) else { return Ok(None) };
    let mut servers = Vec::new();
    for cut in PartIndex::all(PARTS) {
        let ranges = (entry.ranges)(&plan.params, cut).map_err(|why| fail("cutting", why))?;
        let part = part(entry.section, whole, ranges)?;
        let server = (entry.open)(&plan.params, cut, Arc::new(part));
        servers.push(server.map_err(|why| fail("opening a part", why))?);
    }
    let join = (entry.join)(&plan.params, PARTS).map_err(|why| fail("joining parts", why))?;
    let partial_bytes = servers.iter().map(|server| server.answer_bytes() as u64).max().unwrap_or_default();
    let (mut partials, mut joins) = (Samples::default(), Samples::default());
    for _ in 0..TURNS {
        let row = rng.next_u64() % plan.packing.rows();
        let (partial, joining) = client.fetch_by_parts(row, &servers, join.as_ref(), rng)?;
        partials.push(partial);
        joins.push(joining);
    }
    let (partial_ns, join_ns) = (ns(partials.min()), ns(joins.min()));
    let answer_bytes = plan.report.costs.answer_bytes;
    Ok(Some(PartSample { parts: PARTS, partial_ns, join_ns, partial_bytes, answer_bytes }))
}

/// The bytes of a part, one after the other.
fn part(section: Section, whole: &[u8], ranges: Vec<Range<u64>>) -> Result<SectionImage, BenchError> {
    let ranges = || ranges.iter().map(|range| range.start as usize..range.end as usize);
    let len = ranges().map(|range| range.len()).sum();
    let mut bytes = HugeBuffer::zeroed(len)?;
    let mut rest = bytes.get_mut(..len).unwrap_or_default();
    for range in ranges() {
        let (to, more) = std::mem::take(&mut rest).split_at_mut(range.len());
        to.copy_from_slice(whole.get(range).expect_or_default("a part's bytes are the section's"));
        rest = more;
    }
    Ok(SectionImage { section, bytes, len })
}
