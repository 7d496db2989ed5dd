//! Tables in parts: cut at once or part by part, served, updated, and refused with one missing.

use crate::harness::{Folder, Served, images, sotto};

const ROWS: usize = 4096;
const WIDTH: usize = 64;

fn source(folder: &Folder) -> String {
    folder.write("rows.bin", (0..ROWS * WIDTH).map(|i| (i * 31 / 7) as u8).collect::<Vec<_>>())
}

fn row(at: usize) -> String {
    (at * WIDTH..(at + 1) * WIDTH).map(|i| format!("{:02x}", (i * 31 / 7) as u8)).collect()
}

fn encode(source: &str, dir: &str, more: &[&str]) -> crate::harness::Outcome {
    let args = ["encode", source, "--row-bytes", "64", "--scheme", "s3pir", "--out", dir];
    sotto(&[&args[..], &["--parts", "3"], more].concat())
}

#[test]
fn cut_at_once_or_part_by_part() {
    let folder = Folder::new();
    let (source, at_once, apart) = (source(&folder), folder.text("at-once"), folder.text("apart"));
    assert_eq!(encode(&source, &at_once, &["--json"]).code, 0);
    assert_eq!(images(folder.at("at-once").as_path()), [""; 0], "no whole image is left");
    sotto(&["inspect", &at_once, "--verify"]).says("front of a table in 3 parts");
    sotto(&["audit", "rows", &at_once]).says("");

    let early = encode(&source, &apart, &["--part", "1"]);
    early.fails(7, &[]);
    assert_eq!(encode(&source, &apart, &["--part", "front"]).code, 0);
    encode(&source, &apart, &["--part", "3"]).fails(2, &["part 3 does not exist among 3 parts"]);
    encode(&source, &apart, &["--part", "0"]).says("made");
    encode(&source, &apart, &["--part", "0"]).says("already complete");
    encode(&source, &apart, &["--part", "2"]).says("made");
    // One is missing yet, and nothing is served.
    sotto(&["serve", &apart, "--listen", "127.0.0.1:0"]).fails(7, &["part 1", "missing", "--part 1"]);
    encode(&source, &apart, &["--part", "1"]).says("made");
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
                    &folder.text(&format!("{name}-anchor")),
                ],
            ]
            .concat(),
        )
        .json();
        assert_eq!(answers["answers"][0]["value"], row(7));
        assert_eq!(answers["answers"][1]["value"], row(4095));
    }
}
