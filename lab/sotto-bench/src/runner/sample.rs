//! Measuring one scheme on one table: the shortest of several times of a lookup; for a calibration
//! also of lookups that share a pass, with all threads, and of the table in parts. Every answer is
//! checked.

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
use sotto_db::{CopyBudget, ImageFile};
use sotto_pages::HugeBuffer;
use sotto_plan::calibration::PartSample;
use sotto_plan::{CalibrationSample, LookupWork};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Number of lookups that share a pass: the default of a server.
const TOGETHER: usize = 4;

/// Repetitions of a figure, of which the shortest counts: for so long, client included, and so many
/// at least.
#[derive(Clone, Copy)]
struct Repeats {
    time: Duration,
    min: usize,
}

/// Of a lookup whose time is compared with a prediction.
const CAREFUL: Repeats = Repeats { time: Duration::from_millis(200), min: 4 };

/// Of a lookup in a calibration, of which there are many.
const BRIEF: Repeats = Repeats { time: Duration::from_millis(50), min: 5 };

/// Of what a calibration measures beside lookups, after these.
const FEW: Repeats = Repeats { time: Duration::from_millis(15), min: 1 };

/// Most repetitions of a figure: some clients prepare for a few hundred lookups.
const MAX_REPEATS: usize = 40;

/// Measured lookups, the shortest of several, in processor time.
pub(crate) struct LookupSample {
    pub(crate) work: LookupWork,
    pub(crate) server_ns: f64,
    /// A pass of [`TOGETHER`] lookups.
    pass_ns: f64,
    pub(crate) client_ns: f64,
}

/// Measures lookups of a case; `None` if the scheme has no parameters for it, or its servers answer
/// nothing.
pub(crate) fn lookup(
    case: &Case,
    schemes: &[&'static SchemeEntry],
    options: &Options,
    watcher: Watcher<'_>,
) -> Result<Option<LookupSample>, BenchError> {
    let Some(encoded) = EncodedCase::new(case, schemes, options, watcher)? else { return Ok(None) };
    let one = Reader::new(1)?;
    let truth = |row| encoded.source.row(row);
    let held = encoded.open(&one)?;
    encoded.lookup(&mut encoded.client(&held, &one, &truth)?, CAREFUL).map(Some)
}

/// Measures a case for a calibration; `None` if the scheme has no parameters for it, or its servers
/// answer nothing.
pub(crate) fn sample(
    case: &Case,
    schemes: &[&'static SchemeEntry],
    options: &Options,
    watcher: Watcher<'_>,
) -> Result<Option<CalibrationSample>, BenchError> {
    let Some(encoded) = EncodedCase::new(case, schemes, options, watcher)? else { return Ok(None) };
    let (plan, threads) = (&encoded.plan, encoded.threads);
    let [one, all] = [Reader::new(1)?, Reader::new(threads)?];
    let truth = |row| encoded.source.row(row);
    let held = encoded.open(&one)?;
    let mut rng = sotto_prg::system_rng()?;
    let mut client = encoded.client(&held, &one, &truth)?;
    let alone = encoded.lookup(&mut client, BRIEF)?;
    let parts = sample_parts(plan, held.image.as_ref(), &one, &mut client, &mut rng)?;
    let threads_ns = if threads == 1 {
        alone.server_ns
    } else {
        let mut client = client.with_reader(&all).with_clock(Clock::Wall);
        ns(shortest(&mut client, 1, plan, FEW, &mut rng)?)
    };
    Ok(Some(CalibrationSample {
        scheme: plan.entry.id.to_string(),
        rows: case.stored_rows(),
        row_bytes: case.stored_row_bytes(),
        server_ops: alone.work.server_ops,
        client_ops: alone.work.client_ops,
        server_ns: alone.server_ns,
        pass_ns: alone.pass_ns,
        pass_lookups: TOGETHER as u32,
        threads_ns,
        client_ns: alone.client_ns,
        encode_ns: ns(encoded.encode),
        parts,
    }))
}

/// A case whose table is encoded.
struct EncodedCase<'a> {
    plan: Box<PreparedCase<'a>>,
    source: GeneratedRows,
    image: Arc<ImageFile>,
    /// Time of encoding.
    encode: Duration,
    threads: usize,
    /// The folder of the image.
    _folder: TempDir,
}

impl<'a> EncodedCase<'a> {
    /// Encodes the table of a case with all threads.
    fn new(
        case: &'a Case,
        schemes: &[&'static SchemeEntry],
        options: &Options,
        watcher: Watcher<'_>,
    ) -> Result<Option<Self>, BenchError> {
        let CasePlan::Plan(plan) = PreparedCase::of(case, schemes, options)? else { return Ok(None) };
        if plan.entry.is_downloadable() {
            return Ok(None);
        }
        let folder = options.folder()?;
        let source = GeneratedRows::new(case);
        let threads = options.threads.unwrap_or_else(crate::machine::cores).max(1);
        let start = Instant::now();
        let on_all = PreparedCase { threads, ..(*plan).clone() };
        let encoded = encode::encode(&on_all, &|at, out| source.fill(at, out), folder.path(), watcher)?;
        let (image, encode) = (encoded.image, start.elapsed());
        Ok(Some(EncodedCase { plan, source, image, encode, threads, _folder: folder }))
    }

    /// Opens the table in memory.
    fn open(&self, reader: &Reader) -> Result<ResidentServer, BenchError> {
        ResidentServer::open(&self.plan, &self.image, &CopyBudget::new(None), reader)
    }

    /// A client whose times are those of the processor.
    fn client<'c>(
        &'c self,
        held: &'c ResidentServer,
        reader: &'c Reader,
        truth: &'c dyn Fn(u64) -> Vec<u8>,
    ) -> Result<BenchClient<'c>, BenchError> {
        let client =
            BenchClient::begin(&self.plan, held.server.as_ref(), self.image.as_ref(), reader, truth)?;
        Ok(client.with_clock(Clock::Processor))
    }

    /// Measures lookups: each alone, and several in a pass. The second also show a client whose data is in
    /// caches, as on a machine of its own: of lookups alone, the server's pass has emptied them.
    fn lookup(&self, client: &mut BenchClient<'_>, repeats: Repeats) -> Result<LookupSample, BenchError> {
        let mut rng = sotto_prg::system_rng()?;
        let server_ns = ns(shortest(client, 1, &self.plan, repeats, &mut rng)?);
        let pass_ns = ns(shortest(client, TOGETHER, &self.plan, FEW, &mut rng)?);
        let (plan, costs) = (&self.plan, &self.plan.report.costs);
        let queries = plan.packing.records_per_row() as u64;
        Ok(LookupSample {
            work: LookupWork {
                server_ops: (costs.server_ops * queries).max(1),
                client_ops: (costs.client_ops * queries).max(1),
                table_bytes: plan.case.table_bytes(),
            },
            server_ns,
            pass_ns,
            client_ns: ns(client.totals.query.min() + client.totals.recover.min()),
        })
    }
}

/// The shortest pass of `together` lookups, after one that is not counted unless one repetition is
/// enough.
fn shortest(
    client: &mut BenchClient<'_>,
    together: usize,
    plan: &PreparedCase<'_>,
    repeats: Repeats,
    rng: &mut dyn CryptoRng,
) -> Result<Duration, BenchError> {
    let mut times = Samples::default();
    let start = Instant::now();
    let uncounted = usize::from(repeats.min > 1);
    for turn in 0..MAX_REPEATS {
        let rows: Vec<u64> = (0..together).map(|_| rng.next_u64() % plan.packing.rows()).collect();
        let took = client.pass(&rows, rng)?;
        if turn >= uncounted {
            times.push(took);
        }
        if start.elapsed() > repeats.time && times.len() >= repeats.min {
            break;
        }
    }
    Ok(times.min())
}

/// Number of parts of the table.
const PARTS: u32 = 4;

/// Number of repetitions; the shortest time counts.
const TURNS: usize = 2;

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
