//! Proofs from a log: generated, built, served, grown, proved, with the errors of each step; and
//! `sotto merkle verify`, of proofs and of copies of logs as they are found.

use crate::harness::{Folder, Outcome, Served, sotto};
use serde_json::Value;
use sotto_tlog::key::GO_ORIGIN;
use sotto_tlog::{Checkpoint, DirectorySource, InclusionProof, LogKey, LogLayout, LogSigner, VerifiedLog};
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
            sotto(&["merkle", "generate", &log, "--entries", entries, "--origin", "example.com/t", "--json"]);
        assert_eq!(made.json()["entries"].to_string(), entries);
        World { folder, log, public, tables }
    }

    fn build(&self, more: &[&str]) -> Value {
        let args = ["merkle", "build", &self.log, "--log-key", &self.public, "--out", &self.tables, "--json"];
        sotto(&[&args[..], more].concat()).json()
    }

    fn key(&self) -> LogKey {
        std::fs::read_to_string(&self.public).unwrap().trim().parse().unwrap()
    }

    /// Proves an entry, and verifies the text with the log's key and files alone.
    fn prove(&self, url: &str, index: u64, more: &[&str]) -> Value {
        let index_text = index.to_string();
        let cache = self.folder.text("cache");
        let args = ["merkle", "prove", "--server", url, "--table", "demo", "--log-key", &self.public];
        let proved =
            sotto(&[&args[..], &["--cache", &cache, "--index", &index_text, "--json"], more].concat()).json();
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
        let mut log =
            VerifiedLog::open(DirectorySource(self.log.clone().into()), LogLayout::Tiles, &checkpoint)
                .unwrap();
        log.leaves(index / 256).unwrap()[(index % 256) as usize]
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_log_is_built_served_grown_and_proved() {
    let world = World::new("1000");
    let built = world.build(&["--design", "tile"]);
    assert_eq!(
        (&built["design"], &built["lookups"], &built["epoch"]),
        (&"tree-tile/1".into(), &1.into(), &1.into())
    );
    let server = Served::start(&[&world.tables]);
    let key = built["public_key"].as_str().unwrap();
    for index in [0, 255, 256, 767, 999] {
        assert_eq!(world.prove(&server.url, index, &["--pin", key])["lookups"], 1);
    }
    let grown = ["merkle", "generate", &world.log, "--entries", "1300", "--grow"];
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
    // Clients of the stack follow its key, and the tables are signed with the next one as well.
    let rotated = sotto(&["rotate-key", &world.tables, "--json"]).json();
    let next = rotated["to"].as_str().unwrap();
    assert_eq!(
        (rotated["from"].as_str().unwrap(), world.build(&[])["public_key"].as_str().unwrap()),
        (key, next)
    );
    server.reload();
    let followed = world.prove(&server.url, 5, &["--pin", key]);
    assert!(
        followed["events"].to_string().contains(&format!("changed keys, as the old key states: pin {next}"))
    );
    world.prove(&server.url, 6, &["--pin", next]);
    // A reader of the entry sees whether the log has it.
    let leaf = hex(&world.leaf(77));
    world.prove(&server.url, 77, &["--leaf", &leaf]);
    let other = ["merkle", "prove", "--no-cache", "--server", &server.url, "--name", "demo"];
    let other = [&other[..], &["--log-key", &world.public]].concat();
    let other = sotto(&[&other[..], &["--index", "78", "--leaf", &leaf]].concat());
    other.fails(5, &["does not verify", "have another entry there"]);
}

#[test]
fn lines_of_a_file_are_entries_of_a_log() {
    let folder = Folder::new();
    let (lines, log, public) = (folder.text("lines"), folder.text("log"), folder.text("log.pub"));
    let write = |count: usize| {
        let text: Vec<String> = (0..count).map(|line| format!("low {line},high {line}")).collect();
        std::fs::write(&lines, text.join("\n")).unwrap();
    };
    let generate = |more: &[&str]| sotto(&[&["merkle", "generate", &log, "--lines", &lines], more].concat());
    write(300);
    assert_eq!(generate(&["--json"]).json()["entries"], 300);
    write(299);
    generate(&["--grow"]).fails(3, &["expected the 300 entries", "got 299 lines"]);
    write(301);
    assert_eq!(generate(&["--grow", "--json"]).json()["entries"], 301);

    let tables = folder.text("ranges");
    let build = ["merkle", "build", &log, "--log-key", &public, "--out", &tables, "--scheme", "simplepir"];
    assert_eq!(sotto(&build).code, 0);
    let server = Served::start(&[&tables]);
    let entry = folder.write("entry", "low 300,high 300\n");
    let at =
        ["merkle", "prove", "--server", &server.url, "--table", "ranges", "--log-key", &public, "--no-cache"];
    let proved = sotto(&[&at[..], &["--index", "300", "--json"]].concat()).json();
    let proof = folder.write("proof", proved["proof"].as_str().unwrap());
    assert_eq!(sotto(&["merkle", "verify", &proof, "--log-key", &public, "--entry", &entry]).code, 0);

    folder.write("lines", "x".repeat(70_000));
    let long = folder.text("long");
    sotto(&["merkle", "generate", &long, "--lines", &lines]).fails(3, &["a line of the entries", "65535"]);
}

#[test]
fn proofs_are_laid_out_by_color_too() {
    let world = World::new("1000");
    let built = world.build(&["--design", "color", "--public-layers", "3", "--scheme", "simplepir"]);
    assert_eq!((&built["design"], &built["lookups"]), (&"tree-colour/1".into(), &7.into()));
    let server = Served::start(&[&world.tables]);
    for index in [0, 1, 512, 998, 999] {
        world.prove(&server.url, index, &[]);
    }
    assert_eq!(sotto(&["merkle", "generate", &world.log, "--entries", "1001", "--grow"]).code, 0);
    world.build(&["--design", "color", "--public-layers", "3", "--scheme", "simplepir"]);
    server.reload();
    // The first proof of a log that has grown comes with one of its growth.
    world.prove(&server.url, 7, &[]);
    // The last leaf of an odd log has no sibling.
    let with = world.prove(&server.url, 1000, &[]);
    let other = world.prove(&server.url, 3, &[]);
    assert_eq!((&with["bytes_up"], &with["bytes_down"]), (&other["bytes_up"], &other["bytes_down"]));
    // Past a power of two the same tables get longer, and a server goes on with them.
    assert_eq!(sotto(&["merkle", "generate", &world.log, "--entries", "2100", "--grow"]).code, 0);
    assert_eq!(world.build(&[])["lookups"], 7);
    server.reload();
    for index in [0, 1023, 1024, 2099] {
        assert_eq!(world.prove(&server.url, index, &[])["entries"], 2100);
    }
}

#[test]
fn what_is_planned_is_built_and_kept() {
    let world = World::new("700");
    let plan = |more: &[&str]| {
        let args = ["merkle", "plan", &world.log, "--log-key", &world.public, "--json"];
        sotto(&[&args[..], more].concat()).json()
    };
    let planned = plan(&[]);
    assert_eq!(planned["leaves"], 700);
    let seconds = |offer: &Value| offer["seconds"].as_f64().unwrap();
    let considered = planned["considered"].as_array().unwrap();
    assert!(considered.len() >= 4 && considered.is_sorted_by_key(seconds), "{planned}");
    assert!(considered.iter().all(|offer| offer["failure_log2"].as_f64().unwrap() <= -40.0), "{planned}");
    // Fewest bytes are found where bytes are what counts.
    let bytes = |offer: &Value| {
        let of = |name: &str| offer[name].as_u64().unwrap();
        of("bytes_up")
            + of("bytes_down")
            + (of("public_bytes") + of("artifact_bytes") + of("keys_bytes")) / 100
    };
    let fewest = plan(&["--goal", "total-bytes"])["chosen"].clone();
    assert!(considered.iter().all(|offer| bytes(offer) >= bytes(&fewest)), "{fewest}");

    let built = world.build(&["--goal", "total-bytes"]);
    assert_eq!((&built["scheme"], &built["lookups"]), (&fewest["scheme"], &fewest["lookups"]));
    // A log that grows keeps what it has, whatever would be best by now.
    let layout = ["--design", "color", "--public-layers", "4", "--scheme", "simplepir"];
    let other = world.folder.text("other");
    let build = |more: &[&str]| {
        let args = ["merkle", "build", &world.log, "--log-key", &world.public, "--out", &other];
        sotto(&[&args[..], more].concat())
    };
    let first = build(&[&layout[..], &["--json"]].concat()).json();
    assert_eq!((&first["design"], &first["lookups"]), (&"tree-colour/1".into(), &6.into()));
    let grow = |entries| {
        assert_eq!(sotto(&["merkle", "generate", &world.log, "--entries", entries, "--grow"]).code, 0)
    };
    grow("1024");
    let second = build(&["--goal", "total-bytes", "--json"]).json();
    assert_eq!((&second["lookups"], &second["scheme"]), (&6.into(), &"simplepir/1".into()));
    assert!(second["why"].as_str().unwrap().contains("unchanged"), "{second}");
    build(&["--public-layers", "3"]).fails(2, &["has another layout"]);
    build(&["--design", "tile"]).fails(2, &["another directory"]);
    grow("1025");
    build(&["--public-layers", "4"]).fails(2, &["has another layout"]);
    let third = build(&["--json"]).json();
    assert_eq!((&third["epoch"], &third["lookups"], &third["tables"]), (&3.into(), &6.into(), &6.into()));
    assert!(third["why"].as_str().unwrap().contains("passed a power of two"), "{third}");
}

#[test]
fn plans_are_made_without_a_log_and_refused_with_a_reason() {
    let plan = |args: &[&str]| sotto(&[&["merkle", "plan"][..], args].concat());
    let shown = plan(&["--leaves", "1048576"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for words in ["tile ", "tiles", "color ", "public", "pbc", "(--goal)", "100 Mbit/s"] {
        assert!(shown.stdout.contains(words), "no {words:?} in {}", shown.stdout);
    }
    let one = plan(&["--leaves", "5000", "--scheme", "dpf", "--json"]).json();
    assert_eq!(one["chosen"]["scheme"], "dpf/1");
    plan(&["--leaves", "0"]).fails(3, &["no entries"]);
    plan(&["--leaves", "1099511627777"]).fails(2, &["2^40"]);
    plan(&["--leaves", "1099511627776", "--scheme", "simplepir"])
        .fails(4, &["no scheme fits", "2^19 records"]);
    plan(&["--leaves", "10", "--goal", "rate"]).fails(2, &["server-time"]);
    plan(&[]).fails(2, &["<LOG>"]);
    let world = World::new("5");
    plan(&[&world.log]).fails(2, &["--log-key"]);
}

#[test]
fn proofs_are_fetched_by_hints_by_keys_and_by_states() {
    let world = World::new("300");
    let names = ["simplepir", "fspiral", "s3pir"];
    let out = |name: &str| world.folder.text(name);
    for name in names {
        let args = ["merkle", "build", &world.log, "--log-key", &world.public, "--out", &out(name), "--json"];
        let built =
            sotto(&[&args[..], &["--scheme", name, "--design", "color", "--public-layers", "7"]].concat());
        assert!(built.json()["scheme"].as_str().unwrap().starts_with(name));
    }
    let folders = names.map(out);
    let server = Served::start(&folders.each_ref().map(String::as_str));

    let (state, rollback) = (world.folder.text("state"), world.folder.text("rollback"));
    let prove = |name: &str, more: &[&str]| {
        let args = ["merkle", "prove", "--no-cache", "--server", &server.url, "--table", name];
        let args = [&args[..], &["--log-key", &world.public]].concat();
        sotto(&[&args[..], more].concat())
    };
    let kept = ["--json", "--state", state.as_str(), "--rollback-dir", rollback.as_str()];
    let leaf = hex(&world.leaf(299));
    for name in names {
        let proved = prove(name, &[&["--index", "299"][..], &kept].concat()).json();
        assert_eq!((&proved["leaf"], &proved["lookups"]), (&leaf.clone().into(), &2.into()), "{name}");
    }
    // Calls share their keys, except with `--fresh-keys`.
    let cache = world.folder.text("cache");
    let registered = |more: &[&str]| {
        let args = ["merkle", "prove", "--server", &server.url, "--table", "fspiral", "--index", "299"];
        let kept = ["--cache", &cache, "--log-key", &world.public, "--max-wait", "9s"];
        assert_eq!(sotto(&[&args[..], &kept, more].concat()).code, 0);
        let metrics = server.ask_admin("GET /metrics");
        let sessions =
            metrics.lines().find_map(|line| line.strip_prefix("sotto_sessions{table=\"fspiral-0\"} "));
        sessions.unwrap().parse::<u64>().unwrap()
    };
    let before = registered(&[]);
    assert_eq!([&[][..], &["--fresh-keys"], &[]].map(registered), [before, before + 1, before + 1]);
    // A state continues where it was, and is required before anything is sent.
    prove("s3pir", &["--index", "7"]).fails(2, &["--state DIR"]);
    let budgets = || {
        let shown = sotto(&["inspect", "--state", &state, "--json"]).json();
        let states = shown["states"].as_array().unwrap().clone();
        let of = |state: &Value| (state["table"] == "s3pir-0").then(|| state["budget"].as_u64().unwrap());
        states.iter().find_map(of).unwrap()
    };
    let left = budgets();
    // With the leaf known, one lookup in each table.
    let again = prove("s3pir", &[&["--index", "299", "--leaf", &leaf][..], &kept].concat()).json();
    assert!(again["events"].as_array().unwrap().is_empty(), "{again}");
    assert_eq!(budgets(), left - 1);
}

#[test]
fn a_stack_is_inspected_in_its_folder_and_where_it_is_served() {
    let world = World::new("600");
    let built = world.build(&["--design", "color", "--public-layers", "6", "--scheme", "simplepir"]);
    let inspect = |args: &[&str]| sotto(&[&["inspect"][..], args].concat());
    let seen = inspect(&[&world.tables, "--verify", "--json"]).json();
    assert_eq!((&seen["public_key"], &seen["verified"]), (&built["public_key"], &true.into()));
    assert_eq!((&seen["stack"]["stack"], &seen["request"]["lookups"]), (&"demo".into(), &4.into()));
    assert!(seen["request"]["failure_log2"].as_f64().unwrap() <= -40.0);
    let tables = seen["tables"].as_array().unwrap();
    let core_svp = |table: &Value| table["scheme"]["core_svp_bits"].as_f64() > Some(100.0);
    assert!(tables.len() == 4 && tables.iter().all(core_svp), "{tables:?}");
    let text = inspect(&[&world.tables]).stdout;
    for words in ["tree-colour/1", "demo-3", "checkpoint", "core-SVP", "102.5 bits"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let one = inspect(&[&world.tables, "--table", "demo-2", "--json"]).json();
    assert_eq!(one["catalog"]["table"], "demo-2");
    inspect(&[&world.tables, "--epoch", "1"]).fails(2, &["--table"]);

    let server = Served::start(&[&world.tables]);
    let served = inspect(&[&server.url, "--json"]).json();
    assert_eq!(served["stacks"][0]["request"], seen["request"]);
    assert_eq!(served["stacks"][0]["stack"], seen["stack"]);
    assert_eq!(served["tables"].as_array().unwrap().len(), 4);

    let file = std::fs::read_dir(Path::new(&world.tables).join("files")).unwrap().next().unwrap().unwrap();
    std::fs::write(file.path(), b"something else").unwrap();
    assert_ne!(inspect(&[&world.tables, "--verify"]).code, 0);
}

#[test]
fn proofs_come_out_of_a_batch_code_too() {
    // Of a log this short a proof is some lookups in one table; a longer one has buckets.
    // A scheme whose queries ask for a row of each bucket has one table of them all.
    let cases = [
        ("600", "700", 10, 1, "simplepir"),
        ("2100", "2500", 18, 18, "simplepir"),
        ("2100", "2500", 18, 1, "vbpir"),
    ];
    for (entries, grown, lookups, tables, scheme) in cases {
        let world = World::new(entries);
        let built = world.build(&["--design", "pbc", "--scheme", scheme]);
        let shape = (&built["design"], &built["lookups"], &built["tables"]);
        assert_eq!(shape, (&"tree-pbc/1".into(), &lookups.into(), &tables.into()));
        let server = Served::start(&[&world.tables]);
        let last = entries.parse::<u64>().unwrap() - 1;
        let proved = world.prove(&server.url, last, &[]);
        assert_eq!(proved["lookups"], lookups);
        let other = world.prove(&server.url, 0, &[]);
        assert_eq!((&proved["bytes_up"], &proved["bytes_down"]), (&other["bytes_up"], &other["bytes_down"]));
        assert_eq!(sotto(&["merkle", "generate", &world.log, "--entries", grown, "--grow"]).code, 0);
        assert_eq!(world.build(&[])["epoch"], 2);
        server.reload();
        world.prove(&server.url, last + 1, &[]);
    }
    // Past the room of its buckets a code has other tables, which are built elsewhere.
    let world = World::new("600");
    world.build(&["--design", "pbc", "--scheme", "simplepir"]);
    assert_eq!(sotto(&["merkle", "generate", &world.log, "--entries", "1100", "--grow"]).code, 0);
    let build = |out: &str, more: &[&str]| {
        sotto(
            &[&["merkle", "build", &world.log, "--log-key", &world.public, "--out", out][..], more].concat(),
        )
    };
    build(&world.tables, &[]).fails(2, &["too many for the buckets", "another directory", "grow in place"]);
    let anew =
        build(&world.folder.text("anew"), &["--design", "pbc", "--scheme", "simplepir", "--json"]).json();
    assert_eq!((&anew["epoch"], &anew["entries"]), (&1.into(), &1100.into()));
}

#[test]
fn what_is_wrong_with_a_log_is_said() {
    let world = World::new("600");
    let other = World::new("5");
    let build = |key: &str, log: &str, more: &[&str]| {
        let out = world.folder.text("other");
        sotto(&[&["merkle", "build", log, "--log-key", key, "--out", &out][..], more].concat())
    };
    build(&other.public, &world.log, &[]).fails(3, &["sign"]);
    build("nonsense", &world.log, &[]).fails(7, &["nonsense"]);
    // A key that was not copied whole is no file that is not there.
    let key = std::fs::read_to_string(&world.public).unwrap();
    let key = key.trim();
    let number = key.split('+').nth(1).unwrap().to_owned();
    for bad in [
        &key[..key.len() - 1],
        &key[..key.len() - 4],
        &key.replace(&number, "00000000"),
        &key.replace(&number, &number[1..]),
    ] {
        build(bad, &world.log, &[]).fails(2, &["copy the whole text"]);
    }
    // What HTTP compressed is unpacked, and not fetched again.
    let packed = Path::new(&world.log).join("tile/0/001");
    let kept = std::fs::read(&packed).unwrap();
    std::fs::write(&packed, [&[0x1f, 0x8b, 8][..], &kept].concat()).unwrap();
    build(&world.public, &world.log, &[]).fails(3, &["tile/0/001 is compressed with gzip", "gzip -d"]);
    std::fs::write(&packed, kept).unwrap();
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
    assert_eq!(
        build(&world.public, &world.log, &["--name", "demo", "--design", "tile", "--scheme", "simplepir"])
            .code,
        0
    );
    build(&world.public, &world.log, &["--name", "demo", "--design", "color"])
        .fails(2, &["another directory"]);
    build(&world.public, &world.log, &["--name", "else"]).fails(2, &["named demo"]);

    let server = Served::start(&[&world.folder.text("other")]);
    let prove = |index: &str, key: &str| {
        let args =
            ["merkle", "prove", "--no-cache", "--server", &server.url, "--table", "demo", "--log-key", key];
        sotto(&[&args[..], &["--index", index]].concat())
    };
    prove("600", &world.public).fails(7, &["600 entries"]);
    prove("1", &other.public).fails(5, &["sign"]);
    assert_eq!(prove("1", &world.public).code, 0);
}

/// A log of 700 entries; its folder, and its public key.
fn generated_log(folder: &Folder, layout: &str) -> (String, String) {
    let (log, key) = (folder.text("log"), folder.text("log.pub"));
    let args =
        ["merkle", "generate", &log, "--entries", "700", "--origin", "example.org", "--layout", layout];
    assert_eq!(sotto(&args).code, 0);
    (log, key)
}

fn verify(path: &str, key: &str, more: &[&str]) -> Outcome {
    sotto(&[&["merkle", "verify", path, "--log-key", key][..], more].concat())
}

#[test]
fn a_proof_is_checked_against_its_entry_and_its_key() {
    let folder = Folder::new();
    let (log, public) = generated_log(&folder, "tlog-tiles");
    let note = std::fs::read_to_string(Path::new(&log).join("checkpoint")).unwrap();
    let key: LogKey = std::fs::read_to_string(&public).unwrap().parse().unwrap();
    let checkpoint = Checkpoint::open(note.as_bytes(), &key).unwrap();
    let mut tiles = VerifiedLog::open(DirectorySource(log.into()), LogLayout::Tiles, &checkpoint).unwrap();
    let hashes = tiles.prove(77).unwrap();
    let proof = InclusionProof { extra: None, index: 77, hashes, checkpoint: note };
    let file = folder.write("77.proof", proof.to_string());
    let entry = folder.write("77.entry", "example.org: entry 77\n");

    let seen = verify(&file, &public, &["--entry", &entry, "--json"]).json();
    assert_eq!(
        (&seen["verified"], &seen["index"], &seen["entries"]),
        (&true.into(), &77.into(), &700.into())
    );
    let leaf = seen["leaf"].as_str().unwrap();
    assert_eq!(
        verify(&file, &public, &["--leaf", leaf]).stdout,
        "verified: entry 77 of example.org, 700 entries\n"
    );
    let other = folder.write("78.entry", "example.org: entry 78\n");
    verify(&file, &public, &["--entry", &other]).fails(3, &["do not trust the proof"]);
    verify(&file, &public, &[]).fails(2, &["--entry FILE"]);
    let changed = folder.write("changed", proof.to_string().replace("index 77", "index 78"));
    verify(&changed, &public, &["--entry", &entry]).fails(3, &["do not trust the proof"]);
    verify(&entry, &public, &["--entry", &entry]).fails(3, &["inclusion proof"]);
}

/// As the `go` command leaves a database it looked into: some tiles, and the checkpoint elsewhere, which does not name the log.
#[test]
fn a_go_module_cache_needs_no_options_and_says_all_that_is_missing() {
    let folder = Folder::new();
    let (log, public) = generated_log(&folder, "sumdb");
    let signer = LogSigner::from_file(&std::fs::read_to_string(folder.at("log.key")).unwrap()).unwrap();
    let note = std::fs::read(Path::new(&log).join("latest")).unwrap();
    let checkpoint = Checkpoint::open(&note, signer.public()).unwrap();
    let gos = signer.sign(&Checkpoint { origin: GO_ORIGIN.into(), ..checkpoint }).to_string();
    let cache = folder.text("pkg/mod/cache/download/sumdb");
    let tiles = Path::new(&cache).join("example.org");
    std::fs::create_dir_all(&cache).unwrap();
    std::fs::rename(&log, &tiles).unwrap();
    std::fs::remove_file(tiles.join("latest")).unwrap();
    std::fs::create_dir_all(folder.at("pkg/sumdb/example.org")).unwrap();
    std::fs::write(folder.at("pkg/sumdb/example.org/latest"), gos).unwrap();

    let seen = verify(&cache, &public, &["--entries", "--json"]).json();
    assert_eq!((&seen["origin"], &seen["layout"]), (&GO_ORIGIN.into(), &"sumdb".into()));
    assert_eq!((&seen["tiles"], &seen["entries_checked"]), (&4.into(), &true.into()));
    let plan = ["merkle", "plan", &cache, "--log-key", &public, "--scheme", "simplepir", "--json"];
    let planned = sotto(&plan).json();
    assert_eq!(planned["leaves"], 700);

    let list = folder.text("missing.txt");
    assert!(verify(&cache, &public, &["--missing", &list]).stdout.contains("all tiles: 4"));
    assert_eq!(std::fs::read_to_string(&list).unwrap(), "");
    for path in ["tile/8/0/001", "tile/8/0/002.p/188"] {
        std::fs::remove_file(tiles.join(path)).unwrap();
    }
    verify(&cache, &public, &[]).fails(7, &["2 of 4 tiles", "tile/8/0/001", "--missing FILE"]);
    let out = folder.text("out");
    let build = ["merkle", "build", &cache, "--log-key", &public, "--out", &out, "--missing", &list];
    sotto(&build).fails(7, &["2 of 4 tiles", &list]);
    assert_eq!(std::fs::read_to_string(&list).unwrap(), "tile/8/0/001\ntile/8/0/002.p/188\n");
}

#[test]
fn a_copy_that_is_damaged_is_named() {
    let folder = Folder::new();
    let (log, public) = generated_log(&folder, "tlog-tiles");
    let bundle = Path::new(&log).join("tile/entries/001");
    let mut bytes = std::fs::read(&bundle).unwrap();
    bytes[9] ^= 1;
    std::fs::write(&bundle, bytes).unwrap();
    assert_eq!(verify(&log, &public, &[]).code, 0);
    verify(&log, &public, &["--entries"]).fails(3, &["tile/entries/001"]);
    let tile = Path::new(&log).join("tile/0/001");
    std::fs::write(&tile, [1; 8192]).unwrap();
    verify(&log, &public, &[]).fails(3, &["tile/0/001"]);
    verify(&log, &public, &["--leaf", "00"]).fails(2, &["apply to a proof"]);
}
