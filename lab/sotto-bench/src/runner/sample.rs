//! Measuring one scheme on one table, for a calibration: the shortest of several times, of a single
//! lookup, of lookups that share a pass, with all threads, and of the table in parts. Every answer
//! is checked.

use crate::content::GeneratedRows;
use crate::definition::Case;
use crate::error::BenchError;
use crate::machine::Reader;
use crate::options::{Options, Watcher};
use crate::plan::{CasePlan, PreparedCase};
use crate::runner::client::BenchClient;
use crate::runner::encode;
use crate::runner::online::ResidentServer;
use crate::timing::{Clock, Samples, ns};
use sotto_core::{AnySession, CryptoRng, ExpectOrDefault, Image, PartIndex, SchemeEntry, Section};
use sotto_db::CopyBudget;
use sotto_pages::HugeBuffer;
use sotto_plan::CalibrationSample;
use sotto_plan::calibration::PartSample;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of lookups that share a pass: the default of a server.
const TOGETHER: usize = 4;

/// Time for repetitions of a figure, of at least three; the shortest counts.
const TIME: Duration = Duration::from_millis(120);
const MIN_REPEATS: usize = 2;
const MAX_REPEATS: usize = 40;

/// Measures a case; `None` if the scheme has no parameters for it, or its servers answer nothing.
pub(crate) fn sample(
    case: &Case,
    schemes: &[&'static SchemeEntry],
    options: &Options,
    watcher: Watcher<'_>,
) -> Result<Option<CalibrationSample>, BenchError> {
    let CasePlan::Plan(plan) = PreparedCase::of(case, schemes, options)? else { return Ok(None) };
    if plan.entry.is_downloadable() {
        return Ok(None);
    }
    let folder = options.folder()?;
    let mut rng = sotto_prg::system_rng()?;
    let source = GeneratedRows::new(case);
    let threads = options.threads.unwrap_or_else(crate::machine::cores).max(1);
    let start = Instant::now();
    let on_all = PreparedCase { threads, ..(*plan).clone() };
    let encoded = encode::encode(&on_all, &|at, out| source.fill(at, out), folder.path(), watcher)?;
    let encode = start.elapsed();
    let one = Reader::new(1)?;
    let held = ResidentServer::open(&plan, &encoded.image, &CopyBudget::new(None), &one)?;
    let truth = |row| source.row(row);
    let begin =
        |reader| BenchClient::begin(&plan, held.server.as_ref(), encoded.image.as_ref(), reader, &truth);
    let mut client = begin(&one)?.with_clock(Clock::Processor);
    let alone = shortest(&mut client, 1, &plan, &mut rng)?;
    let pass = shortest(&mut client, TOGETHER, &plan, &mut rng)?;
    let client_ns = ns(client.totals.query.min() + client.totals.recover.min());
    let parts = sample_parts(&plan, held.image.as_ref(), &one, &mut client, &mut rng)?;
    let together = if threads == 1 {
        alone
    } else {
        let all = Reader::new(threads)?;
        shortest(&mut begin(&all)?, 1, &plan, &mut rng)?
    };
    let (costs, lookups) = (&plan.report.costs, plan.packing.records_per_row() as u64);
    Ok(Some(CalibrationSample {
        scheme: plan.entry.id.to_string(),
        rows: case.stored_rows(),
        row_bytes: case.stored_row_bytes(),
        server_ops: (costs.server_ops * lookups).max(1),
        client_ops: (costs.client_ops * lookups).max(1),
        server_ns: ns(alone),
        pass_ns: ns(pass),
        pass_lookups: TOGETHER as u32,
        threads_ns: ns(together),
        client_ns,
        encode_ns: ns(encode),
        parts,
    }))
}

/// The shortest pass of `lookups` lookups, after one that is not counted.
fn shortest(
    client: &mut BenchClient<'_>,
    together: usize,
    plan: &PreparedCase<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Duration, BenchError> {
    let mut times = Samples::default();
    let mut spent = Duration::ZERO;
    for turn in 0..=MAX_REPEATS {
        let rows: Vec<u64> = (0..together).map(|_| rng.next_u64() % plan.packing.rows()).collect();
        let took = client.pass(&rows, rng)?;
        if turn > 0 {
            times.push(took);
            spent += took;
        }
        if spent > TIME && times.len() >= MIN_REPEATS {
            break;
        }
    }
    Ok(times.min())
}

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
fn sample_parts(
    plan: &PreparedCase<'_>,
    image: &dyn Image,
    reader: &Reader,
    client: &mut BenchClient<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Option<PartSample>, BenchError> {
    let Some(entry) = plan.entry.server.parts else { return Ok(None) };
    if (entry.max_parts)(&plan.params).map_err(plan.failed("counting parts"))? < PARTS {
        return Ok(None);
    }
    let Some(whole) = image.section(entry.section) else { return Ok(None) };
    let mut servers = Vec::new();
    for cut in PartIndex::all(PARTS) {
        let ranges = (entry.ranges)(&plan.params, cut).map_err(plan.failed("cutting"))?;
        let part = part(entry.section, whole, ranges)?;
        let server = (entry.open)(&plan.params, cut, Arc::new(part));
        servers.push(server.map_err(plan.failed("opening a part"))?);
    }
    let join = (entry.join)(&plan.params, PARTS).map_err(plan.failed("joining parts"))?;
    let partial_bytes = servers.iter().map(|server| server.answer_bytes() as u64).max().unwrap_or_default();
    let (mut partials, mut joins) = (Samples::default(), Samples::default());
    for _ in 0..TURNS {
        let row = rng.next_u64() % plan.packing.rows();
        // The time of one part's partial answers, and that of joining, for one server.
        let (mut partial_time, mut joining) = (Duration::ZERO, Duration::ZERO);
        let mut answer = |session: &AnySession, query: &[u8]| {
            let mut partials = Vec::with_capacity(servers.len());
            let start = Clock::Processor.start();
            for part in &servers {
                for partial in reader.install(|| part.answer_many(&[(session, query)])) {
                    partials.push(partial?);
                }
            }
            partial_time += start.elapsed() / PARTS;
            let start = Clock::Processor.start();
            let answer = reader.install(|| join.join(session, query, &partials))?;
            joining += start.elapsed();
            Ok(answer)
        };
        client.fetch_answered(row, &mut answer, rng)?;
        let query_servers = plan.entry.query_servers.max(1) as u32;
        partials.push(partial_time / query_servers);
        joins.push(joining / query_servers);
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
