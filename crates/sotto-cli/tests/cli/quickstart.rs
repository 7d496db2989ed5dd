//! The steps of an operator and of a user, from a file to a lookup.

use crate::first_lookup;
use crate::harness::{Folder, Served, images, run, sotto};

#[test]
fn encode_serve_get_update_get_inspect() {
    let folder = Folder::new();
    let lines: String = (0..3000).map(|row| format!("{row};meaning {row}\n")).collect();
    let source = folder.write("words.csv", format!("word;meaning\n{lines}"));
    let (dir, cache) = (folder.text("words"), folder.text("cache"));
    let encoded = run(&format!(
        "encode {source} --value meaning --delimiter ; --out {dir} --row-bytes 16 --attribution nobody --json"
    ))
    .json();
    assert_eq!(encoded["summary"]["rows"], 3000);
    assert_eq!(encoded["summary"]["row_bytes"], 16);
    assert!(encoded["scheme"]["security_bits"].as_f64().unwrap() >= 128.0);
    assert!(encoded["scheme"]["failure_log2"].as_f64().unwrap() <= -40.0);
    let key = encoded["public_key"].as_str().unwrap().to_owned();
    assert!(key.starts_with("sotto-pk:"));

    let server = Served::start(&[&dir]);
    let get = |more: &[&str]| {
        let mut args = vec!["get", "--server", &server.url, "--table", "words", "--cache", &cache, "--json"];
        args.extend(more);
        sotto(&args)
    };
    let first = get(&["--row", "7", "--row", "2999", "--pin", &key]).json();
    assert_eq!(first["epoch"], 1);
    assert_eq!(first["trust"], "pinned");
    assert_eq!(first["answers"][0]["value"], "meaning 7");
    assert_eq!(first["answers"][1]["value"], "meaning 2999");
    let hint = first["once"]["artifact_bytes"].as_u64().unwrap();
    assert!(hint > 0 && first["up_bytes"].as_u64() > Some(0));

    // The same in Rust, as the README has it; and an error that a `main` returns is a sentence.
    let from_rust = first_lookup::look_up(&server.url, "words", &key, 2999).unwrap();
    assert!(from_rust.starts_with("meaning 2999") && from_rust.contains("bytes up"), "{from_rust}");
    let error = first_lookup::look_up(&server.url, "swords", &key, 7).unwrap_err();
    let said = format!("Error: {error:?}");
    assert!(said.starts_with("Error: the server refused: ") && said.contains("\n  fix: "), "{said}");

    let again = get(&["--row", "7"]).json();
    assert_eq!(again["trust"], "remembered");
    assert_eq!(again["once"]["artifact_bytes"], 0);
    assert_eq!(again["once"]["cached_bytes"], hint);

    let changes = folder.write("changes.csv", "7,changed\n");
    let updated = sotto(&["update", &dir, &changes, "--json"]).json();
    assert_eq!(updated["summary"]["epoch"], 2);
    assert_eq!(updated["summary"]["rows_changed"], 1);
    assert_eq!(images(dir.as_ref()).len(), 2);
    server.reload();

    let patched = get(&["--row", "7", "--row", "8"]).json();
    assert_eq!(patched["epoch"], 2);
    assert_eq!(patched["answers"][0]["value"], "changed");
    assert_eq!(patched["answers"][1]["value"], "meaning 8");
    assert!(patched["once"]["patched_bytes"].as_u64() > Some(0), "{patched}");
    assert!(patched["once"]["artifact_bytes"].as_u64() < Some(hint), "{patched}");

    let inspected = sotto(&["inspect", &dir, "--verify", "--json"]).json();
    assert_eq!(inspected["catalog"]["epoch"], 2);
    assert_eq!(inspected["catalog"]["attribution"], "nobody");
    assert_eq!(inspected["verified"], true);
    let old = sotto(&["inspect", &dir, "--epoch", "1", "--json"]).json();
    assert_eq!(old["catalog"]["epoch"], 1);
    let remote = sotto(&["inspect", &server.url, "--verify", "--json"]).json();
    assert_eq!(remote["tables"][0]["public_key"], key.as_str());
    assert_eq!(remote["tables"][0]["catalog"], inspected["catalog"]);
    assert_eq!(remote["tables"][0]["scheme"], inspected["scheme"]);
    // Two scales of security, each by its name: of a block size of 351, for the only set there is.
    assert!(inspected["scheme"]["security_model"].as_str().unwrap().contains("MATZOV"));
    let core_svp = inspected["scheme"]["core_svp_bits"].as_f64().unwrap();
    assert!((core_svp - 0.292 * 351.0).abs() < 1e-9, "{core_svp}");
    for target in [&dir, &server.url] {
        let shown = sotto(&["inspect", target]).stdout;
        let line = shown.lines().find(|line| line.trim_start().starts_with("core-SVP")).unwrap();
        assert!(line.contains("102.5 bits") && line.contains("0.292 beta, classical"), "{line}");
        assert!(line.contains("93.0 bits quantum"), "{line}");
    }

    let (code, last) = server.end();
    assert_eq!(code, 0);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&last).unwrap()["event"], "ended");
}

#[test]
fn a_keyword_table_is_asked_by_key() {
    let folder = Folder::new();
    let source = folder.write(
        "blocked.jsonl",
        "{\"name\":\"Example.COM\",\"why\":\"spam\"}\n{\"name\":\"b\u{fc}cher.example.\",\"why\":\"phishing\"}\n\
         {\"name\":\"plain.example\",\"why\":\"\"}\n",
    );
    let dir = folder.text("blocked");
    let encode = |source: &str, form: &str| {
        let columns = ["--key", "name", "--key-form", form, "--value", "why"];
        sotto(&[&["encode", source, "--out", &dir, "--json"], &columns[..]].concat())
    };
    let encoded = encode(&source, "domain").json();
    assert_eq!(encoded["notes"]["lines"], 3);
    let server = Served::start(&[&dir]);
    let get = |keys: &[&str]| {
        let keys: Vec<&str> = keys.iter().flat_map(|key| ["--key", *key]).collect();
        let asked = ["get", "--server", &server.url, "--table", "blocked", "--no-cache", "--json"];
        sotto(&[&asked, &keys[..]].concat())
    };
    let found = get(&["example.com", "XN--BCHER-KVA.example", "plain.example", "missing.example"]).json();
    let answer = |i: usize| (found["answers"][i]["found"].as_bool(), found["answers"][i]["value"].as_str());
    assert_eq!(answer(0), (Some(true), Some("spam")));
    assert_eq!(answer(1), (Some(true), Some("phishing")));
    assert_eq!(answer(2), (Some(true), Some("")));
    assert_eq!(answer(3), (Some(false), None));
    // The number of bytes sent does not depend on the lookup.
    let (there, missing) = (get(&["example.com"]).json(), get(&["missing.example"]).json());
    assert_eq!(there["queries"], missing["queries"]);
    assert_eq!(there["up_bytes"], missing["up_bytes"]);
    assert_eq!(there["down_bytes"], missing["down_bytes"]);
    let refused = get(&["secret name"]);
    assert_eq!(refused.code, 7, "{}", refused.stderr);
    assert!(!refused.stderr.contains("secret name"), "what is looked up stays out: {}", refused.stderr);

    let twice = folder
        .write("twice.jsonl", "{\"name\":\"a.b\",\"why\":\"1\"}\n\n{\"name\":\"A.B.\",\"why\":\"2\"}\n");
    let refused = encode(&twice, "domain");
    assert!(refused.code != 0 && refused.stderr.contains("line 1"), "{}", refused.stderr);
}

#[test]
fn people_read_what_was_decided_and_what_to_type_next() {
    let folder = Folder::new();
    let source = folder.write("w.csv", "a\nb\nc\n");
    let dir = folder.text("w");
    let encoded = sotto(&["encode", &source, "--value", "1", "--out", &dir]);
    for word in
        ["security", "a lookup fails", "public key", "sotto-pk:", "next: sotto serve", "first line is data"]
    {
        assert!(encoded.stdout.contains(word), "no {word:?} in:\n{}", encoded.stdout);
    }
    // The remaining failures, where noise is negligible: secrets that vanish at eight roots.
    assert!(encoded.stdout.contains("with probability at most 2^-191.3"), "{}", encoded.stdout);
    let often =
        sotto(&["encode", &source, "--value", "1", "--out", &dir, "--lookups", &u64::MAX.to_string()]);
    assert!(often.stdout.contains("16384 PiB in total"), "{}", often.stdout);
    let server = Served::start(&[&dir]);
    let got = sotto(&["get", "--server", &server.url, "--table", "w", "--no-cache", "--row", "1"]);
    assert_eq!(got.code, 0, "{}", got.stderr);
    assert!(got.stdout.starts_with("row 1  b\n"), "{}", got.stdout);
    assert!(got.stdout.contains("first key seen"), "{}", got.stdout);
    let inspected = sotto(&["inspect", &dir]);
    assert!(
        inspected.stdout.contains("parameters") && inspected.stdout.contains("BLAKE3"),
        "{}",
        inspected.stdout
    );
    let longest = [&encoded, &got, &inspected].iter().flat_map(|o| o.stderr.lines()).next();
    assert_eq!(longest, None, "progress is for terminals, and errors for failures");
}

#[test]
fn a_scheme_with_keys_says_its_set_and_its_noise_step_by_step() {
    let folder = Folder::new();
    let source = folder.lines(9000);
    let dir = folder.text("rows");
    let encode = ["encode", &source, "--value", "1", "--row-bytes", "64", "--scheme", "fspiral", "--set"];
    let encoded = sotto(&[encode.as_slice(), &["default", "--out", &dir]].concat());
    for words in ["  set             default: N = 4096", "of keys up per session", "with keys"] {
        assert!(encoded.stdout.contains(words), "no {words:?} in:\n{}{}", encoded.stdout, encoded.stderr);
    }
    let server = Served::start(&[&dir]);
    for target in [&dir, &server.url] {
        let shown = sotto(&["inspect", target]).stdout;
        for words in
            ["parameters", "noise: of selectors", "noise: after folding", "noise: room for it", "security"]
        {
            assert!(shown.contains(words), "no {words:?} in:\n{shown}");
        }
        let facts = shown.lines().filter(|line| line.starts_with("  "));
        assert_eq!(facts.filter(|line| line.chars().count() > 100).collect::<Vec<_>>(), [""; 0]);
    }
    let wrong = sotto(&[encode.as_slice(), &["nosuch", "--out", &folder.text("none")]].concat());
    wrong.fails(4, &["no parameter set \"nosuch\"", "default"]);
}

#[test]
fn schemes_are_listed_with_what_they_rest_on() {
    let all = sotto(&["schemes"]);
    assert_eq!(all.code, 0, "{}", all.stderr);
    assert!(
        all.stdout.contains("fspiral/1") && all.stdout.contains("preparation, splitting"),
        "{}",
        all.stdout
    );
    assert!(all.stdout.lines().all(|line| line.chars().count() <= 120), "{}", all.stdout);
    let facts = sotto(&["schemes", "dpf/2"]).stdout;
    assert!(facts.contains("do not collude, whose answers are verified"), "{facts}");
    assert!(sotto(&["schemes", "verisimplepir"]).stdout.contains("No named parameter sets"));
    let spiral = sotto(&["schemes", "spiral", "--json"]).json();
    assert_eq!(spiral["assumptions"], serde_json::json!(["ring-lwe", "circular-security"]));
    let names: Vec<_> = spiral["sets"].as_array().unwrap().iter().map(|set| &set["name"]).collect();
    assert!(names.contains(&&"paper-1m-256".into()), "{spiral}");
    sotto(&["schemes", "nosuch"]).fails(2, &["fspiral/1"]);
}
