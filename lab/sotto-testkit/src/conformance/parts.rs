//! Tables in parts: the bytes of each part, and joining partial answers to the answer of the whole
//! table.

use super::rows::packs;
use super::subject::{Case, Fill, MIDDLE, Subject, Table, WIDE, single};
use crate::memory::{MemoryImage, MemorySink};
use crate::rng::seeded;
use sotto_core::{
    AnyJoin, AnyServer, AnySession, Error, Image, Misuse, PartEntry, PartIndex, PeerMisbehaved, RecordIndex,
    Result, Section, Sink,
};
use std::ops::Range;
use std::sync::Arc;

/// A table that most schemes can divide into several parts.
const LARGE: Case = Case { rows: 1600, row_bytes: 600, fill: Fill::Random };

/// Maximum number of a scheme's named sets that are tried: some have dozens that are divided alike.
const MAX_SETS: usize = 10;

/// A table for each named set.
const SOME: Case = Case { rows: 800, row_bytes: 300, fill: Fill::Random };

/// A table of rows that take several polynomials or groups each.
const TALL: Case = Case { rows: 5, row_bytes: 10_000, fill: Fill::Random };

/// A table of rows that take a dozen pages each.
const HUGE: Case = Case { rows: 3, row_bytes: 100_000, fill: Fill::Random };

/// Numbers of parts that are tried, where a table can be divided into so many.
const PARTS: [u32; 5] = [1, 2, 3, 4, 9];

/// Maximum number of parts that are tried.
const MAX: u32 = 12;

fn entry(subject: &Subject) -> PartEntry {
    subject.entry.server.parts.expect("a scheme whose tables are cut says how")
}

/// Some numbers of parts that a table can be divided into, the last of them `max` or the most that
/// there can be.
fn numbers(table: &Table, entry: &PartEntry, tried: &[u32], max: u32) -> Vec<u32> {
    let most = (entry.max_parts)(&table.params).expect("checked parameters are cut");
    assert!(most >= 1, "a table is one part at least");
    let mut numbers: Vec<u32> = tried.iter().copied().filter(|parts| *parts <= most).collect();
    numbers.push(most.min(max));
    numbers.dedup();
    numbers
}

/// The image of one part of a table.
fn image_of(table: &Table, entry: &PartEntry, cut: PartIndex) -> MemoryImage {
    let whole = table.image.section(entry.section).expect("a table has the section that is cut");
    let holds = (entry.ranges)(&table.params, cut).expect("so many parts there are");
    let ranges: Vec<&[u8]> =
        holds.iter().map(|range| &whole[range.start as usize..range.end as usize]).collect();
    let bytes = ranges.concat();
    MemoryImage::default().with(entry.section, &bytes)
}

struct Parts {
    join: Box<dyn AnyJoin>,
    servers: Vec<Box<dyn AnyServer>>,
}

impl Parts {
    fn open(table: &Table, entry: &PartEntry, parts: u32) -> Self {
        let open = |cut| (entry.open)(&table.params, cut, Arc::new(image_of(table, entry, cut)));
        let servers = PartIndex::all(parts).map(|cut| open(cut).expect("a part's image opens")).collect();
        Parts { join: (entry.join)(&table.params, parts).expect("so many parts there are"), servers }
    }

    fn partials(&self, session: &AnySession, query: &[u8]) -> Vec<Vec<u8>> {
        self.servers
            .iter()
            .map(|part| single(part.as_ref(), session, query).expect("a part answers"))
            .collect()
    }
}

/// Tables in parts, each encoded once: their parts cover the image, and give its answers; for the
/// first table with several parts, parts are encoded alone, and wrong ones refused. Tables of named
/// sets, and one in buckets, are checked too.
pub fn make_the_table(subject: &Subject) {
    let (entry, few) = (entry(subject), packs(subject));
    let mut cut = false;
    for case in [TALL, LARGE, HUGE, MIDDLE, WIDE] {
        // One table is enough where a table takes a second; those of named sets follow.
        if few && cut {
            break;
        }
        let table = subject.table(case);
        let (tried, max) = if few { (&[1][..], 3) } else { (&PARTS[..], MAX) };
        let numbers = numbers(&table, &entry, tried, max);
        hold_the_table(&entry, &table, &numbers);
        make_the_answer(&entry, &table, &numbers, if few { 2 } else { 5 });
        if !cut && numbers.iter().any(|parts| *parts > 1) {
            cut = true;
            encode_alone(&entry, &table, if few { 1 } else { 2 });
            refuse(&entry, &table);
        }
    }
    assert!(cut, "a table of these has several parts");
    let sets = (subject.entry.sets)();
    let sets = sets.iter().filter(|_| sets.len() <= MAX_SETS);
    let sets = sets.map(|set| Table::encode_set(subject.entry, SOME, Some(set.name)));
    let buckets = subject.entry.batch.map(|_| Table::encode_buckets(subject.entry, SOME, 3));
    for table in sets.chain(buckets) {
        let several = [(entry.max_parts)(&table.params).unwrap().min(3)];
        hold_the_table(&entry, &table, &several);
        make_the_answer(&entry, &table, &several, 1);
    }
}

/// Every byte of the section belongs to one part, for any number of parts.
fn hold_the_table(entry: &PartEntry, table: &Table, numbers: &[u32]) {
    let bytes = table.image.section(entry.section).expect("a table has the section that is cut").len() as u64;
    for &parts in numbers {
        let mut all: Vec<Range<u64>> = Vec::new();
        for cut in PartIndex::all(parts) {
            let holds = (entry.ranges)(&table.params, cut).unwrap();
            assert!(holds.windows(2).all(|two| two[0].end <= two[1].start), "in their order: {holds:?}");
            all.extend(holds.into_iter().filter(|range| !range.is_empty()));
        }
        all.sort_by_key(|range| range.start);
        assert!(all.windows(2).all(|two| two[0].end == two[1].start), "in {parts}: {all:?}");
        assert_eq!((all.first().unwrap().start, all.last().unwrap().end), (0, bytes), "in {parts}");
    }
}

/// Partial answers, alone and in batches, give exactly the answers of the whole table. Sessions are
/// the same.
fn make_the_answer(entry: &PartEntry, table: &Table, numbers: &[u32], lookups: usize) {
    let rng = &mut seeded("parts");
    let mut client = table.client(rng);
    let session = table.session(client.as_ref());
    let mut ask = |record| client.query(RecordIndex(record), rng).expect("a query within bounds").0;
    let records = table.some_records().into_iter().cycle().take(lookups);
    let queries: Vec<Vec<u8>> = records.flat_map(&mut ask).collect();
    let whole: Vec<Vec<u8>> =
        queries.iter().map(|query| single(table.server.as_ref(), &session, query).unwrap()).collect();
    for &parts in numbers {
        let cut = Parts::open(table, entry, parts);
        assert_eq!(cut.join.parts(), parts);
        let own = cut.join.admit(&client.keys()).expect("a client's own keys are admitted");
        let mut alone = Vec::new();
        for (i, (query, answer)) in queries.iter().zip(&whole).enumerate() {
            let session = if i % 2 == 0 { &session } else { &own };
            let partials = cut.partials(session, query);
            for (part, partial) in cut.servers.iter().zip(&partials) {
                assert_eq!(partial.len(), part.answer_bytes(), "a partial has the size that it says");
            }
            let joined = cut.join.join(session, query, &partials).expect("partials are joined");
            assert!(&joined == answer, "in {parts}: an answer differs from that of the whole table");
            alone.push(partials);
        }
        let batch: Vec<_> = queries.iter().map(|query| (&session, &query[..])).collect();
        for (i, part) in cut.servers.iter().enumerate() {
            let together = part.answer_many(&batch);
            assert_eq!(together.len(), queries.len());
            for (partial, alone) in together.into_iter().zip(&alone) {
                assert!(partial.unwrap() == alone[i], "a batch differs");
            }
        }
    }
}

/// A sink that stores only some ranges of a section.
struct FilteredSink {
    sink: MemorySink,
    section: Section,
    ranges: Vec<Range<u64>>,
}

impl Sink for FilteredSink {
    fn reserve(&self, section: Section, bytes: u64) -> Result<()> {
        self.sink.reserve(section, bytes)
    }
    fn write_at(&self, section: Section, offset: u64, bytes: &[u8]) -> Result<()> {
        self.sink.write_at(section, offset, bytes)
    }
    fn read_at(&self, section: Section, offset: u64, out: &mut [u8]) -> Result<()> {
        self.sink.read_at(section, offset, out)
    }
    fn wants(&self, section: Section, bytes: Range<u64>) -> bool {
        let touches = |range: &Range<u64>| range.start < bytes.end && bytes.start < range.end;
        section == self.section && self.ranges.iter().any(touches)
    }
}

/// Encoding a part alone gives its bytes, whatever the encoder leaves out; for one part or for two.
fn encode_alone(entry: &PartEntry, table: &Table, tried: usize) {
    // The last part has the end of the section, and the first part its start.
    let parts = (entry.max_parts)(&table.params).unwrap().min(3);
    for cut in [parts - 1, 0].into_iter().filter_map(|part| PartIndex::new(part, parts)).take(tried) {
        let ranges = (entry.ranges)(&table.params, cut).unwrap();
        let sink = FilteredSink { sink: MemorySink::new(), section: entry.section, ranges };
        (table.entry.server.encode)(&table.params, &table.records, &sink).expect("a part is encoded");
        let alone = sink.sink.into_image();
        let section = |image: &MemoryImage| image.section(entry.section).unwrap().to_vec();
        let (alone, whole) = (section(&alone), section(&table.image));
        for range in &sink.ranges {
            let range = range.start as usize..range.end as usize;
            assert!(alone[range.clone()] == whole[range], "{cut:?} differs from the whole table's");
        }
    }
}

/// Too many parts, images of other sizes, partial answers that are missing, too short, of another
/// part or damaged.
fn refuse(entry: &PartEntry, table: &Table) {
    let most = (entry.max_parts)(&table.params).unwrap();
    if let Some(cut) = PartIndex::new(0, most.saturating_add(1)) {
        let image = Arc::new(table.image.clone());
        let refused = [
            (entry.ranges)(&table.params, cut).err(),
            (entry.open)(&table.params, cut, image).err(),
            (entry.join)(&table.params, cut.parts()).err(),
            (entry.join)(&table.params, 0).err(),
        ];
        assert!(
            refused.iter().all(|error| matches!(error, Some(Error::Misuse(Misuse::Rule(_))))),
            "{refused:?}"
        );
    }
    let parts = most.min(2);
    let cut = PartIndex::new(0, parts).unwrap();
    let image = image_of(table, entry, cut);
    let held = image.section(entry.section).unwrap();
    let longer = [held, &[0; 64]].concat();
    for bytes in [&[], &held[..held.len() - 1], &longer[..]] {
        let opened = (entry.open)(&table.params, cut, Arc::new(image.with(entry.section, bytes)));
        assert!(matches!(opened.err(), Some(Error::Peer(_))), "a part of {} bytes was opened", bytes.len());
    }
    assert!(matches!(
        (entry.open)(&table.params, cut, Arc::new(MemoryImage::default())).err(),
        Some(Error::Peer(_))
    ));

    let rng = &mut seeded("refused parts");
    let mut client = table.client(rng);
    let session = table.session(client.as_ref());
    let queries = client.query(RecordIndex(table.some_record()), rng).unwrap().0;
    let query = &queries[0];
    let all = Parts::open(table, entry, parts);
    let short = single(all.servers[0].as_ref(), &session, &query[1..]);
    assert!(matches!(short, Err(Error::Peer(_))), "a query that is too short");
    let partials = all.partials(&session, query);
    let more = [partials.clone(), partials.clone()].concat();
    for wrong in [&partials[..partials.len() - 1], &more[..]] {
        assert!(matches!(all.join.join(&session, query, wrong), Err(Error::Misuse(Misuse::Rule(_)))));
    }
    for part in 0..partials.len() {
        let mut cut = partials.clone();
        cut[part].pop();
        let got = all.join.join(&session, query, &cut);
        assert!(
            matches!(got, Err(Error::Peer(PeerMisbehaved::Length { .. }))),
            "a partial that is too short"
        );
        for byte in [0x00, 0xff] {
            let mut damaged = partials.clone();
            damaged[part].fill(byte);
            match all.join.join(&session, query, &damaged) {
                Ok(_) | Err(Error::Peer(_)) => {}
                Err(other) => panic!("a damaged partial gave {other}"),
            }
        }
    }
}
