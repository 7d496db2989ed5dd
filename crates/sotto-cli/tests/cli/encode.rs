//! Encoding: bad source files, tables in parts, plans that are encoded; and folders of every kind of
//! table, which every verb that takes a folder takes or names.

use crate::harness::{Folder, Outcome, Served, images, sotto, unchanged};
use crate::relay::Relay;
use serde_json::Value;

/// Encodes `bytes` as `bad.csv` and checks that no image came of it.
fn encode_bad(bytes: &[u8], more: &[&str]) -> Outcome {
    let folder = Folder::new();
    let source = folder.write("bad.csv", bytes);
    let dir = folder.text("t");
    let mut args = vec!["encode", &source, "--out", &dir];
    args.extend(more);
    let outcome = sotto(&args);
    assert_eq!(images(dir.as_ref()), Vec::<String>::new());
    outcome
}

const INDEX: &[&str] = &["--value", "2"];

#[test]
fn a_short_row() {
    encode_bad(b"0,a\n1\n2,c\n", INDEX).fails(3, &["bad.csv", "line 2", "expected 2 columns", "got 1"]);
}

#[test]
fn a_column_that_is_not_there() {
    encode_bad(b"a,b\n1,2\n", &["--value", "c"]).fails(2, &["no such column", "a", "b"]);
    encode_bad(b"a,b\n1,2\n", &["--value", "b", "--no-header"]).fails(2, &["fix:", "by number"]);
}

/// An address is a key with dots or as a number, in options, files of changes and lookups, and never the number of a row.
#[test]
fn addresses_are_keys_in_either_form() {
    let folder = Folder::new();
    let source = folder.write("r.csv", "1.0.0.0,1.0.0.255,AU\n1.0.1.0,1.0.1.255,CN\n");
    let dir = folder.text("ip");
    let encode = |first: &str, last: &str| {
        let columns =
            ["--start", "1", "--end", "2", "--value", "3", "--block", "256", "--block-value", "most"];
        let keys = ["--key-type", "ipv4", "--first", first, "--last", last];
        sotto(&[&["encode", &source, "--out", &dir], &columns[..], &keys].concat())
    };
    for (first, last) in [("16777216", "16777727"), ("1.0.0.0", "1.0.1.255")] {
        encode(first, last).prints("2 of 2 bytes (4 B)");
    }
    encode("1.0.0", "1.0.1.255").fails(2, &["an IPv4 address, dotted or as a number", "--key-type"]);

    // Most keys of a block decide, in an update as in an encoding.
    let part = folder.write("part.csv", "1.0.0.0,1.0.0.10,DE\n");
    sotto(&["update", &dir, &part, "--no-header"]).fails(3, &["1 blocks in part", "--block-value most"]);
    let changes = folder.write("c.csv", "1.0.1.0/25,SG\n1.0.1.128/31,SG\n");
    let update = sotto(&["update", &dir, &changes, "--start", "1", "--value", "2"]);
    update.prints("note: 1 blocks are covered in part");

    let server = Served::start(&[&dir]);
    let get =
        |key: &str| sotto(&["get", "--server", &server.url, "--no-cache", "--table", "ip", "--key", key]);
    for (key, value) in [("1.0.0.200", "AU"), ("16777416", "AU"), ("1.0.1.7", "SG"), ("16777479", "SG")] {
        get(key).prints(&format!("{key}  {value}"));
    }
    assert_ne!(get("1").code, 0, "row 1 is at 1.0.1.0, and 0.0.0.1 is not in the table");
    let past = get("9.9.9.9");
    assert_eq!(past.code, 7, "{}", past.stderr);
    assert!(!past.stderr.contains("9.9.9.9"), "what is looked up stays out of messages: {}", past.stderr);
}

#[test]
fn what_is_odd_about_a_file_is_noted() {
    let folder = Folder::new();
    let source = folder.write("set.csv", "# numbers\n+1 555 000 0007\n*.example.com\n*.example.com\n");
    let encoded = sotto(&["encode", &source, "--key", "1", "--out", &folder.text("set")]);
    for words in [
        "note: 1 lines begin with #",
        "note: 1 keys are repeated",
        "note: 2 keys begin",
        "note: 1 keys are tele",
    ] {
        encoded.prints(words);
    }
}

const ROWS: usize = 4096;
const WIDTH: usize = 64;

fn source(folder: &Folder) -> String {
    folder.write("rows.bin", (0..ROWS * WIDTH).map(|i| (i * 31 / 7) as u8).collect::<Vec<_>>())
}

fn row(at: usize) -> String {
    (at * WIDTH..(at + 1) * WIDTH).map(|i| format!("{:02x}", (i * 31 / 7) as u8)).collect()
}

fn encode_parts(source: &str, dir: &str, more: &[&str]) -> crate::harness::Outcome {
    let args = ["encode", source, "--row-bytes", "64", "--scheme", "s3pir", "--out", dir];
    sotto(&[&args[..], &["--parts", "3"], more].concat())
}

#[test]
fn cut_at_once_or_part_by_part() {
    let folder = Folder::new();
    let (source, at_once, apart) = (source(&folder), folder.text("at-once"), folder.text("apart"));
    assert_eq!(encode_parts(&source, &at_once, &["--json"]).code, 0);
    assert_eq!(images(folder.at("at-once").as_path()), [""; 0], "no whole image is left");
    sotto(&["inspect", &at_once, "--verify"]).prints("front of a table in 3 parts");
    sotto(&["audit", "rows", &at_once]).prints("");

    let early = encode_parts(&source, &apart, &["--part", "1"]);
    early.fails(7, &[]);
    assert_eq!(encode_parts(&source, &apart, &["--part", "front"]).code, 0);
    encode_parts(&source, &apart, &["--part", "3"]).fails(2, &["part 3 does not exist among 3 parts"]);
    encode_parts(&source, &apart, &["--part", "0"]).prints("made");
    encode_parts(&source, &apart, &["--part", "0"]).prints("already complete");
    encode_parts(&source, &apart, &["--part", "2"]).prints("made");
    // One is missing yet, and nothing is served.
    sotto(&["serve", &apart, "--listen", "127.0.0.1:0"]).fails(7, &["part 1", "missing", "--part 1"]);
    encode_parts(&source, &apart, &["--part", "1"]).prints("made");
    for dir in [&at_once, &apart] {
        let server = Served::start(&[dir]);
        let name = if dir == &at_once { "at-once" } else { "apart" };
        let args = ["get", "--server", &server.url, "--table", name, "--json", "--row", "7,4095"];
        let state = folder.text(&format!("{name}-state"));
        let answers = sotto(
            &[
                &args[..],
                &[
                    "--state",
                    &state,
                    "--cache",
                    &state,
                    "--rollback-dir",
                    &folder.text(&format!("{name}-rollback")),
                ],
            ]
            .concat(),
        )
        .json();
        assert_eq!(answers["answers"][0]["value"], row(7));
        assert_eq!(answers["answers"][1]["value"], row(4095));
    }
}

/// Folders of every kind, by their names.
const KINDS: [&str; 6] = ["index", "range", "symmetric", "parts", "stack", "apple"];

fn encoded(folder: &Folder) -> String {
    let root = folder.text("t");
    let lines: String = (0..40).map(|i| format!("+1555{i:07},value {i}\n")).collect();
    let lines = folder.write("lines.csv", lines);
    let ranges = folder.write("ranges.csv", "1.0.0.0,1.0.255.255,AU\n1.1.0.0,1.1.255.255,CN\n");
    let rows = folder.write("rows.bin", vec![b'a'; 4096 * 64]);
    let by_row = ["--value", "2", "--row-bytes", "12"];
    let by_key = ["--key", "1", "--value", "2"];
    let encode = |name: &str, source: &str, more: &[&str], how: &[&str]| {
        let out = format!("{root}/{name}");
        assert_eq!(sotto(&[&["encode", source, "--out", &out], more, how].concat()).code, 0, "{name}");
    };
    encode("index", &lines, &by_row, &["--scheme", "simplepir"]);
    let range = ["--key-type", "ipv4", "--start", "1", "--end", "2", "--value", "3", "--block", "65536"];
    encode("range", &ranges, &range, &["--scheme", "simplepir"]);
    encode("symmetric", &lines, &by_row, &["--scheme", "simplepir", "--symmetric"]);
    encode("parts", &rows, &["--row-bytes", "64"], &["--scheme", "simplepir", "--parts", "2"]);
    encode("stack", &lines, &by_row, &["--batch", "3"]);
    encode("apple", &lines, &by_key, &["--apple"]);
    root
}

#[test]
fn every_verb_knows_every_kind_of_folder() {
    let folder = Folder::new();
    let root = encoded(&folder);
    let dir = |name: &str| format!("{root}/{name}");
    for name in KINDS {
        let (dir, is_apple) = (dir(name), name == "apple");
        sotto(&["inspect", &dir, "--verify"]).prints("");
        let doctor = sotto(&["doctor", &dir, "--verify", "--json"]);
        let report: Value = serde_json::from_str(doctor.stdout.lines().last().unwrap()).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        let bad: Vec<_> = findings.filter(|finding| finding["level"] == "mend").collect();
        assert!(
            bad.iter().all(|finding| finding["found"].as_str().unwrap().contains("mode")),
            "{name}: {bad:?}"
        );
        assert!(is_apple || doctor.stdout.contains("signs as"), "{name}: {}", doctor.stdout);

        let audit = sotto(&["audit", "rows", &dir]);
        let log = sotto(&["log", "add", &dir, "--catalog-log", &folder.text(&format!("log-{name}"))]);
        match is_apple {
            true => {
                audit.fails(2, &["Apple's lookups are not signed", "sotto inspect --verify"]);
                log.fails(2, &["Apple's lookups are not signed"]);
            }
            false => {
                audit.prints("match the signed root");
                log.prints("added");
            }
        }
        let other =
            sotto(&["encode", &folder.text("lines.csv"), "--value", "2", "--batch", "4", "--out", &dir]);
        if name != "stack" {
            other.fails(2, &["not a stack"]);
        }
        let rotate = sotto(&["rotate-key", &dir]);
        match name {
            "apple" => rotate.fails(2, &["are not signed", "certificate"]),
            _ => rotate.prints("new key"),
        }
    }
    let stack = dir("stack");
    for args in [&["encode", "--value", "2"][..], &["encode", "--key", "1", "--value", "2", "--apple"]] {
        let lines = folder.text("lines.csv");
        sotto(&[args, &[&lines, "--out", &stack]].concat()).fails(2, &["holds a stack"]);
    }
    let lines = folder.text("lines.csv");
    sotto(&["encode", &lines, "--value", "2", "--out", &dir("apple")]).fails(2, &["Apple's lookups"]);
    // A table of a stack has its stack's key, which named the next one for it.
    let tables = std::fs::read_dir(format!("{stack}/tables")).unwrap();
    let table = tables.map(|entry| entry.unwrap().path().display().to_string()).next().unwrap();
    assert!(std::path::Path::new(&table).join("succession.json").exists());
    sotto(&["rotate-key", &table]).fails(2, &["signed with the stack's key"]);
    sotto(&["leakage", &dir("apple")]).fails(2, &["a table of Apple's protocol", "inspect"]);
}

/// All of them are named alike in a configuration, are served, and are in a backup with their keys.
#[test]
fn a_configuration_names_every_kind_of_folder_alike() {
    let folder = Folder::new();
    encoded(&folder);
    let tables: Vec<String> = KINDS.iter().map(|name| format!("{{ dir = \"t/{name}\" }}")).collect();
    let config = folder.write("sotto.toml", format!("tables = [{}]\n", tables.join(", ")));
    let served = Served::start(&["--config", &config]);
    let names: Vec<&str> =
        served.tables.as_array().unwrap().iter().filter_map(|table| table["table"].as_str()).collect();
    assert_eq!(names, ["index", "range", "symmetric", "parts"]);
    sotto(&["inspect", &served.url]).prints("stack");
    let get = |more: &[&str]| sotto(&[&["get", "--server", &served.url, "--no-cache"], more].concat());
    get(&["--table", "stack", "--row", "1,2"]).prints("value 2");

    let backup = folder.text("backup");
    let made = sotto(&["backup", &backup, "--config", &config, "--json"]).json();
    let files = made["manifest"]["files"].as_array().unwrap();
    let paths: Vec<_> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    for name in KINDS {
        let has = |file: &str| paths.contains(&format!("tables/{name}/{file}").as_str());
        assert!(has("source.json") && has("signing.key") != (name == "apple"), "{name}: {paths:?}");
    }
    assert!(paths.contains(&"tables/stack/stack.json") && paths.contains(&"tables/symmetric/oprf.key"));
    assert!(!paths.iter().any(|path| path.ends_with(".sotto")));
    sotto(&["restore", &backup, "--tables", &folder.text("back")]).prints("restored");
    let same = |path: &str| {
        std::fs::read(folder.at("t").join(path)).unwrap()
            == std::fs::read(folder.at("back").join(path)).unwrap()
    };
    assert!(same("stack/stack.json") && same("stack/signing.key") && same("symmetric/oprf.key"));

    // With images a backup of a stack is complete: the restored stack can be served.
    let whole = folder.text("whole");
    sotto(&["backup", &whole, &folder.text("t/stack"), "--images"]).prints("");
    sotto(&["restore", &whole, "--tables", &folder.text("again")]).prints("restored");
    sotto(&["audit", "rows", &folder.text("again/stack")]).prints("match the signed root");
    let part = std::fs::read_dir(folder.at("t/stack/tables")).unwrap().next().unwrap().unwrap().path();
    let part = part.display().to_string();
    sotto(&["backup", &folder.text("part"), &part]).fails(2, &["a table of the stack", "give the stack"]);
    sotto(&["backup", &folder.text("none"), &folder.text("nothing")]).fails(7, &["nothing"]);
}

/// A small table is downloaded by itself; a client then sends its server nothing but requests for the catalog and the
/// table.
#[test]
fn a_table_without_a_scheme_gets_the_cheapest() {
    let folder = Folder::new();
    let (source, dir) = (folder.lines(300), folder.text("words"));
    let encode = |more: &[&str]| {
        unchanged(&[&["encode", &source, "--value", "1", "--row-bytes", "12", "--out", &dir], more].concat())
    };
    let encoded = encode(&["--json"]).json();
    let choice = &encoded["choice"];
    assert_eq!(choice["scheme"], "trivial/1");
    assert_eq!((&choice["lookups"], &choice["epoch_bytes"]), (&100.into(), &3600.into()));
    assert!(choice["second"]["epoch_s"].as_f64() > choice["epoch_s"].as_f64(), "{choice}");
    let server = Served::start(&[&dir]);
    let relay = Relay::to(&server.url);
    let get = ["get", "--server", &relay.url, "--table", "words", "--no-cache", "--json", "--row", "7,299"];
    let got = sotto(&get).json();
    assert_eq!(got["answers"][1]["value"], "row 299");
    let sent = ["verified", "requests", "queries", "up_bytes", "down_bytes"].map(|field| got[field].clone());
    assert_eq!(Value::from_iter(sent), serde_json::json!([true, 0, 0, 0, 0]));
    assert_eq!(got["once"]["artifact_bytes"], 3600);
    assert_eq!(relay.posted("", 0).iter().filter(|body| !body.is_empty()).count(), 0);
    drop(server);

    // The next epoch keeps the scheme, however often clients ask; --replace chooses again.
    let next = encode(&["--lookups", "1", "--json"]).json();
    assert_eq!((&next["summary"]["epoch"], &next["choice"]["scheme"]), (&2.into(), &"trivial/1".into()));
    assert!(next["choice"]["why"].as_str().unwrap().contains("the table that is there"), "{next}");
    let again = encode(&["--replace"]);
    assert_eq!(next["choice"]["frontier"], serde_json::json!([]), "there was nothing to choose");
    for words in ["chosen", "trivial/1 with 3.52 KiB", "second choice", "sends nothing", "frontier"] {
        again.prints(words);
    }
    // A table in parts is for schemes that have some.
    let cut = encode(&["--parts", "2", "--replace", "--json"]).json();
    assert!(cut["choice"]["scheme"] != "trivial/1" && cut["choice"]["second"].is_object());
    // Fewer bytes take more time.
    let frontier = cut["choice"]["frontier"].as_array().unwrap();
    let costs = |point: &Value| ["lookup_bytes", "server_s"].map(|field| point[field].as_f64().unwrap());
    let is_traded = |pair: &[Value]| {
        let [[bytes, time], [more_bytes, less_time]] = [costs(&pair[0]), costs(&pair[1])];
        bytes < more_bytes && time > less_time
    };
    assert!(!frontier.is_empty() && frontier.windows(2).all(is_traded), "{frontier:?}");
    encode(&["--set", "small", "--replace"]).fails(2, &["--set", "--scheme"]);
    encode(&["--goal", "rate", "--replace"]).fails(2, &["--goal", "--scheme"]);
    encode(&["--symmetric", "--batch", "2", "--replace"]).fails(2, &["--batch does not apply"]);
}

fn csv(folder: &Folder) -> String {
    let lines: String = (0..500).map(|i| format!("key{i},value {}\n", i % 10)).collect();
    folder.write("people.csv", format!("phone,name\n{lines}"))
}

/// Plans for a file with one scheme; gives the plan's file and the best offer.
fn plan(folder: &Folder, args: &[&str]) -> (String, Value) {
    let file = folder.text("plan.json");
    let mut all = vec!["plan"];
    all.extend(args);
    all.extend(["--out", &file, "--json"]);
    let plan = sotto(&all).json();
    let kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((&kept["chosen"], &kept["offers"]), (&plan["chosen"], &plan["offers"]));
    assert_eq!(plan["chosen"], plan["offers"][0]["choice"]);
    (file, plan["offers"][0].clone())
}

#[test]
fn what_a_plan_chose_is_what_is_encoded() {
    let folder = Folder::new();
    let source = csv(&folder);
    for (name, more) in [
        ("rows", &["--value", "name", "--scheme", "simplepir"][..]),
        ("keys", &["--key", "phone", "--value", "name", "--scheme", "simplepir"]),
        ("bytes", &["--value", "name", "--scheme", "fspiral", "--rank-by", "bytes"]),
        ("proofs", &["--value", "name", "--scheme", "simplepir", "--row-proofs"]),
        ("masked", &["--value", "name", "--scheme", "fspiral", "--symmetric"]),
    ] {
        let (file, offer) = plan(&folder, &[&[source.as_str()], more].concat());
        let columns = more.iter().take_while(|word| **word != "--scheme").copied();
        let dir = folder.text(name);
        let mut encode = vec!["encode", &source, "--out", &dir, "--plan", &file, "--json"];
        encode.extend(columns);
        let table = sotto(&encode).json();
        let scheme = &table["scheme"];
        let each = |field: &str| scheme[field].as_u64().unwrap();
        let probes = offer["choice"]["keys"]["rows"]["probes"].as_u64().unwrap_or(1);
        // A masked row comes with an evaluation.
        let opened = if name == "masked" { [32, 96] } else { [0, 0] };
        assert_eq!(offer["up_bytes"], each("query_bytes") * probes + opened[0], "{name}");
        assert_eq!(offer["down_bytes"], each("answer_bytes") * probes + opened[1], "{name}");
        assert_eq!(offer["keys_bytes"], each("keys_bytes"), "{name}");
        assert_eq!(offer["choice"]["verified"], !table["summary"]["path"].is_null(), "{name}");
    }
}

#[test]
fn a_round_is_what_was_planned() {
    let folder = Folder::new();
    let source = csv(&folder);
    let (file, offer) =
        plan(&folder, &[&source, "--value", "name", "--batch", "12", "--scheme", "simplepir"]);
    let dir = folder.text("stack");
    let stack =
        sotto(&["encode", &source, "--value", "name", "--out", &dir, "--plan", &file, "--json"]).json();
    for field in ["up_bytes", "down_bytes", "tables"] {
        assert_eq!(offer[field], stack[field], "{field}");
    }
    assert_eq!(stack["batch"], 12);
}

#[test]
fn a_plan_is_for_people_too() {
    let trusted =
        ["plan", "--rows", "2^12", "--row-bytes", "32", "--trust", "two-servers", "--scheme", "dpf"];
    let planned = sotto(&trusted);
    for words in ["dpf/1", "download everything", "what servers learn", "collude", "times", "by dollars"] {
        planned.prints(words);
    }
    let widest = planned.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(110), "{widest:?}: {}", planned.stdout);
    let keyed = sotto(&["plan", "--rows", "3e3", "--row-bytes", "8", "--keyed", "--scheme", "simplepir"]);
    keyed.prints("simplepir/1");
    keyed.prints("k-anonymity");
    keyed.prints("3 000 keys");
    let cut =
        sotto(&["plan", "--rows", "2^18", "--row-bytes", "64", "--machines", "4", "--scheme", "simplepir"]);
    cut.prints("modeled, not measured");
    let small = ["plan", "--rows", "2^12", "--row-bytes", "64", "--scheme", "ypir-sp", "--frontier"];
    let frontier = sotto(&[&small[..], &["--json"]].concat()).json();
    let lookups: Vec<u64> = frontier["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["lookups"].as_u64().unwrap())
        .collect();
    assert!(lookups.is_sorted() && [1, 2, 10, 1000].iter().all(|some| lookups.contains(some)), "{frontier}");
    assert!(sotto(&small).stdout.contains("bytes of each"));
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let folder = Folder::new();
    let source = csv(&folder);
    sotto(&["plan"]).fails(2, &["--rows"]);
    sotto(&["plan", "--rows", "0", "--row-bytes", "8"]).fails(2, &["number of rows"]);
    sotto(&["plan", "--rows", "2^50", "--row-bytes", "8"]).fails(2, &["number of rows"]);
    sotto(&["plan", "--rows", "9", "--row-bytes", "8", "--changed-share", "7"]).fails(2, &["share"]);
    sotto(&["plan", "--rows", "many", "--row-bytes", "8"]).fails(2, &["not a count"]);
    sotto(&["plan", "--rows", "9", "--row-bytes", "8", "--rank-by", "luck"]).fails(2, &["dollars"]);
    sotto(&["plan", "--rows", "9", "--row-bytes", "8", "--scheme", "none"]).fails(2, &["simplepir"]);
    sotto(&["plan", &folder.text("none.csv"), "--value", "1"]).fails(7, &["none.csv"]);
    let encode = |file: &str, more: &[&str]| {
        let out = folder.text("refused");
        sotto(&[&["encode", &source, "--value", "name", "--out", &out, "--plan", file], more].concat())
    };
    encode(&folder.text("none.json"), &[]).fails(7, &["none.json"]);
    for text in ["", "{}", "[1]", "{\"format\":\"sotto-plan/1\",\"chosen\":{}}"] {
        encode(&folder.write("bad.json", text), &[]).fails(3, &["bad.json", "sotto plan"]);
    }
    let (file, _) = plan(&folder, &[&source, "--value", "name", "--scheme", "simplepir"]);
    encode(&file, &["--scheme", "dpf"]).fails(2, &["--scheme", "--plan"]);
    encode(&file, &["--key", "phone"]).fails(2, &["lookups by"]);
    let text = std::fs::read_to_string(&file).unwrap().replace("\"simplepir/1\"", "\"simplepir/9\"");
    encode(&folder.write("other.json", text), &[]).fails(4, &["simplepir/9", "make the plan again"]);
    assert!(!folder.at("refused").exists());
}
