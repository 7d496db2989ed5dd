//! Symmetric tables of Apple's lookups, from a file to the row that one evaluation opens.

use crate::harness::{Folder, Outcome, Served, images, sotto};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

const DEFAULT: [&str; 7] = ["--key", "phone", "--value", "name", "--apple", "--headroom", "20"];

fn people(count: usize) -> String {
    let line = |i: usize| format!("+1555{i:07},person {i}\n");
    format!("phone,name\n{}", (0..count).map(line).collect::<String>())
}

#[test]
fn rows_are_sealed_asked_for_and_changed() {
    let folder = Folder::new();
    let csv = folder.write("people.csv", people(60));
    let out = folder.text("callers");
    let encode = |more: &[&str]| {
        sotto(&[&["encode", csv.as_str(), "--out", out.as_str()], &DEFAULT[..], more].concat())
    };
    encode(&["--symmetric"]).says("opens with one evaluation");
    let file = folder.at("callers/oprf.key");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let secret = std::fs::read_to_string(&file).unwrap();
    let secret = secret.lines().nth(1).unwrap().strip_prefix("sotto-oprf-p384-sk:").unwrap();
    let image = std::fs::read(folder.at("callers").join(&images(&folder.at("callers"))[0])).unwrap();
    let holds = |what: &[u8]| image.windows(what.len()).any(|bytes| bytes == what);
    assert!(!holds(b"person 7") && !holds(secret.as_bytes()));
    sotto(&["inspect", &out]).says("opens with one evaluation");
    // In the clear on top of it, or the reverse, is refused.
    encode(&[]).fails(2, &["symmetric", "in the clear", "--replace"]);
    let rows = folder.write("rows.csv", "url\none\ntwo\n");
    let numbered = ["encode", &rows, "--value", "url", "--apple", "--symmetric", "--out", &folder.text("n")];
    sotto(&numbered).fails(2, &["index table", "--key"]);

    let (state, cache) = (folder.text("mine"), folder.text("cache"));
    let served = Served::start(&["--apple", &out, "--evaluations-per-client", "8"]);
    let get = |more: &[&str]| -> Outcome {
        let usual = ["get", "--apple", &served.url, "--use-case", "callers"];
        sotto(&[&usual[..], &["--state", &state, "--cache", &cache], more].concat())
    };
    let got = get(&["--key", "+15550000007", "--key", "+15559999999", "--json"]).json();
    assert_eq!(
        (&got["answers"][0]["value"], &got["answers"][1]["found"]),
        (&json!("person 7"), &json!(false))
    );
    assert_eq!(got["evaluations"], 2);
    // An invalid lookup is queried too, and fails afterwards.
    get(&["--row", "1"]).fails(2, &["by key", "--key"]);
    let changes = folder.write("changes.csv", "name,gone,phone\nsomebody,,+15550000007\n,yes,+15550000008\n");
    let done = sotto(&["update", &out, &changes, "--delete", "gone", "--json"]).json();
    assert_eq!(
        (&done["summary"]["changes"], &done["summary"]["reencoded"]),
        (&json!({"set": 1, "added": 0, "removed": 1, "absent": 0}), &json!(false))
    );
    served.reload();
    let said = get(&["--key", "+15550000007"]);
    said.says("somebody");
    said.says("1 evaluation, proved");
    let got = get(&["--key", "+15550000008", "--key", "+15550000009", "--json"]).json();
    assert_eq!(
        (&got["answers"][0]["found"], &got["answers"][1]["value"]),
        (&json!(false), &json!("person 9"))
    );
    let many: Vec<String> = (0..3).map(|i| format!("--key=+1555000001{i}")).collect();
    get(&many.iter().map(String::as_str).collect::<Vec<_>>()).fails(6, &["429"]);
    drop(served);

    // Without its key it is neither served nor changed, and another is not made in its place.
    std::fs::remove_file(&file).unwrap();
    sotto(&["serve", "--apple", &out]).fails(7, &["oprf.key", "restore the file"]);
    let changes = folder.write("changes.csv", "phone,name\n+15550000007,else\n");
    sotto(&["update", &out, &changes]).fails(7, &["oprf.key", "restore the file"]);
    encode(&["--symmetric"]).fails(7, &["restore the file"]);
    assert!(!file.exists());
}
