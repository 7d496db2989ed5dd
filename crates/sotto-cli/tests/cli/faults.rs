//! Killed encoders and servers, a taken port, a full disk.

use crate::harness::{Folder, Served, images, program, sotto, wait};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

#[test]
fn an_encoder_that_is_killed_leaves_no_image_and_nothing_in_the_way() {
    let folder = Folder::new();
    // Large enough to be caught at it; the file is sparse.
    let source = folder.at("rows.bin");
    std::fs::File::create(&source).unwrap().set_len(256 << 20).unwrap();
    let dir = folder.text("t");
    let encode = |source: &Path, row_bytes: &str| {
        let mut command = Command::new(program());
        command.arg("encode").arg(source).args(["--row-bytes", row_bytes, "--out", &dir]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let mut child = encode(&source, "64");
    let patience = Instant::now() + Duration::from_secs(60);
    while leftovers(&dir).is_empty() {
        assert!(
            Instant::now() < patience && child.try_wait().unwrap().is_none(),
            "it was not caught at work"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    assert!(!wait(&mut child).success());
    assert_eq!(images(dir.as_ref()), Vec::<String>::new());
    assert!(!leftovers(&dir).is_empty(), "a killed process cannot clean up; the next one does");

    let small = folder.write("small.bin", [7; 640]);
    assert!(wait(&mut encode(small.as_ref(), "64")).success());
    assert_eq!(images(dir.as_ref()), ["epoch-00000001.sotto"]);
    assert_eq!(leftovers(&dir), Vec::<String>::new());
    assert_eq!(sotto(&["inspect", &dir, "--verify", "--json"]).json()["catalog"]["rows"], 10);
}

/// Files in a table's directory that are no part of it.
fn leftovers(dir: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name().into_string().unwrap());
    let parts = ["signing.key", "source.json", "write.lock"];
    names.filter(|name| !name.ends_with(".sotto") && !parts.contains(&name.as_str())).collect()
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
    for signal in ["-INT", "-TERM"] {
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
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        assert!(!wait(&mut child).success());
        assert_eq!(std::fs::read_dir(folder.at("")).unwrap().count(), 0, "{signal}");
    }
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
    let (url, asked) = proxy(server.url.strip_prefix("http://").unwrap().to_owned());
    let mut client = Command::new(program())
        .args(["get", "--server", &url, "--table", "words", "--row", "3", "--no-cache"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The query was sent, and is held back until the server is dead.
    let go_on = asked.recv_timeout(Duration::from_secs(60)).unwrap();
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

/// Carries bytes to `server`; stops at the first POST and says so, with the means to go on.
pub(crate) fn proxy(server: String) -> (String, mpsc::Receiver<mpsc::Sender<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, asked) = mpsc::channel();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            match TcpStream::connect(&server) {
                Ok(to) => carry(client, to, tell.clone()),
                // What a client of a dead server sees.
                Err(_) => client.shutdown(Shutdown::Both).unwrap_or_default(),
            }
        }
    });
    (url, asked)
}

fn carry(client: TcpStream, server: TcpStream, tell: mpsc::Sender<mpsc::Sender<()>>) {
    let (mut from, mut back) = (client.try_clone().unwrap(), client);
    let (mut to, mut answers) = (server.try_clone().unwrap(), server);
    std::thread::spawn(move || {
        let mut block = [0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut block) {
            if block[..count].starts_with(b"POST") {
                let (go_on, may_go_on) = mpsc::channel();
                tell.send(go_on).unwrap_or_default();
                may_go_on.recv().unwrap_or_default();
            }
            if to.write_all(&block[..count]).is_err() {
                break;
            }
        }
        from.shutdown(Shutdown::Both).unwrap_or_default();
    });
    std::thread::spawn(move || {
        std::io::copy(&mut answers, &mut back).unwrap_or_default();
        back.shutdown(Shutdown::Both).unwrap_or_default();
    });
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
    sotto(&[
        "serve",
        &one,
        &two,
        "--listen",
        "127.0.0.1:0",
        "--admin-listen",
        "127.0.0.1:0",
        "--log",
        "error",
    ])
    .fails(2, &["two tables are named words"]);
}

#[test]
fn a_full_disk_leaves_no_half_image() {
    let folder = Folder::new();
    let disk = folder.at("disk");
    std::fs::create_dir(&disk).unwrap();
    let Some(_mounted) = Mounted::tmpfs(&disk, "6m") else {
        println!("skipped: this test mounts a small tmpfs, which is not allowed here");
        return;
    };
    let small = folder.write("small.bin", [1; 640]);
    let dir = disk.join("t").to_str().unwrap().to_owned();
    assert_eq!(sotto(&["encode", &small, "--row-bytes", "64", "--out", &dir]).code, 0);

    let large = folder.write("large.bin", vec![1; 16 << 20]);
    sotto(&["encode", &large, "--row-bytes", "64", "--out", &dir]).fails(8, &["full", "free some space"]);
    assert_eq!(images(dir.as_ref()), ["epoch-00000001.sotto"], "what was there still is, and nothing else");
    assert_eq!(leftovers(&dir), Vec::<String>::new());
    assert_eq!(sotto(&["inspect", &dir, "--verify", "--json"]).json()["catalog"]["rows"], 10);
}

/// A small file system of its own; unmounted when dropped.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn tmpfs(at: &'a Path, size: &str) -> Option<Self> {
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(at)
            .stderr(Stdio::null())
            .status();
        mount.is_ok_and(|status| status.success()).then_some(Mounted(at))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}
