//! A table of two servers, from its encoding to its rows: each server by a command of its own.

use crate::harness::{Folder, Served, sotto};

/// Encodes `row 0`, `row 1`, ... for two servers.
fn encode(folder: &Folder) -> String {
    let source = folder.write("words.csv", (0..40).map(|row| format!("row {row}\n")).collect::<String>());
    let dir = folder.text("words");
    let encoded =
        sotto(&["encode", &source, "--value", "1", "--row-bytes", "12", "--scheme", "dpf", "--out", &dir]);
    assert_eq!(encoded.code, 0, "{}", encoded.stderr);
    dir
}

#[test]
fn a_row_is_asked_of_two_servers() {
    let folder = Folder::new();
    let dir = encode(&folder);
    let [first, second] = ["0", "1"].map(|role| Served::start(&[&dir, "--role", role]));
    let get = |servers: &[&str], more: &[&str]| {
        let mut args = vec!["get", "--table", "words", "--no-cache", "--row", "7", "--row", "39"];
        servers.iter().for_each(|url| args.extend(["--server", url]));
        sotto(&[&args[..], more].concat())
    };
    let both = [first.url.as_str(), second.url.as_str()];
    let answers = get(&both, &["--json"]).json();
    assert_eq!(answers["answers"][0]["value"], "row 7");
    assert_eq!(answers["answers"][1]["value"], "row 39");
    for (i, url) in both.iter().enumerate() {
        let share = &answers["servers"][i];
        assert_eq!(share["server"], *url);
        assert_eq!(share["up_bytes"].as_u64(), answers["up_bytes"].as_u64().map(|bytes| bytes / 2));
    }
    let said = get(&both, &[]);
    assert!(said.stdout.contains("slowest server"), "{}", said.stdout);

    get(&both[..1], &[]).fails(2, &["expected 2 server address(es)", "do not share what they see"]);
    get(&[both[0], both[0]], &[]).fails(2, &["one endpoint", "learn the row"]);
    get(&[both[1], both[0]], &[]).fails(6, &["server 0: ", "order of the servers' roles"]);
    let inspected = sotto(&["inspect", &second.url, "--json"]).json();
    assert_eq!(
        (inspected["tables"][0]["role"].as_u64(), inspected["tables"][0]["catalog"]["servers"].as_u64()),
        (Some(1), Some(2))
    );
    let inspected = sotto(&["inspect", &dir]);
    assert!(inspected.stdout.contains("each of 2 servers"), "{}", inspected.stdout);
    assert!(inspected.stdout.contains("another operator"), "{}", inspected.stdout);
}

#[test]
fn a_role_the_table_does_not_have_is_a_wrong_call() {
    let (folder, two) = (Folder::new(), Folder::new());
    let ports = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log", "error"];
    let serve = |dir: &str, role: &str| sotto(&[&["serve", dir, "--role", role][..], &ports].concat());
    for (dir, role, asked) in
        [(folder.words(10), "1", "has 1 server(s)"), (encode(&two), "2", "has 2 server(s)")]
    {
        let outcome = serve(&dir, role);
        // Log lines come before the error.
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        let said = outcome.stderr.lines().last().unwrap_or_default();
        for words in ["error: ", asked, &format!("`role` is {role}"), "set `role`"] {
            assert!(said.contains(words), "no {words:?} in: {said}");
        }
    }
}
