//! Keyword tables, and their updates.

use crate::harness::{Folder, Served, sotto};
use serde_json::{Value, json};

/// Before, after, missing, deleted; by a client that was there before and by one that was not.
#[test]
fn keys_are_changed_and_added_and_go() {
    let folder = Folder::new();
    let lines: String = (0..2000).map(|i| format!("key {i},value {i}\n")).collect();
    let source = folder.write("w.csv", lines);
    let dir = folder.text("w");
    let columns = ["--key", "1", "--value", "2", "--row-bytes", "12"];
    let encoded = sotto(&[&["encode", &source, "--out", &dir, "--json"], &columns[..]].concat()).json();
    assert!(encoded["summary"]["stored_rows_bytes"].as_u64().is_some_and(|bytes| bytes > 2000 * 20));
    let server = Served::start(&[&dir]);
    let cache = folder.text("cache");
    let get = |keys: &[&str]| {
        let keys: Vec<&str> = keys.iter().flat_map(|key| ["--key", *key]).collect();
        let asked = ["get", "--server", &server.url, "--table", "w", "--cache", &cache, "--json"];
        let found = sotto(&[&asked, &keys[..]].concat()).json();
        let answers = found["answers"].as_array().map(Vec::as_slice).unwrap_or_default();
        let value = |answer: &Value| answer["value"].as_str().map(str::to_owned);
        (found["epoch"].as_u64(), answers.iter().map(value).collect::<Vec<_>>(), found["once"].clone())
    };
    let some = |value: &str| Some(value.to_owned());
    let keys = ["key 0", "key 1", "key 2", "new"];
    assert_eq!(get(&keys).1, [some("value 0"), some("value 1"), some("value 2"), None]);

    let changes = folder.write("c.csv", "name,why,gone\nkey 0,changed,\nkey 1,,yes\nnew,added,0\nnone,,1\n");
    let columns = ["--key", "name", "--value", "why", "--delete", "gone"];
    let updated = sotto(&[&["update", &dir, &changes, "--json"], &columns[..]].concat()).json();
    assert_eq!(updated["summary"]["keys"], json!({"set": 1, "added": 1, "removed": 1, "absent": 1}));
    server.reload();
    let (epoch, values, once) = get(&keys);
    assert_eq!((epoch, values), (Some(2), vec![some("changed"), None, some("value 2"), some("added")]));
    let down = once["artifact_bytes"].as_u64().unwrap();
    let whole = updated["summary"]["artifact_bytes"].as_u64().unwrap();
    assert!(down > 0 && down * 10 < whole, "the client follows by a delta: {down} of {whole} bytes");

    // Nulls take keys out where a format has them, and no other word than those that are known does.
    let changes = folder.write("c.jsonl", "{\"key\":\"key 2\",\"value\":null}\n");
    sotto(&["update", &dir, &changes, "--json"]).json();
    server.reload();
    assert_eq!(get(&keys).1, [some("changed"), None, None, some("added")]);
    let refused = |text: &str, columns: &[&str], words: &str| {
        let changes = folder.write("refused.csv", text);
        let refused = sotto(&[&["update", &dir, &changes], columns].concat());
        assert!(refused.code != 0 && refused.stderr.contains(words), "{words:?} in {}", refused.stderr);
    };
    refused("a,1,perhaps\n", &["--key", "1", "--value", "2", "--delete", "3"], "line 1, column 3");
    refused("a,1\nb,2\na,3\n", &[], "line 3, column 1: the key is the same as that of line 1");
    refused("a,1\n,2\n", &[], "line 2, column 1: the key is empty");
    refused("a,longer than twelve\n", &[], "line 1, column 2: the value has 18 bytes");
    refused(&format!("{},1\n", "k".repeat(300)), &[], "keys of the table at most 255");
    refused("0,1\n", &["--row", "1", "--value", "2"], "give --key");
    let more: String = (0..1000).map(|i| format!("more {i},x\n")).collect();
    refused(&more, &[], "no room for another key");
    assert_eq!(get(&keys).0, Some(3), "what is refused leaves the epoch as it was");
}

/// A table whose keys lie in sums of rows is queried and updated like others, but its rows cannot be verified.
#[test]
fn keys_lie_in_sums_of_rows() {
    let folder = Folder::new();
    let lines: String = (0..3000).map(|i| format!("key {i},value {i}\n")).collect();
    let source = folder.write("w.csv", lines);
    for scheme in ["simplepir", "ypir-sp"] {
        let dir = folder.text(scheme);
        let usual =
            ["encode", &source, "--key", "1", "--value", "2", "--out", &dir, "--scheme", scheme, "--json"];
        for more in ["--row-proofs", "--batch=4", "--probes=2"] {
            assert_ne!(sotto(&[&usual[..], &["--band", more]].concat()).code, 0, "{more}");
        }
        sotto(&[&usual[..], &["--band", "--lookups", "1", "--headroom", "50"]].concat()).json();
        sotto(&["inspect", &dir]).says("in sums of rows");
        let server = Served::start(&[&dir]);
        let get = |key: &str| {
            let found = sotto(&[
                "get",
                "--server",
                &server.url,
                "--table",
                scheme,
                "--key",
                key,
                "--no-cache",
                "--json",
            ]);
            found.json()["answers"][0]["value"].as_str().map(str::to_owned)
        };
        assert_eq!(
            (get("key 17").as_deref(), get("key 2999").as_deref()),
            (Some("value 17"), Some("value 2999"))
        );
        assert_eq!(get("key 3000"), None);
        let changes = folder.write("c.csv", "key 17,changed\nnew,added\n");
        let updated = sotto(&["update", &dir, &changes, "--json"]).json();
        assert_eq!(updated["summary"]["keys"], json!({"set": 1, "added": 1, "removed": 0, "absent": 0}));
        server.reload();
        assert_eq!((get("key 17").as_deref(), get("new").as_deref()), (Some("changed"), Some("added")));
        assert_eq!(get("key 18").as_deref(), Some("value 18"));
    }
    let films = ["encode", &source, "--key", "1", "--value", "2", "--band", "--scheme", "fspiral"];
    let refused = sotto(&[&films[..], &["--out", &folder.text("films")]].concat());
    assert!(refused.code != 0 && refused.stderr.contains("cannot sum records"), "{}", refused.stderr);
}

/// A typical list of keys: with an invalid line, values over several lines, and keys that begin
/// with a hyphen.
#[test]
fn lists_of_keys_are_answered_but_for_the_lines_that_are_none() {
    let folder = Folder::new();
    let addresses = folder.write("ips.csv", "ip,v\n1.2.3.4,a\n2001:db8::1,b\n");
    let words = folder.write("w.csv", "k,v\na,\"one\ttwo\nthree\"\n-x,hyphen\n");
    let (ips, w) = (folder.text("ips"), folder.text("w"));
    sotto(&["encode", &addresses, "--key", "ip", "--key-form", "ip", "--value", "v", "--out", &ips])
        .says("ips");
    sotto(&["encode", &words, "--key", "k", "--value", "v", "--out", &w]).says("w");
    let server = Served::start(&[&ips, &w]);
    let get = |table: &str, more: &[&str]| {
        sotto(&[&["get", "--server", &server.url, "--no-cache", "--table", table], more].concat())
    };

    let list = folder.write("list", "1.2.3.4\n\nbanana\n2001:db8::1\n");
    let answered = get("ips", &["--keys-file", &list]);
    assert!(answered.stdout.contains("1.2.3.4  a\n") && answered.stdout.contains("2001:db8::1  b\n"));
    answered.fails(7, &["line 3 of --keys-file", "not an IP address"]);
    assert!(!answered.stderr.contains("banana"), "{}", answered.stderr);
    let told = get("ips", &["--keys-file", &list, "--key", "1.2.3", "--json"]);
    let error: Value = serde_json::from_str(&told.stderr).unwrap();
    assert_eq!((told.code, &error["error"]["kind"]), (7, &json!("missing")));
    assert!(error["error"]["message"].as_str().unwrap().starts_with("2 of 4 lookups: "), "{error}");
    assert!(told.stderr.contains("(--key number 1, line 3 of --keys-file)"), "{error}");
    let answers: Value = serde_json::from_str(told.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(answers["answers"][1]["value"], "a", "{answers}");
    assert!(answers["answers"][2]["error"].as_str().unwrap().contains("IP address"), "{answers}");

    let piped = get("w", &["--key", "a", "--key", "-x"]);
    assert!(piped.stdout.starts_with("a  one\ttwo\nthree\n-x  hyphen\n"), "{}", piped.stdout);
    get("W_1", &["--key", "a"])
        .fails(2, &["expected a table name of 1 to 64 characters of a-z, 0-9 and '-'"]);

    let listed = sotto(&["inspect", &server.url]).stdout;
    let names: Vec<_> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"ips") && names.contains(&"w") && listed.lines().count() < 8, "{listed}");
}

/// Two rows of 34 queries each, and a list of more keys than a request has room for.
#[test]
fn what_does_not_fit_one_request_is_asked_in_several() {
    let folder = Folder::new();
    let wide: String = (0..7).map(|i| format!("key {i},{}\n", "v".repeat(30))).collect();
    let many: String = (0..300).map(|i| format!("key {i},value {i}\n")).collect();
    let [wide, many] = [("wide.csv", wide), ("many.csv", many)].map(|(name, text)| folder.write(name, text));
    let [out, list] = [folder.text("wide"), folder.text("many")];
    let encode = ["encode", "--key", "1", "--value", "2", "--probes", "2"];
    sotto(&[&encode[..], &[&wide, "--scheme", "doublepir", "--out", &out]].concat())
        .says("queries in 2 requests");
    sotto(&[&encode[..], &[&many, "--scheme", "simplepir", "--out", &list]].concat()).says("public key");
    let server = Served::start(&[&out, &list]);
    let get = |table: &str, more: &[&str]| {
        let args = ["get", "--server", &server.url, "--no-cache", "--json", "--table", table];
        let said = sotto(&[&args[..], more].concat()).json();
        let answers = said["answers"].as_array().map(Vec::as_slice).unwrap_or_default();
        let values: Vec<Value> = answers.iter().map(|answer| answer["value"].clone()).collect();
        (said["requests"].as_u64(), said["queries"].as_u64(), values)
    };
    let (requests, queries, values) = get("wide", &["--key", "key 3"]);
    assert_eq!((requests, values), (Some(2), vec![json!("v".repeat(30))]));
    assert_eq!(get("wide", &["--key", "no key"]), (requests, queries, vec![Value::Null]));

    let keys: String = (250..350).map(|i| format!("key {i}\n")).collect();
    let keys = folder.write("keys.txt", keys);
    let (requests, queries, values) = get("many", &["--keys-file", &keys]);
    assert_eq!((requests, queries), (Some(4), Some(200)));
    let expected = (250..350).map(|i| if i < 300 { json!(format!("value {i}")) } else { Value::Null });
    assert!(values.into_iter().eq(expected));
}
