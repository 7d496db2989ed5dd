//! Apple's private lookups from a file to an answer, by the command alone: as an operator tries them without a phone.

use crate::harness::{Folder, Served, sotto};
use serde_json::json;
use sotto_client::cache::keyring::{Keyring, KeyringEntry, KeyringSlot};
use sotto_testkit::rng::seeded;
use std::process::Stdio;

struct World {
    folder: Folder,
    served: Option<Served>,
}

/// A table of 300 people in three shards, and one of rows by number, served.
fn world() -> World {
    let folder = Folder::new();
    let line = |i: usize| format!("+1555{i:07},person {i}\n");
    let people = format!("phone,name\n{}", (0..300).map(line).collect::<String>());
    let (people, rows) =
        (folder.write("people.csv", people), folder.write("rows.csv", "url\none\ntwo\nthree\n"));
    let (callers, numbers) = (folder.text("callers"), folder.text("numbers"));
    let keyed = ["--key", "phone", "--value", "name", "--shards", "3"];
    sotto(&[&["encode", &people, "--apple", "--out", &callers, "--json"], &keyed[..]].concat()).json();
    sotto(&["encode", &rows, "--apple", "--value", "url", "--out", &numbers, "--json"]).json();
    let mut world = World { folder, served: None };
    world.start("127.0.0.1:0");
    world
}

impl World {
    fn start(&mut self, listen: &str) {
        let (callers, numbers, state) =
            (self.folder.text("callers"), self.folder.text("numbers"), self.folder.text("kept"));
        self.served = Some(Served::start_at(
            listen,
            &["--apple", &callers, &numbers, "--state", &state],
            Stdio::inherit(),
        ));
    }

    fn served(&self) -> &Served {
        self.served.as_ref().unwrap()
    }

    fn get(&self, use_case: &str, more: &[&str]) -> crate::harness::Outcome {
        let (state, cache) = (self.folder.text("mine"), self.folder.text("cache"));
        let key_file = self.folder.text("key-file");
        let usual = ["get", "--apple", &self.served().url, "--use-case", use_case, "--max-shards", "3"];
        let kept = ["--state", &state, "--cache", &cache, "--key-file", &key_file];
        sotto(&[&usual[..], &kept, more].concat())
    }
}

/// A build without Oblivious HTTP reports what a flag needs, and does not offer the flag in its
/// help.
#[cfg(not(feature = "ohttp"))]
#[test]
fn a_build_without_oblivious_http_says_so() {
    for flag in [["--relay", "http://127.0.0.1:9"], ["--gateway-keys", "ours.keys"]] {
        let refused = sotto(&[&["get", "--apple", "http://127.0.0.1:9", "--key", "1"], &flag[..]].concat());
        refused.fails(2, &[flag[0], "lacks Oblivious HTTP", "--features ohttp"]);
    }
    assert!(!sotto(&["get", "--help"]).stdout.contains("--relay"));
}

#[test]
fn values_by_key_and_by_number() {
    let world = world();
    let keys = ["--key", "+15550000007", "--key", "+15559999999", "--key", "+15550000299"];
    let got = world.get("callers", &[&keys[..], &["--json"]].concat()).json();
    let answers = got["answers"].as_array().unwrap();
    let values: Vec<_> = answers.iter().map(|answer| answer["value"].clone()).collect();
    assert_eq!(values, [json!("person 7"), json!(null), json!("person 299")]);
    assert_eq!((&answers[1]["found"], &got["shards"]), (&json!(false), &json!(3)));
    assert!(got["once"]["keys_bytes"].as_u64().unwrap() > 100_000);
    world.get("callers", &keys[..2]).says("person 7");
    let got = world.get("numbers", &["--row", "0,2", "--json"]).json();
    assert_eq!((&got["answers"][0]["value"], &got["answers"][1]["value"]), (&json!("one"), &json!("three")));
    world.get("numbers", &["--row", "3"]).fails(7, &["no such row", "3"]);
    // An invalid lookup was queried too.
    let before = asked(&world);
    world.get("numbers", &["--key", "x"]).fails(2, &["by number", "--row"]);
    world.get("callers", &["--row", "1"]).fails(2, &["by key", "--key"]);
    assert_eq!(asked(&world), before + 2);
    world.get("nobody", &["--key", "x"]).fails(7, &["404", "nobody"]);
    let many: Vec<String> = (0..65).map(|i| format!("--key={i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    world.get("callers", &many).fails(2, &["64"]);
    assert_eq!(asked(&world), before + 2, "nothing was sent");
}

/// Requests for lookups that the server has answered.
fn asked(world: &World) -> u64 {
    let text = world.served().ask_admin("GET /metrics");
    let line = "sotto_requests_total{route=\"apple-queries\",outcome=\"ok\"} ";
    text.lines().find_map(|all| all.strip_prefix(line)).map_or(0, |count| count.parse().unwrap())
}

#[test]
fn keys_are_kept_on_both_sides_over_calls_and_restarts() {
    let mut world = world();
    let keys_sent = |world: &World, more: &[&str]| {
        let got = world.get("callers", &[&["--key", "+15550000001", "--json"], more].concat()).json();
        assert_eq!(got["answers"][0]["value"], "person 1");
        got["once"]["keys_bytes"].as_u64().unwrap()
    };
    assert!(keys_sent(&world, &[]) > 0);
    assert_eq!(keys_sent(&world, &[]), 0, "the client has kept them");
    // Killed, and not ended.
    let at = world.served.take().unwrap().url.strip_prefix("http://").unwrap().to_owned();
    world.start(&at);
    assert_eq!(keys_sent(&world, &[]), 0, "the server has kept them too");
    assert!(keys_sent(&world, &["--fresh-keys"]) > 0);
    assert!(keys_sent(&world, &["--user", "somebody"]) > 0);
    assert_eq!(keys_sent(&world, &["--user", "somebody"]), 0);
    // Damaged keys, and a missing key file, lead to new keys.
    for file in world.folder.files("cache/keys") {
        std::fs::write(file, b"nothing").unwrap();
    }
    assert!(keys_sent(&world, &[]) > 0);
    assert_eq!(keys_sent(&world, &[]), 0);
    std::fs::remove_file(world.folder.at("key-file")).unwrap();
    assert!(keys_sent(&world, &[]) > 0);
}

/// Keys come to their end as those of our own tables do: after an hour, and after 256 queries of all processes together. What
/// lies on the disk is of no use without the key file.
#[test]
fn keys_end_and_are_never_in_the_clear() {
    let world = world();
    let table = |more: &[&str]| world.get("callers", &[&["--json"], more].concat()).json();
    let keys: Vec<String> = (0..60).map(|i| format!("--key={i}")).collect();
    let sixty: Vec<&str> = keys.iter().map(String::as_str).collect();
    let sent = [(); 5].map(|()| table(&sixty)["once"]["keys_bytes"].as_u64().unwrap() > 0);
    assert_eq!(sent, [true, false, false, false, true], "300 queries take two sets of keys");

    // As if they were made more than an hour ago. The cache alone does not reveal them.
    let url = world.served().url.clone();
    let hook = KeyringSlot::of(&format!("apple {url}"), "7:callers");
    let without = Keyring::open(&world.folder.at("cache"), Some(&world.folder.at("another"))).unwrap();
    assert!(without.read(&hook).unwrap().is_none());
    let ring = Keyring::open(&world.folder.at("cache"), Some(&world.folder.at("key-file"))).unwrap();
    let entry = ring.read(&hook).unwrap().unwrap();
    assert_eq!(entry.used, 60);
    let old = KeyringEntry { made: entry.made - 3600, ..entry.clone() };
    ring.write(&hook, &old, &mut seeded("keys")).unwrap();
    assert!(table(&["--key=+15550000001"])["once"]["keys_bytes"].as_u64().unwrap() > 0);
    assert!(ring.read(&hook).unwrap().unwrap().keys != entry.keys);
    let everything: Vec<u8> = ["cache/keys", "mine/apple"]
        .iter()
        .flat_map(|dir| world.folder.files(dir))
        .flat_map(|file| std::fs::read(file).unwrap())
        .collect();
    let keys = ring.read(&hook).unwrap().unwrap().keys;
    assert!(keys.len() == 8 + 16 + 32 && !everything.windows(32).any(|bytes| bytes == &keys[24..]));
}

#[test]
fn a_newer_table_is_asked_at_once() {
    let world = world();
    world.get("callers", &["--key", "+15550000001"]).says("person 1");
    let changes = world.folder.write("changes.csv", "phone,name\n+15550000001,somebody\n");
    let callers = world.folder.text("callers");
    assert_eq!(sotto(&["update", &callers, &changes]).code, 0);
    world.served().reload();
    world.get("callers", &["--key", "+15550000001"]).says("somebody");
}

/// A table of one person, and the settings of a server that gives one user tokens for it.
pub(crate) fn with_tokens(folder: &Folder) -> String {
    let source = folder.write("people.csv", "phone,name\n+15550000001,Ann\n");
    let out = folder.text("callers");
    let encode = ["encode", &source, "--apple", "--key", "phone", "--value", "name", "--out", &out];
    assert_eq!(sotto(&encode).code, 0);
    folder.write("users.txt", "free c0ffee\n");
    "[apple]\nuse_cases = [\"callers\"]\n[apple.tokens]\nusers = \"users.txt\"\nissuer = \"127.0.0.1\"\n"
        .to_owned()
}

#[test]
fn tokens_are_brought_where_a_server_wants_them() {
    let folder = Folder::new();
    let text = with_tokens(&folder) + "per_user = 4\n";
    let config = folder.write("sotto.toml", format!("state = {:?}\n{text}", folder.text("state")));
    let served = Served::start(&["--config", &config]);
    let kept = ["--state", &folder.text("mine"), "--cache", &folder.text("cache")];
    let asked = ["get", "--apple", &served.url, "--use-case", "callers", "--key", "+15550000001"];
    let usual = [&asked[..], &kept].concat();
    sotto(&usual).fails(6, &["401", "--user-token"]);
    sotto(&[&usual[..], &["--user-token", "mallory"]].concat())
        .fails(6, &["the token issuer responds with 401"]);
    // A token for each request: configuration, keys, lookups.
    sotto(&[&usual[..], &["--user-token", "c0ffee"]].concat()).says("Ann");
    sotto(&[&usual[..], &["--user-token", "c0ffee"]].concat()).fails(6, &["429", "the limit of tokens"]);
}
