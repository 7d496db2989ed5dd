//! Each exit code, and errors as JSON with `--json`; interrupted and refused commands, killed servers,
//! and a taken port.

use crate::harness::{Folder, Served, images, program, run, sotto, wait};
use crate::relay::Relay;
use serde_json::Value;
use sotto_testkit::fake_http::{response, serve};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn usage_is_2() {
    let row = "get --server http://x --table t --row 0";
    for line in [
        "get",
        "get --server http://x --table NotAName --row 0",
        &format!("{row} --pin sotto-pk:12"),
        &format!("{row} --no-cache --timeout 18446744073709551615"),
        &format!("{row} --stream"),
        &format!("{row} -o f"),
        "serve",
        "serve tables --residency swap",
        "frobnicate",
    ] {
        let outcome = run(line);
        assert_eq!(outcome.code, 2, "{line}: {}", outcome.stderr);
    }
    sotto(&["get", "--server", "ftp://x", "--table", "t", "--no-cache", "--row", "0"])
        .fails(2, &["http://", "fix:"]);
    sotto(&["get", "--server", "http://x", "--table", "t", "--row", "0"]).fails(2, &["HOME", "--cache"]);
}

/// A build without graphics cards reports what the flag needs, and serves nothing.
#[cfg(not(feature = "gpu"))]
#[test]
fn a_build_without_graphics_cards_says_so() {
    run("serve tables --gpu").fails(2, &["cannot use graphics cards", "--features gpu"]);
}

#[test]
fn bad_input_is_3() {
    let folder = Folder::new();
    let dir = folder.words(10);
    let image = folder.at("words").join("epoch-00000001.sotto");
    let bytes = std::fs::read(&image).unwrap();

    let short = folder.write("short.sotto", &bytes[..bytes.len() - 100]);
    sotto(&["inspect", &short]).fails(3, &["short.sotto", "truncated"]);
    let other = folder.write("other.sotto", b"PK\x03\x04 something else entirely");
    sotto(&["inspect", &other]).fails(3, &["other.sotto"]);
    let mut flipped = bytes.clone();
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    let flipped = folder.write("flipped.sotto", flipped);
    sotto(&["inspect", &flipped, "--verify"]).fails(3, &["does not match its digest"]);
    sotto(&["serve", &short]).fails(3, &["truncated"]);

    let config = folder.write("sotto.toml", format!("tables = [{{ dir = {dir:?} }}]\nmax_inflight = 3\n"));
    sotto(&["serve", "--config", &config]).fails(3, &["sotto.toml", "line 2", "max_inflight"]);
}

#[test]
fn a_table_without_parameters_is_4() {
    let folder = Folder::new();
    let dir = folder.words(10);
    let changes = folder.write("changes.csv", "1000000000000,far\n");
    sotto(&["update", &dir, &changes]).fails(4, &["does not fit"]);

    // Sparse: no disk holds it, and nothing reads it before it is refused.
    let huge = folder.at("huge.bin");
    if std::fs::File::create(&huge).unwrap().set_len(8 << 40).is_err() {
        println!("skipped: this file system has no files of 8 TiB");
        return;
    }
    let out = folder.text("huge");
    sotto(&["encode", huge.to_str().unwrap(), "--row-bytes", "64", "--out", &out])
        .fails(4, &["no parameters fit", "fix:"]);
}

#[test]
fn a_peer_that_is_not_there_or_talks_nonsense_is_5() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let get = |url: &str| sotto(&["get", "--server", url, "--table", "t", "--row", "0", "--no-cache"]);
    get(&format!("http://{free}")).fails(5, &["cannot connect", "fix:"]);

    let url = serve(|_, _| response(200, "", b"<html>hi!"));
    get(&url).fails(5, &["does not parse"]);
    sotto(&["inspect", &url]).fails(5, &["not a list of tables"]);
}

#[test]
fn a_key_other_than_the_pinned_one_is_5() {
    let folder = Folder::new();
    let dir = folder.words(10);
    let server = Served::start(&[&dir]);
    let wrong = format!("sotto-pk:{}", "ab".repeat(32));
    sotto(&["get", "--server", &server.url, "--table", "words", "--row", "0", "--no-cache", "--pin", &wrong])
        .fails(5, &["is signed by", "pin"]);
}

#[test]
fn a_snapshot_other_than_the_named_one_is_5() {
    let folder = Folder::new();
    let dir = folder.words(10);
    let server = Served::start(&[&dir]);
    let get = |snapshot: &str, more: &[&str]| {
        let args = ["get", "--server", &server.url, "--table", "words", "--row", "0", "--no-cache"];
        sotto(&[&args[..], &["--snapshot", snapshot], more].concat())
    };
    // Every verb accepts what another one prints.
    let printed = |inspected: Value| inspected["snapshot"].as_str().unwrap().to_owned();
    let right = printed(sotto(&["inspect", &dir, "--json"]).json());
    assert_eq!(printed(sotto(&["inspect", &server.url, "--json"]).json()["tables"][0].clone()), right);
    assert_eq!(printed(get(&right, &["--json"]).json()), right);
    get(&"7".repeat(64), &[]).fails(5, &["expected snapshot", &right, "operator"]);
    assert_eq!(get("7", &[]).code, 2);
}

#[test]
fn what_is_not_there_is_7() {
    let folder = Folder::new();
    let dir = folder.words(10);
    let server = Served::start(&[&dir]);
    let get = |table: &str, row: &str| {
        sotto(&["get", "--server", &server.url, "--table", table, "--row", row, "--no-cache"])
    };
    get("nosuch", "0").fails(7, &["no table"]);
    get("words", "10").fails(7, &["fix:"]);
    sotto(&["encode", &folder.text("none.csv"), "--value", "1", "--out", &folder.text("t")])
        .fails(7, &["none.csv"]);
    assert!(!folder.at("t").exists(), "a mistyped input leaves nothing behind");
    sotto(&["inspect", &folder.text("none")]).fails(7, &["none"]);
    sotto(&["inspect", &dir, "--epoch", "9"]).fails(7, &["epoch 9"]);
    sotto(&["serve", &folder.text("none")]).fails(7, &["none"]);
    std::fs::create_dir(folder.at("empty")).unwrap();
    sotto(&["serve", &folder.text("empty")]).fails(7, &["encode one first"]);
    sotto(&["update", &folder.text("empty"), &folder.text("words.csv")]).fails(7, &["encode one first"]);
    let there = std::fs::read_dir(folder.at("empty")).unwrap().count();
    assert_eq!(there, 0, "no table, no key and no lock");

    let key = folder.at("words").join("signing.key");
    std::fs::remove_file(&key).unwrap();
    let changes = folder.write("changes.csv", "0,new\n");
    sotto(&["update", &dir, &changes]).fails(7, &["signing.key", "the key that signed the table"]);
    assert!(!key.exists(), "another key would be of no use");
}

#[test]
fn a_table_of_whole_records_is_not_streamed() {
    let folder = Folder::new();
    let server = Served::start(&[&folder.words(10)]);
    let file = folder.text("row");
    let stream = |more: &[&str], file: &str| {
        let common =
            ["get", "--server", &server.url, "--table", "words", "--no-cache", "--stream", "-o", file];
        sotto(&[&common[..], more].concat())
    };
    stream(&["--index", "1"], &file).fails(2, &["whole records", "fix:"]);
    stream(&["--row", "1", "--row", "2"], &file).fails(2, &["one row"]);
    stream(&["--row", "1"], &folder.text("none/row")).fails(7, &["none/row"]);
    let left = std::fs::read_dir(folder.at(".")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(
        left.filter(|name| name != "words" && name != "words.csv").count(),
        0,
        "nothing is left behind"
    );
}

#[test]
fn a_state_directory_with_something_else_in_it_is_8() {
    let folder = Folder::new();
    let dir = folder.words(10);
    let ports = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log", "error"];
    let serve = |state: &str| sotto(&[&["serve", &dir, "--state", state][..], &ports].concat());
    std::fs::create_dir(folder.at("state")).unwrap();
    folder.write("state/sessions.redb", "dear diary");
    serve(&folder.text("state")).fails(8, &["sessions.redb", "delete the file"]);
}

#[cfg(unix)]
#[test]
fn a_key_that_others_can_read_is_8() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let dir = folder.words(10);
    let key = folder.at("words").join("signing.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let changes = folder.write("changes.csv", "0,new\n");
    sotto(&["update", &dir, &changes]).fails(8, &["signing.key", "chmod 600"]);
}

#[test]
fn errors_are_json_where_asked_for() {
    let outcome = sotto(&["inspect", "/no/such/place", "--json"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (7, ""));
    let error: Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert_eq!(error["error"]["code"], 7);
    assert_eq!(error["error"]["kind"], "missing");
    assert!(error["error"]["message"].as_str().unwrap().contains("/no/such/place"));
    assert!(error["error"]["fix"].is_string());

    let outcome = sotto(&["get", "--json", "--table", "t"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    let error: Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert_eq!(error["error"]["kind"], "usage");
    assert!(error["error"]["message"].as_str().unwrap().contains("--server"), "{error}");
}

#[test]
fn a_refused_table_leaves_nothing_that_was_not_there() {
    let folder = Folder::new();
    let inside = |dir: &str| {
        let entries = std::fs::read_dir(folder.at(dir)).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let bad = folder.write("bad.csv", b"a\n\xff\n");
    let huge = folder.at("huge.bin");
    std::fs::File::create(&huge).unwrap().set_len(1 << 40).unwrap();
    let huge = huge.to_str().unwrap();
    // The one is refused while it is read, the other by its parameters, when there is a key already.
    for (code, args) in [(3, [&bad, "--value", "1"]), (4, [huge, "--row-bytes", "1"])] {
        let encode = |dir: &str| sotto(&[&["encode", "--out", &folder.text(dir)], &args[..]].concat());
        let outcome = encode("new/deep");
        assert_eq!(outcome.code, code, "{}", outcome.stderr);
        assert!(!folder.at("new").exists(), "{args:?}");

        std::fs::create_dir_all(folder.at("old")).unwrap();
        assert_eq!(encode("old").code, code);
        assert_eq!(inside("old"), Vec::<String>::new(), "{args:?}");
    }
    let words = folder.words(10);
    std::fs::rename(folder.at("words").join("signing.key"), folder.at("old").join("signing.key")).unwrap();
    let key = std::fs::read(folder.at("old").join("signing.key")).unwrap();
    assert_eq!(sotto(&["encode", &bad, "--value", "1", "--out", &folder.text("old")]).code, 3);
    assert_eq!(inside("old"), ["signing.key"]);
    assert_eq!(std::fs::read(folder.at("old").join("signing.key")).unwrap(), key);

    assert_eq!(sotto(&["encode", &bad, "--value", "1", "--out", &words]).code, 3);
    assert_eq!(images(words.as_ref()), ["epoch-00000001.sotto"]);
}

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/ip-country/asn-country-ipv4-num.csv.gz");

/// The demo, with its temporary directory in `folder`.
fn demo(folder: &Folder) -> Command {
    let mut command = Command::new(program());
    command.args(["demo", "--data", DATA]).env("TMPDIR", folder.at("")).stderr(Stdio::null());
    command
}

#[test]
fn a_demo_that_is_interrupted_takes_its_directory_along() {
    let folder = Folder::new();
    let mut child = demo(&folder).stdout(Stdio::null()).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(60);
    let encoding = || {
        let made = std::fs::read_dir(folder.at("")).unwrap().next()?.unwrap().path();
        (!images(&made.join("ip-country")).is_empty()).then_some(())
    };
    while encoding().is_none() {
        assert!(Instant::now() < patience && child.try_wait().unwrap().is_none(), "it was not caught");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert!(!wait(&mut child).success());
    assert_eq!(std::fs::read_dir(folder.at("")).unwrap().count(), 0);
}

#[test]
fn a_demo_nobody_reads_takes_its_directory_along() {
    let folder = Folder::new();
    let mut child = demo(&folder).stdout(Stdio::piped()).spawn().unwrap();
    // Up to here there may not be a directory yet.
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line.starts_with("Encode")));
    assert!(wait(&mut child).success(), "as in `sotto demo | head`");
    assert_eq!(std::fs::read_dir(folder.at("")).unwrap().count(), 0);
}

#[test]
fn a_server_killed_in_the_middle_of_an_answer_is_the_peers_fault() {
    let folder = Folder::new();
    let dir = folder.words(500);
    let mut server = Served::start(&[&dir]);
    let relay = Relay::to(&server.url);
    let mut command = Command::new(program());
    command.args(["get", "--server", &relay.url, "--table", "words", "--row", "3", "--no-cache"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // The query was sent, and is held back until the server is dead.
    let mut client = None;
    let go_on = relay.hold(|| client = Some(command.spawn().unwrap()));
    let mut client = client.unwrap();
    server.child.kill().unwrap();
    wait(&mut server.child);
    go_on.send(()).unwrap();
    let status = wait(&mut client);
    let mut message = String::new();
    client.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!(status.code(), Some(5), "{message}");
    assert!(message.starts_with("error: ") && message.contains("fix: "), "{message}");
    let mut printed = String::new();
    client.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(printed, "", "no answer came, so none is shown");
}

#[test]
fn two_servers_on_one_port() {
    let folder = Folder::new();
    let dir = folder.words(10);
    let first = Served::start(&[&dir]);
    let taken = first.url.strip_prefix("http://").unwrap();
    sotto(&["serve", &dir, "--listen", taken, "--admin-listen", "127.0.0.1:0", "--log", "error"])
        .fails(6, &[taken, "in use", "--listen ADDRESS", "--admin-listen 127.0.0.1:8083"]);
    // The other address is taken as often: both have the same default.
    let taken = first.admin.strip_prefix("http://").unwrap();
    sotto(&["serve", &dir, "--listen", "127.0.0.1:0", "--admin-listen", taken, "--log", "error"])
        .fails(6, &[taken, "in use", "--admin-listen ADDRESS"]);
    let got =
        sotto(&["get", "--server", &first.url, "--table", "words", "--row", "3", "--no-cache", "--json"]);
    assert_eq!(got.json()["answers"][0]["value"], "row 3", "the first one does not mind");
}

#[test]
fn two_tables_of_one_name() {
    let (a, b) = (Folder::new(), Folder::new());
    let (one, two) = (a.words(10), b.words(20));
    run(&format!("serve {one} {two} --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --log error"))
        .fails(2, &["two tables are named words"]);
}
