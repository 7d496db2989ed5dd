//! Clients with durable state: after a crash at any point, the loaded client equals the one before.

use super::subject::{Case, Fill, NARROW, Subject, Table};
use crate::memory::MemoryImage;
use crate::rng::seeded;
use rand_core::Rng;
use sotto_core::{AnyClient, AnyPending, Budget, CryptoRng, Error, Misuse, RecordIndex};

/// A table of so few records that they are requested again before they were recovered.
const FEW: Case = Case { rows: 3, row_bytes: 5, fill: Fill::Random };

/// A whole state, and the journal since it was saved.
pub(super) struct Disk {
    pub(super) base: Vec<u8>,
    pub(super) journal: Vec<Vec<u8>>,
}

impl Disk {
    pub(super) fn new(client: &mut dyn AnyClient) -> Self {
        Disk { base: saved(client), journal: Vec::new() }
    }

    /// Writes the journal of what happened since, and checks that it suffices.
    fn commit(&mut self, table: &Table, client: &mut dyn AnyClient) {
        self.journal.push(client.state().unwrap().journal().to_vec());
        assert!(client.state().unwrap().journal().is_empty(), "a journal is given once");
        let back = saved(self.restore(table).as_mut());
        assert!(back == saved(client), "another client comes back after {} entries", self.journal.len());
    }

    pub(super) fn restore(&self, table: &Table) -> Box<dyn AnyClient> {
        let mut client = loaded(table, &self.base);
        for entry in &self.journal {
            client.state().unwrap().replay(entry).expect("an entry that was made can be repeated");
        }
        client
    }
}

pub(super) fn saved(client: &mut dyn AnyClient) -> Vec<u8> {
    let mut out = Vec::new();
    client.state().expect("a client of such a scheme has a state").save(&mut out).unwrap();
    out
}

pub(super) fn loaded(table: &Table, bytes: &[u8]) -> Box<dyn AnyClient> {
    let mut rest = bytes;
    let client = (table.entry.state.unwrap().load)(&table.params, &mut rest).expect("a saved state");
    assert!(rest.is_empty(), "a state is read to its end");
    client
}

/// Has the next block of hints made, if one is due, and checks that the request survives a crash.
fn refill(table: &Table, client: &mut dyn AnyClient) -> bool {
    let Some(hint_client) = client.hint_client() else { return false };
    let Some(request) = hint_client.next_hint_request().unwrap() else { return false };
    let hint_server = table.server.hint_server().expect("a server of such a scheme supplies");
    hint_client.apply_hint_response(&hint_server.answer_hint_request(&request).unwrap()).unwrap();
    true
}

/// A query whose answers have not come.
pub(super) type OpenQuery = (u64, Vec<Vec<u8>>, AnyPending);

pub(super) fn query(client: &mut dyn AnyClient, record: u64, rng: &mut dyn CryptoRng) -> OpenQuery {
    let (queries, pending) = client.query(RecordIndex(record), rng).expect("a query within bounds");
    (record, queries, pending)
}

/// Reads a query's answers: a right record, or none.
fn read(table: &Table, client: &mut dyn AnyClient, (record, queries, pending): OpenQuery) -> u64 {
    let number = client.state().unwrap().query_number(&pending).unwrap();
    let session = table.session(client);
    let answers = table.answer(&session, &queries).unwrap();
    match client.recover(pending, &answers) {
        Ok(read) => assert!(read.bytes() == table.record(record), "record {record} came back changed"),
        Err(error) => assert!(matches!(error, Error::Unreadable), "{error:?}"),
    }
    number
}

/// Hint responses, queries, answers in and out of order, rejections, whole states and crashes, in
/// any order, beginning with a client that has requested nothing.
pub fn at_every_entry(subject: &Subject) {
    for (case, steps) in [(FEW, 250), (NARROW, 150)] {
        let table = subject.table(case);
        let rng = &mut seeded("crashes");
        let mut client = table.unstocked(&table.image, rng).unwrap();
        let mut disk = Disk::new(client.as_mut());
        let mut waiting: Vec<OpenQuery> = Vec::new();
        let mut open = 0;
        for _ in 0..steps {
            match rng.next_u32() % 10 {
                0..4 if client.budget() == Budget::Left(0) => {
                    refill(&table, client.as_mut());
                }
                0..4 => {
                    waiting.push(query(client.as_mut(), rng.next_u64() % table.report.records, rng));
                    open += 1;
                }
                4..7 if !waiting.is_empty() => {
                    let any = rng.next_u32().is_multiple_of(4);
                    let at = if any { rng.next_u64() as usize % waiting.len() } else { 0 };
                    let number = read(&table, client.as_mut(), waiting.remove(at));
                    // The rejection is in the entry of the answer, in one of its own, or never
                    // comes.
                    match rng.next_u32() % 20 {
                        0 => client.state().unwrap().reject(number),
                        1 => {
                            disk.commit(&table, client.as_mut());
                            client.state().unwrap().reject(number);
                        }
                        _ => {}
                    }
                }
                7 => {
                    refill(&table, client.as_mut());
                }
                8 => {
                    disk = Disk::new(client.as_mut());
                    continue;
                }
                _ => {
                    let request =
                        client.hint_client().map(|hint_client| hint_client.next_hint_request().unwrap());
                    client = go_on(&table, &disk, client, &mut waiting);
                    let again =
                        client.hint_client().map(|hint_client| hint_client.next_hint_request().unwrap());
                    assert!(again == request, "another order after a crash");
                    continue;
                }
            }
            disk.commit(&table, client.as_mut());
        }
        assert!(open > steps / 5, "{open} queries in {steps} steps");
    }
}

/// Drops the client and continues with the loaded one, with the same open queries.
fn go_on(
    table: &Table,
    disk: &Disk,
    mut gone: Box<dyn AnyClient>,
    waiting: &mut [OpenQuery],
) -> Box<dyn AnyClient> {
    let mut client = disk.restore(table);
    for (_, _, pending) in waiting {
        let number = gone.state().unwrap().query_number(pending).unwrap();
        *pending = client.state().unwrap().reopen_query(number).expect("a query that was not read");
    }
    client
}

/// Everything in one entry, in which later steps spend what earlier ones made; and a journal that
/// begins before the state was saved.
pub fn in_one_entry(subject: &Subject) {
    let table = subject.table(FEW);
    let rng = &mut seeded("one entry");
    let mut client = table.unstocked(&table.image, rng).unwrap();
    let disk = Disk::new(client.as_mut());
    while refill(&table, client.as_mut()) {}
    for i in 0..90 {
        if client.budget() == Budget::Left(0) {
            break;
        }
        let waiting = query(client.as_mut(), i % table.report.records, rng);
        if i % 7 > 0 {
            let number = read(&table, client.as_mut(), waiting);
            if i % 50 == 1 {
                client.state().unwrap().reject(number);
            }
        }
        refill(&table, client.as_mut());
    }
    let before = saved(client.as_mut());
    let disk = Disk { journal: vec![client.state().unwrap().journal().to_vec()], ..disk };
    assert!(saved(disk.restore(&table).as_mut()) == before);
    let late = Disk { base: before.clone(), ..disk };
    assert!(saved(late.restore(&table).as_mut()) == before, "what a state has seen changes it again");
}

/// A state has the reported size, once it has all hints that are due at first.
pub fn reported_size(subject: &Subject) {
    for case in [FEW, NARROW] {
        let table = subject.table(case);
        let mut client = table.client(&mut seeded("size"));
        assert_eq!(saved(client.as_mut()).len() as u64, table.report.costs.client_bytes, "{case:?}");
    }
}

/// A query is read once, by the client that made it.
pub fn foreign_and_repeated(subject: &Subject) {
    let table = subject.table(NARROW);
    let (mut one, mut other) = (table.client(&mut seeded("one")), table.client(&mut seeded("other")));
    let rng = &mut seeded("foreign");
    let (_, queries, pending) = query(one.as_mut(), 1, rng);
    let _ = query(other.as_mut(), 1, rng);
    let number = one.state().unwrap().query_number(&pending).unwrap();
    let answers = table.answer(&table.session(one.as_ref()), &queries).unwrap();
    let foreign = other.recover(pending, &answers).map(|_| "a record");
    assert!(matches!(foreign, Err(Error::Misuse(Misuse::ForeignValue(_)))), "{foreign:?}");
    let [again, twice] = [(); 2].map(|()| one.state().unwrap().reopen_query(number).unwrap());
    one.recover(again, &answers).unwrap();
    let repeated = one.recover(twice, &answers).map(|_| "a record");
    assert!(matches!(repeated, Err(Error::Misuse(Misuse::ForeignValue(_)))), "{repeated:?}");
    for number in [number, number + 1] {
        assert!(one.state().unwrap().reopen_query(number).is_err(), "a query that is read is not open");
    }
}

/// A preparation continues from a checkpoint, and ends as one that was never interrupted.
pub fn preparations_go_on(subject: &Subject) {
    let state = subject.entry.state.expect("a scheme with a state");
    let table = subject.table(NARROW);
    let whole = saved(table.unstocked(&table.image, &mut seeded("whole")).unwrap().as_mut());
    let artifact = |image: &MemoryImage| {
        let prepare = (subject.entry.prepare)(&table.params, &mut seeded("whole")).unwrap();
        prepare.needs().first().map(|need| (need.artifact, image.artifact(need.artifact).unwrap().to_vec()))
    };
    let needed = artifact(&table.image);
    let len = needed.as_ref().map_or(0, |(_, bytes)| bytes.len());
    for stop in (0..=len).step_by((len / 12).max(1)) {
        let mut prepare = (subject.entry.prepare)(&table.params, &mut seeded("whole")).unwrap();
        if let Some((artifact, bytes)) = &needed {
            prepare.absorb(*artifact, &bytes[..stop]).unwrap();
        }
        let checkpoint = prepare.checkpoint().expect("a preparation of such a scheme can be written down");
        let (kept, mut bytes) = (checkpoint.absorbed_bytes() as usize, Vec::new());
        assert!(kept <= stop);
        checkpoint.save(&mut bytes).unwrap();
        for len in [0, bytes.len() / 2, bytes.len() - 1] {
            let result = (state.resume)(&table.params, &mut &bytes[..len]).map(|_| "a preparation");
            assert!(matches!(result, Err(Error::Peer(_))), "{len}: {result:?}");
        }
        let mut resumed = (state.resume)(&table.params, &mut bytes.as_slice()).unwrap();
        assert_eq!(resumed.checkpoint().unwrap().absorbed_bytes(), kept as u64);
        if let Some((artifact, bytes)) = &needed {
            resumed.absorb(*artifact, &bytes[kept..]).unwrap();
        }
        assert!(saved(resumed.finish().unwrap().as_mut()) == whole, "stopped after {stop} of {len} bytes");
    }
}
