//! Proofs from a log: generated, built, served, grown, proved, and what goes wrong on the way.

use crate::harness::{Folder, Served, sotto};
use serde_json::Value;
use sotto_tlog::{Directory, InclusionProof, Layout, Log, LogKey};
use std::path::Path;

struct World {
    folder: Folder,
    log: String,
    public: String,
    tables: String,
}

impl World {
    fn new(entries: &str) -> Self {
        let folder = Folder::new();
        let (log, public, tables) = (folder.text("log"), folder.text("log.pub"), folder.text("demo"));
        let made =
            sotto(&["tree", "generate", &log, "--entries", entries, "--origin", "example.com/t", "--json"]);
        assert_eq!(made.json()["entries"].to_string(), entries);
        World { folder, log, public, tables }
    }

    fn build(&self, more: &[&str]) -> Value {
        let args = ["tree", "build", &self.log, "--log-key", &self.public, "--out", &self.tables, "--json"];
        sotto(&[&args[..], more].concat()).json()
    }

    fn key(&self) -> LogKey {
        std::fs::read_to_string(&self.public).unwrap().trim().parse().unwrap()
    }

    /// Proves an entry, and verifies the text with the log's key and files alone.
    fn prove(&self, url: &str, index: u64, more: &[&str]) -> Value {
        let index_text = index.to_string();
        let args = ["tree", "prove", "--server", url, "--name", "demo", "--log-key", &self.public];
        let proved = sotto(&[&args[..], &["--index", &index_text, "--json"], more].concat()).json();
        let proof = InclusionProof::parse(proved["proof"].as_str().unwrap().as_bytes()).unwrap();
        let leaf = self.leaf(index);
        assert_eq!(proved["leaf"], hex(&leaf));
        let checkpoint = proof.verify(&leaf, &self.key()).unwrap();
        assert_eq!((proof.index, Value::from(checkpoint.size)), (index, proved["entries"].clone()));
        proved
    }

    fn leaf(&self, index: u64) -> [u8; 32] {
        let note = std::fs::read(Path::new(&self.log).join("checkpoint")).unwrap();
        let checkpoint = sotto_tlog::Checkpoint::open(&note, &self.key()).unwrap();
        let mut log = Log::open(Directory(self.log.clone().into()), Layout::Tiles, &checkpoint).unwrap();
        log.leaves(index / 256).unwrap()[(index % 256) as usize]
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_log_is_built_served_grown_and_proved() {
    let world = World::new("1000");
    let built = world.build(&[]);
    assert_eq!(
        (&built["design"], &built["lookups"], &built["epoch"]),
        (&"tree-tile/1".into(), &1.into(), &1.into())
    );
    let server = Served::start(&[&world.tables]);
    let key = built["public_key"].as_str().unwrap();
    for index in [0, 255, 256, 767, 999] {
        assert_eq!(world.prove(&server.url, index, &["--pin", key])["lookups"], 1);
    }
    let grown = ["tree", "generate", &world.log, "--entries", "1300", "--grow"];
    assert_eq!(sotto(&grown).code, 0);
    // A build that was killed leaves rows behind, which the next one removes.
    let left = Path::new(&world.tables).join(".rows-killed");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("0.rows"), b"rows").unwrap();
    assert_eq!(world.build(&[])["epoch"], 2);
    assert!(!left.exists());
    server.reload();
    for index in [0, 999, 1000, 1299] {
        assert_eq!(world.prove(&server.url, index, &[])["entries"], 1300);
    }
    // Whoever looks at the entry sees whether the log has it.
    let leaf = hex(&world.leaf(77));
    world.prove(&server.url, 77, &["--leaf", &leaf]);
    let other = ["tree", "prove", "--server", &server.url, "--name", "demo", "--log-key", &world.public];
    let other = sotto(&[&other[..], &["--index", "78", "--leaf", &leaf]].concat());
    other.fails(5, &["does not verify", "have another one there"]);
}

#[test]
fn proofs_are_laid_out_by_colour_too() {
    let world = World::new("1000");
    let built = world.build(&["--design", "colour", "--public", "3"]);
    assert_eq!((&built["design"], &built["lookups"]), (&"tree-colour/1".into(), &7.into()));
    let server = Served::start(&[&world.tables]);
    for index in [0, 1, 512, 998, 999] {
        world.prove(&server.url, index, &[]);
    }
    assert_eq!(sotto(&["tree", "generate", &world.log, "--entries", "1001", "--grow"]).code, 0);
    world.build(&["--design", "colour", "--public", "3"]);
    server.reload();
    // The last leaf of an odd log has no sibling.
    let with = world.prove(&server.url, 1000, &[]);
    let other = world.prove(&server.url, 3, &[]);
    assert_eq!((&with["bytes_up"], &with["bytes_down"]), (&other["bytes_up"], &other["bytes_down"]));
}

#[test]
fn what_is_wrong_with_a_log_is_said() {
    let world = World::new("600");
    let other = World::new("5");
    let build = |key: &str, log: &str, more: &[&str]| {
        let out = world.folder.text("other");
        sotto(&[&["tree", "build", log, "--log-key", key, "--out", &out][..], more].concat())
    };
    build(&other.public, &world.log, &[]).fails(3, &["sign"]);
    build("nonsense", &world.log, &[]).fails(7, &["nonsense"]);
    build(&world.public, "nowhere", &[]).fails(7, &["checkpoint"]);
    let tile = Path::new(&world.log).join("tile/0/001");
    let mut bytes = std::fs::read(&tile).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&tile, &bytes).unwrap();
    build(&world.public, &world.log, &[]).fails(3, &["tile/0/001"]);
    std::fs::remove_file(&tile).unwrap();
    build(&world.public, &world.log, &[]).fails(7, &["tile/0/001"]);
    bytes[40] ^= 1;
    std::fs::write(&tile, &bytes).unwrap();
    assert_eq!(build(&world.public, &world.log, &["--name", "demo"]).code, 0);
    build(&world.public, &world.log, &["--name", "demo", "--design", "colour"])
        .fails(2, &["another directory"]);
    build(&world.public, &world.log, &["--name", "else"]).fails(2, &["named demo"]);

    let server = Served::start(&[&world.folder.text("other")]);
    let prove = |index: &str, key: &str| {
        let args = ["tree", "prove", "--server", &server.url, "--name", "demo", "--log-key", key];
        sotto(&[&args[..], &["--index", index]].concat())
    };
    prove("600", &world.public).fails(7, &["600 entries"]);
    prove("1", &other.public).fails(5, &["sign"]);
    assert_eq!(prove("1", &world.public).code, 0);
}
