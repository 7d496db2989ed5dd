//! Every registered scheme's messages, artifacts and literals. Sizes are fixed by parameters, so input of
//! a wrong size is fed as it is and once more, cut or repeated to the size that lets it in.

use sotto_core::{AnyClient, AnySession, Artifact, Error, RecordIndex, Result};
use sotto_registry::SCHEMES;
use sotto_testkit::conformance::Subject;
use sotto_testkit::conformance::subject::{NARROW, Table, changes, single};
use sotto_testkit::memory::MemorySink;
use sotto_testkit::rng::seeded;
use std::sync::{LazyLock, Mutex};

struct Fixture {
    table: Table,
    client: Mutex<Box<dyn AnyClient>>,
    session: AnySession,
    delta: Option<Vec<u8>>,
}

static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
    let fixture = |entry| {
        let table = Subject::private(entry).fresh_table(NARROW);
        let client = table.client(&mut seeded("fuzz"));
        let session = table.session(client.as_ref());
        let delta = table.entry.server.revise.and_then(|revise| {
            let sink = MemorySink::holding(table.image.clone());
            revise(&table.params, &changes(&table.packing, 3, &[1, 2, 3, 4, 5, 6, 7]), &sink).unwrap();
            sink.into_image().artifact(Artifact::HintDelta).map(<[u8]>::to_vec)
        });
        Fixture { table, client: Mutex::new(client), session, delta }
    };
    SCHEMES.iter().copied().map(fixture).collect()
});

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

/// An artifact.
pub fn scheme_hint(data: &[u8]) -> bool {
    each(|Fixture { table, session, .. }| {
        let rng = &mut seeded("hint");
        let mut prepare = (table.entry.prepare)(&table.params, rng).unwrap();
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
