//! Schemes over HTTP: large rows as a stream; keys from call to call; a table in panels, verified; a
//! table of two servers; and symmetric tables.

use crate::harness::{Folder, Served, program, run, sotto, wait};
use crate::relay::Relay;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// A byte of a table that repeats nowhere near.
fn byte(i: usize) -> u8 {
    ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// Encodes `rows` rows of `width` bytes with one set; gives the table's directory.
fn encode(folder: &Folder, (scheme, set): (&str, &str), rows: usize, width: usize) -> String {
    let source = folder.write("rows.bin", (0..rows * width).map(byte).collect::<Vec<u8>>());
    let (dir, width) = (folder.text(&format!("{scheme}-{set}")), width.to_string());
    let encoded =
        run(&format!("encode {source} --row-bytes {width} --scheme {scheme} --set {set} --out {dir} --json"))
            .json();
    assert!(encoded["scheme"]["security_bits"].as_f64().unwrap() >= 128.0, "{set}");
    assert!(encoded["scheme"]["failure_log2"].as_f64().unwrap() <= -40.0, "{set}");
    dir
}

#[test]
fn large_rows_come_as_a_stream() {
    const WIDTH: usize = 700_001;
    let folder = Folder::new();
    let dir = encode(&folder, ("spiral", "stream-pack-4"), 5, WIDTH);
    let server = Served::start(&[&dir]);
    let (cache, file) = (folder.text("cache"), folder.text("row"));
    let args = ["get", "--stream", "--server", &server.url, "--table", "spiral-stream-pack-4"];
    let more = ["--cache", &cache, "--row", "3", "-o", &file, "--json"];
    let streamed = sotto(&[&args[..], &more].concat()).json();
    assert_eq!(streamed["row_bytes"], WIDTH, "{streamed}");
    assert!(streamed["bytes_per_second"].as_f64() > Some(0.0) && streamed["keys_bytes"].as_u64() > Some(0));
    let expected: Vec<u8> = (3 * WIDTH..4 * WIDTH).map(byte).collect();
    assert!(std::fs::read(&file).unwrap() == expected);
}

/// Interrupted, it takes its part along; killed, it leaves that to the next one.
#[test]
fn a_stream_that_is_cut_short_leaves_nothing_behind() {
    let folder = Folder::new();
    let dir = encode(&folder, ("fspiral", "default"), 2, 100_001);
    let server = Served::start(&[&dir]);
    std::fs::create_dir(folder.at("out")).unwrap();
    let file = folder.text("out/row");
    let left = || std::fs::read_dir(folder.at("out")).unwrap().count();
    let args = |url: &str| -> Vec<String> {
        let line =
            format!("get --stream --server {url} --table fspiral-default --no-cache --row 1 -o {file}");
        line.split(' ').map(str::to_owned).collect()
    };
    for (signal, leaves) in [("-INT", 0), ("-TERM", 0), ("-KILL", 1)] {
        let relay = Relay::to(&server.url);
        let mut command = Command::new(program());
        command.args(args(&relay.url)).stderr(Stdio::null());
        // Keys have been sent, and are held back.
        let mut client = None;
        let go_on = relay.hold(|| client = Some(command.spawn().unwrap()));
        let mut client = client.unwrap();
        assert_eq!(left(), 1);
        assert!(Command::new("kill").args([signal, &client.id().to_string()]).status().unwrap().success());
        assert!(!wait(&mut client).success());
        drop(go_on);
        assert_eq!(left(), leaves, "{signal}");
    }
    assert_eq!(sotto(&args(&server.url)).code, 0);
    assert!(left() == 1 && folder.at("out/row").exists());
}

/// Calls within an hour share their keys, except with `--fresh-keys`.
#[test]
fn keys_are_uploaded_by_the_first_call_alone() {
    let folder = Folder::new();
    let dir = encode(&folder, ("fspiral", "default"), 20, 30);
    let server = Served::start(&[&dir]);
    let (cache, key) = (folder.text("cache"), folder.text("safe/key"));
    let get = |more: &[&str]| {
        let args = ["get", "--server", &server.url, "--table", "fspiral-default", "--row", "7"];
        sotto(&[&args, more].concat())
    };
    let cached = |more: &[&str]| {
        let got = get(&[&["--cache", &cache, "--key-file", &key, "--json"], more].concat()).json();
        let expected: String = (7 * 30..8 * 30).map(|i| format!("{:02x}", byte(i))).collect();
        assert_eq!(got["answers"][0]["hex"], expected.as_str());
        got["once"]["keys_bytes"].as_u64().unwrap()
    };
    let whole = cached(&[]);
    assert!(whole > 0);
    assert_eq!(cached(&[]), 0);
    assert_eq!(cached(&["--fresh-keys"]), whole);
    assert_eq!(cached(&[]), 0);
    assert!(folder.at("safe/key").exists());
    let said = get(&["--cache", &cache, "--key-file", &key]).stdout;
    assert!(said.contains("keys of an earlier call"), "{said}");
}

#[test]
fn verified_answers_of_a_table_in_panels() {
    let folder = Folder::new();
    let options = "--value 1 --row-bytes 12 --scheme verisimplepir";
    let dir = folder.encode("words", &folder.lines(300), options);

    // Before it is served: a server that runs notices a new epoch some time later.
    let changes = folder.write("changes.csv", "row,value\n77,changed\n");
    assert_eq!(sotto(&["update", &dir, &changes]).code, 0);
    let served = Served::start(&[&dir]);
    for (row, value) in [("0", "row 0"), ("77", "changed"), ("299", "row 299")] {
        let seen =
            run(&format!("get --server {} --table words --row {row} --no-cache --json", served.url)).json();
        assert_eq!(seen["answers"][0]["value"], value);
    }
    // Rows of another scheme's order would be called not those that were signed.
    let audited = sotto(&["audit", "rows", &served.url, "--table", "words", "--json"]).json();
    assert_eq!((&audited["audited"][0]["rows"], &audited["audited"][0]["epoch"]), (&300.into(), &2.into()));
}

/// Who has the download needs no folder of the publisher to compare it with what was signed.
#[test]
fn the_rows_of_a_download_are_audited_at_its_server() {
    let folder = Folder::new();
    let how = "--value 1 --row-bytes 12 --scheme";
    let download = folder.encode("download", &folder.lines(300), &format!("{how} trivial"));
    let hidden = folder.encode("hidden", &folder.lines(300), &format!("{how} simplepir"));
    let served = Served::start(&[&download, &hidden]);
    let audit = |table: &str| sotto(&["audit", "rows", &served.url, "--table", table]);
    audit("download").prints("all 300 rows match the signed root");
    audit("hidden").fails(2, &["rows of table hidden are not public"]);
}

#[test]
fn a_row_is_asked_of_two_servers() {
    let folder = Folder::new();
    let dir = folder.encode("words", &folder.lines(40), "--value 1 --row-bytes 12 --scheme dpf");
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

/// Encodes `row 0`, `row 1`, ... as a symmetric table.
fn encode_symmetric(folder: &Folder, rows: usize) -> (String, Value) {
    let source = folder.lines(rows);
    let dir = folder.text("masked");
    let args = ["encode", &source, "--value", "1", "--row-bytes", "12", "--scheme", "bgvpir", "--out", &dir];
    let encoded = sotto(&[&args[..], &["--symmetric", "--json"]].concat()).json();
    (dir, encoded)
}

fn values(got: &Value) -> Vec<&str> {
    got["answers"].as_array().unwrap().iter().map(|answer| answer["value"].as_str().unwrap()).collect()
}

#[test]
fn rows_are_fetched_masked_and_opened_one_by_one() {
    let folder = Folder::new();
    let (dir, encoded) = encode_symmetric(&folder, 300);
    assert_eq!(encoded["summary"]["row_bytes"], 12 + 24);
    let mode = std::fs::metadata(folder.at("masked/oprf.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let secret = std::fs::read_to_string(folder.at("masked/oprf.key")).unwrap();
    let secret = secret.lines().nth(1).unwrap().strip_prefix("sotto-oprf-sk:").unwrap();

    let server = Served::start(&[&dir]);
    let cache = folder.text("cache");
    let get = |rows: &str| {
        let args = ["get", "--server", &server.url, "--table", "masked", "--cache", &cache, "--row", rows];
        sotto(&[&args[..], &["--json"]].concat()).json()
    };
    let one = get("7");
    assert_eq!(values(&one), ["row 7"]);
    // A head, an element; and back a head, an element, a proof. The same for every row.
    let taken =
        |got: &Value| ["count", "up_bytes", "down_bytes"].map(|name| got["evaluations"][name].as_u64());
    assert_eq!(taken(&one), [Some(1), Some(48 + 32), Some(48 + 32 + 64)]);
    assert_eq!(taken(&get("299")), taken(&one));
    let some = get("0,299,0");
    assert_eq!(values(&some), ["row 0", "row 299", "row 0"]);
    assert_eq!(some["evaluations"]["count"], 3);

    for line in ["7,once\n", "7,twice\n"] {
        let changes = folder.write("c.csv", line);
        sotto(&["update", &dir, &changes, "--json"]).json();
    }
    server.reload();
    server.reload();
    let after = get("6,7,8");
    assert_eq!((after["epoch"].as_u64(), values(&after)), (Some(3), vec!["row 6", "twice", "row 8"]));
    for said in [sotto(&["inspect", &dir]), sotto(&["inspect", &server.url, "--table", "masked"])] {
        assert!(said.stdout.contains("masked, 36 bytes each"), "{}", said.stdout);
        assert!(said.stdout.contains("of 12 bytes") && !said.stdout.contains(secret), "{}", said.stdout);
    }
    let said = sotto(&["get", "--server", &server.url, "--table", "masked", "--no-cache", "--row", "1"]);
    assert!(said.stdout.contains("1 evaluation: 80 B up, 144 B down"), "{}", said.stdout);
    for file in folder.files("masked") {
        if file.file_name().is_some_and(|name| name != "oprf.key") {
            let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
            assert!(!text.contains(secret), "{}", file.display());
        }
    }
}

#[test]
fn nothing_is_served_changed_or_published_without_the_key() {
    let folder = Folder::new();
    let (dir, _) = encode_symmetric(&folder, 40);
    let key = folder.at("masked/oprf.key");
    let kept = std::fs::read(&key).unwrap();
    let source = folder.text("words.csv");
    let changes = folder.write("c.csv", "7,once\n");
    let serve = || {
        let ports = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log", "error"];
        let ended = sotto(&[&["serve", &dir][..], &ports].concat());
        (ended.code, ended.stderr.lines().last().unwrap_or_default().to_owned())
    };
    let args = ["encode", &source, "--value", "1", "--row-bytes", "12", "--scheme", "bgvpir", "--out", &dir];
    let again = |more: &[&str]| sotto(&[&args[..], more].concat());
    again(&[]).fails(2, &["looked up by row number, symmetric", "--replace"]);

    std::fs::remove_file(&key).unwrap();
    let (code, said) = serve();
    assert_eq!(code, 7, "{said}");
    for words in ["symmetric", "oprf.key", "restore the file"] {
        assert!(said.contains(words), "no {words:?} in: {said}");
    }
    sotto(&["update", &dir, &changes]).fails(7, &["oprf.key", "restore the file"]);
    again(&["--symmetric"]).fails(7, &["oprf.key", "restore the file"]);

    let other = Folder::new();
    encode_symmetric(&other, 40);
    std::fs::copy(other.at("masked/oprf.key"), &key).unwrap();
    assert!(serve().1.contains("of other masks"));
    sotto(&["update", &dir, &changes]).fails(3, &["of other masks"]);

    std::fs::write(&key, kept).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(serve().1.contains("can be read by other users"));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    sotto(&["update", &dir, &changes, "--json"]).json();
    assert_eq!(again(&["--symmetric", "--json"]).json()["summary"]["epoch"], 3);
}

#[test]
fn what_cannot_be_masked_is_refused_before_anything_is_made() {
    let folder = Folder::new();
    let source = folder.write("w.csv", "a,1\nb,2\n");
    let dir = folder.text("t");
    let encode = |more: &[&str]| {
        sotto(&[&["encode", &source, "--value", "2", "--out", &dir, "--symmetric"], more].concat())
    };
    encode(&["--key", "1"]).fails(2, &["--symmetric", "omit --key"]);
    encode(&["--batch", "2"]).fails(2, &["--batch does not apply with --symmetric"]);
    assert!(!folder.at("t").exists());
}
