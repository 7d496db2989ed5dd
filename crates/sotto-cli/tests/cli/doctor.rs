//! `sotto doctor` finds the planted problems, and nothing else.

use crate::harness::{Folder, Outcome, Served, sotto};
use serde_json::Value;
use sotto_testkit::fake_http::{response, serve};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The findings of a severity in the output of `sotto doctor`.
fn found(outcome: &Outcome, level: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(outcome.stdout.lines().last().unwrap()).unwrap();
    let all = report["findings"].as_array().unwrap();
    let text = |finding: &Value| format!("{}: {}", finding["about"], finding["found"]);
    let (mut mend, mut findings) = (0, Vec::new());
    for finding in all {
        mend += usize::from(finding["level"] == "mend");
        // Whatever is not as it should be says what to do.
        assert_eq!(finding["level"] == "good", finding["remedy"].is_null(), "{finding}");
        if finding["level"] == level {
            findings.push(text(finding));
        }
    }
    assert_eq!(outcome.code, if mend > 0 { 9 } else { 0 }, "{}", outcome.stderr);
    findings
}

fn has(found: &[String], word: &str) -> bool {
    found.iter().any(|finding| finding.contains(word))
}

fn mode(path: &str, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_machine_is_looked_at() {
    let outcome = sotto(&["doctor", "--json"]);
    let all = [found(&outcome, "good"), found(&outcome, "note"), found(&outcome, "mend")].concat();
    for about in ["instructions", "huge pages", "memory", "open files", "clock"] {
        assert!(has(&all, about), "{about}: {all:?}");
    }
}

#[test]
fn files_that_others_may_change_and_bytes_that_changed_are_found() {
    let folder = Folder::new();
    let table = folder.words(20);
    let doctor = |more: &[&str]| sotto(&[&["doctor", &table, "--json"][..], more].concat());
    mode(&table, 0o755);
    let well = doctor(&["--verify"]);
    assert_eq!(well.code, 0, "{}", well.stdout);
    assert!(
        has(&found(&well, "good"), "every byte matches") && has(&found(&well, "good"), "signs as sotto-pk:")
    );

    let image = format!("{table}/epoch-00000001.sotto");
    mode(&format!("{table}/signing.key"), 0o644);
    mode(&image, 0o666);
    let open = found(&doctor(&[]), "mend");
    assert!(
        has(&open, "publish in your name") && has(&open, "while it is served") && open.len() == 2,
        "{open:?}"
    );
    doctor(&[]).fails_softly("2 problems found");

    let mut bytes = std::fs::read(&image).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&image, bytes).unwrap();
    assert_eq!((found(&doctor(&[]), "mend").len(), found(&doctor(&["--verify"]), "mend").len()), (2, 3));
    std::fs::write(&image, b"no image").unwrap();
    assert!(has(&found(&doctor(&[]), "mend"), &image));
    sotto(&["doctor", &folder.text("nothing")]).fails(7, &["no such file"]);
}

impl Outcome {
    fn fails_softly(&self, words: &str) {
        assert!(self.code == 9 && self.stderr.contains(words), "{}", self.stderr);
    }
}

/// A faulty proxy in front of a server: it lets no body through, sets a cookie, shows another time,
/// and ignores ranges.
fn proxy(server: &str) -> String {
    let server = server.replace("http://", "");
    serve(move |head, _| {
        if head.starts_with("POST") {
            return response(413, "", b"");
        }
        let dropped =
            |line: &&str| ["connection", "range"].iter().any(|name| line.to_lowercase().starts_with(name));
        let kept: Vec<&str> = head.split("\r\n").filter(|line| !dropped(line)).collect();
        let head = kept.join("\r\n").replacen("\r\n", "\r\nconnection: close\r\n", 1);
        let mut behind = TcpStream::connect(&server).unwrap();
        behind.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        behind.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
        let (head, body) = answer.split_at(end);
        let head = String::from_utf8(head.to_vec()).unwrap();
        let head: Vec<&str> = head.split("\r\n").filter(|line| !line.starts_with("date")).collect();
        let more =
            "\r\nset-cookie: stick=1; path=/\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\nx-request-id: 7";
        [(head.join("\r\n") + more).as_bytes(), body].concat()
    })
}

#[test]
fn a_server_is_well_and_what_stands_before_it_is_not() {
    let folder = Folder::new();
    let server = Served::start(&[&folder.words(20)]);
    let doctor = |url: &str| sotto(&["doctor", url, "--json"]);
    let well = doctor(&server.url);
    assert_eq!(found(&well, "mend"), [""; 0]);
    let good = found(&well, "good");
    for word in
        ["clock agrees with this one", "a query of", "interrupted downloads resume", "table words, epoch 1"]
    {
        assert!(has(&good, word), "{word}: {good:?}");
    }
    assert!(has(&found(&well, "note"), "plain http"));

    let behind = doctor(&proxy(&server.url));
    let mend = found(&behind, "mend");
    for word in
        ["clock and this one differ", "a cookie (stick)", "is not accepted: status 413", "start again"]
    {
        assert!(has(&mend, word), "{word}: {mend:?}");
    }
    assert!(has(&found(&behind, "note"), "x-request-id"));
    assert!(
        has(&found(&doctor(&server.admin), "mend"), "not a list of tables")
            || doctor(&server.admin).code == 9
    );
    assert!(has(&found(&doctor("http://127.0.0.1:9"), "mend"), "no answer"));
    sotto(&["doctor", "http://"]).fails(2, &["is not an address"]);
}

#[test]
fn servers_of_one_table_have_roles_and_one_epoch() {
    let folder = Folder::new();
    let source = folder.write("w.csv", "one\ntwo\nthree\n");
    let table = folder.encode("pair", &source, "--value 1 --row-bytes 8 --scheme dpf");
    // Both are server 0.
    let (one, other) = (Served::start(&[&table]), Served::start(&[&table]));
    let outcome = sotto(&["doctor", &one.url, &other.url, "--json"]);
    assert!(has(&found(&outcome, "mend"), "address 1 has another role"));
    let outcome = sotto(&["doctor", &one.url, "--json"]);
    assert!(has(&found(&outcome, "note"), "the scheme has 2 servers, and 1 is given"));
}

#[test]
fn what_clients_keep_is_looked_at() {
    let folder = Folder::new();
    let (cache, state) = (folder.text("cache"), folder.text("state"));
    let doctor = || sotto(&["doctor", "--client", "--cache", &cache, "--state", &state, "--json"]);
    assert!(has(&found(&doctor(), "good"), "no cache"));
    std::fs::create_dir(&cache).unwrap();
    std::fs::create_dir(&state).unwrap();
    mode(&cache, 0o755);
    mode(&state, 0o700);
    let mend = found(&doctor(), "mend");
    assert!(mend.len() == 1 && has(&mend, "other users can see which tables you use"), "{mend:?}");
    assert!(Path::new(&cache).exists());
}
