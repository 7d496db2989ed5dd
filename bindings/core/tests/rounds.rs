//! Tests of rounds that hide the number of lookups, of their cost, and of errors by whose fault
//! they are.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test, and the client's own tests use more of what is included"
)]

use common::{NAME, Server, boxed, server_of, value};
use sotto_binding::{ErrorKind, Listener, Options, Servers, TableOrStack, guarded, open};
use sotto_client::Lookup;
use sotto_client::transport::TransportError;
use std::sync::{Arc, Mutex};

mod common {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/sotto-client/tests/suite/common.rs"));
}

const ROWS: u64 = 300;

fn servers_of(server: &Server) -> Servers {
    let server = server.clone();
    Servers::Custom(Arc::new(move || vec![boxed(server.transport())]))
}

fn opened(server: &Server) -> TableOrStack {
    open(&servers_of(server), NAME, Options::default(), None).unwrap()
}

/// Bytes of each query request that the server has received so far.
fn query_bytes(server: &Server) -> Vec<usize> {
    let received = server.received();
    received
        .iter()
        .filter(|request| request.path.ends_with("/ask"))
        .map(|request| request.body.len())
        .collect()
}

#[test]
fn a_round_does_not_show_how_much_was_wanted() {
    let server = server_of("simplepir/1", ROWS, 8);
    let mut table = opened(&server);
    let mut shapes = Vec::new();
    for rows_requested in [&[][..], &[7], &[1, 2, 3], &[0, 0, ROWS - 1, 5, 6, 7, 8, 9]] {
        let lookups: Vec<_> = rows_requested.iter().copied().map(Lookup::Row).collect();
        let before = query_bytes(&server).len();
        let (each, cost) = table.rounds(&lookups, 8).unwrap();
        let rows: Vec<_> = each.into_iter().map(|result| result.unwrap().value.unwrap()).collect();
        assert!(
            rows.iter().zip(rows_requested).all(|(got, row)| *got == value(*row, 8))
                && rows.len() == rows_requested.len()
        );
        assert_eq!((cost.requested, cost.padded_lookups), (rows_requested.len(), 8));
        assert!(
            cost.leakage.contains("8 rows of squares") && cost.leakage.contains("nor how many"),
            "{cost:?}"
        );
        shapes.push(query_bytes(&server).split_off(before));
    }
    assert!(shapes.iter().all(|shape| *shape == shapes[0] && !shape.is_empty()), "{shapes:?}");
}

#[test]
fn a_row_past_the_end_is_asked_for_and_is_an_error_then() {
    let server = server_of("simplepir/1", ROWS, 8);
    let mut table = opened(&server);
    table.rounds(&[Lookup::Row(3)], 1).unwrap();
    let error = table.rounds(&[Lookup::Row(ROWS)], 1).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Row);
    let query_bytes = query_bytes(&server);
    assert!(query_bytes.len() == 2 && query_bytes[0] == query_bytes[1], "{query_bytes:?}");
    assert_eq!(table.rounds(&[Lookup::Row(3)], 0).unwrap_err().kind, ErrorKind::Misuse);
}

#[test]
fn costs_and_table_info_have_stable_names() {
    let server = server_of("simplepir/1", ROWS, 8);
    let mut table = opened(&server);
    let (_, cost) = table.rounds(&[Lookup::Row(3)], 1).unwrap();
    let cost = serde_json::to_value(&cost).unwrap();
    for name in [
        "epoch",
        "requested",
        "padded_lookups",
        "rounds",
        "up",
        "down",
        "setup_up",
        "setup_down",
        "leakage",
        "query_prefix",
    ] {
        assert!(!cost[name].is_null(), "{name}");
    }
    let about = serde_json::to_value(table.about().unwrap()).unwrap();
    assert_eq!((&about["name"], &about["rows"]), (&NAME.into(), &ROWS.into()));
    assert_eq!((&about["scheme"], &about["trust"]), (&"simplepir/1".into(), &"first-use".into()));
}

#[test]
fn faults_say_whose_they_are() {
    let server = server_of("simplepir/1", ROWS, 8);
    let kind = |servers: &Servers, name: &str, options| {
        open(servers, name, options, None).map(drop).unwrap_err().kind
    };
    let options = Options::default;
    let to = servers_of(&server);
    assert_eq!(kind(&to, "no name", options()), ErrorKind::Misuse);
    assert_eq!(kind(&to, NAME, Options { pin: Some("pk".to_owned()), ..options() }), ErrorKind::Misuse);
    assert_eq!(kind(&to, NAME, Options { max_wait: f64::NAN, ..options() }), ErrorKind::Misuse);
    let other = server_of("simplepir/1", ROWS, 16).with(|world| {
        world.key = sotto_catalog::SigningKey::generate(&mut sotto_testkit::rng::seeded("somebody else"));
        world.pin().to_string()
    });
    assert_eq!(kind(&to, NAME, Options { pin: Some(other), ..options() }), ErrorKind::Peer);
    server.tamper(|_, _| Err(TransportError::Lost("cut".to_owned())));
    assert_eq!(kind(&to, NAME, Options { max_wait: 0.0, ..options() }), ErrorKind::Network);
    server.tamper(|_, _| Err(TransportError::Timeout("late".to_owned())));
    assert_eq!(kind(&to, NAME, options()), ErrorKind::Timeout);
    let panicked = guarded::<(), sotto_binding::BindingError>(|| panic!("of a bug")).unwrap_err();
    assert_eq!((panicked.kind, panicked.code.as_str()), (ErrorKind::Machine, "bug"));
    assert!(panicked.message.contains("of a bug") && !panicked.fix.is_empty());
}

#[test]
#[cfg(feature = "witness")]
fn a_pin_of_two_keys_and_a_policy_are_what_they_say() {
    use sotto_testkit::rng;
    use sotto_tlog::appender::{Appender, attach};
    use sotto_tlog::{Cosigner, LogEntry, SignedNote};
    use std::time::SystemTime;

    let (server, folder) = (server_of("simplepir/1", ROWS, 8), tempfile::tempdir().unwrap());
    let one = server.with(|world| world.pin().to_string());
    let both = server.with(|world| {
        let key = sotto_catalog::SigningKey::from_file(&world.key.to_file()).unwrap();
        let public = key.with_ml_dsa(&mut rng::seeded("ML-DSA")).public();
        assert!(public.accepts(&public) && public.ml_dsa.is_some());
        public.to_string()
    });
    let code = |pin: &str, policy: Option<&str>, witness_age| {
        let (pin, policy) = (Some(pin.to_owned()), policy.map(str::to_owned));
        let options = Options { pin, policy, witness_age, ..Options::default() };
        open(&servers_of(&server), NAME, options, None).map(drop).map_err(|error| (error.kind, error.code))
    };
    let refused = |kind, code: &str| Err((kind, code.to_owned()));
    assert_eq!(code(&both, None, 3600.0), refused(ErrorKind::Peer, "no-ml-dsa-signature"));
    server.with(|world| {
        let key = sotto_catalog::SigningKey::from_file(&world.key.to_file()).unwrap();
        world.key = key.with_ml_dsa(&mut rng::seeded("ML-DSA"));
        world.update(&[]);
    });
    assert_eq!((code(&one, None, 3600.0), code(&both, None, 3600.0)), (Ok(()), Ok(())));

    let cosigner = Cosigner::new("w1.example", &[1; 32]).unwrap();
    let policy = format!("witness w1 {}\nquorum w1\n", cosigner.public());
    assert_eq!(code(&both, Some(&policy), 3600.0), refused(ErrorKind::Peer, "not-logged"));
    server.with(|world| {
        let mut log = Appender::open(folder.path(), &world.key).unwrap();
        log.add(&LogEntry::catalog(&world.catalog, world.pin()).unwrap()).unwrap();
        log.publish().unwrap();
        world.published = Some(folder.path().to_owned());
    });
    assert_eq!(code(&both, Some(&policy), 3600.0), refused(ErrorKind::Peer, "not-witnessed"));
    let mut note = SignedNote::parse(&std::fs::read(folder.path().join("checkpoint")).unwrap()).unwrap();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    note.signatures.push(cosigner.cosign(&note.text, now - 1800).unwrap());
    attach(folder.path(), &[note.to_string().into_bytes()], &[cosigner.public().clone()]).unwrap();
    assert_eq!(code(&both, Some(&policy), 3600.0), Ok(()));
    assert_eq!(code(&both, Some(&policy), 600.0), refused(ErrorKind::Peer, "stale-witnesses"));
    assert_eq!(code(&both, Some(&policy), f64::NAN), refused(ErrorKind::Misuse, "misuse"));
    assert_eq!(code(&both, Some("quorum w1\n"), 3600.0), refused(ErrorKind::Misuse, "misuse"));
}

#[test]
fn a_hearer_is_told_how_far_an_opening_is() {
    #[derive(Default)]
    struct StageListener(Mutex<Vec<&'static str>>);
    impl Listener for StageListener {
        fn progress(&self, stage: &'static str, done: u64, total: u64) {
            assert!(done <= total || total == 0);
            self.0.lock().unwrap().push(stage);
        }
    }
    let server = server_of("simplepir/1", ROWS, 8);
    let received = Arc::new(StageListener::default());
    open(&servers_of(&server), NAME, Options::default(), Some(received.clone())).unwrap();
    let mut stages = received.0.lock().unwrap().clone();
    stages.dedup();
    assert_eq!(stages, ["catalog", "hint", "ready"]);
}

#[test]
fn options_are_read_from_json_and_unknown_ones_are_refused() {
    let read = |json: &str| serde_json::from_str::<Options>(json);
    assert_eq!(read(r#"{"pin": "x", "max_wait": 3}"#).unwrap().max_wait, 3.0);
    assert!(read(r#"{"pinn": "x"}"#).unwrap_err().to_string().contains("pinn"));
    // No connection is opened here, so an option for connections is unknown.
    assert_eq!(read(r#"{"timeout": 3}"#).is_ok(), cfg!(feature = "http"));
}
