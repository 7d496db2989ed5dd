//! Operations on a table that is served: rotating its key, backup and restore.

use crate::harness::{Folder, Outcome, Served, images, sotto};
use std::process::Stdio;

/// Stands for the command, as far as packing asks it.
const PROGRAM: &str = "#!/bin/sh\n\
    case $1 in man) mkdir -p $3 && echo page > $3/sotto.1;; completions) echo \"script of $2\";; esac\n";

/// Needs GNU's tar, as the script says.
#[cfg(target_os = "linux")]
#[test]
fn a_release_has_the_same_bytes_however_often_it_is_packed() {
    let folder = Folder::new();
    let program = folder.write("program", PROGRAM);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/release");
    let packed = |out: &str| {
        let out = folder.text(out);
        let mut pack = std::process::Command::new(script);
        let done =
            pack.args(["pack", &program, &out]).env("SOURCE_DATE_EPOCH", "1767225600").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let first = packed("one");
    for (line, end) in first.lines().zip([".tar.gz", ".deb"]) {
        let (sum, name) = line.split_once("  ").unwrap();
        assert!(sum.len() == 64 && name.starts_with("sotto") && name.ends_with(end), "{first}");
        assert!(folder.at("one").join(name).is_file(), "{name}");
    }
    // Another time, and other times of the files that go in.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    folder.write("program", PROGRAM);
    assert!(!first.is_empty() && packed("two") == first);
}

/// A table of a scheme whose clients register keys; its directory, and the key that signed it.
fn table(folder: &Folder) -> (String, String) {
    let (source, dir) = (folder.write("rows.bin", vec![7; 512 * 32]), folder.text("rows"));
    let args = ["encode", &source, "--row-bytes", "32", "--scheme", "fspiral", "--out", &dir, "--json"];
    let key = sotto(&args).json()["public_key"].as_str().unwrap().to_owned();
    (dir, key)
}

fn update(folder: &Folder, dir: &str, more: &[&str]) -> Outcome {
    let changes = folder.write("changes.csv", format!("row,value\n1,{}\n", "08".repeat(32)));
    let args = ["update", dir, &changes, "--encoding", "hex", "--header"];
    sotto(&[&args[..], more].concat())
}

fn get(served: &Served, more: &[&str]) -> Outcome {
    sotto(&[&["get", "--server", &served.url, "--table", "rows", "--row", "1"], more].concat())
}

#[test]
fn clients_follow_the_key_of_a_table_for_as_long_as_is_said() {
    let folder = Folder::new();
    let (dir, old) = table(&folder);
    let served = Served::start(&[&dir]);
    let cache = folder.text("cache");
    let remembering = ["--cache", &cache];
    // What a server without any key can keep.
    let before = folder.text("before");
    std::fs::create_dir(&before).unwrap();
    std::fs::create_dir(folder.at("before/rows")).unwrap();
    for image in images(std::path::Path::new(&dir)) {
        let (from, to) = (folder.at("rows").join(&image), folder.at("before/rows").join(&image));
        std::fs::copy(from, to).unwrap();
    }
    get(&served, &remembering).prints("");
    sotto(&["rotate-key", &dir, "--valid-for", "0"]).fails(2, &["--valid-for"]);
    sotto(&["rotate-key", &folder.text("none")]).fails(7, &["none"]);
    let rotated = sotto(&["rotate-key", &dir, "--valid-for", "2h", "--json"]).json();
    let new = rotated["to"].as_str().unwrap().to_owned();
    assert_eq!(rotated["from"], old.as_str());
    let retired = rotated["retired"].as_str().unwrap();
    // Nothing changes before the next epoch: all that is served is the old key's.
    get(&served, &["--no-cache", "--pin", &old]).prints("");
    assert_eq!(update(&folder, &dir, &["--json"]).json()["public_key"], new.as_str());
    served.reload();
    let event = format!("changed keys, as the old key states: pin {new}");
    get(&served, &remembering).prints(&event);
    // A succession that was followed is remembered.
    assert!(!get(&served, &remembering).stdout.contains(&event));
    for known in [&old, &new] {
        get(&served, &["--no-cache", "--pin", known]).prints("");
    }
    get(&served, &["--no-cache", "--pin", &old.replace("sotto-pk:", "sotto-pk:00")[..73]]).fails(5, &["pin"]);
    // The old key signs nothing any more.
    update(&folder, &dir, &["--signing-key", retired]).fails(2, &[&new]);

    // Nor is a catalog of the old key accepted again by a client that saw the new key, even with a pin.
    let listen = served.url.strip_prefix("http://").unwrap().to_owned();
    served.end();
    let stale = Served::start_at(&listen, &[&folder.text("before/rows")], Stdio::inherit());
    for more in [&[][..], &["--pin", &old]] {
        let refused = get(&stale, &[&remembering, more].concat());
        refused.fails(5, &["replaced from epoch 2 on", "sotto forget"]);
    }
    get(&stale, &["--cache", &cache, "--pin", &new]).fails(5, &[&old]);
    let forget = ["forget", "--server", &stale.url, "--table", "rows", "--cache", &cache];
    sotto(&forget).prints("forgotten");
    sotto(&forget).prints("has no entry");
    get(&stale, &["--cache", &cache, "--pin", &old]).prints("");
    stale.end();
    let served = Served::start_at(&listen, &[&dir], Stdio::inherit());

    let again = sotto(&["rotate-key", &dir, "--valid-for", "1s", "--json"]).json();
    update(&folder, &dir, &["--json"]).json();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    served.reload();
    for known in [&old, &new] {
        get(&served, &["--no-cache", "--pin", known]).fails(5, &["ask the publisher", "pin"]);
    }
    get(&served, &["--no-cache", "--pin", again["to"].as_str().unwrap()]).prints("");
}

/// Copies a folder with all that is below it.
fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// The tables of a stack change their key with it: those too in which no row changes.
#[test]
fn clients_follow_the_key_of_a_stack_and_of_its_tables() {
    let folder = Folder::new();
    let rows = folder.lines(300);
    let (dir, cache) = (folder.text("many"), folder.text("cache"));
    let how = ["--value", "1", "--row-bytes", "12", "--headroom", "10", "--batch", "12"];
    let encoded = sotto(&[&["encode", &rows, "--out", &dir, "--json"], &how[..]].concat()).json();
    let old = encoded["public_key"].as_str().unwrap().to_owned();
    std::fs::create_dir(folder.at("before")).unwrap();
    copy_folder(&folder.at("many"), &folder.at("before/many"));
    let served = Served::start(&[&dir]);
    let get = |served: &Served, more: &[&str]| {
        sotto(&[&["get", "--server", &served.url, "--table", "many", "--row", "7"], more].concat())
    };
    let remembering = ["--cache", &cache];
    get(&served, &remembering).prints("row 7");
    let rotated = sotto(&["rotate-key", &dir, "--valid-for", "2h", "--json"]).json();
    let (new, retired) = (rotated["to"].as_str().unwrap(), rotated["retired"].as_str().unwrap());
    assert_eq!(rotated["from"], old.as_str());
    get(&served, &["--no-cache", "--pin", &old]).prints("row 7");
    let changes = folder.write("changes.csv", "7,changed\n");
    let updated = sotto(&["update", &dir, &changes, "--json"]).json();
    let (tables, changed) = (&updated["summary"]["tables"], &updated["summary"]["tables_changed"]);
    assert!(updated["public_key"] == new && tables == changed && tables.as_u64() > Some(4), "{updated}");
    served.reload();
    let event = format!("changed keys, as the old key states: pin {new}");
    let followed = get(&served, &remembering);
    assert!(
        followed.stdout.contains("changed") && followed.stdout.matches(&event).count() == 1,
        "{}",
        followed.stdout
    );
    let again = get(&served, &remembering);
    assert!(again.stdout.contains("changed") && !again.stdout.contains(&event), "{}", again.stdout);
    for known in [&old[..], new] {
        get(&served, &["--no-cache", "--pin", known]).prints("changed");
    }
    get(&served, &["--no-cache", "--pin", &format!("sotto-pk:{}", "00".repeat(32))]).fails(5, &["pin"]);
    // The old key signs nothing any more.
    let changes = folder.write("changes.csv", "7,again\n");
    sotto(&["update", &dir, &changes, "--signing-key", retired]).fails(2, &[new]);
    // From then on an update writes only what changes, as before.
    let updated = sotto(&["update", &dir, &changes, "--json"]).json();
    let changed = updated["summary"]["tables_changed"].as_u64();
    assert!(changed < updated["summary"]["tables"].as_u64(), "{updated}");
    served.reload();
    get(&served, &remembering).prints("again");

    // Nor is a catalog of the old key accepted again, even with a pin.
    let listen = served.url.strip_prefix("http://").unwrap().to_owned();
    served.end();
    let stale = Served::start_at(&listen, &[&folder.text("before/many")], Stdio::inherit());
    for more in [&[][..], &["--pin", &old]] {
        get(&stale, &[&remembering, more].concat()).fails(5, &["replaced from epoch 2 on", "sotto forget"]);
    }
    sotto(&["forget", "--server", &stale.url, "--table", "many", "--cache", &cache]).prints("forgotten");
    get(&stale, &["--cache", &cache, "--pin", &old]).prints("row 7");
}

#[test]
fn what_cannot_be_made_again_is_kept_while_a_server_runs_and_put_back() {
    let folder = Folder::new();
    let (dir, key) = table(&folder);
    let (state, backup, cache) = (folder.text("state"), folder.text("backup"), folder.text("cache"));
    let served = Served::start_to(&[&dir, "--state", &state], Stdio::inherit());
    get(&served, &["--cache", &cache]).prints("");
    // A copy is taken from the folder that the operator names, whatever the server says of it.
    let elsewhere = folder.text("elsewhere");
    std::fs::create_dir_all(folder.at("elsewhere/backup")).unwrap();
    let from = ["backup", &backup, &dir, "--admin", &served.admin];
    sotto(&from).fails(2, &["state folder", "--state"]);
    sotto(&[&from[..], &["--state", &elsewhere]].concat())
        .fails(5, &["--state and --admin of the same server"]);
    let made = sotto(&[&from[..], &["--state", &state, "--json"]].concat()).json();
    let files = made["manifest"]["files"].as_array().unwrap();
    let paths: Vec<_> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"state/sessions.redb") && paths.contains(&"tables/rows/signing.key"), "{made}");
    assert!(!paths.iter().any(|path| path.ends_with(".sotto")), "{made}");
    sotto(&["backup", &backup, &dir]).fails(2, &["already exists"]);
    let restore = |more: &[&str]| {
        let tables = folder.text("");
        sotto(&[&["restore", &backup, "--state", &state, "--tables", &tables], more].concat())
    };
    // The file of sessions is in use, and not as it was.
    get(&served, &["--no-cache"]).prints("");
    restore(&["--replace"]).fails(6, &["a server has"]);
    // Clients know a server by its address.
    let listen = served.url.strip_prefix("http://").unwrap().to_owned();
    served.end();

    std::fs::remove_dir_all(&state).unwrap();
    std::fs::remove_file(folder.at("rows/signing.key")).unwrap();
    restore(&[]).prints("2 files");
    let served = Served::start_at(&listen, &[&dir, "--state", &state], Stdio::inherit());
    let readmitted = |served: &Served| {
        let metrics = served.ask_admin("GET /metrics");
        metrics.contains("sotto_session_readmissions_total 1\n")
            && metrics.contains("sotto_sessions{table=\"rows\"} 1\n")
    };
    get(&served, &["--cache", &cache]).prints("");
    assert!(readmitted(&served), "the client had to register again");
    served.end();
    assert_eq!(update(&folder, &dir, &["--json"]).json()["public_key"], key.as_str());

    folder.write("rows/signing.key", "another key");
    restore(&["--exclude", "sessions.redb"]).fails(2, &["signing.key", "--replace"]);
    folder.write("backup/tables/rows/signing.key", "a key that somebody put there");
    restore(&["--replace"]).fails(3, &["differs from its digest"]);
}
