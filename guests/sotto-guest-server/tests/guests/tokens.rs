//! Tokens: given to users that are known, spent once, over restarts too.

use crate::harness::{self, Response, http};
use crate::use_case::{AGENT, Config, User, config, key, metric, post, start, start_error, value, write};
use bytes::Bytes;
use serde_json::Value;
use sotto_apple::client::{Client, config_request};
use sotto_apple::sets::WeakParams;
use sotto_guest_server::{GuestConfig, TokenConfig};
use sotto_pass::client::{self, Client as Wallet};
use sotto_pass::message::challenge;
use sotto_server::RunningServer;
use sotto_testkit::rng::seeded;
use std::net::SocketAddr;
use std::path::Path;

const DIRECTORY: &str = "/.well-known/private-token-issuer-directory";

fn with_tokens(root: &Path) -> Config {
    write(&root.join("people"), "people", 40, 1);
    std::fs::write(root.join("users.txt"), "free ann\npaid eve\n").unwrap();
    let mut config = config(root, &["people"]);
    let text = format!("users = {:?}\nper_user = 9\nissuer = \"issuer\"", root.join("users.txt"));
    config.guests.apple.tokens = Some(toml_tokens(&text));
    config
}

fn toml_tokens(text: &str) -> TokenConfig {
    let whole = format!("tables = []\n[apple.tokens]\n{text}\n");
    GuestConfig::parse(&whole).unwrap().1.apple.tokens.unwrap()
}

fn get(at: SocketAddr, path: &str, bearer: Option<&str>) -> Response {
    let given = bearer.map(|user| format!("Bearer {user}"));
    let headers: Vec<(&str, &str)> = given.iter().map(|given| ("authorization", given.as_str())).collect();
    http::request(at, "GET", path, &headers, &[])
}

fn bring(at: SocketAddr, path: &str, token: &str, body: &[u8]) -> Response {
    let length = body.len().to_string();
    let headers = [
        ("user-identifier", "somebody"),
        ("user-agent", AGENT),
        ("authorization", token),
        ("content-length", &length),
    ];
    http::request(at, "POST", path, &headers, body)
}

fn issue(at: SocketAddr, user: &str, body: &[u8]) -> Response {
    let (given, length) = (format!("Bearer {user}"), body.len().to_string());
    http::request(at, "POST", "/issue", &[("authorization", &given), ("content-length", &length)], body)
}

/// A token as a header, as phones get one.
fn token(at: SocketAddr, user: &str) -> String {
    let directory: Value = serde_json::from_slice(&get(at, DIRECTORY, None).body).unwrap();
    let spki = get(at, "/token-key-for-user-token", Some(user)).body;
    let rng = &mut sotto_prg::system_rng().unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let wallet = Wallet::new(&spki, &directory, &challenge("issuer"), now).unwrap();
    let (body, pending) = wallet.request(rng).unwrap();
    let answer = issue(at, user, &body);
    assert_eq!((answer.status, answer.body.len()), (200, 256), "{}", answer.text());
    client::header(&wallet.finish(pending, &answer.body).unwrap())
}

fn outcomes(running: &RunningServer, outcome: &str) -> f64 {
    metric(running, &format!("sotto_requests_total{{route=\"apple-config\",outcome=\"{outcome}\""))
}

#[test]
fn every_request_takes_a_token_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let running = start(&with_tokens(root.path()));
    let at = running.public;
    let response = post(at, "/config", "somebody", &config_request("people"));
    assert_eq!(response.status, 401, "{}", response.text());
    assert!(response.header("www-authenticate").unwrap().starts_with("PrivateToken challenge="));
    assert_eq!(post(at, "/queries", "somebody", b"no request at all").status, 401, "nothing is read before");

    let spent = token(at, "ann");
    let response = bring(at, "/config", &spent, &config_request("people"));
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(bring(at, "/config", &spent, &config_request("people")).status, 401, "it is spent");
    assert_eq!((outcomes(&running, "ok"), outcomes(&running, "no-token")), (1.0, 2.0));

    let client =
        Client::learn("people", response.body.into(), WeakParams::Reject, 7, &mut seeded("a")).unwrap();
    let keys = client.key_request(&mut seeded("keys"));
    assert_eq!(bring(at, "/key", &token(at, "ann"), &keys).status, 200);
    let name = key(3);
    let (body, pending) = client.query(&[name.as_bytes()], &mut seeded("asking")).unwrap();
    // A token of any tier is accepted, and does not reveal the user of the lookup.
    let answer = bring(at, "/queries", &token(at, "eve"), &body);
    assert_eq!(client.open(pending, Bytes::from(answer.body)).unwrap(), [Some(value(3, 1))]);
}

#[test]
fn who_is_not_known_gets_none_and_who_is_gets_so_many() {
    let root = tempfile::tempdir().unwrap();
    let running = start(&with_tokens(root.path()));
    let at = running.public;
    for nobody in [None, Some("mallory"), Some("")] {
        assert_eq!(get(at, "/token-key-for-user-token", nobody).status, 401);
    }
    assert_eq!(issue(at, "mallory", &[0; 259]).status, 401);
    assert_eq!((issue(at, "ann", &[0; 258]).status, issue(at, "ann", &[0; 260]).status), (422, 413));
    let refused = get(at, "/token-key-for-user-token", Some("mallory"));
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    (0..9).for_each(|_| drop(token(at, "ann")));
    let spki = get(at, "/token-key-for-user-token", Some("ann")).body;
    let directory: Value = serde_json::from_slice(&get(at, DIRECTORY, None).body).unwrap();
    let wallet = Wallet::new(&spki, &directory, b"", u64::MAX).unwrap();
    let (body, _) = wallet.request(&mut sotto_prg::system_rng().unwrap()).unwrap();
    let refused = issue(at, "ann", &body);
    assert!(refused.status == 429 && refused.header("retry-after").is_some());
    token(at, "eve");

    // Users are added and removed while the server runs.
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(root.path().join("users.txt"), "paid mallory\n").unwrap();
    running.reload();
    assert_eq!(issue(at, "eve", &[0; 259]).status, 401);
    token(at, "mallory");
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(root.path().join("users.txt"), "a line that is none").unwrap();
    running.reload();
    token(at, "mallory");
}

#[test]
fn a_restart_forgets_neither_keys_nor_what_was_spent() {
    let root = tempfile::tempdir().unwrap();
    let config = with_tokens(root.path());
    let running = start(&config);
    let (spent, kept) = (token(running.public, "ann"), token(running.public, "ann"));
    assert_eq!(bring(running.public, "/config", &spent, &config_request("people")).status, 200);
    let before = get(running.public, DIRECTORY, None).body;
    drop(running);
    let running = start(&config);
    let at = running.public;
    assert_eq!(get(at, DIRECTORY, None).body, before);
    assert_eq!(bring(at, "/config", &spent, &config_request("people")).status, 401);
    assert_eq!(bring(at, "/config", &kept, &config_request("people")).status, 200);
}

/// Nothing tells which tokens were spent after a copy was made, so none of then is valid in it.
#[test]
fn no_token_is_spent_twice_in_a_copy_of_the_state() {
    let root = tempfile::tempdir().unwrap();
    let mut config = with_tokens(root.path());
    let running = start(&config);
    let [spent, kept, later] = [0; 3].map(|_| token(running.public, "ann"));
    let spend = |at, token: &str| bring(at, "/config", token, &config_request("people")).status;
    assert_eq!(spend(running.public, &spent), 200);
    for _ in 0..2 {
        // The second takes the place of the first.
        let copied = harness::operate(running.admin, "/backup");
        assert_eq!(copied.status, 200, "{}", copied.text());
        assert!(copied.text().contains("tokens.redb") && copied.text().contains("sessions.redb"));
    }
    assert_eq!(spend(running.public, &later), 200);
    let state = config.server.state.clone().unwrap();
    let copy = root.path().join("copy");
    std::fs::rename(state.join("backup"), &copy).unwrap();
    assert!(!state.join("backup.next").exists() && !state.join("backup.before").exists());
    drop(running);
    let original = config.clone();
    config.server.state = Some(copy);
    let running = start(&config);
    assert_eq!([&spent, &kept, &later].map(|token| spend(running.public, token)), [401; 3]);
    // Users get tokens of new keys, which outlive the next restart.
    let [now, next] = [0; 2].map(|_| token(running.public, "ann"));
    assert_eq!([spend(running.public, &now), spend(running.public, &now)], [200, 401]);
    drop(running);
    let running = start(&config);
    assert_eq!([&now, &next].map(|token| spend(running.public, token)), [401, 200]);
    drop(running);
    // The state that was copied goes on with its tokens.
    let running = start(&original);
    assert_eq!([&spent, &kept, &later].map(|token| spend(running.public, token)), [401, 200, 401]);
}

/// A token in a request whose body broke off, was invalid, or did not fit into memory.
#[test]
fn a_token_is_spent_once_its_request_has_come() {
    let root = tempfile::tempdir().unwrap();
    let mut config = with_tokens(root.path());
    config.server.read_timeout_ms = 50;
    config.server.request_memory_mib = 1;
    let running = start(&config);
    let at = running.public;
    let token = token(at, "ann");
    let response = |length: &str, body: &[u8]| {
        let headers = [
            ("user-identifier", "somebody"),
            ("user-agent", AGENT),
            ("authorization", &*token),
            ("content-length", length),
        ];
        http::request(at, "POST", "/config", &headers, body).status
    };
    assert_eq!(response("100", b"half of it"), 408, "the rest never comes");
    assert_eq!(response("100000000", b""), 413);
    let body = config_request("people");
    assert_eq!(response(&body.len().to_string(), &body), 200);
    assert_eq!(response(&body.len().to_string(), &body), 401, "now it is spent");
    // Reports bring tokens too.
    assert_eq!(harness::post(at, "/report", b"").status, 401);
    assert_eq!(bring(at, "/report", &self::token(at, "ann"), b"").status, 200);
}

#[test]
fn user_tokens_are_not_guessed_without_end() {
    let root = tempfile::tempdir().unwrap();
    let mut config = with_tokens(root.path());
    config.guests.apple.tokens.as_mut().unwrap().failures_per_client = 3;
    let running = start(&config);
    let at = running.public;
    let path = "/token-key-for-user-token";
    // Valid tokens, and requests without a token, are no guesses.
    for _ in 0..5 {
        assert_eq!((get(at, path, Some("ann")).status, get(at, path, None).status), (200, 401));
    }
    assert_eq!([1, 2].map(|i| get(at, path, Some(&format!("guess {i}"))).status), [401; 2]);
    assert_eq!(issue(at, "guess 3", &[0; 259]).status, 401, "both routes tell");
    // A moment later the quota allows one more guess.
    let refused = [4, 5].map(|i| get(at, path, Some(&format!("guess {i}"))))[1].clone();
    assert!(refused.status == 429 && refused.header("retry-after").is_some(), "{}", refused.text());
    assert_eq!(
        (get(at, path, Some("ann")).status, issue(at, "ann", &[0; 259]).status),
        (429, 429),
        "nothing is told"
    );
}

#[test]
fn without_users_anybody_may_ask_and_nobody_is_given_a_token() {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("people"), "people", 40, 1);
    let running = start(&config(root.path(), &["people"]));
    User::new(running.public, "somebody", "people").reads(running.public, 1);
    assert_eq!(get(running.public, DIRECTORY, None).status, 404);
    assert_eq!(issue(running.public, "ann", &[0; 259]).status, 404);
    drop(running);
    let mut config = with_tokens(root.path());
    std::fs::remove_file(root.path().join("users.txt")).unwrap();
    let why = start_error(&config).to_string();
    assert!(why.contains("users.txt"), "{why}");
    config.guests.apple.tokens = None;
    let both =
        GuestConfig::parse("tables = []\n[apple.tokens]\nusers = \"u\"\nissuer = \"i\"\nper_user = 0\n")
            .unwrap_err();
    assert!(both.contains("apple.tokens.per_user must be at least 1"), "{both}");
}
