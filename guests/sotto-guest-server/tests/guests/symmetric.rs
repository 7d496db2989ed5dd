//! Symmetric tables over HTTP: rows that an evaluation opens, the quota of evaluations, and the key
//! without which nothing is served.

use crate::harness::Response;
use crate::use_case::*;
use bytes::Bytes;
use prost::Message;
use sotto_apple::image::{RowIntake, oprf};
use sotto_apple::proto::{OprfRequest, Request, Requests};
use sotto_db::TableDir;
use sotto_server::StartError;
use sotto_testkit::rng::seeded;
use std::net::SocketAddr;
use std::path::Path;

/// Writes the next epoch of a symmetric use case: thirty rows, whose values name the epoch.
fn write_symmetric(dir: &Path, name: &str, epoch: u8) {
    let lock = TableDir::create(dir).unwrap().lock().unwrap();
    let sealing = oprf::read_or_make(&lock, &mut seeded("key")).unwrap();
    let mut intake = RowIntake::new(Some(&sealing), None);
    (0..30).for_each(|i| intake.push(key(i).as_bytes(), &value(i, epoch)).unwrap());
    write_rows(intake.finish().unwrap(), name, 20, &lock);
}

impl User {
    fn evaluations(&self, at: SocketAddr, rows: &[usize]) -> (Response, sotto_apple::client::BlindedKeys) {
        let keys: Vec<String> = rows.iter().map(|i| key(*i)).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let (body, blindings) = self.client.ask_openings(&keys, &mut seeded("blinding")).unwrap();
        (post(at, "/queries", self.name, &body), blindings)
    }

    #[track_caller]
    fn opens(&self, at: SocketAddr, rows: &[usize]) -> Vec<Option<Vec<u8>>> {
        let (answer, blindings) = self.evaluations(at, rows);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let openings = self.client.openings(blindings, answer.body.into()).unwrap();
        let (body, pending) = self.client.ask_opened(openings, &mut seeded("asking")).unwrap();
        let answer = post(at, "/queries", self.name, &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        self.client.open(pending, Bytes::from(answer.body)).unwrap()
    }
}

#[test]
fn rows_open_with_evaluations_and_there_are_so_many_of_them() {
    let root = tempfile::tempdir().unwrap();
    write_symmetric(&root.path().join("sealed"), "sealed", 1);
    write(&root.path().join("plain"), "plain", 60, 1);
    let mut config = config(root.path(), &["sealed", "plain"]);
    config.server.evaluations_per_client = 8;
    let running = start(&config);
    let (at, user) = (running.public, User::new(running.public, "user", "sealed"));
    assert_eq!(user.opens(at, &[3, 29, 1000]), [Some(value(3, 1)), Some(value(29, 1)), None]);
    let count = |outcome| {
        metric(
            &running,
            &format!("sotto_apple_evaluations_total{{use_case=\"sealed\",outcome=\"{outcome}\"}}"),
        )
    };
    assert_eq!((count("ok"), count("malformed")), (3.0, 0.0));

    // Bytes that are no element count against the quota, and do no harm; a use case that is not
    // symmetric has no evaluations.
    let status = |use_case: &str, query_element: Vec<u8>| {
        let oprf_request = Some(OprfRequest { query_element: query_element.into(), ..Default::default() });
        let request = Request { usecase: use_case.into(), oprf_request, ..Default::default() };
        post(at, "/queries", "user", &Requests { requests: vec![request] }.encode_to_vec()).status
    };
    assert_eq!(status("sealed", vec![0; 49]), 400);
    assert_eq!((count("ok"), count("malformed")), (3.0, 1.0));
    assert_eq!((status("sealed", vec![2; 48]), status("plain", vec![2; 49])), (400, 400));
    // The same request again is evaluated again, and counted.
    assert_eq!(user.evaluations(at, &[1]).0.status, 200);
    assert_eq!(user.evaluations(at, &[1]).0.status, 200);
    // All are counted or none; the quotas of other tables do not change.
    assert_eq!(user.evaluations(at, &[1, 2, 3]).0.status, 429);
    assert_eq!(user.evaluations(at, &[1, 2]).0.status, 200);
    let (refused, _) = user.evaluations(at, &[1]);
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().unwrap() > 60));
    User::new(at, "other", "plain").reads(at, 1);

    // The counts outlive a restart.
    running.shutdown();
    let running = start(&config);
    assert_eq!(user.evaluations(running.public, &[1, 2]).0.status, 429);
}

#[test]
fn newer_rows_open_as_before_and_a_table_without_its_key_is_not_served() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sealed");
    write_symmetric(&folder, "sealed", 1);
    let config = config(root.path(), &["sealed"]);
    let running = start(&config);
    let (at, user) = (running.public, User::new(running.public, "user", "sealed"));
    write_symmetric(&folder, "sealed", 2);
    assert!(running.reload());
    assert_eq!(user.opens(at, &[7]), [Some(value(7, 2))], "the configuration is the same");
    running.shutdown();
    let key = folder.join("oprf.key");
    let text = std::fs::read_to_string(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    let refused = |config: &Config| match start_error(config) {
        StartError::Table { error, .. } => error.to_string(),
        other => panic!("{other}"),
    };
    assert!(refused(&config).contains("restore the file"));
    let lock = TableDir::open(&folder).unwrap().lock().unwrap();
    let other = sotto_oprf::p384::SecretKey::generate(&mut seeded("other")).unwrap().to_file();
    lock.keep_oprf_text(&other).unwrap();
    assert!(refused(&config).contains("another table"));
    std::fs::remove_file(&key).unwrap();
    lock.keep_oprf_text(&text).unwrap();
    let running = start(&config);
    assert_eq!(User::new(running.public, "user", "sealed").opens(running.public, &[7]), [Some(value(7, 2))]);
}
