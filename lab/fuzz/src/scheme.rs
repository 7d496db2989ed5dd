//! Every registered scheme's keys, messages, artifacts, literals, orders and supplies. Sizes are fixed by parameters, so input
//! of a wrong size is fed as it is and once more, cut or repeated to the size that lets it in.

use sotto_core::{
    AnyClient, AnySession, Artifact, Budget, Error, RecordIndex, Result, SchemeEntry, StateEntry,
};
use sotto_registry::{SCHEMES, find};
use sotto_testkit::conformance::Subject;
use sotto_testkit::conformance::subject::{Case, Fill, NARROW, Table, changes, refill_hints, single};
use sotto_testkit::memory::MemorySink;
use sotto_testkit::rng::seeded;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

struct Fixture {
    table: Table,
    client: Mutex<Box<dyn AnyClient>>,
    session: AnySession,
    delta: Option<Vec<u8>>,
    kept: Option<ServerState>,
}

impl Fixture {
    /// The client, or a fresh one if it can ask no more.
    fn client(&self) -> MutexGuard<'_, Box<dyn AnyClient>> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if client.budget() == Budget::Left(0) {
            *client = self.table.client(&mut seeded("fuzz"));
        }
        client
    }
}

/// What a client whose state must survive has written.
struct ServerState {
    read: StateEntry,
    /// Before the first query.
    state: Vec<u8>,
    /// After what the journal says.
    later: Vec<u8>,
    journal: Vec<u8>,
    /// Of a preparation that has half of its artifacts.
    checkpoint: Vec<u8>,
    rows_delta: Option<Vec<u8>>,
}

/// Sets whose messages have another form than those of their scheme's first choice: packed answers, a query
/// of many ciphertexts, matrices.
const FORMS: [(&str, &str); 3] =
    [("fspiral/1", "pack-2"), ("spiral/1", "stream-pack-4"), ("spiral/1", "paper-256k-30k")];

/// Schemes whose messages about a table of buckets have other fields than those about one bucket, and
/// how many buckets.
const BUCKETS: [(&str, u64); 1] = [("ypir-sp/2", 3)];

/// A table of three records at least, so that there is something to fold.
const WIDE: Case = Case { rows: 3, row_bytes: 8192, fill: Fill::Random };

static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
    let first_choices = SCHEMES.iter().map(|entry| fixture(Subject::private(entry).fresh_table(NARROW)));
    let forms = FORMS.iter().filter_map(|(id, set)| {
        let entry: &'static SchemeEntry = find(id)?;
        Some(fixture(Table::encode_set(entry, WIDE, Some(set))))
    });
    let buckets = BUCKETS.iter().filter_map(|(id, buckets)| {
        let entry: &'static SchemeEntry = find(id)?;
        Some(fixture(Table::encode_buckets(entry, NARROW, *buckets)))
    });
    first_choices.chain(forms).chain(buckets).collect()
});

fn fixture(table: Table) -> Fixture {
    let client = table.client(&mut seeded("fuzz"));
    let session = table.session(client.as_ref());
    let revised = table.entry.server.update_image.map(|update_image| {
        let sink = MemorySink::holding(table.image.clone());
        let row = table.case.rows - 1;
        update_image(&table.params, &changes(&table.packing, row, table.row(0)), &sink).unwrap();
        sink.into_image()
    });
    let delta = |artifact| revised.as_ref()?.artifact(artifact).map(<[u8]>::to_vec);
    let kept = table.entry.state.map(|read| kept(&table, read, delta(Artifact::RowsDelta)));
    let delta = delta(Artifact::HintDelta);
    Fixture { table, client: Mutex::new(client), session, delta, kept }
}

/// What a client has written after two queries of which one is answered.
fn kept(table: &Table, read: StateEntry, rows_delta: Option<Vec<u8>>) -> ServerState {
    let rng = &mut seeded("kept");
    let mut client = table.client(rng);
    let save = |client: &mut Box<dyn AnyClient>| {
        let mut bytes = Vec::new();
        client.state().unwrap().save(&mut bytes).unwrap();
        bytes
    };
    let state = save(&mut client);
    let (pending, answers) = table.query(client.as_mut(), 1, rng);
    client.recover(pending, &answers).unwrap();
    let _ = table.query(client.as_mut(), 1, rng);
    let journal = client.state().unwrap().journal().to_vec();
    let later = save(&mut client);

    let mut prepare = (table.entry.prepare)(&table.params, rng).unwrap();
    for need in prepare.needs() {
        let bytes = table.image.artifact(need.artifact).unwrap();
        prepare.absorb(need.artifact, &bytes[..bytes.len() / 2]).unwrap();
    }
    let mut checkpoint = Vec::new();
    prepare.checkpoint().unwrap().save(&mut checkpoint).unwrap();
    ServerState { read, state, later, journal, checkpoint, rows_delta }
}

/// Feeds all schemes; says whether one took the bytes.
fn each(feed: impl Fn(&Fixture) -> bool) -> bool {
    FIXTURES.iter().filter(|fixture| feed(fixture)).count() > 0
}

fn collect(seeds: impl Fn(&Fixture) -> Option<Vec<u8>>) -> Vec<Vec<u8>> {
    FIXTURES.iter().filter_map(seeds).collect()
}

/// Feeds `data` cut or repeated to `len` bytes, and as it is, which must be refused if its size is wrong.
fn sized(data: &[u8], len: usize, mut takes: impl FnMut(&[u8]) -> bool) -> bool {
    let fitted = fit(data, len);
    assert!(fitted == data || !takes(data), "bytes of a wrong size were taken");
    takes(&fitted)
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
pub(crate) fn scheme_params(data: &[u8]) -> bool {
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

pub(crate) fn paramses() -> Vec<Vec<u8>> {
    collect(|fixture| Some(fixture.table.params.clone()))
}

/// Keys.
pub(crate) fn scheme_keys(data: &[u8]) -> bool {
    each(|Fixture { table, .. }| {
        sized(data, table.server.keys_bytes(), |keys| taken(table.server.admit(keys)))
    })
}

/// Keys, cut short; the rest repeats them.
pub(crate) fn keyses() -> Vec<Vec<u8>> {
    collect(|fixture| {
        let keys = fixture.client().keys();
        (!keys.is_empty()).then(|| keys[..keys.len().min(4096)].to_vec())
    })
}

/// A query.
pub(crate) fn scheme_query(data: &[u8]) -> bool {
    each(|Fixture { table, session, .. }| {
        let answer = |query: &[u8]| taken(single(table.server.as_ref(), session, query));
        sized(data, table.server.query_bytes(), answer)
    })
}

pub(crate) fn queries() -> Vec<Vec<u8>> {
    collect(|fixture| {
        let mut client = fixture.client();
        client.query(RecordIndex(0), &mut seeded("query")).unwrap().0.pop()
    })
}

/// An answer.
pub(crate) fn scheme_answer(data: &[u8]) -> bool {
    each(|fixture| {
        // Nobody answers a client that downloaded the table.
        if fixture.table.entry.is_downloadable() {
            return false;
        }
        sized(data, fixture.table.server.answer_bytes(), |answer| {
            let mut client = fixture.client();
            let (queries, pending) = client.query(RecordIndex(0), &mut seeded("answer")).unwrap();
            taken(client.recover(pending, &vec![answer.to_vec(); queries.len()]))
        })
    })
}

pub(crate) fn answers() -> Vec<Vec<u8>> {
    collect(|fixture| {
        let mut client = fixture.client();
        let (queries, _) = client.query(RecordIndex(0), &mut seeded("answer")).unwrap();
        fixture.table.answer(&fixture.session, &queries).unwrap().pop()
    })
}

/// The answer about one unit of a record.
pub(crate) fn scheme_unit(data: &[u8]) -> bool {
    each(|fixture| {
        let (table, mut client) = (&fixture.table, fixture.client());
        let (_, pending) = client.query(RecordIndex(0), &mut seeded("unit")).unwrap();
        let (Some(stream), Some(units)) = (table.server.stream(), client.units()) else { return false };
        let bytes = stream.units().answer_bytes as usize;
        sized(data, bytes, |answer| taken(units.recover_unit(&pending, 0, answer)))
    })
}

/// Answers about first units.
pub(crate) fn units() -> Vec<Vec<u8>> {
    collect(|fixture| {
        let stream = fixture.table.server.stream()?;
        let mut client = fixture.client();
        let (queries, _) = client.query(RecordIndex(0), &mut seeded("unit")).unwrap();
        let prepared = stream.prepare(&fixture.session, &queries[0]).unwrap();
        Some(stream.unit(&prepared, 0).unwrap())
    })
}

/// An artifact.
pub(crate) fn scheme_hint(data: &[u8]) -> bool {
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
        let (queries, pending) = client.query(RecordIndex(0), rng).unwrap();
        let answers = table.answer(session, &queries).unwrap();
        taken(client.recover(pending, &answers))
    })
}

/// The artifacts' first bytes; the rest repeats them.
pub(crate) fn hints() -> Vec<Vec<u8>> {
    collect(|fixture| {
        fixture.table.image.artifact(Artifact::Hint).map(|hint| hint[..hint.len().min(4096)].to_vec())
    })
}

/// A delta.
pub(crate) fn scheme_delta(data: &[u8]) -> bool {
    each(|Fixture { table, .. }| {
        let (Some(patch), Some(hint)) = (table.entry.patch, table.image.artifact(Artifact::Hint)) else {
            return false;
        };
        taken(patch(&table.params, Artifact::Hint, &mut hint.to_vec(), data))
    })
}

pub(crate) fn deltas() -> Vec<Vec<u8>> {
    collect(|fixture| fixture.delta.clone())
}

/// A client's state, and a query of whoever comes of it. A damaged state may be one that can no longer ask.
pub(crate) fn scheme_state(data: &[u8]) -> bool {
    each(|Fixture { table, kept, .. }| {
        let Some(kept) = kept else { return false };
        let mut client = match (kept.read.load)(&table.params, &mut &*data) {
            Ok(client) => client,
            Err(Error::Peer(_)) => return false,
            Err(error) => panic!("a state gave {error:?}"),
        };
        match client.query(RecordIndex(0), &mut seeded("state")) {
            Ok((queries, _)) => {
                assert!(queries.iter().all(|query| query.len() == table.server.query_bytes()));
                true
            }
            Err(Error::Peer(_) | Error::Exhausted(_)) => false,
            Err(error) => panic!("a state that was taken gave {error:?}"),
        }
    })
}

/// States, before and after some queries.
pub(crate) fn states() -> Vec<Vec<u8>> {
    let states =
        |fixture: &Fixture| fixture.kept.as_ref().map(|kept| [kept.state.clone(), kept.later.clone()]);
    FIXTURES.iter().filter_map(states).flatten().collect()
}

/// An entry of a journal.
pub(crate) fn scheme_journal(data: &[u8]) -> bool {
    each(|Fixture { table, kept, .. }| {
        let Some(kept) = kept else { return false };
        let mut client =
            (kept.read.load)(&table.params, &mut kept.state.as_slice()).expect("a state that was saved");
        taken(client.state().expect("it was loaded").replay(data))
    })
}

pub(crate) fn journals() -> Vec<Vec<u8>> {
    collect(|fixture| fixture.kept.as_ref().map(|kept| kept.journal.clone()))
}

/// A rows delta, for a client one of whose queries waits.
pub(crate) fn scheme_rows_delta(data: &[u8]) -> bool {
    each(|Fixture { table, kept, .. }| {
        let Some(kept) = kept else { return false };
        let mut client =
            (kept.read.load)(&table.params, &mut kept.later.as_slice()).expect("a state that was saved");
        taken(client.state().expect("it was loaded").apply_delta(data))
    })
}

pub(crate) fn rows_deltas() -> Vec<Vec<u8>> {
    collect(|fixture| fixture.kept.as_ref()?.rows_delta.clone())
}

/// A preparation that was written down.
pub(crate) fn scheme_checkpoint(data: &[u8]) -> bool {
    each(|Fixture { table, kept, .. }| {
        let Some(kept) = kept else { return false };
        taken((kept.read.resume)(&table.params, &mut &*data))
    })
}

pub(crate) fn checkpoints() -> Vec<Vec<u8>> {
    collect(|fixture| fixture.kept.as_ref().map(|kept| kept.checkpoint.clone()))
}

/// Tables of schemes whose hints a server makes.
fn with_hint_server() -> impl Iterator<Item = &'static Table> {
    FIXTURES.iter().map(|fixture| &fixture.table).filter(|table| table.server.hint_server().is_some())
}

/// A client that has ordered nothing.
fn fresh(table: &Table) -> Box<dyn AnyClient> {
    (table.entry.prepare)(&table.params, &mut seeded("fuzz")).unwrap().finish().unwrap()
}

/// An order.
pub(crate) fn scheme_hint_request(data: &[u8]) -> bool {
    each(|Fixture { table, .. }| {
        let Some(hint_server) = table.server.hint_server() else { return false };
        let has_its_size = |response: &Vec<u8>| assert_eq!(response.len(), hint_server.hint_response_bytes());
        sized(data, hint_server.hint_request_bytes(), |request| {
            taken(hint_server.answer_hint_request(request).inspect(has_its_size))
        })
    })
}

/// Orders: the first, and the one that a first query makes due.
pub(crate) fn scheme_hint_requests() -> Vec<Vec<u8>> {
    let requests = |table: &Table| {
        let mut client = fresh(table);
        let first = client.hint_client().unwrap().next_hint_request().unwrap();
        refill_hints(client.as_mut(), table.server.as_ref()).unwrap();
        client.query(RecordIndex(0), &mut seeded("fuzz")).unwrap();
        [first, client.hint_client().unwrap().next_hint_request().unwrap()]
    };
    with_hint_server().flat_map(requests).flatten().collect()
}

/// The supply to a first order.
pub(crate) fn scheme_hint_response(data: &[u8]) -> bool {
    each(|Fixture { table, .. }| {
        let Some(hint_server) = table.server.hint_server() else { return false };
        let mut client = fresh(table);
        let hint_client = client.hint_client().expect("a client of such a scheme orders");
        assert!(hint_client.next_hint_request().unwrap().is_some(), "a fresh client orders");
        sized(data, hint_server.hint_response_bytes(), |response| {
            taken(hint_client.apply_hint_response(response))
        })
    })
}

/// Supplies, cut short; the rest repeats them.
pub(crate) fn scheme_hint_responses() -> Vec<Vec<u8>> {
    let response = |table: &Table| {
        let request = fresh(table).hint_client().unwrap().next_hint_request().unwrap().unwrap();
        let response = table.server.hint_server().unwrap().answer_hint_request(&request).unwrap();
        response[..response.len().min(4096)].to_vec()
    };
    with_hint_server().map(response).collect()
}
