//! Tables of Apple's lookups: encoded from ordinary files, updated, and distinguished from other
//! tables; and symmetric ones, to the row that one evaluation opens. And lookups from a file to an
//! answer, by the command alone: as an operator tries them without a phone.

use crate::harness::{Folder, Outcome, Served, images, run, sotto};
use serde_json::json;
use sotto_client::cache::keyring::{Keyring, KeyringEntry, KeyringSlot};
use sotto_testkit::rng::seeded;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

fn people(count: usize) -> String {
    let line = |i: usize| format!("+1555{i:07},person {i}\n");
    format!("phone,name\n{}", (0..count).map(line).collect::<String>())
}

#[test]
fn a_keyword_table_of_every_format_is_the_same_file() {
    let folder = Folder::new();
    let csv = folder.write("people.csv", people(300));
    let lines: String =
        (0..300).rev().map(|i| format!("{{\"name\":\"person {i}\",\"phone\":\"+1555{i:07}\"}}\n")).collect();
    let jsonl = folder.write("people.jsonl", &lines);
    let usual = ["--key", "phone", "--value", "name", "--apple", "--use-case", "org.example.callers"];
    let mut files = Vec::new();
    for (i, source) in [&csv, &jsonl].into_iter().enumerate() {
        let out = folder.text(&format!("t{i}"));
        let done = sotto(&[&["encode", source, "--out", &out, "--json"], &usual[..]].concat()).json();
        assert_eq!((&done["summary"]["rows"], &done["notes"]["lines"]), (&json!(300), &json!(300)));
        assert_eq!(done["summary"]["description"]["name"], "org.example.callers");
        files.push(std::fs::read(done["summary"]["image"].as_str().unwrap()).unwrap());
    }
    assert!(files[0] == files[1]);
    let out = folder.text("t2");
    let said =
        sotto(&[&["encode", &csv, "--out", &out, "--shards", "2", "--headroom", "50"], &usual[..]].concat());
    said.prints("2, each 2 tables of");
    said.prints("167.9 bits of security");
    said.prints("next: sotto serve --apple");
}

#[test]
fn what_encode_refuses() {
    let folder = Folder::new();
    let csv = folder.write("people.csv", &(people(5) + "+15550000002,again\n"));
    let out = folder.text("t");
    let run = |file: &str, more: &[&str]| {
        sotto(
            &[&["encode", file, "--out", &out, "--apple", "--key", "phone", "--value", "name"], more]
                .concat(),
        )
    };
    run(&csv, &[]).fails(3, &["people.csv, line 7", "the same as that of line 4"]);
    assert!(!folder.at("t").exists(), "no trace is left");
    let csv = folder.write("people.csv", people(5));
    run(&csv, &["--bucket-bytes", "15"]).fails(3, &["people.csv, line", "--bucket-bytes"]);
    run(&csv, &["--set", "n_1"]).fails(4, &["n_4096_logq_27_28_28_logt_5"]);
    run(&csv, &["--set", "n_4096_logq_27_28_28_logt_17"]).fails(4, &["2^"]);
    run(&csv, &["--scheme", "ypir/2"]).fails(2, &["--apple"]);
    run(&csv, &["--buckets", "9", "--headroom", "5"]).fails(2, &["--headroom"]);
    assert_eq!(run(&csv, &[]).code, 0);
    run(&csv, &["--use-case", "another"]).fails(2, &["holds the use case \"t\"", "--replace"]);
    assert_eq!(run(&csv, &["--use-case", "another", "--replace"]).code, 0);
    assert_eq!(images(&folder.at("t")).len(), 2);
    // A table of ours, and one of theirs.
    let ours = folder.text("ours");
    let usual = ["--key", "phone", "--value", "name"];
    sotto(&[&["encode", &csv, "--out", &ours, "--json"], &usual[..]].concat()).json();
    sotto(&[&["encode", &csv, "--out", &ours, "--apple"], &usual[..]].concat()).fails(2, &["another kind"]);
    sotto(&["inspect", &out, "--verify"]).prints("verified: every section matches its digest");
    let inspected = sotto(&["inspect", &out, "--epoch", "1", "--json"]).json();
    assert_eq!((&inspected["rows"], &inspected["description"]["name"]), (&json!(5), &json!("t")));
}

#[test]
fn keys_change_in_the_next_epoch() {
    let folder = Folder::new();
    let csv = folder.write("people.csv", people(400));
    let out = folder.text("t");
    let usual = ["--key", "phone", "--value", "name", "--apple", "--headroom", "20"];
    let first = sotto(&[&["encode", &csv, "--out", &out, "--json"], &usual[..]].concat()).json();
    let update = |text: &str, more: &[&str]| {
        let changes = folder.write("changes.csv", text);
        sotto(&[&["update", &out, &changes], more].concat())
    };
    let text = "name,gone,phone\nsomebody,,+15550000003\n,yes,+15550000004\nnew,,+15559999999\n";
    let dry = update(text, &["--delete", "gone", "--dry-run", "--json"]).json();
    assert_eq!(dry["changes"], json!({"set": 1, "added": 1, "removed": 1, "absent": 0}));
    assert_eq!(images(&folder.at("t")).len(), 1);
    let done = update(text, &["--delete", "gone", "--json"]).json();
    let summary = &done["summary"];
    assert_eq!((&summary["epoch"], &summary["reencoded"]), (&json!(2), &json!(false)));
    assert_eq!(summary["description"]["shards"], first["summary"]["description"]["shards"]);
    // The same again is no change.
    update(text, &["--delete", "gone"]).fails(3, &["no changed rows"]);
    update("a,b\nc,d\n", &[]).fails(2, &["phone, name"]);
    // More than there is room for, and the epochs before are not wanted any more.
    let many = update(&people(2000), &["--keep-epochs", "1"]);
    many.prints("the whole table is encoded again");
    assert_eq!(images(&folder.at("t")).len(), 1);
}

#[test]
fn rows_by_number() {
    let folder = Folder::new();
    let csv = folder.write("rows.csv", "url\none\ntwo\nthree\n");
    let out = folder.text("t");
    let done = sotto(&["encode", &csv, "--value", "url", "--apple", "--out", &out, "--json"]).json();
    let shard = &done["summary"]["description"]["shards"][0];
    assert_eq!((&shard["entries"], &shard["entry_bytes"]), (&json!(3), &json!(5)));
    let changes = folder.write("changes.csv", "row,url\n1,TWO\n");
    let done = sotto(&["update", &out, &changes, "--json"]).json();
    assert_eq!(done["summary"]["changes"]["set"], 1);
    let changes = folder.write("changes.csv", "row,url\n3,four\n");
    assert_eq!(sotto(&["update", &out, &changes]).code, 4);
    let hex = folder.write("hex.csv", "url\n00\n0011\n");
    let lengths =
        ["encode", &hex, "--value", "url", "--apple", "--encoding", "hex", "--out", &folder.text("u")];
    sotto(&lengths).fails(3, &["different lengths", "--lengths"]);
    // Each says its own.
    let out = folder.text("u");
    let done = sotto(&[&lengths[..], &["--lengths", "--json"]].concat()).json();
    let described = &done["summary"]["description"];
    assert_eq!(
        (&described["kind"], &described["shards"][0]["entry_bytes"]),
        (&json!("index-lengths"), &json!(3))
    );
    let update =
        |text: &str| sotto(&["update", &out, &folder.write("changes.csv", text), "--encoding", "hex"]);
    assert_eq!(update("row,url\n1,ff\n").code, 0);
    update("row,url\n1,ffffff\n").fails(3, &["3 bytes"]);
    sotto(&["inspect", &out]).prints("rows of up to");
    run(&format!("encode {csv} --value url --key url --apple --lengths --out {}", folder.text("v")))
        .fails(2, &["--lengths"]);
}

const DEFAULT: [&str; 7] = ["--key", "phone", "--value", "name", "--apple", "--headroom", "20"];

#[test]
fn rows_are_sealed_asked_for_and_changed() {
    let folder = Folder::new();
    let csv = folder.write("people.csv", people(60));
    let out = folder.text("callers");
    let encode = |more: &[&str]| {
        sotto(&[&["encode", csv.as_str(), "--out", out.as_str()], &DEFAULT[..], more].concat())
    };
    encode(&["--symmetric"]).prints("opens with one evaluation");
    let file = folder.at("callers/oprf.key");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let secret = std::fs::read_to_string(&file).unwrap();
    let secret = secret.lines().nth(1).unwrap().strip_prefix("sotto-oprf-p384-sk:").unwrap();
    let image = std::fs::read(folder.at("callers").join(&images(&folder.at("callers"))[0])).unwrap();
    let holds = |what: &[u8]| image.windows(what.len()).any(|bytes| bytes == what);
    assert!(!holds(b"person 7") && !holds(secret.as_bytes()));
    sotto(&["inspect", &out]).prints("opens with one evaluation");
    // In the clear on top of it, or the reverse, is refused.
    encode(&[]).fails(2, &["symmetric", "in the clear", "--replace"]);
    let rows = folder.write("rows.csv", "url\none\ntwo\n");
    let numbered = ["encode", &rows, "--value", "url", "--apple", "--symmetric", "--out", &folder.text("n")];
    sotto(&numbered).fails(2, &["index table", "--key"]);

    let (state, cache) = (folder.text("mine"), folder.text("cache"));
    let served = Served::start(&["--apple", &out, "--evaluations-per-client", "8"]);
    let get = |more: &[&str]| -> Outcome {
        let usual = ["get", "--apple", &served.url, "--use-case", "callers"];
        sotto(&[&usual[..], &["--state", &state, "--cache", &cache], more].concat())
    };
    let got = get(&["--key", "+15550000007", "--key", "+15559999999", "--json"]).json();
    assert_eq!(
        (&got["answers"][0]["value"], &got["answers"][1]["found"]),
        (&json!("person 7"), &json!(false))
    );
    assert_eq!(got["evaluations"], 2);
    // An invalid lookup is queried too, and fails afterwards.
    get(&["--row", "1"]).fails(2, &["by key", "--key"]);
    let changes = folder.write("changes.csv", "name,gone,phone\nsomebody,,+15550000007\n,yes,+15550000008\n");
    let done = sotto(&["update", &out, &changes, "--delete", "gone", "--json"]).json();
    assert_eq!(
        (&done["summary"]["changes"], &done["summary"]["reencoded"]),
        (&json!({"set": 1, "added": 0, "removed": 1, "absent": 0}), &json!(false))
    );
    served.reload();
    let said = get(&["--key", "+15550000007"]);
    said.prints("somebody");
    said.prints("1 evaluation, proved");
    let got = get(&["--key", "+15550000008", "--key", "+15550000009", "--json"]).json();
    assert_eq!(
        (&got["answers"][0]["found"], &got["answers"][1]["value"]),
        (&json!(false), &json!("person 9"))
    );
    let many: Vec<String> = (0..3).map(|i| format!("--key=+1555000001{i}")).collect();
    get(&many.iter().map(String::as_str).collect::<Vec<_>>()).fails(6, &["429"]);
    drop(served);

    // Without its key it is neither served nor changed, and another is not made in its place.
    std::fs::remove_file(&file).unwrap();
    sotto(&["serve", "--apple", &out]).fails(7, &["oprf.key", "restore the file"]);
    let changes = folder.write("changes.csv", "phone,name\n+15550000007,else\n");
    sotto(&["update", &out, &changes]).fails(7, &["oprf.key", "restore the file"]);
    encode(&["--symmetric"]).fails(7, &["restore the file"]);
    assert!(!file.exists());
}

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
    folder.encode("callers", &people, "--apple --key phone --value name --shards 3");
    folder.encode("numbers", &rows, "--apple --value url");
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

    fn get(&self, use_case: &str, more: &[&str]) -> Outcome {
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
    world.get("callers", &keys[..2]).prints("person 7");
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

/// A table of one person, and the settings of a server that gives one user tokens for it.
pub(crate) fn with_tokens(folder: &Folder) -> String {
    let source = folder.write("people.csv", "phone,name\n+15550000001,Ann\n");
    folder.encode("callers", &source, "--apple --key phone --value name");
    folder.write("users.txt", "free c0ffee\n");
    "[apple]\nuse_cases = [\"callers\"]\n[apple.tokens]\nusers = \"users.txt\"\nissuer = \"127.0.0.1\"\n"
        .to_owned()
}
