//! Tables that change: the columns of a file of changes, the summary before an update, and values that come back as encoded.

use crate::harness::{Folder, Outcome, Served, images, sotto};
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
    encode(&["--value", "phone", "--scheme", "ypir-sp", "--set", "small", "--replace"])
        .fails(4, &["ypir-sp/1 has no named parameter sets", "omit --set"]);
    encode(&["--value", "phone", "--scheme", "fspiral", "--set", "tiny", "--replace"])
        .fails(4, &["only default,", "small", "sotto schemes"]);
}

#[test]
fn stacks_are_updated_and_clients_follow() {
    let folder = Folder::new();
    let rows = folder.write("rows.csv", (0..300).map(|row| format!("row {row}\n")).collect::<String>());
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
    let source = folder.write("rows.csv", (0..20).map(|row| format!("row {row}\n")).collect::<String>());
    let schemes = sotto(&["schemes", "--json"]).json();
    let ids: Vec<&str> =
        schemes["schemes"].as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap()).collect();
    assert!(ids.len() >= 10, "{ids:?}");
    let mut of_one = Vec::new();
    let mut of_two = Vec::new();
    for id in &ids {
        let name = id.replace('/', "-");
        let dir = folder.text(&name);
        let args =
            ["encode", &source, "--value", "1", "--row-bytes", "12", "--headroom", "5", "--lookups", "20"];
        let encoded = sotto(&[&args[..], &["--scheme", id, "--out", &dir, "--json"]].concat()).json();
        let capacity = encoded["scheme"]["capacity"].as_u64().unwrap();
        assert!(encoded["summary"]["rows"] == 20 && capacity >= 25, "{id}: {capacity}");
        let inspected = sotto(&["inspect", &dir, "--json"]).json();
        let servers = inspected["catalog"]["servers"].as_u64().unwrap();
        if servers == 1 { of_one.push((name, dir)) } else { of_two.push((name, dir)) }
    }
    let dirs = |of: &[(String, String)]| of.iter().map(|(_, dir)| dir.clone()).collect::<Vec<_>>();
    let start = |dirs: &[String], role: &str| {
        let args: Vec<&str> = dirs.iter().map(String::as_str).chain(["--role", role]).collect();
        Served::start(&args)
    };
    let one = start(&dirs(&of_one), "0");
    let two = [start(&dirs(&of_two), "0"), start(&dirs(&of_two), "1")];
    let kept = ["cache", "state", "anchor"].map(|name| folder.text(name));
    let get = |name: &str, servers: &[&Served], rows: &str| {
        let mut args = vec!["get", "--table", name, "--row", rows, "--json"];
        args.extend(["--cache", &kept[0], "--state", &kept[1], "--rollback-dir", &kept[2]]);
        servers.iter().for_each(|server| args.extend(["--server", &server.url]));
        fields(&sotto(&args).json(), "value")
    };
    let changes = folder.write("changes.csv", "20,row 20\n3,changed\n");
    for (of, servers) in [(&of_one, vec![&one]), (&of_two, two.iter().collect())] {
        for (name, _) in of {
            assert_eq!(get(name, &servers, "3,19"), ["row 3", "row 19"], "{name}");
        }
        for (name, dir) in of {
            let done = sotto(&["update", dir, &changes]);
            assert!(done.stdout.starts_with("1 set, 1 added, 0 removed\n"), "{name}: {}", done.stderr);
        }
        servers.iter().for_each(|server| server.reload());
        for (name, _) in of {
            assert_eq!(get(name, &servers, "20,3,19"), ["row 20", "changed", "row 19"], "{name}");
        }
    }
}
