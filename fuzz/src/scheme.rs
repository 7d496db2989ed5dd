//! Every registered scheme's keys, messages, artifacts and literals. Sizes are fixed by parameters, so input
//! of a wrong size is fed as it is and once more, cut or repeated to the size that lets it in.

use sotto_core::{AnyClient, AnySession, Artifact, Error, RecordIndex, Result, SchemeEntry};
use sotto_registry::{SCHEMES, find};
use sotto_testkit::conformance::Subject;
use sotto_testkit::conformance::subject::{Case, Fill, NARROW, Table, changes, single};
use sotto_testkit::memory::MemorySink;
use sotto_testkit::rng::seeded;
use std::sync::{LazyLock, Mutex};

struct Fixture {
    table: Table,
    client: Mutex<Box<dyn AnyClient>>,
    session: AnySession,
    delta: Option<Vec<u8>>,
}

/// Sets whose messages have another form than those of their scheme's first choice: packed answers, a query
/// of many ciphertexts, matrices.
const FORMS: [(&str, &str); 3] =
    [("fspiral/1", "pack-2"), ("spiral/1", "stream-pack-4"), ("spiral/1", "paper-256k-30k")];

/// A table of three records at least, so that there is something to fold.
const WIDE: Case = Case { rows: 3, row_bytes: 8192, fill: Fill::Random };

static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
    let first_choices = SCHEMES.iter().map(|entry| fixture(Subject::private(entry).fresh_table(NARROW)));
    let forms = FORMS.iter().filter_map(|(id, set)| {
        let entry: &'static SchemeEntry = find(id)?;
        Some(fixture(Table::encode_set(entry, WIDE, Some(set))))
    });
    first_choices.chain(forms).collect()
});

fn fixture(table: Table) -> Fixture {
    let client = table.client(&mut seeded("fuzz"));
    let session = table.session(client.as_ref());
    let delta = table.entry.server.revise.and_then(|revise| {
        let sink = MemorySink::holding(table.image.clone());
        let row = table.case.rows - 1;
        revise(&table.params, &changes(&table.packing, row, table.row(0)), &sink).unwrap();
        sink.into_image().artifact(Artifact::HintDelta).map(<[u8]>::to_vec)
    });
    Fixture { table, client: Mutex::new(client), session, delta }
}

/// Feeds all schemes; says whether one took the bytes.
fn each(feed: impl Fn(&Fixture) -> bool) -> bool {
    FIXTURES.iter().filter(|fixture| feed(fixture)).count() > 0
}

fn collect(seeds: impl Fn(&Fixture) -> Option<Vec<u8>>) -> Vec<Vec<u8>> {
    FIXTURES.iter().filter_map(seeds).collect()
}

/// `data`, cut or repeated to `len` bytes.
fn fit(data: &[u8], len: usize) -> Vec<u8> {
    let filler = if data.is_empty() { &[0] } else { data };
    filler.iter().copied().cycle().take(len).collect()
}

/// Whether it was taken; a refusal must be the peer's fault.
fn taken<T>(result: Result<T>) -> bool {
    match result {
        Ok(_) => true,
        Err(Error::Peer(_) | Error::Unreadable) => false,
        Err(error) => panic!("the peer's bytes gave {error:?}"),
    }
}

/// A literal.
pub fn scheme_params(data: &[u8]) -> bool {
    each(|Fixture { table, .. }| match (table.entry.report)(data) {
        Ok(report) => {
            assert!(report.security.bits >= 128.0 && report.failure_log2 <= -40.0, "{report:?}");
            // A client of a huge table is a huge client, and no news.
            if report.costs.query_bytes < 1 << 20 {
                let prepare = (table.entry.prepare)(data, &mut seeded("params")).expect("checked parameters");
                let needs: u64 = prepare.needs().iter().map(|need| need.bytes).sum();
                assert_eq!(needs, report.costs.artifact_bytes);
            }
            true
        }
        Err(Error::Params(_)) => false,
        Err(error) => panic!("a literal gave {error:?}"),
    })
}

/// Literals.
pub fn paramses() -> Vec<Vec<u8>> {
    collect(|fixture| Some(fixture.table.params.clone()))
}

/// Keys.
pub fn scheme_keys(data: &[u8]) -> bool {
    each(|Fixture { table, .. }| {
        let fitted = fit(data, table.server.keys_bytes());
        assert!(fitted == data || !taken(table.server.admit(data)), "keys of a wrong size were taken");
        taken(table.server.admit(&fitted))
    })
}

/// Keys, cut short; the rest repeats them.
pub fn keyses() -> Vec<Vec<u8>> {
    collect(|fixture| {
        let keys = fixture.client.lock().unwrap().keys();
        (!keys.is_empty()).then(|| keys[..keys.len().min(4096)].to_vec())
    })
}

/// A query.
pub fn scheme_query(data: &[u8]) -> bool {
    each(|Fixture { table, session, .. }| {
        let fitted = fit(data, table.server.query_bytes());
        let answer = |query: &[u8]| single(table.server.as_ref(), session, query);
        let as_it_is = taken(answer(data));
        assert_eq!(as_it_is, fitted == data && as_it_is, "a query of a wrong size was taken");
        taken(answer(&fitted))
    })
}

/// Queries.
pub fn queries() -> Vec<Vec<u8>> {
    collect(|fixture| {
        let mut client = fixture.client.lock().unwrap();
        client.query(RecordIndex(0), &mut seeded("query")).unwrap().0.pop()
    })
}

/// An answer.
pub fn scheme_answer(data: &[u8]) -> bool {
    each(|Fixture { table, client, .. }| {
        let mut client = client.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut recover = |answer: &[u8]| {
            let (queries, ticket) = client.query(RecordIndex(0), &mut seeded("answer")).unwrap();
            client.recover(ticket, &vec![answer.to_vec(); queries.len()])
        };
        let fitted = fit(data, table.server.answer_bytes());
        assert!(fitted == data || !taken(recover(data)), "an answer of a wrong size was taken");
        taken(recover(&fitted))
    })
}

/// Answers.
pub fn answers() -> Vec<Vec<u8>> {
    collect(|fixture| {
        let mut client = fixture.client.lock().unwrap();
        let (queries, _) = client.query(RecordIndex(0), &mut seeded("answer")).unwrap();
        fixture.table.answer(&fixture.session, &queries).unwrap().pop()
    })
}

/// The answer about one unit of a record.
pub fn scheme_unit(data: &[u8]) -> bool {
    each(|Fixture { table, client, .. }| {
        let mut client = client.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (_, ticket) = client.query(RecordIndex(0), &mut seeded("unit")).unwrap();
        let (Some(stream), Some(units)) = (table.server.stream(), client.units()) else { return false };
        let fitted = fit(data, stream.units().answer_bytes as usize);
        assert!(
            fitted == data || !taken(units.open_unit(&ticket, 0, data)),
            "a unit of a wrong size was taken"
        );
        taken(units.open_unit(&ticket, 0, &fitted))
    })
}

/// Answers about first units.
pub fn units() -> Vec<Vec<u8>> {
    collect(|fixture| {
        let stream = fixture.table.server.stream()?;
        let mut client = fixture.client.lock().unwrap();
        let (queries, _) = client.query(RecordIndex(0), &mut seeded("unit")).unwrap();
        let prepared = stream.prepare(&fixture.session, &queries[0]).unwrap();
        Some(stream.unit(&prepared, 0).unwrap())
    })
}

/// An artifact.
pub fn scheme_hint(data: &[u8]) -> bool {
    each(|Fixture { table, session, .. }| {
        let rng = &mut seeded("hint");
        let mut prepare = (table.entry.prepare)(&table.params, rng).unwrap();
        if prepare.needs().is_empty() {
            return false;
        }
        for need in prepare.needs() {
            let bytes = fit(data, need.bytes as usize);
            if !taken(prepare.absorb(need.artifact, &bytes)) {
                return false;
            }
        }
        let mut client = prepare.finish().expect("the artifacts are complete");
        let (queries, ticket) = client.query(RecordIndex(0), rng).unwrap();
        let answers = table.answer(session, &queries).unwrap();
        taken(client.recover(ticket, &answers))
    })
}

/// The artifacts' first bytes; the rest repeats them.
pub fn hints() -> Vec<Vec<u8>> {
    collect(|fixture| {
        fixture.table.image.artifact(Artifact::Hint).map(|hint| hint[..hint.len().min(4096)].to_vec())
    })
}

/// A delta.
pub fn scheme_delta(data: &[u8]) -> bool {
    each(|Fixture { table, .. }| {
        let (Some(patch), Some(hint)) = (table.entry.patch, table.image.artifact(Artifact::Hint)) else {
            return false;
        };
        taken(patch(&table.params, Artifact::Hint, &mut hint.to_vec(), data))
    })
}

/// Deltas.
pub fn deltas() -> Vec<Vec<u8>> {
    collect(|fixture| fixture.delta.clone())
}
