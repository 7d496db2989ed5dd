//! Row proofs over real servers: for every scheme, over epochs, and against servers that answer from
//! other rows.

use crate::watched::{self, Wire, http};
use sotto_catalog::SigningKey;
use sotto_client::table::TableBuilder;
use sotto_client::transport::{Request, Response, Transport};
use sotto_client::{ClientError, Table};
use sotto_core::{Artifact, Error, Image as _, ParamsDigest, PeerMisbehaved, SchemeEntry, Section};
use sotto_db::table::RawFile;
use sotto_db::{EncodeOptions, RowProofs, TableDir, UpdateOptions, encode_table, update_table};
use sotto_prg::system_rng;
use sotto_server::{RunningServer, Server, ServerConfig, TableConfig};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_wire::{FrameHeader, Problem, ProblemCode, SessionId, answer, query, routes};
use std::fs::{self, File};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

const ROWS: u64 = 300;
const WIDTH: usize = 40;

fn value(row: u64, salt: u8) -> Vec<u8> {
    (0..WIDTH as u64).map(|i| (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (i % 57)) as u8 ^ salt).collect()
}

/// A table, and its publisher.
struct Published {
    folder: TempDir,
    key: SigningKey,
    scheme: &'static SchemeEntry,
}

impl Published {
    fn new(scheme: &'static SchemeEntry, verified: RowProofs, salt: impl Fn(u64) -> u8) -> Self {
        let key = SigningKey::generate(&mut system_rng().unwrap());
        let published = Published { folder: tempfile::tempdir().unwrap(), key, scheme };
        published.encode(verified, salt);
        published
    }

    fn dir(&self) -> TableDir {
        TableDir::create(&self.folder.path().join("t")).unwrap()
    }

    fn encode(&self, verified: RowProofs, salt: impl Fn(u64) -> u8) {
        let rows = self.folder.path().join("rows");
        fs::write(&rows, (0..ROWS).flat_map(|row| value(row, salt(row))).collect::<Vec<u8>>()).unwrap();
        let table = RawFile::new(File::open(&rows).unwrap(), &rows, ROWS, WIDTH).unwrap();
        let options = EncodeOptions {
            verified,
            lookups_per_client: 100,
            threads: Some(1),
            ..EncodeOptions::new("t".parse().unwrap(), &self.key)
        };
        encode_table(self.scheme, &table, &self.dir().lock().unwrap(), &options, &|_| ()).unwrap();
    }

    /// Gives a row another salt.
    fn update(&self, row: u64, salt: u8) {
        let hex: String = value(row, salt).iter().map(|byte| format!("{byte:02x}")).collect();
        let path = self.folder.path().join("changes.csv");
        fs::write(&path, format!("{row},{hex}\n")).unwrap();
        let options = UpdateOptions { threads: Some(1), ..UpdateOptions::new(&self.key) };
        update_table(self.scheme, &self.dir().lock().unwrap(), Some(&path), &options, &|_| ()).unwrap();
    }

    /// Starts the servers of the table.
    fn serve(&self) -> Vec<RunningServer> {
        let start = |role| {
            let table = TableConfig { role: Some(role), ..TableConfig::dir(self.dir().path()) };
            Server::start(&ServerConfig { threads: 1, tables: vec![table], ..ServerConfig::on_free_ports() })
                .unwrap()
        };
        (0..self.scheme.servers as u8).map(start).collect()
    }
}

/// A client that stores hint and state in a folder.
fn client(servers: &[RunningServer], kept: &TempDir) -> TableBuilder {
    let lines = servers.iter().map(|server| Box::new(http(server)) as Box<dyn Transport>).collect();
    let folder = |name| kept.path().join(name);
    let builder = Table::over_all(lines, "t").cache_dir(folder("cache")).require_row_proofs();
    builder.state_dir(folder("state")).rollback_dir(folder("anchors"))
}

fn refresh(servers: &[RunningServer]) {
    servers.iter().for_each(|server| {
        let _ = server.reload();
    });
}

#[test]
fn rows_of_every_scheme_are_verified_over_epochs() {
    for scheme in sotto_registry::SCHEMES {
        let published = Published::new(scheme, RowProofs::Yes, |_| 0);
        let servers = published.serve();
        let kept = tempfile::tempdir().unwrap();
        let mut table = client(&servers, &kept).open().unwrap();
        assert!(table.session().is_verified());
        for row in [0, 123, ROWS - 1] {
            assert_eq!(table.get(row).unwrap(), value(row, 0), "{}", scheme.id);
        }
        // Servers answer for two epochs, so after two more the client has to advance.
        for salt in [1, 2] {
            published.update(7, salt);
            refresh(&servers);
        }
        if scheme.is_downloadable() {
            // No answer tells that there is another epoch.
            assert_eq!(table.get(7).unwrap(), value(7, 0));
            assert!(table.refresh().unwrap());
        }
        assert_eq!(table.get(7).unwrap(), value(7, 2), "{}", scheme.id);
        assert_eq!(table.get(8).unwrap(), value(8, 0), "{}", scheme.id);
        // Another process uses the stored files.
        drop(table);
        let mut again = client(&servers, &kept).open().unwrap();
        assert_eq!(again.get(7).unwrap(), value(7, 2), "{}", scheme.id);
    }
}

#[test]
fn a_server_of_a_downloadable_table_takes_no_queries() {
    let published = Published::new(sotto_registry::find("trivial/1").unwrap(), RowProofs::IfCheap, |_| 0);
    let (servers, wire) = (published.serve(), Wire::default());
    let mut table = Table::over(wire.to(&watched::url(&servers[0])), "t").open().unwrap();
    assert_eq!(table.get(ROWS - 1).unwrap(), value(ROWS - 1, 0));
    assert!(wire.sent().is_empty());
    let digest = ParamsDigest(table.catalog().params_digest.0);
    let pin = FrameHeader { server: 0, epoch: table.catalog().epoch, digest };
    let body = query::encode(&pin, &SessionId::NONE, &[[]; 2]).unwrap();
    let response = http(&servers[0]).call(&Request::post(routes::query("t"), body, 1000)).unwrap();
    assert_eq!(Problem::read(response.status, &response.body).code, ProblemCode::WrongServer);
}

#[test]
fn who_demands_proofs_is_given_no_table_without() {
    let scheme = sotto_registry::find("simplepir/1").unwrap();
    let published = Published::new(scheme, RowProofs::No, |_| 0);
    let servers = published.serve();
    let kept = tempfile::tempdir().unwrap();
    let Err(error) = client(&servers, &kept).open() else { panic!("a table without proofs") };
    assert!(matches!(error, ClientError::NoRowProofs { .. }), "{error}");
    assert_eq!(error.code(), "no-row-proofs");
}

/// A client of `servers`, one of which sends wrong answers.
fn deceived(servers: &[RunningServer], who: usize, wire: &Wire) -> Table {
    let line = |(i, server): (usize, &RunningServer)| -> Box<dyn Transport> {
        match i == who {
            true => Box::new(wire.to(&watched::url(server))),
            false => Box::new(http(server)),
        }
    };
    let lines = servers.iter().enumerate().map(line).collect();
    Table::over_all(lines, "t").state_in_memory().open().unwrap()
}

#[test]
fn a_host_that_changes_a_bit_of_an_answer_is_found_out() {
    for id in ["simplepir/1", "dpf/1", "fspiral/1"] {
        let published = Published::new(sotto_registry::find(id).unwrap(), RowProofs::Yes, |_| 0);
        let servers = published.serve();
        let wire = Wire::default();
        wire.tamper_asks(|_, response| {
            response.body.iter_mut().skip(answer::HEAD_BYTES).for_each(|byte| *byte ^= 0x80);
        });
        let mut table = deceived(&servers, servers.len() - 1, &wire);
        let refused = table.get(3).unwrap_err();
        // Some schemes detect such answers themselves.
        assert!(
            matches!(refused.code(), "row-proof-invalid" | "unreadable" | "bad-answer"),
            "{id}: {refused}"
        );
        wire.tamper(|_, _| ());
        assert_eq!(table.get(3).unwrap(), value(3, 0), "{id}");
    }
}

/// The bytes of the answer in the response to a query for one row.
fn answer_of(response: &Response, bytes: usize) -> Vec<u8> {
    response.body[response.body.len() - bytes..].to_vec()
}

/// Whether a client gives up must not depend on what it looked up (Colombo, Nikitin, Corrigan-Gibbs,
/// Wu, Ford: "Authenticated private information retrieval", USENIX Security 2023). Here it depends
/// only on what one server did with its own share.
#[test]
fn what_makes_a_client_give_up_is_one_servers_own_share() {
    for id in sotto_registry::SCHEMES.iter().map(|scheme| scheme.id.0).filter(|id| id.starts_with("dpf/")) {
        let scheme = sotto_registry::find(id).unwrap();
        let (published, changed) = (
            Published::new(scheme, RowProofs::Yes, |_| 0),
            // Half of the rows are others, each of which is in a share or not.
            Published::new(scheme, RowProofs::Yes, |row| u8::from(row % 8 == 5)),
        );
        let (servers, liars) = (published.serve(), changed.serve());
        for who in [0, 1] {
            let differs = Arc::new(Mutex::new(false));
            let (flag, mut other) = (differs.clone(), http(&liars[who]));
            let wire = Wire::default();
            wire.tamper_asks(move |request, response| {
                let lied = other.call(request).unwrap();
                let bytes = response.body.len() - answer::HEAD_BYTES;
                *flag.lock().unwrap() = answer_of(response, bytes) != answer_of(&lied, bytes);
                *response = lied;
            });
            let mut table = deceived(&servers, who, &wire);
            let (mut aborts, mut asked) = (0, 0);
            for row in (0..ROWS).step_by(6) {
                let outcome = table.get(row);
                let differed = *differs.lock().unwrap();
                match &outcome {
                    Ok(found) => assert!(!differed && *found == value(row, 0), "{id}: row {row}"),
                    Err(error) => {
                        assert!(differed && error.code() == "row-proof-invalid", "{id}: row {row}: {error}")
                    }
                }
                aborts += u32::from(outcome.is_err());
                asked += 1;
            }
            assert!(aborts > 0, "{id}: of {asked} lookups {aborts} were given up");
        }
    }
}

/// Which of some rows a client refuses, and whether they are in altered records, if a host answers from
/// the publisher's table with every other record altered, but for the proofs in them.
fn refused(id: &str) -> Vec<(bool, bool)> {
    let scheme = sotto_registry::find(id).unwrap();
    let published = Published::new(scheme, RowProofs::Yes, |_| 0);
    let (servers, wire) = (published.serve(), Wire::default());
    let image = published.dir().open_latest().unwrap();
    let params = image.catalog().params.to_string().into_bytes();
    let records = (scheme.server.records)(&params, image).unwrap();
    let mut altered = vec![0; records.records() as usize * records.record_bytes()];
    records.read(0, &mut altered).unwrap();
    for record in altered.chunks_exact_mut(records.record_bytes()).step_by(2) {
        (1..).zip(&mut record[..WIDTH]).for_each(|(more, byte)| *byte = byte.wrapping_add(more));
    }
    let sink = MemorySink::new();
    (scheme.server.encode)(&params, &MemoryRows::new(records.record_bytes(), altered), &sink).unwrap();
    let host = (scheme.server.open)(&params, Arc::new(sink.into_image())).unwrap();
    wire.tamper_asks(move |request, response| {
        let head = query::QueryHead::parse(&request.body).unwrap();
        let queries = head.queries(&request.body, host.query_bytes()).unwrap();
        let session = host.admit(&[]).unwrap();
        let queries: Vec<_> = queries.into_iter().map(|query| (&session, query)).collect();
        let answers: Vec<_> = host.answer_many(&queries).into_iter().map(Result::unwrap).collect();
        response.body = answer::encode(&head.pin, &answers).unwrap();
    });
    let mut table = deceived(&servers, 0, &wire);
    let rows = (0..ROWS).step_by(23);
    let is_refused = |row| {
        let is_altered = table.session().packing().records_of(row)[0].0.is_multiple_of(2);
        match table.get(row) {
            Ok(found) => {
                assert_eq!(found, value(row, 0), "{id}: row {row}");
                (false, is_altered)
            }
            Err(error) => {
                assert_eq!(error.code(), "row-proof-invalid", "{id}: row {row}");
                (true, is_altered)
            }
        }
    };
    rows.map(is_refused).collect()
}

/// A host that alters records sees whether a client refuses. Where the masks of answers are signed, every
/// lookup is refused; where they come with the answer, a refusal says in which half the row is.
#[test]
fn a_host_that_alters_half_of_the_records_is_refused_for_all_or_for_these() {
    for id in ["simplepir/1", "ypir-sp/2"] {
        let rows = refused(id);
        assert!(rows.iter().all(|(is_refused, _)| *is_refused), "{id}: {rows:?}");
        assert!(rows.iter().any(|(_, is_altered)| !is_altered), "{id}: {rows:?}");
    }
    let rows = refused("inspire/1");
    assert!(rows.iter().all(|(is_refused, is_altered)| is_refused == is_altered), "{rows:?}");
    assert!(rows.contains(&(true, true)) && rows.contains(&(false, false)), "{rows:?}");
}

/// The masks of answers are an artifact of the catalog: a client compares them with the signed digest
/// before it makes a query.
#[test]
fn other_masks_than_the_signed_ones_are_refused_before_a_query() {
    let scheme = sotto_registry::find("ypir-sp/2").unwrap();
    let published = Published::new(scheme, RowProofs::Yes, |_| 0);
    let changed = Published::new(scheme, RowProofs::Yes, |row| u8::from(row >= ROWS / 2));
    let (servers, wire) = (published.serve(), Wire::default());
    let masks = |published: &Published| {
        let image = published.dir().open_latest().unwrap();
        image.section(Section::Public(Artifact::Hint)).unwrap().to_vec()
    };
    let [signed, other] = [masks(&published), masks(&changed)];
    assert!(signed != other && signed.len() == other.len());
    wire.tamper(move |_, response| {
        if response.body == signed {
            response.body.clone_from(&other);
        }
    });
    let open = || Table::over(wire.to(&watched::url(&servers[0])), "t").open();
    let Err(error) = open() else { panic!("masks that nobody signed") };
    let is_digest = matches!(error.root(), ClientError::Core(Error::Peer(PeerMisbehaved::Digest(_))));
    assert!(is_digest, "{error}");
    assert!(wire.sent().is_empty(), "a query was sent");
    wire.tamper(|_, _| ());
    assert_eq!(open().unwrap().get(3).unwrap(), value(3, 0));
}

#[test]
fn who_demands_authenticated_answers_is_given_no_others() {
    let code = |id: &str, verified| {
        let scheme = sotto_registry::find(id).unwrap();
        let published = Published::new(scheme, verified, |_| 0);
        let servers = published.serve();
        let lines = servers.iter().map(|server| Box::new(http(server)) as Box<dyn Transport>).collect();
        let opened = Table::over_all(lines, "t").require_authenticated_answers().open();
        opened.map(|mut table| table.get(5).unwrap() == value(5, 0)).map_err(|error| error.code().to_owned())
    };
    for id in ["ypir-sp/2", "simplepir/1", "dpf/1"] {
        assert_eq!(code(id, RowProofs::Yes), Ok(true), "{id}");
        assert_eq!(code(id, RowProofs::No), Err("no-row-proofs".to_owned()), "{id}");
    }
    for id in ["verisimplepir/1", "trivial/1"] {
        assert_eq!(code(id, RowProofs::No), Ok(true), "{id}: verified without proofs");
    }
    assert_eq!(code("ypir/2", RowProofs::Yes), Err("not-authenticated".to_owned()));
}

#[test]
fn rows_of_a_batch_are_all_read_before_one_is_refused() {
    let scheme = sotto_registry::find("dpf/1").unwrap();
    let published = Published::new(scheme, RowProofs::Yes, |_| 0);
    let servers = published.serve();
    let asked = Arc::new(Mutex::new(0));
    let count = asked.clone();
    let wire = Wire::default();
    wire.tamper_asks(move |request, response| {
        *count.lock().unwrap() += query::QueryHead::parse(&request.body).unwrap().count;
        response.body[answer::HEAD_BYTES] ^= 1;
    });
    let mut table = deceived(&servers, 1, &wire);
    let refused = table.get_many(&[1, 2, 3]).unwrap_err();
    assert_eq!((refused.code(), *asked.lock().unwrap()), ("row-proof-invalid", 3));
}
