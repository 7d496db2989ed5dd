//! Bits of tables of rows, by their numbers.

use crate::harness::{Folder, Served, sotto};
use serde_json::json;

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
