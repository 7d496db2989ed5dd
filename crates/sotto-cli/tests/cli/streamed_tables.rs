//! Tables that clients stream whole, in an order of the scheme's own: looked up, audited from afar, moved to the next epoch.

use crate::harness::{Folder, Served, sotto};

#[test]
fn verified_answers_of_a_table_in_panels() {
    let folder = Folder::new();
    let lines: String = (0..300).map(|row| format!("row {row}\n")).collect();
    let (source, dir) = (folder.write("words.csv", lines), folder.text("words"));
    let args = ["--value", "1", "--row-bytes", "12", "--scheme", "verisimplepir", "--out", &dir];
    assert_eq!(sotto(&[&["encode", &source][..], &args].concat()).code, 0);

    // Before it is served: a server that runs notices a new epoch some time later.
    let changes = folder.write("changes.csv", "row,value\n77,changed\n");
    assert_eq!(sotto(&["update", &dir, &changes]).code, 0);
    let served = Served::start(&[&dir]);
    for (row, value) in [("0", "row 0"), ("77", "changed"), ("299", "row 299")] {
        let seen = sotto(&[
            "get",
            "--server",
            &served.url,
            "--table",
            "words",
            "--row",
            row,
            "--no-cache",
            "--json",
        ])
        .json();
        assert_eq!(seen["answers"][0]["value"], value);
    }
    // Rows of another scheme's order would be called not those that were signed.
    let audited = sotto(&["audit", "rows", &served.url, "--table", "words", "--json"]).json();
    assert_eq!((&audited["audited"][0]["rows"], &audited["audited"][0]["epoch"]), (&300.into(), &2.into()));
}
