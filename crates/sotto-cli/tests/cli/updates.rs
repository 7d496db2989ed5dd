//! Tables that change: the columns of a file of changes, the summary before an update, values that
//! come back as encoded, and keyword tables.

use crate::harness::{Folder, Outcome, Served, images, run, sotto};
use serde_json::{Value, json};

/// One field of each answer.
fn fields(report: &Value, field: &str) -> Vec<Value> {
    report["answers"].as_array().unwrap().iter().map(|answer| answer[field].clone()).collect()
}

fn get(server: &Served, table: &str, more: &[&str]) -> Value {
    let args = ["get", "--server", &server.url, "--table", table, "--no-cache", "--json"];
    sotto(&[&args[..], more].concat()).json()
}

#[test]
fn a_header_is_no_key_and_columns_are_found_by_name() {
    let folder = Folder::new();
    let source = folder.write("words.csv", "word,meaning\naria,air\nsotto,under\nvoce,voice\n");
    let dir = folder.text("words");
    let keyed = ["--key", "word", "--value", "meaning", "--headroom", "20", "--row-bytes", "12"];
    sotto(&[&["encode", &source, "--out", &dir, "--json"], &keyed[..]].concat()).json();
    let server = Served::start(&[&dir]);
    let update = |text: &str, more: &[&str]| -> Outcome {
        let changes = folder.write("changes.csv", text);
        sotto(&[&["update", &dir, &changes], more].concat())
    };

    // The same header in another order, and a column that is of no use here.
    let text = "note,meaning,word\nx,AIR,aria\ny,high,alto\n";
    let dry = update(text, &["--dry-run"]);
    assert!(dry.stdout.starts_with("1 set, 1 added, 0 removed\n"), "{}", dry.stdout);
    assert_eq!(update(text, &["--dry-run", "--json"]).json()["changes"]["added"], 1);
    assert_eq!(images(dir.as_ref()).len(), 1, "nothing written");
    let done = update(text, &[]);
    assert!(done.stdout.starts_with("1 set, 1 added, 0 removed\n"), "{}{}", done.stdout, done.stderr);
    server.reload();
    let got = get(&server, "words", &["--key", "aria", "--key", "alto", "--key", "word"]);
    assert_eq!(fields(&got, "value"), [json!("AIR"), json!("high"), Value::Null]);
    assert_eq!(fields(&got, "key"), ["aria", "alto", "word"]);

    // What may be a header or a key is not guessed at.
    let ambiguous = "term,definition\naria,song\n";
    update(ambiguous, &[]).fails(2, &["word, meaning", "--no-header", "--key"]);
    update("word,definition\naria,song\n", &[]).fails(2, &["column \"meaning\"", "--value COL"]);
    assert_eq!(update(ambiguous, &["--no-header", "--dry-run", "--json"]).json()["changes"]["added"], 1);
    let named = ["--key", "term", "--value", "definition", "--dry-run", "--json"];
    assert_eq!(
        update(ambiguous, &named).json()["changes"],
        json!({"set": 1, "added": 0, "removed": 0, "absent": 0})
    );
    let gone = update("word,meaning,gone\naria,,yes\nnone,,1\n", &["--delete", "gone"]);
    assert!(
        gone.stdout.starts_with("0 set, 0 added, 1 removed; keys to remove that are missing: 1\n"),
        "{}",
        gone.stdout
    );

    // A table of which nothing is known says so.
    std::fs::remove_file(folder.at("words/source.json")).unwrap();
    update(ambiguous, &[]).fails(2, &["unclear", "--no-header", "--header"]);
    folder.write("words/source.json", "{}");
    update(ambiguous, &[]).fails(3, &["source.json", "remove it"]);
}

/// Zero bytes at the end and values of no bytes, of every kind of table.
#[test]
fn what_was_encoded_comes_back() {
    let folder = Folder::new();
    let values = ["aa00", "", "0000", "aabbcc", "00"];
    let lines = |prefix: fn(usize) -> String| -> String {
        values.iter().enumerate().map(|(i, value)| format!("{},{value}\n", prefix(i))).collect()
    };
    let rows = folder.write("rows.csv", lines(|i| i.to_string()));
    let keys = folder.write("keys.csv", lines(|i| format!("key {i}")));
    let ranges = folder.write("ranges.csv", lines(|i| format!("{},{}", 10 * i, 10 * i + 9)));
    let by_row = ["--row", "1", "--value", "2"];
    let encode = |source: &str, table: &str, more: &[&str]| {
        let dir = folder.text(table);
        sotto(&[&["encode", source, "--encoding", "hex", "--out", &dir, "--json"], more].concat()).json();
        dir
    };
    let dirs = [
        encode(&rows, "plain", &by_row),
        encode(&rows, "masked", &[&by_row[..], &["--symmetric"]].concat()),
        encode(&rows, "many", &[&by_row[..], &["--batch", "12"]].concat()),
        encode(&keys, "keyed", &["--key", "1", "--value", "2"]),
        encode(&ranges, "ranged", &["--start", "1", "--end", "2", "--value", "3", "--block", "10"]),
    ];
    let server = Served::start(&dirs.each_ref().map(String::as_str));
    let rows: Vec<String> = (0..5).map(|row| row.to_string()).collect();
    let args = |table: &str| -> Vec<String> {
        let name = |i: usize| match table {
            "keyed" => ["--key".to_owned(), format!("key {i}")],
            "ranged" => ["--key".to_owned(), format!("{}", 10 * i + 3)],
            _ => ["--row".to_owned(), rows[i].clone()],
        };
        (0..5).flat_map(name).collect()
    };
    let found = |table: &str| {
        let args = args(table);
        fields(&get(&server, table, &args.iter().map(String::as_str).collect::<Vec<_>>()), "hex")
    };
    for table in ["plain", "masked", "many", "keyed", "ranged"] {
        assert_eq!(found(table), values, "{table}");
    }
    for (dir, line) in dirs.iter().zip(["3,bb00", "3,bb00", "3,bb00", "key 3,bb00", "30,39,bb00"]) {
        let changes = folder.write("changes.csv", format!("{line}\n"));
        sotto(&["update", dir, &changes, "--json"]).json();
    }
    server.reload();
    for table in ["plain", "masked", "many", "keyed", "ranged"] {
        assert_eq!(found(table), ["aa00", "", "0000", "bb00", "00"], "{table}");
    }
    sotto(&["get", "--server", &server.url, "--table", "plain", "--no-cache", "--bit", "3"])
        .fails(7, &["no bits"]);

    // Values of one length take nothing more, and stay of one length.
    let digests = folder.write("digests.csv", "0,aabb\n1,cc00\n");
    let dir = folder.text("digests");
    let encoded =
        sotto(&[&["encode", &digests, "--encoding", "hex", "--out", &dir, "--json"], &by_row[..]].concat());
    assert_eq!(encoded.json()["summary"]["row_bytes"], 2);
    let changes = folder.write("changes.csv", "1,dd\n");
    sotto(&["update", &dir, &changes])
        .fails(3, &["line 1, column 2", "1 bytes", "each of the table's has 2"]);
}

#[test]
fn a_table_of_another_kind_is_not_put_away_without_a_word() {
    let folder = Folder::new();
    let source =
        folder.write("people.csv", "email,phone,city\nann@example.com,1,Rome\nbob@example.com,2,Bern\n");
    let dir = folder.text("people");
    let encode = |more: &[&str]| sotto(&[&["encode", &source, "--out", &dir], more].concat());
    let keyed = ["--key", "email", "--key-form", "email", "--value", "phone"];
    assert_eq!(encode(&keyed).code, 0);
    // README's next example, as it was.
    encode(&["--value", "phone", "--symmetric"])
        .fails(2, &["looked up by key (email)", "looked up by row number, symmetric", "--replace"]);
    encode(&[&keyed[..], &["--scheme", "fspiral"]].concat())
        .fails(2, &["scheme simplepir/1", "scheme fspiral/1"]);
    encode(&["--key", "email", "--key-form", "email", "--value", "city"])
        .fails(2, &["column `phone`", "column `city`"]);
    encode(&["--key", "email", "--value", "phone"]).fails(2, &["looked up by key (text)"]);
    assert_eq!(images(dir.as_ref()).len(), 1);
    assert_eq!(encode(&keyed).code, 0, "the same again is its next epoch");
    assert_eq!(encode(&["--value", "phone", "--symmetric", "--replace"]).code, 0);
    assert_eq!(images(dir.as_ref()).len(), 3);
    let many = folder.text("many");
    let batch = |more: &[&str]| sotto(&[&["encode", &source, "--out", &many, "--batch", "2"], more].concat());
    assert_eq!(batch(&["--value", "phone"]).code, 0);
    batch(&["--key", "email", "--value", "phone"])
        .fails(2, &["looked up by row number", "looked up by key (text)"]);

    encode(&["--set", "small"]).fails(2, &["no column of values"]);
    encode(&["--value", "phone", "--scheme", "ypir", "--set", "small", "--replace"])
        .fails(4, &["ypir/2 has no named parameter sets", "omit --set"]);
    encode(&["--value", "phone", "--scheme", "fspiral", "--set", "tiny", "--replace"])
        .fails(4, &["only default,", "small", "sotto schemes"]);
}

#[test]
fn stacks_are_updated_and_clients_follow() {
    let folder = Folder::new();
    let rows = folder.lines(300);
    let keys = folder.write("keys.csv", (0..200).map(|i| format!("key {i},value {i}\n")).collect::<String>());
    let [many, keyed] = ["many", "keyed"].map(|name| folder.text(name));
    let width = ["--row-bytes", "12", "--batch"];
    sotto(
        &[&["encode", &rows, "--value", "1", "--headroom", "10", "--out", &many], &width[..], &["12"]]
            .concat(),
    );
    let by_key = ["--key", "1", "--value", "2", "--headroom", "250", "--out", &keyed];
    sotto(&[&["encode", &keys][..], &by_key, &width, &["4"]].concat());
    let server = Served::start(&[&many, &keyed]);
    let cache = folder.text("cache");
    let get = |table: &str, more: &[&str]| {
        let args = ["get", "--server", &server.url, "--table", table, "--cache", &cache, "--json"];
        let got = sotto(&[&args[..], more].concat()).json();
        (got["epoch"].as_u64().unwrap(), fields(&got, "value"))
    };
    let asked = ["--row", "7", "--row", "8", "--row", "300"];
    assert_eq!(get("many", &asked), (1, vec![json!("row 7"), json!("row 8"), json!("")]));
    let by_key = ["--key", "key 1", "--key", "key 2", "--key", "new"];
    assert_eq!(get("keyed", &by_key), (1, vec![json!("value 1"), json!("value 2"), Value::Null]));

    let changes = folder.write("changes.csv", "7,changed\n300,added\n");
    let dry = sotto(&["update", &many, &changes, "--dry-run"]);
    assert!(dry.stdout.starts_with("2 set, 0 added, 0 removed\n"), "{}{}", dry.stdout, dry.stderr);
    let done = sotto(&["update", &many, &changes, "--json"]).json()["summary"].clone();
    let tables = done["tables"].as_u64().unwrap();
    let changed = done["tables_changed"].as_u64().unwrap();
    assert!(done["epoch"] == 2 && (2..tables).contains(&changed), "{done}");
    let lines = "key 1,changed,\nkey 2,,yes\nnew,added,0\n";
    let changes = folder.write("changes.csv", lines);
    let columns = ["--key", "1", "--value", "2", "--delete", "3", "--json"];
    let done = sotto(&[&["update", &keyed, &changes], &columns[..]].concat()).json()["summary"].clone();
    assert_eq!(done["changes"], json!({"set": 1, "added": 1, "removed": 1, "absent": 0}));
    server.reload();
    assert_eq!(get("many", &asked), (2, vec![json!("changed"), json!("row 8"), json!("added")]));
    assert_eq!(get("keyed", &by_key), (2, vec![json!("changed"), Value::Null, json!("added")]));

    // An update that was killed before the stack was replaced left an epoch that no stack names: the next one starts over.
    let stack = std::fs::read(folder.at("many/stack.json")).unwrap();
    let changes = folder.write("changes.csv", "7,lost\n");
    sotto(&["update", &many, &changes, "--json"]).json();
    std::fs::write(folder.at("many/stack.json"), stack).unwrap();
    let changes = folder.write("changes.csv", "7,kept\n");
    assert_eq!(
        sotto(&["update", &many, &changes, "--keep-epochs", "2", "--json"]).json()["summary"]["epoch"],
        3
    );
    // And again from the stored rows of the previous update.
    let changes = folder.write("changes.csv", "key 1,again\n");
    sotto(&["update", &keyed, &changes, "--json"]).json();
    server.reload();
    assert_eq!(get("many", &asked), (3, vec![json!("kept"), json!("row 8"), json!("added")]));
    assert_eq!(get("keyed", &by_key), (3, vec![json!("again"), Value::Null, json!("added")]));
    let rows: Vec<_> =
        std::fs::read_dir(folder.at("keyed")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(rows.iter().filter(|name| name.to_str().unwrap().ends_with(".rows")).count(), 1, "{rows:?}");
    let changes = folder.write("changes.csv", "310,past the end\n");
    sotto(&["update", &many, &changes]).fails(4, &["row 310", "room for 310 rows", "--headroom"]);
}

/// Room for rows is every scheme's: the row is appended, and clients that were there before read it.
#[test]
fn a_row_is_appended_whatever_the_scheme() {
    let folder = Folder::new();
    let source = folder.lines(20);
    let changes = folder.write("changes.csv", "20,row 20\n3,changed\n");
    let kept = ["cache", "state", "rollback"].map(|name| folder.text(name));
    for (name, roles) in
        [("simplepir", &["0"][..]), ("fspiral", &["0"]), ("s3pir", &["0"]), ("dpf", &["0", "1"])]
    {
        let dir = folder.text(name);
        let args =
            ["encode", &source, "--value", "1", "--row-bytes", "12", "--headroom", "5", "--lookups", "20"];
        let encoded = sotto(&[&args[..], &["--scheme", name, "--out", &dir, "--json"]].concat()).json();
        let capacity = encoded["scheme"]["capacity"].as_u64().unwrap();
        assert!(encoded["summary"]["rows"] == 20 && capacity >= 25, "{name}: {capacity}");
        let servers: Vec<_> = roles.iter().map(|role| Served::start(&[&dir, "--role", role])).collect();
        let get = |rows: &str| {
            let mut args = vec!["get", "--table", name, "--row", rows, "--json"];
            args.extend(["--cache", &kept[0], "--state", &kept[1], "--rollback-dir", &kept[2]]);
            servers.iter().for_each(|server| args.extend(["--server", &server.url]));
            fields(&sotto(&args).json(), "value")
        };
        assert_eq!(get("3,19"), ["row 3", "row 19"], "{name}");
        let done = sotto(&["update", &dir, &changes]);
        assert!(done.stdout.starts_with("1 set, 1 added, 0 removed\n"), "{name}: {}", done.stderr);
        servers.iter().for_each(Served::reload);
        assert_eq!(get("20,3,19"), ["row 20", "changed", "row 19"], "{name}");
    }
}

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
    let lines: String = (0..3000).map(|i| format!("key{i},value {i}\n")).collect();
    let source = folder.write("w.csv", lines);
    for scheme in ["simplepir", "ypir-sp"] {
        let dir = folder.text(scheme);
        let usual =
            ["encode", &source, "--key", "1", "--value", "2", "--out", &dir, "--scheme", scheme, "--json"];
        for more in ["--row-proofs", "--batch=4", "--probes=2"] {
            assert_ne!(sotto(&[&usual[..], &["--band", more]].concat()).code, 0, "{more}");
        }
        sotto(&[&usual[..], &["--band", "--lookups", "1", "--headroom", "50"]].concat()).json();
        sotto(&["inspect", &dir]).prints("in sums of rows");
        let server = Served::start(&[&dir]);
        let get = |key: &str| {
            let found =
                run(&format!("get --server {} --table {scheme} --key {key} --no-cache --json", server.url));
            found.json()["answers"][0]["value"].as_str().map(str::to_owned)
        };
        assert_eq!(
            (get("key17").as_deref(), get("key2999").as_deref()),
            (Some("value 17"), Some("value 2999"))
        );
        assert_eq!(get("key3000"), None);
        let changes = folder.write("c.csv", "key17,changed\nnew,added\n");
        let updated = sotto(&["update", &dir, &changes, "--json"]).json();
        assert_eq!(updated["summary"]["keys"], json!({"set": 1, "added": 1, "removed": 0, "absent": 0}));
        server.reload();
        assert_eq!((get("key17").as_deref(), get("new").as_deref()), (Some("changed"), Some("added")));
        assert_eq!(get("key18").as_deref(), Some("value 18"));
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
        .prints("ips");
    sotto(&["encode", &words, "--key", "k", "--value", "v", "--out", &w]).prints("w");
    let server = Served::start(&[&ips, &w]);
    let get = |table: &str, more: &[&str]| {
        sotto(&[&["get", "--server", &server.url, "--no-cache", "--table", table], more].concat())
    };

    let list = folder.write("list", "1.2.3.4\n\nbanana\n2001:db8::1\n");
    let answered = get("ips", &["--keys-file", &list]);
    assert!(answered.stdout.contains("1.2.3.4  a\n") && answered.stdout.contains("2001:db8::1  b\n"));
    answered.fails(7, &["line 3 of --keys-file", "not an IP address"]);
    assert!(!answered.stderr.contains("banana"), "{}", answered.stderr);
    let output = get("ips", &["--keys-file", &list, "--key", "1.2.3", "--json"]);
    let error: Value = serde_json::from_str(&output.stderr).unwrap();
    assert_eq!((output.code, &error["error"]["kind"]), (7, &json!("missing")));
    assert!(error["error"]["message"].as_str().unwrap().starts_with("2 of 4 lookups: "), "{error}");
    assert!(output.stderr.contains("(--key number 1, line 3 of --keys-file)"), "{error}");
    let answers: Value = serde_json::from_str(output.stdout.lines().next().unwrap()).unwrap();
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

/// A table is opened at the block that a client knows, for as long as its server answers for it.
#[test]
fn a_table_is_opened_at_the_anchor_that_was_named() {
    let folder = Folder::new();
    let source = folder.write("words.csv", "word,meaning\naria,air\n");
    let dir = folder.text("words");
    let keyed = ["--key", "word", "--value", "meaning", "--row-bytes", "12", "--scheme", "simplepir"];
    let encode = ["encode", &source, "--out", &dir, "--anchor", "block-1"];
    let encoded = sotto(&[&encode[..], &keyed].concat());
    assert_eq!(encoded.code, 0, "{}", encoded.stderr);
    assert!(run(&format!("inspect {dir}")).stdout.contains("block-1"));
    let server = Served::start(&[&dir]);
    let update = |meaning: &str, more: &[&str]| {
        let changes = folder.write("changes.csv", format!("word,meaning\naria,{meaning}\n"));
        sotto(&[&["update", &dir, &changes, "--json"], more].concat()).json();
        server.reload();
    };
    let args = ["get", "--server", &server.url, "--table", "words", "--no-cache", "--key", "aria"];
    let get_at = |anchor: &str, more: &[&str]| sotto(&[&args[..], &["--anchor", anchor], more].concat());
    let at = |anchor: &str| fields(&get_at(anchor, &["--json"]).json(), "value");
    let refused = |anchor: &str, words: &[&str]| get_at(anchor, &[]).fails(5, words);
    assert_eq!(at("block-1"), ["air"]);
    refused("block-2", &["expected anchor block-2", "got block-1 (epoch 1)", "a source of your own"]);

    // The epoch before is still answered, and is the right one for whoever is a block behind.
    update("song", &["--anchor", "block-2"]);
    assert_eq!(at("block-2"), ["song"]);
    assert_eq!(at("block-1"), ["air"]);
    update("tune", &["--anchor", "block-3"]);
    refused("block-1", &["expected anchor block-1", "got block-3 (epoch 3)"]);

    // An update that names no anchor has none: the old one would be wrong.
    update("lied", &[]);
    refused("block-2", &["got none (epoch 4)"]);
    assert_eq!(at("block-3"), ["tune"]);

    // A block in which nothing changed has an epoch of its own, with or without a file that says so.
    let same = folder.write("same.csv", "word,meaning\naria,lied\n");
    for (anchor, changes, epoch) in [("block-5", vec![], 5), ("block-6", vec![same.as_str()], 6)] {
        let args = [&["update", &dir, "--anchor", anchor, "--json"][..], &changes].concat();
        let updated = sotto(&args).json();
        assert_eq!(
            (&updated["summary"]["epoch"], &updated["summary"]["rows_changed"]),
            (&epoch.into(), &0.into()),
            "{updated}"
        );
        server.reload();
        assert_eq!(at(anchor), ["lied"]);
    }
    sotto(&["update", &dir]).fails(2, &["CHANGES"]);

    // Rounds at fixed times are as many as were ordered, whatever is looked up.
    let covered = sotto(&[&args[..], &["--rounds", "2", "--interval", "1s", "--json"]].concat()).json();
    let once = sotto(&[&args[..], &["--json"]].concat()).json();
    assert_eq!(fields(&covered, "value"), ["lied"]);
    assert_eq!((&covered["requests"], &once["requests"]), (&2.into(), &1.into()));
    assert_eq!(covered["up_bytes"].as_u64(), once["up_bytes"].as_u64().map(|bytes| 2 * bytes));
    let many = ["--key", "song", "--key", "tune", "--rounds", "2", "--interval", "1s"];
    sotto(&[&args[..], &many].concat()).fails(2, &["3 lookups, and the rounds have only 2", "--round-size"]);
    let spaced = ["update", &dir, &source, "--anchor", "a block"];
    sotto(&spaced).fails(2, &["1 to 128 visible ASCII characters"]);
}
