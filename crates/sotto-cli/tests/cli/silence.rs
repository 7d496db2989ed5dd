//! No silent abort, verb by verb: traffic between the command and its server does not depend on the lookup, also where
//! nothing can come of it.

use crate::harness::{Folder, Served, sotto};
use crate::relay::Relay;
use sotto_testkit::transcript::{TranscriptRecorder, tells_nothing};
use sotto_tlog::generate::entry;
use sotto_tlog::{LogLayout, LogSigner, LogWriter};
use std::path::Path;

/// Runs a command against a relay, and takes down what the relay saw.
fn run(relay: &Relay, seen: &TranscriptRecorder, args: &[&str]) -> Result<(), i32> {
    let done = sotto(&[args, &["--server", &relay.url, "--no-cache"]].concat());
    relay.note(seen);
    if done.code == 0 { Ok(()) } else { Err(done.code) }
}

#[test]
fn get_asks_whatever_is_wanted() {
    let folder = Folder::new();
    let words: String = (0..50).map(|i| format!("word {i},meaning {i}\n")).collect();
    let source = folder.write("words.csv", words);
    let tables = [
        ("rows", "--value 2 --row-bytes 12"),
        ("keys", "--value 2 --key 1"),
        ("sums", "--value 2 --key 1 --band"),
        ("stack", "--value 2 --row-bytes 12 --batch 4"),
        ("films", "--value 2 --row-bytes 30000 --scheme fspiral"),
        ("download", "--value 2 --row-bytes 12 --scheme trivial"),
    ];
    let tables = tables.map(|(name, options)| folder.encode(name, &source, options));
    let server = Served::start(&tables.each_ref().map(String::as_str));
    let relay = Relay::to(&server.url);

    let rows = [["--row", "0"], ["--row", "49"], ["--row", "50"], ["--row", "9223372036854775808"]];
    let bits = [["--bit", "7"], ["--bit", "4800"], ["--key", "12"], ["--key", "no row"]];
    let lookups = [rows, bits].concat();
    for table in ["rows", "stack", "films", "download"] {
        let get = |lookup: &[&str; 2], seen: &TranscriptRecorder| {
            run(&relay, seen, &[&["get", "--table", table][..], lookup].concat())
        };
        tells_nothing(table, &lookups, get);
    }
    let keys = [["--key", "word 7"], ["--key", "no word"], ["--key", ""], ["--row", "3"], ["--bit", "3"]];
    for table in ["keys", "sums"] {
        tells_nothing(table, &keys, |lookup, seen| {
            run(&relay, seen, &[&["get", "--table", table][..], lookup].concat())
        });
    }
    let out = folder.text("out");
    tells_nothing("stream", &rows, |lookup, seen| {
        let stream = ["get", "--table", "films", "--stream", "--output", &out];
        run(&relay, seen, &[&stream[..], lookup].concat())
    });
}

/// A log, and each design's tables of it.
struct Logs {
    folder: Folder,
    log: String,
    public: String,
}

const DESIGNS: [&str; 3] = ["tile", "color", "pbc"];

impl Logs {
    fn new(entries: &str) -> Self {
        let folder = Folder::new();
        let (log, public) = (folder.text("log"), folder.text("log.pub"));
        let logs = Logs { folder, log, public };
        assert_eq!(logs.generate(&["--entries", entries, "--origin", "example.com/t"]), 0);
        logs
    }

    fn generate(&self, more: &[&str]) -> i32 {
        sotto(&[&["merkle", "generate", &self.log][..], more].concat()).code
    }

    /// Builds the log's next epoch by a design.
    fn build(&self, design: &str) -> String {
        let out = self.folder.text(design);
        let args = ["merkle", "build", &self.log, "--log-key", &self.public, "--out", &out];
        let more = ["--design", design, "--name", design, "--scheme", "simplepir", "--json"];
        let built = sotto(&[&args[..], &more].concat());
        assert_eq!(built.code, 0, "{}", built.stderr);
        out
    }

    /// Signs another log of this many entries with the same key.
    fn fork(&self, entries: u64) -> Logs {
        let folder = Folder::new();
        let log = folder.text("log");
        let mut writer = LogWriter::create(log.clone().into(), LogLayout::Tiles).unwrap();
        (0..entries).for_each(|i| writer.append(&entry(LogLayout::Tiles, "another log", i)).unwrap());
        let key = std::fs::read_to_string(format!("{}.key", self.log)).unwrap();
        writer.publish(&LogSigner::from_file(&key).unwrap()).unwrap();
        Logs { folder, log, public: self.public.clone() }
    }

    fn prove<'a>(&'a self, design: &'a str, index: &'a str) -> Vec<&'a str> {
        vec!["merkle", "prove", "--table", design, "--log-key", &self.public, "--index", index]
    }
}

#[test]
fn prove_asks_for_every_entry() {
    let logs = Logs::new("600");
    let tables = DESIGNS.map(|design| logs.build(design));
    let server = Served::start(&tables.each_ref().map(String::as_str));
    let relay = Relay::to(&server.url);
    for design in DESIGNS {
        let indices = ["0", "511", "599", "600", "601", "18446744073709551615"];
        tells_nothing(design, &indices, |index, seen| run(&relay, seen, &logs.prove(design, index)));
    }
}

#[test]
fn a_log_goes_on_from_what_was_seen() {
    let logs = Logs::new("600");
    let copy = logs.folder.text("copy");
    let copied = |from: &str, to: &str| {
        let _ = std::fs::remove_dir_all(to);
        copy_all(Path::new(from), Path::new(to));
    };
    copied(&logs.log, &copy);
    let tables = DESIGNS.map(|design| logs.build(design));
    let server = Served::start(&tables.each_ref().map(String::as_str));
    let cache = logs.folder.text("cache");
    let prove = |server: &Served, design: &str, index: &str, cache: &str| {
        let known = ["--server", &server.url, "--cache", cache];
        sotto(&[&logs.prove(design, index)[..], &known].concat())
    };
    for design in DESIGNS {
        assert_eq!(prove(&server, design, "7", &cache).code, 0);
    }
    // It grows twice, and each cache takes a step of its own.
    let old = logs.folder.text("old");
    for design in DESIGNS {
        copied(&cache, &format!("{old}-{design}"));
    }
    for entries in ["601", "1000"] {
        assert_eq!(logs.generate(&["--entries", entries, "--grow"]), 0);
        for design in DESIGNS {
            logs.build(design);
        }
        server.reload();
        for design in DESIGNS {
            let proved = prove(&server, design, "7", &cache);
            assert_eq!(proved.code, 0, "{design} {entries}: {}", proved.stderr);
        }
    }
    for design in DESIGNS {
        let proved = prove(&server, design, "600", &format!("{old}-{design}"));
        assert_eq!(proved.code, 0, "{design}: {}", proved.stderr);
    }
    // A server with an older log: its epochs start over, so a client without the stack's memory would accept it.
    let lag = Logs { folder: Folder::new(), log: copy.clone(), public: logs.public.clone() };
    let behind = Served::start(&[&lag.build("tile")]);
    copied(&cache, &old);
    forget_stacks(&old);
    prove(&behind, "tile", "7", &old).fails(5, &["600 entries, fewer than the 1000", "lag behind"]);
    // The same key signs other entries: of the same length, and more of them.
    for (entries, design) in [("1000", "tile"), ("1001", "tile"), ("1020", "color"), ("1700", "pbc")] {
        let other = logs.fork(entries.parse().unwrap());
        let forked = Served::start(&[&other.build(design)]);
        copied(&cache, &old);
        forget_stacks(&old);
        let caught = prove(&forked, design, "7", &old);
        caught.fails(5, &["does not extend", "two versions", ".checkpoint", ".other"]);
        let named = std::fs::read_dir(format!("{old}/logs")).unwrap();
        let kept: Vec<_> = named.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
        assert!(kept.len() == 2 && kept[0] != kept[1], "{kept:?}");
    }
    // Without that memory, each is accepted.
    let proved = prove(&behind, "tile", "7", &logs.folder.text("fresh"));
    assert_eq!(proved.code, 0, "{}", proved.stderr);
}

/// Removes everything from a cache except for what is known of logs.
fn forget_stacks(cache: &str) {
    for entry in std::fs::read_dir(cache).unwrap() {
        let entry = entry.unwrap();
        match (entry.file_name() == "logs", entry.path().is_dir()) {
            (true, _) => {}
            (false, true) => std::fs::remove_dir_all(entry.path()).unwrap(),
            (false, false) => std::fs::remove_file(entry.path()).unwrap(),
        }
    }
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (entry, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if entry.is_dir() {
            copy_all(&entry, &to.join(name));
        } else {
            std::fs::copy(&entry, to.join(name)).unwrap();
        }
    }
}
