//! Restarts, newer tables, retired configurations.

use crate::harness::{self, eventually, get};
use crate::use_case::*;
use sotto_guest_server::{AppleKeys, use_cases};

#[test]
fn keys_outlive_a_restart_and_no_name_is_written_down() {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("a"), "a", 60, 1);
    let config = config(root.path(), &["a"]);
    let running = start(&config);
    let (one, other) =
        (User::new(running.public, "user-one-4711", "a"), User::new(running.public, "user-two", "a"));
    one.reads(running.public, 1);
    running.shutdown();

    let running = start(&config);
    assert_eq!(metric(&running, "sotto_apple_keys{use_case=\"a\"}"), 2.0);
    assert_eq!(
        metric(&running, "sotto_apple_keys_in_memory{use_case=\"a\"}"),
        0.0,
        "none is read before it is used"
    );
    other.reads(running.public, 1);
    one.reads(running.public, 1);
    assert_eq!(metric(&running, "sotto_apple_keys_in_memory{use_case=\"a\"}"), 2.0);
    assert_eq!(metric(&running, "sotto_apple_lookups_total{use_case=\"a\",outcome=\"ok\"}"), 6.0);
    assert!(metric(&running, "sotto_apple_key_bytes{medium=\"disk\"}") > 1e6);
    let metrics = get(running.admin, "/metrics").text();
    assert!(!metrics.contains("4711"), "{metrics}");
    running.shutdown();
    let kept = std::fs::read(root.path().join("state/apple-keys.redb")).unwrap();
    assert!(!kept.windows(4).any(|bytes| bytes == b"4711"), "a user's name is in the file");
}

#[test]
fn keys_go_when_there_is_no_room_and_are_sent_again() {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("a"), "a", 60, 1);
    let mut config = config(root.path(), &["a"]);
    // Memory for the keys of one user, and disk space for those of two.
    config.guests.apple.keys =
        AppleKeys { max_bytes: 1, max_stored_bytes: 1_500_000, ..AppleKeys::default() };
    let running = start(&config);
    let at = running.public;
    let users = ["u1", "u2", "u3"].map(|name| User::new(at, name, "a"));
    assert_eq!(users[0].query(at, &[1]), Err(400), "the least recently used");
    users[1].reads(at, 1);
    users[2].reads(at, 1);
    users[1].reads(at, 1);
    assert_eq!(metric(&running, "sotto_apple_keys_in_memory{use_case=\"a\"}"), 1.0);
    assert_eq!(metric(&running, "sotto_apple_keys{use_case=\"a\"}"), 2.0);
    assert_eq!(metric(&running, "sotto_requests_total{route=\"apple-queries\",outcome=\"no-keys\"}"), 1.0);
    assert_eq!(users[0].send_keys(at), 200);
    users[0].reads(at, 1);
}

#[test]
fn a_newer_table_goes_live_and_the_configuration_before_it_goes_on_for_a_while() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("a");
    write(&dir, "a", 60, 1);
    let config = config(root.path(), &["a"]);
    let running = start(&config);
    let at = running.public;
    let first = User::new(at, "first", "a");
    assert!(!running.reload());
    // The same configuration with other values: clients that know it get those.
    write(&dir, "a", 60, 2);
    assert!(running.reload() && use_cases(&running) == [("a".to_owned(), 1)]);
    first.reads(at, 2);
    // Another configuration, next to the previous one.
    write(&dir, "a", 70, 3);
    assert!(running.reload() && use_cases(&running) == [("a".to_owned(), 2)]);
    first.reads(at, 2);
    let second = User::new(at, "second", "a");
    second.reads(at, 3);
    // After a restart too.
    running.shutdown();
    let running = start(&config);
    let at = running.public;
    first.reads(at, 2);
    second.reads(at, 3);
    write(&dir, "a", 80, 4);
    let reloaded = harness::operate(running.admin, "/reload").text();
    assert!(
        reloaded.contains(r#""use_cases":[{"changed":true,"refused":null,"use_case":"a"}]"#),
        "{reloaded}"
    );
    assert_eq!(first.query(at, &[1]), Err(410));
    second.reads(at, 3);
    User::new(at, "first", "a").reads(at, 4);
    assert_eq!(metric(&running, "sotto_apple_configurations{use_case=\"a\"}"), 2.0);
    assert_eq!(metric(&running, "sotto_requests_total{route=\"apple-queries\",outcome=\"retired\"}"), 1.0);
}

#[test]
fn what_is_no_table_leaves_the_one_before() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("a");
    write(&dir, "a", 60, 1);
    let mut config = config(root.path(), &["a"]);
    config.server.reload_seconds = 1;
    let running = start(&config);
    let user = User::new(running.public, "user", "a");
    std::fs::write(dir.join("epoch-00000002.sotto"), b"no table").unwrap();
    eventually("it is told of", || metric(&running, "sotto_epoch_load_failures_total") > 0.0);
    user.reads(running.public, 1);
    std::fs::remove_file(dir.join("epoch-00000002.sotto")).unwrap();
    write(&dir, "a", 60, 2);
    eventually("the next is live", || user.query(running.public, &[5]) == Ok(vec![Some(value(5, 2))]));
}

#[test]
fn two_use_cases_and_our_own_tables_on_one_server() {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("a"), "a", 60, 1);
    write(&root.path().join("b"), "b", 70, 2);
    write(&root.path().join("c"), "b", 70, 2);
    let running = start(&config(root.path(), &["a", "b"]));
    User::new(running.public, "user", "a").reads(running.public, 1);
    User::new(running.public, "user", "b").reads(running.public, 2);
    assert_eq!(get(running.public, "/v1/tables").status, 200);
    drop(running);
    let twice = start_error(&config(&root.path().join("."), &["b", "c"]));
    assert!(twice.to_string().contains("two tables are named b"), "{twice}");
    let none = harness::world(&harness::config());
    assert_eq!(post(none.at, "/config", "user", b"").status, 404, "where none are served");
}
