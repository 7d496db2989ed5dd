//! A publisher's log, a witness, and a client that requires both, as processes; and publishers that equivocate.

use crate::harness::{Folder, Outcome, Served, sotto};
use serde_json::Value;
use sotto_catalog::SigningKey;
use sotto_db::TableDir;
use sotto_tlog::catalogs::log_signer;
use sotto_tlog::{Cosigner, LogEntry, LogLayout, LogWriter, SignedNote};
use std::process::Stdio;

/// A publisher with one key, and a witness with another.
struct Scene {
    folder: Folder,
    key: String,
    publisher: String,
    witness: String,
}

impl Scene {
    fn new() -> Self {
        let folder = Folder::new();
        let (key, of_witness) = (folder.text("publisher.key"), folder.text("witness.key"));
        let made =
            sotto(&["log", "key", "--key", &of_witness, "--name", "witness.example/w1", "--json"]).json();
        let again = sotto(&["log", "key", "--key", &of_witness, "--json"]).json();
        assert_eq!(made, again);
        let witness = made["witness"].as_str().unwrap().to_owned();
        let mut scene = Scene { folder, key, publisher: String::new(), witness };
        let encoded =
            scene.encode("words", "row", &["--catalog-log", &scene.text("log"), "--expires", "30d"]);
        scene.publisher = encoded["public_key"].as_str().unwrap().to_owned();
        assert_eq!((&encoded["log"]["added"], &encoded["log"]["entries"]), (&1.into(), &1.into()));
        scene
    }

    fn text(&self, name: &str) -> String {
        self.folder.text(name)
    }

    /// Table `words` in a folder, under the publisher's key.
    fn encode(&self, dir: &str, row: &str, more: &[&str]) -> Value {
        let lines: String = (0..500).map(|number| format!("{row} {number}\n")).collect();
        let source = self.folder.write("words.csv", lines);
        let (out, key) = (self.text(dir), &self.key);
        let args = ["encode", &source, "--value", "1", "--row-bytes", "12", "--out", &out, "--json"];
        sotto(&[&args[..], &["--name", "words", "--signing-key", key], more].concat()).json()
    }

    /// A witness looks at a log, with what it remembers in `state`.
    fn cosign(&self, log: &str, state: &str) -> Outcome {
        let (key, state, note) = (self.text("witness.key"), self.text(state), self.text("note"));
        let args = ["log", "cosign", log, "--publisher", &self.publisher, "--key", &key, "--state", &state];
        sotto(&[&args[..], &["--out", &note]].concat())
    }

    fn attach(&self, log: &str) {
        let (log, note) = (self.text(log), self.text("note"));
        let attached = sotto(&["log", "attach", &log, &note, "--witness", &self.witness, "--json"]).json();
        assert_eq!(attached["attached"][0]["witness"], "witness.example/w1");
    }

    /// Looks up row 7 with a client that requires the witness.
    fn get(&self, server: &Served, cache: &str) -> Outcome {
        let args = ["get", "--server", &server.url, "--table", "words", "--row", "7"];
        let cache = self.text(cache);
        let demanded = ["--pin", &self.publisher, "--witness", &self.witness, "--cache", &cache];
        sotto(&[&args[..], &demanded].concat())
    }

    /// The row that it gets.
    fn row(&self, server: &Served, cache: &str) -> String {
        let found = self.get(server, cache);
        assert_eq!(found.code, 0, "{}", found.stderr);
        found.stdout
    }
}

fn value(found: &Outcome) -> String {
    found.json()["answers"][0]["value"].as_str().unwrap().to_owned()
}

#[test]
fn a_client_sees_what_everybody_sees_or_says_so() {
    let scene = Scene::new();
    let (words, log) = (scene.text("words"), scene.text("log"));
    let server = Served::start(&[&words]);
    scene.get(&server, "cache").fails(5, &["expected 1 recent cosignatures", "have its log cosigned"]);
    // The witness looks from afar, at what clients see.
    scene.cosign(&server.url, "state").prints("cosigned 1 entries, 1 of them new");
    scene.attach("log");
    server.reload();
    assert!(scene.row(&server, "cache").contains("row 7"));

    // The next epoch goes into the log without an option, and needs the witness again. Others are served meanwhile.
    let changes = scene.folder.write("changes.csv", "7,changed\n");
    let updated = sotto(&["update", &words, &changes, "--signing-key", &scene.key, "--json"]).json();
    assert_eq!(updated["log"]["entries"], 2);
    server.reload();
    scene.get(&server, "cache").fails(5, &["got 0", "epoch 2"]);
    scene.cosign(&server.url, "state").prints("cosigned 2 entries, 1 of them new");
    scene.attach("log");
    server.reload();
    assert!(scene.row(&server, "cache").contains("changed"));
    let shown = sotto(&["log", "show", &log, "--json"]).json();
    assert_eq!(shown["entries"][1]["epoch"], 2);
    assert_eq!(shown["cosigned"]["cosigned_by"][0], "witness.example/w1");
    let inspected = sotto(&["inspect", &words]);
    assert!(
        inspected.stdout.contains("expires") && inspected.stdout.contains("days from now"),
        "{}",
        inspected.stdout
    );
    // An update keeps the lifetime. Entries that are in the log already are not added twice.
    let added = sotto(&["log", "add", &words, "--signing-key", &scene.key, "--json"]).json();
    assert_eq!((&added["log"]["added"], &added["log"]["entries"]), (&0.into(), &2.into()));
}

#[test]
fn publishers_who_lie_are_found_out_and_convicted() {
    let scene = Scene::new();
    let log = scene.text("log");
    scene.cosign(&log, "state").prints("cosigned");
    scene.attach("log");
    let honest = Served::start(&[&scene.text("words")]);
    assert!(scene.row(&honest, "cache").contains("row 7"));

    // Another catalog of the same epoch, for one client, beside the log that everybody sees.
    scene.encode("mine", "lie", &[]);
    let liar = Served::start(&[&scene.text("mine"), "--catalog-log", &log]);
    scene.get(&liar, "fresh").fails(5, &["is not in its publisher's log", "for this client alone"]);
    // Without witnesses it is taken.
    let args = ["get", "--server", &liar.url, "--table", "words", "--row", "7", "--no-cache", "--json"];
    assert_eq!(value(&sotto(&args)), "lie 7");

    // A second log under the same key. A witness that has seen the first does not cosign it; one that was deceived does.
    scene.encode("other", "lie", &["--catalog-log", &scene.text("forked")]);
    let forked = scene.text("forked");
    scene.cosign(&forked, "state").fails(5, &["differ from those seen before", "do not cosign"]);
    scene.cosign(&forked, "deceived").prints("cosigned");
    scene.attach("forked");
    let liar = Served::start(&[&scene.text("other")]);
    assert!(scene.row(&liar, "newcomer").contains("lie 7"));
    scene.get(&liar, "cache").fails(5, &["does not extend", "do not trust the publisher"]);

    // The same server, one day with one catalog and the next with another.
    let address = honest.url.trim_start_matches("http://").to_owned();
    drop(honest);
    let swapped = Served::start_at(&address, &[&scene.text("other")], Stdio::inherit());
    scene.get(&swapped, "cache").fails(5, &["two different catalogs of epoch 1"]);

    let out = scene.text("evidence");
    let exported =
        sotto(&["audit", "evidence", "--cache", &scene.text("cache"), "--out", &out, "--json"]).json();
    let all = exported["evidence"].as_array().unwrap();
    assert_eq!(all.len(), 2, "{exported}");
    for one in all {
        assert_eq!(one["publisher"], scene.publisher.as_str());
        for file in one["files"].as_array().unwrap() {
            assert!(scene.folder.at("evidence").join(file.as_str().unwrap()).is_file());
        }
    }
    let statements: Vec<_> = all.iter().map(|one| one["statement"].as_str().unwrap()).collect();
    assert!(statements[0].contains("two different catalogs of words, epoch 1"), "{exported}");
    assert!(statements[1].contains("two different checkpoints of its log at 1 entries"), "{exported}");
    let none = sotto(&["audit", "evidence", "--cache", &scene.text("newcomer"), "--out", &out, "--json"]);
    assert_eq!(none.json()["evidence"].as_array().map(Vec::len), Some(0));
}

/// A log of the catalogs in these folders, whatever they are: the owner of the key can write anything.
fn forge(scene: &Scene, log: &str, tables: &[&str]) {
    let key = SigningKey::from_file(&std::fs::read_to_string(&scene.key).unwrap()).unwrap();
    let mut writer = LogWriter::create(scene.folder.at(log), LogLayout::Tiles).unwrap();
    for table in tables {
        let image = TableDir::open(&scene.folder.at(table)).unwrap().open_latest().unwrap();
        let entry = LogEntry::catalog(image.catalog(), key.public()).unwrap().to_string();
        writer.append(&[&(entry.len() as u16).to_be_bytes(), entry.as_bytes()].concat()).unwrap();
    }
    writer.publish(&log_signer(&key).unwrap()).unwrap();
}

/// The attack: two tables of one name and epoch, one signing key, one log, and an honest witness.
#[test]
fn two_tables_of_one_epoch_in_one_log_are_found_out() {
    let scene = Scene::new();
    let log = scene.text("log");
    scene.cosign(&log, "state").prints("cosigned 1 entries");
    // The publisher's own tool does not write the second one into the log.
    let lines = scene.folder.write("words.csv", "lie 0\nlie 1\n");
    let (out, key) = (scene.text("mine"), &scene.key);
    let args = ["encode", &lines, "--value", "1", "--row-bytes", "12", "--out", &out, "--name", "words"];
    let refused = sotto(&[&args[..], &["--signing-key", key, "--catalog-log", &log]].concat());
    refused.fails(3, &["catalog words, epoch 1 cannot be logged", "another name or key"]);

    // A publisher that writes both: no witness cosigns that log, whether or not it has seen it before, and readers report it.
    forge(&scene, "both", &["words", "mine"]);
    let both = scene.text("both");
    for state in ["state", "fresh"] {
        scene.cosign(&both, state).fails(5, &["entry 1 of the log, catalog words, epoch 1", "do not cosign"]);
    }
    assert!(
        !scene.folder.at("fresh").join(format!("{}.history", &scene.publisher["sotto-pk:".len()..])).exists()
    );
    let watched = scene.text("watched");
    let watch = |log: &str| {
        sotto(&["log", "watch", log, "--publisher", &scene.publisher, "--state", &watched, "--once"])
    };
    watch(&log).prints("1 entries, 1 of them new");
    watch(&both).fails(5, &["another entry of the same epoch", "show this to others"]);
    let shown = sotto(&["log", "show", &both]);
    assert!(shown.stdout.contains("epoch"), "{}", shown.stdout);
    shown.fails(5, &["another entry of the same epoch", "do not trust its publisher"]);
    sotto(&["log", "show", &log]).prints("1 entries");

    // A witness that looks at nothing cosigns it. Then either client reads the other's catalog in the log.
    let cosigner = std::fs::read_to_string(scene.text("witness.key")).unwrap();
    let mut note =
        SignedNote::parse(&std::fs::read(scene.folder.at("both").join("checkpoint")).unwrap()).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    note.signatures.push(Cosigner::from_file(&cosigner).unwrap().cosign(&note.text, now).unwrap());
    std::fs::write(scene.folder.at("note"), note.to_string()).unwrap();
    scene.attach("both");
    for (table, cache) in [("words", "cache-a"), ("mine", "cache-b")] {
        std::fs::write(scene.folder.at(table).join("log.path"), format!("{both}\n")).unwrap();
        let server = Served::start(&[&scene.text(table)]);
        scene.get(&server, cache).fails(5, &["contradicts itself", "do not trust the publisher"]);
        watch(&server.url).fails(5, &["another entry of the same epoch"]);
    }
    // Without `--witness` no cosignature is needed.
    let args = ["get", "--server", "http://127.0.0.1:9", "--table", "words", "--row", "7"];
    let none = sotto(&[&args[..], &["--witness", &scene.witness, "--witness-quorum", "0"]].concat());
    none.fails(2, &["--witness-quorum"]);
}

#[test]
fn a_stack_vouches_for_its_tables() {
    let scene = Scene::new();
    let log = scene.text("log");
    let encoded = scene.encode("many", "row", &["--batch", "4", "--catalog-log", &log]);
    assert!(encoded["log"]["added"].as_u64().is_some_and(|added| added > 1), "{encoded}");
    scene.cosign(&log, "state").prints("cosigned");
    scene.attach("log");
    let server = Served::start(&[&scene.text("many")]);
    let get = |witness: &str| {
        let args =
            ["get", "--server", &server.url, "--table", "words", "--row", "7", "--row", "8", "--no-cache"];
        sotto(&[&args[..], &["--witness", witness]].concat())
    };
    get(&scene.witness).prints("row 8");
    let (other, name) = (scene.text("other.key"), "witness.example/w2");
    let other = sotto(&["log", "key", "--key", &other, "--name", name, "--json"]).json();
    get(other["witness"].as_str().unwrap()).fails(5, &["got 0", "stack words"]);
}

/// A publisher and a witness with two keys each, and a policy that demands both of both.
#[test]
fn a_policy_says_whose_signatures_are_demanded_and_which_are_late() {
    let folder = Folder::new();
    let (key, words, log) = (folder.text("publisher.key"), folder.text("words"), folder.text("log"));
    let lines: String = (0..500).map(|number| format!("row {number}\n")).collect();
    let source = folder.write("words.csv", lines);
    let args = ["encode", &source, "--value", "1", "--row-bytes", "12", "--out", &words, "--name", "words"];
    let encode =
        |more: &[&str]| sotto(&[&args[..], &["--signing-key", &key, "--json"], more].concat()).json();
    let before = encode(&[])["public_key"].as_str().unwrap().to_owned();
    let encoded = encode(&["--post-quantum", "--catalog-log", &log]);
    let publisher = encoded["public_key"].as_str().unwrap().to_owned();
    assert!(publisher.starts_with(&before.replace("sotto-pk:", "sotto-pq:")) && publisher.len() == 9 + 128);
    assert_eq!(encoded["log"]["added"], 2, "the epoch under the first half is the publisher's too");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&key).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);

    let of_witness = folder.text("witness.key");
    let made =
        sotto(&["log", "key", "--key", &of_witness, "--name", "w.example", "--post-quantum", "--json"])
            .json();
    assert_eq!(made, sotto(&["log", "key", "--key", &of_witness, "--post-quantum", "--json"]).json());
    let [ed25519, ml_dsa] = [0, 1].map(|at| made["keys"][at].as_str().unwrap());
    let added = sotto(&["log", "add", &words, "--signing-key", &key, "--json"]).json();
    let logs = [0, 1].map(|at| format!("log {}\n", added["log_keys"][at].as_str().unwrap())).concat();
    let rules = "group both all e m\nquorum both\n";
    let policy = folder.write("policy", format!("{logs}witness e {ed25519}\nwitness m {ml_dsa}\n{rules}"));

    // A monitor tells who is late, and whether clients take the log.
    let state = folder.text("watched");
    let watch = |more: &[&str]| {
        let args = ["log", "watch", &log, "--publisher", &publisher, "--state", &state, "--once"];
        sotto(&[&args[..], &["--policy", &policy], more].concat())
    };
    let late = watch(&[]);
    assert!(late.stdout.contains("never reached") && late.stdout.contains("ML-DSA-44"), "{}", late.stdout);
    late.fails(9, &["expected 2 cosignatures of the last 1 day, got 0", "sotto log cosign"]);
    let server = Served::start(&[&words]);
    let get = |more: &[&str]| {
        let args = ["get", "--server", &server.url, "--table", "words", "--row", "7", "--no-cache"];
        sotto(&[&args[..], &["--pin", &publisher], more].concat())
    };
    get(&["--policy", &policy]).fails(5, &["expected 2 recent cosignatures"]);
    let (seen, note) = (folder.text("seen"), folder.text("note"));
    let args = ["log", "cosign", &log, "--publisher", &publisher, "--key", &of_witness, "--state", &seen];
    sotto(&[&args[..], &["--out", &note]].concat()).fails(2, &["ML-DSA-44 key is not known", "--policy"]);
    sotto(&[&args[..], &["--out", &note, "--policy", &policy]].concat()).prints("cosigned 2 entries");
    sotto(&["log", "attach", &log, &note, "--policy", &policy]).prints("w.example cosigned 2 entries");
    server.reload();
    get(&["--policy", &policy]).prints("row 7");
    get(&["--witness", ed25519, "--witness", ml_dsa]).prints("row 7");
    let watched = watch(&["--json"]).json();
    assert_eq!((&watched["quorum"]["holds"], &watched["quorum"]["needed"]), (&true.into(), &2.into()));
    assert_eq!(watched["witnesses"][1]["kind"], "ML-DSA-44");
    assert!(watched["witnesses"][1]["age_seconds"].as_u64().is_some_and(|age| age < 3600));
    // Entries that nobody has cosigned yet do not hide what was cosigned before them.
    let changes = folder.write("changes.csv", "7,changed\n");
    sotto(&["update", &words, &changes, "--signing-key", &key, "--json"]).json();
    watch(&[]).prints("holds: cosigned");
    watch(&["--witness-age", "0s"]).fails(9, &["expected 2 cosignatures"]);

    // What is wrong with a policy is said by its line; and a policy with another log fits no table of this one.
    let cut = folder.write("cut", format!("{logs}witness e {ed25519}\nwitness m {ml_dsa}\nquorum both\n"));
    get(&["--policy", &cut])
        .fails(3, &["policy, line 5: no line above defines \"both\"", "c2sp.org/tlog-policy"]);
    get(&["--policy", &policy, "--witness", ed25519]).fails(2, &["cannot be used with"]);
    let other = folder.write("other", format!("log {}\nwitness e {ed25519}\nquorum e\n", OTHER_LOG));
    get(&["--policy", &other]).fails(5, &["the policy lists other logs", "add its log to the policy"]);

    // The next key has both halves too, and a table without them is refused by who demands them.
    let (next, rotated) = (folder.text("next.key"), ["rotate-key", &words, "--signing-key", &key, "--json"]);
    let rotated = sotto(&[&rotated[..], &["--new-key", &next]].concat()).json();
    assert!(rotated["to"].as_str().unwrap().starts_with("sotto-pq:"));
    let plain = folder.text("plain");
    let args = [
        "encode",
        &source,
        "--value",
        "1",
        "--row-bytes",
        "12",
        "--out",
        &plain,
        "--name",
        "words",
        "--json",
    ];
    sotto(&args).json();
    let server = Served::start(&[&plain]);
    let args =
        ["get", "--server", &server.url, "--table", "words", "--row", "7", "--no-cache", "--pin", &publisher];
    sotto(&args).fails(5, &["expected the pinned key sotto-pq:"]);
}

/// The key of a log that is no publisher's, from `c2sp.org/signed-note`.
const OTHER_LOG: &str = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
