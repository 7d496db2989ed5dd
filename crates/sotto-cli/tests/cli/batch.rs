//! Several rows, values of several keys, or bits in one round: encoded, served, looked up, encoded
//! again.

use crate::harness::{Folder, Outcome, Served, run, sotto};
use serde_json::{Value, json};

fn encode(folder: &Folder, source: &str, more: &[&str]) -> Value {
    let out = folder.text("many");
    sotto(&[&["encode", source, "--out", &out, "--json"], more].concat()).json()
}

fn get(server: &Served, more: &[&str]) -> Outcome {
    let args = ["get", "--server", &server.url, "--table", "many", "--no-cache"];
    sotto(&[&args[..], more].concat())
}

fn asked(server: &Served, more: &[&str]) -> Value {
    get(server, &[more, &["--json"]].concat()).json()
}

fn values(report: &Value) -> Vec<Value> {
    report["answers"].as_array().unwrap().iter().map(|answer| answer["value"].clone()).collect()
}

#[test]
fn rows_in_one_round() {
    let folder = Folder::new();
    let lines = |n: usize| (0..n).map(|row| format!("row {row}\n")).collect::<String>();
    let source = folder.write("rows.csv", lines(300));
    let row = ["--value", "1", "--row-bytes", "12", "--batch", "12"];
    let encoded = encode(&folder, &source, &row);
    assert_eq!(
        (&encoded["tables"], &encoded["lookups"], &encoded["batch"]),
        (&18.into(), &18.into(), &12.into())
    );
    assert!(encoded["failure_log2"].as_f64().unwrap() < -40.0);
    let dir = folder.text("many");
    let server = Served::start(&[&dir]);

    let one = asked(&server, &["--row", "7"]);
    let many = asked(&server, &["--index", "0,299,17", "--row", "5..9,17"]);
    let expected = [0, 299, 17, 5, 6, 7, 8, 17].map(|row| Value::from(format!("row {row}")));
    assert_eq!(values(&many), expected);
    for field in ["up_bytes", "down_bytes", "lookups", "tables"] {
        assert_eq!(one[field], many[field], "{field}: what is asked does not show");
    }
    // More rows than a round has, a row past the end, and an invalid row.
    get(&server, &["--row", "0..13"]).prints("2 times 18 lookups in 18 tables");
    get(&server, &["--row", "300"]).fails(7, &["the table has 300"]);
    get(&server, &["--row", "9..5"]).fails(2, &["5..9"]);
    let said = get(&server, &["--row", "1"]).stdout;
    assert!(said.starts_with("row 1  row 1\n") && said.contains("18 lookups in 18 tables"), "{said}");

    // The next epoch has more rows in the same tables.
    let source = folder.write("rows.csv", lines(310));
    assert_eq!(encode(&folder, &source, &row)["epoch"], 2);
    server.reload();
    assert_eq!(values(&asked(&server, &["--row", "309,0"])), ["row 309", "row 0"]);
    let refused = |more: &[&str], words: &[&str]| {
        sotto(&[&["encode", &source, "--value", "1", "--row-bytes", "12", "--out", &dir], more].concat())
            .fails(2, words);
    };
    refused(&["--batch", "13"], &["made for 12 at once", "another directory"]);
    refused(&[], &["holds a stack", "--batch"]);
    refused(&["--batch", "12", "--name", "else"], &["named many"]);
}

/// Hundreds of rows and keys by one query of one table.
#[test]
fn large_rounds() {
    let folder = Folder::new();
    let lines: String = (0..2000).map(|i| format!("host{i}.example,value {i}\n")).collect();
    let source = folder.write("hosts.csv", lines);
    let by_row = ["--value", "2", "--row-bytes", "12", "--batch", "400", "--scheme", "vbpir"];
    let encoded = encode(&folder, &source, &by_row);
    let code = &encoded["code"];
    assert_eq!((&encoded["tables"], &encoded["batch"], &code["spare"]), (&1.into(), &400.into(), &0.into()));
    assert!(encoded["lookups"].as_u64().unwrap() < 600 && encoded["failure_log2"].as_f64().unwrap() < -40.0);
    let server = Served::start(&[&folder.text("many")]);
    let expected = (1000..1400).map(|i| Value::from(format!("value {i}")));
    assert!(values(&asked(&server, &["--row", "1000..1400"])).into_iter().eq(expected));
    let more = asked(&server, &["--row", "0..401"]);
    assert_eq!((more["rounds"].as_u64(), values(&more).last()), (Some(2), Some(&"value 400".into())));
    drop(server);

    let keyed = folder.text("keyed");
    let args = ["encode", &source, "--key", "1", "--key-form", "domain", "--value", "2", "--probes", "2"];
    let more = ["--batch", "300", "--scheme", "pirana", "--out", &keyed, "--json"];
    let encoded = sotto(&[&args[..], &more].concat()).json();
    assert_eq!((&encoded["tables"], &encoded["code"]["batch"]), (&1.into(), &600.into()));
    let server = Served::start(&[&keyed]);
    let list: String = (1800..2100).map(|i| format!("host{i}.example\n")).collect();
    let list = folder.write("keys.txt", list);
    let args =
        ["get", "--server", &server.url, "--table", "keyed", "--no-cache", "--json", "--keys-file", &list];
    let expected = (1800..2100).map(|i| if i < 2000 { format!("value {i}").into() } else { Value::Null });
    assert!(values(&sotto(&args).json()).into_iter().eq(expected));

    // A table for each bucket would be more than a stack has.
    let out = folder.text("new");
    let args = ["encode", &source, "--value", "2", "--batch", "1500", "--out", &out];
    sotto(&args).fails(4, &["a stack holds 1024", "several buckets"]);
    sotto(&[&args[..4], &["--batch", "4097", "--out", &out]].concat()).fails(2, &["4096"]);
    assert!(!folder.at("new").exists());
}

/// A few rows of a small table by one query with one set of keys, which is as large for one row.
#[test]
fn a_few_rows_share_keys() {
    let folder = Folder::new();
    let lines = |last: &str| (0..600).map(|i| format!("row {i}\n")).collect::<String>() + last;
    let source = folder.write("rows.csv", lines("last\n"));
    let scheme = ["--value", "1", "--row-bytes", "12", "--scheme", "ypir-sp", "--goal", "total-bytes"];
    let encoded = encode(&folder, &source, &[&scheme[..], &["--batch", "5"]].concat());
    let code = &encoded["code"];
    assert_eq!((&encoded["tables"], &code["copies"], &code["spare"]), (&1.into(), &5.into(), &0.into()));
    let server = Served::start(&[&folder.text("many")]);
    let five = asked(&server, &["--row", "0,17,17,600,3"]);
    assert_eq!(values(&five), ["row 0", "row 17", "row 17", "last", "row 3"]);
    let one = asked(&server, &["--row", "7"]);
    assert_eq!((&one["up_bytes"], &one["down_bytes"]), (&five["up_bytes"], &five["down_bytes"]));
    drop(server);

    // Five lookups in an ordinary table have five sets of keys.
    let single = folder.text("single");
    sotto(&[&["encode", &source, "--out", &single, "--json"], &scheme[..]].concat()).json();
    let server = Served::start(&[&single]);
    let args = ["get", "--server", &server.url, "--table", "single", "--no-cache", "--json"];
    let apart = sotto(&[&args[..], &["--row", "0,17,17,600,3"]].concat()).json();
    assert_eq!(values(&apart), values(&five));
    let [together, apart] = [&five, &apart].map(|report| report["up_bytes"].as_u64().unwrap());
    assert!(together * 3 < apart, "{together} {apart}");
}

#[test]
fn keys_in_one_round() {
    let folder = Folder::new();
    let lines: String = (0..200).map(|i| format!("host{i}.example,value {i}\n")).collect();
    let source = folder.write("hosts.csv", lines);
    // Two rows for each key.
    let keyed = |probes| format!("--key 1 --key-form domain --value 2 --probes {probes} --slots 4 --batch 6");
    let encoded = encode(&folder, &source, &keyed(2).split(' ').collect::<Vec<_>>());
    assert_eq!((&encoded["batch"], &encoded["code"]["batch"]), (&6.into(), &12.into()));
    let server = Served::start(&[&folder.text("many")]);
    let there = asked(&server, &["--key", "host7.example", "--key", "HOST199.example."]);
    assert_eq!(values(&there), ["value 7", "value 199"]);
    let list = folder.write("keys.txt", "none.example\nhost7.example\nhost7.example\n");
    let mixed = asked(&server, &["--keys-file", &list, "--key", "host0.example"]);
    let expected = ["value 0".into(), Value::Null, "value 7".into(), "value 7".into()];
    assert_eq!(values(&mixed), expected);
    assert_eq!(mixed["answers"][1]["found"], false);
    assert_eq!((&there["up_bytes"], &there["down_bytes"]), (&mixed["up_bytes"], &mixed["down_bytes"]));
    get(&server, &["--row", "1"]).fails(7, &["look up a key"]);
    get(&server, &["--key", "no host"]).fails(7, &["domain"]);
    get(&server, &["--keys-file", &folder.text("nothing")]).fails(7, &["nothing"]);
    let out = folder.text("many");
    run(&format!("encode {source} --out {out} {}", keyed(3))).fails(2, &["2 rows each, expected 3"]);
}

#[test]
fn what_comes_of_nothing_leaves_nothing() {
    let folder = Folder::new();
    let out = folder.text("new/many");
    let bad = folder.write("bad.csv", b"a\n\xff\n");
    sotto(&["encode", &bad, "--value", "1", "--batch", "12", "--out", &out]).fails(3, &["bad.csv"]);
    // Refused by its parameters, before anything of it is copied.
    let huge = folder.at("huge.bin");
    std::fs::File::create(&huge).unwrap().set_len(1 << 40).unwrap();
    let huge = huge.to_str().unwrap();
    sotto(&["encode", huge, "--row-bytes", "1", "--batch", "3", "--out", &out]).fails(4, &[]);
    assert!(!folder.at("new").exists());
    // A range table: an address for each block.
    let source = folder.write("blocks.csv", "0,255,a\n256,511,b\n768,1023,c\n");
    let ranges = ["--key-type", "ipv4", "--start", "1", "--end", "2", "--value", "3", "--block", "256"];
    let encoded = encode(&folder, &source, &[&ranges[..], &["--last", "1023", "--batch", "2"]].concat());
    assert_eq!((&encoded["tables"], &encoded["lookups"]), (&1.into(), &2.into()));
    let server = Served::start(&[&folder.text("many")]);
    let got = asked(&server, &["--key", "0.0.1.7", "--row", "3"]);
    assert_eq!(values(&got), ["c", "b"]);
    get(&server, &["--key", "0.0.4.0"]).fails(7, &["IPv4 address"]);
}

/// Bits of a table that is queried once for each, and of a stack that is queried once for all,
/// together with rows.
#[test]
fn bits_are_those_of_the_file() {
    let folder = Folder::new();
    let bytes: Vec<u8> = (0..300u32).map(|i| (i * i * 41 + i / 7) as u8).collect();
    let source = folder.write("bits.bin", &bytes);
    let (one, many) = (folder.text("one"), folder.text("many"));
    sotto(&["encode", &source, "--row-bytes", "5", "--out", &one, "--json"]).json();
    sotto(&["encode", &source, "--row-bytes", "5", "--batch", "4", "--out", &many, "--json"]).json();
    let server = Served::start(&[&one, &many]);
    let bit = |n: usize| json!({"bit": n, "row": n / 40, "value": (bytes[n / 8] >> (n % 8) & 1).to_string()});
    for table in ["one", "many"] {
        let asked = ["get", "--server", &server.url, "--table", table, "--no-cache", "--json"];
        let found = sotto(&[&asked[..], &["--bit", "0,47", "--row", "3", "--bit", "2399"]].concat()).json();
        let answers = found["answers"].as_array().unwrap();
        assert_eq!(answers[0]["row"], 3);
        assert_eq!(answers[1..], [bit(0), bit(47), bit(2399)], "{table}");
        let refused = sotto(&[&asked[..], &["--bit", "2400"]].concat());
        assert!(
            refused.code != 0 && refused.stderr.contains("bit 2400 is past the end"),
            "{}",
            refused.stderr
        );
    }
}
