use crate::definition::Definition;
use crate::error::BenchError;
use crate::options::Options;
use crate::report::Report;
use crate::runner::run_with;
use sotto_core::SchemeEntry;
use sotto_testkit::cleartext::{CLEAR, CLEAR_HELPED, CLEAR_KEYED, CLEAR_TWO};

static SCHEMES: &[&SchemeEntry] = &[&CLEAR, &CLEAR_KEYED, &CLEAR_TWO, &CLEAR_HELPED];

fn run(trees: &[&str]) -> Result<Report, BenchError> {
    let trees: String = trees.iter().map(|tree| format!("[[tree]]\n{tree}\n")).collect();
    let definition =
        Definition::parse("t.toml", &format!("name = \"t\"\nabout = \"Test.\"\n{trees}")).unwrap();
    let options = Options { quick: true, ..Options::default() };
    run_with(&definition, SCHEMES, &options, &|_| ())
}

#[test]
fn proofs_of_all_trees_by_both_ways_and_every_scheme_alone_come_back_right() {
    let tree = |arity: u16, heights: &str| {
        format!("arity = {arity}\nheights = {heights}\nmeasure = \"proofs\"\nrepeats = 2\nthreads = 2")
    };
    // Twelve layers are the fewest for which a batch code has buckets.
    let trees = [tree(2, "[1, 2, 9, 12]"), tree(3, "[3]"), tree(16, "[1, 2]")];
    let report = run(&trees.each_ref().map(String::as_str)).unwrap();
    let measured = &report.trees.measured;
    let alone = SCHEMES.iter().filter(|entry| entry.servers == 1).count();
    assert_eq!(measured.len(), 7 * 2 * alone);
    for m in measured {
        let height = m.tree.height_count;
        assert_eq!((m.checked_proofs_count, m.threads_count), (3, 2));
        // The first lookup is not timed, and every row is compared, including dummies.
        assert_eq!(m.checked_answers_count, 3 * m.lookups_count, "{}", m.line);
        match (m.method, height) {
            ("colors", _) => {
                assert_eq!((m.tables_count, m.lookups_count), (height, height));
                assert_eq!(m.written_rows_count, m.tree.nodes_count, "zero storage overhead");
            }
            (_, 12) => assert!(m.tables_count > height && m.lookups_count == m.tables_count),
            _ => assert_eq!((m.tables_count, m.lookups_count), (1, height)),
        }
        let figures = &m.figures;
        let times = [figures.query_ms, figures.extract_ms, figures.max_server_ms, figures.total_server_ms];
        assert!(times.into_iter().all(|time| time > Some(0.0)));
        assert!(figures.max_server_ms <= figures.total_server_ms);
        assert!(figures.up_bytes > Some(0) && figures.down_bytes >= Some(32 * height));
    }
    let down = |line: &str, tree: &str| {
        measured.iter().find(|m| m.line == line && m.tree.name == tree).unwrap().figures.down_bytes
    };
    // The scheme in the clear answers with the row and a byte of its own.
    assert_eq!(down("clear, colors", "2^9").map(|down| down % 9), Some(0));
    assert!(down("clear, buckets", "2^12") > down("clear, colors", "2^12"));
}

#[test]
fn a_code_and_a_coloring_write_every_node_down() {
    let report = run(&["arity = 2\nheights = [12]\nmeasure = \"setup\"\nrepeats = 2"]).unwrap();
    let [colors, buckets] = report.trees.measured.as_slice() else { panic!("two ways") };
    let nodes = colors.tree.nodes_count;
    assert_eq!(colors.written_rows_count, nodes);
    assert!(buckets.written_rows_count >= 2 * nodes, "some copies of each");
    for m in [colors, buckets] {
        assert!(m.figures.setup_ms >= m.figures.made_ms && m.figures.made_ms > Some(0.0));
        assert!(m.figures.query_ms.is_none());
    }
    assert!(report.trees.published.iter().any(|row| row.line == "PBC"));
}

#[test]
fn indexing_is_measured_for_known_and_for_secret_leaves() {
    let tree = |arity: u16, heights: &str| {
        format!("arity = {arity}\nheights = {heights}\nmeasure = \"index\"\nrepeats = 1")
    };
    let report = run(&[&tree(2, "[10, 12]"), &tree(256, "[4]")]).unwrap();
    assert_eq!(report.trees.measured.len(), 6);
    for m in &report.trees.measured {
        assert!(m.figures.index_ms > Some(0.0));
        assert_eq!(m.figures.known_index_ms.is_some(), m.method == "colors");
    }
}

#[test]
fn what_is_too_large_or_too_long_is_said() {
    let tree = |heights: &str, rest: &str| format!("arity = 2\nheights = {heights}\n{rest}");
    let report = run(&[
        &tree("[32]", "measure = \"setup\""),
        &tree("[40]", "measure = \"proofs\""),
        &tree("[3]", "measure = \"setup\"\nfull = true"),
    ])
    .unwrap();
    assert!(report.trees.measured.is_empty());
    let reasons: Vec<&str> = report.trees.skipped.iter().map(|s| s.reason.as_str()).collect();
    let [colors, _, too_large, ..] = reasons.as_slice() else { panic!("{reasons:?}") };
    assert!(colors.contains("32 bits"), "{colors}");
    assert!(too_large.contains("does not fit: needs"), "{too_large}");
    assert!(reasons.last().unwrap().contains("--full"), "{reasons:?}");
    let text = report.table();
    assert!(text.contains("NOT RUN") && text.contains("2^40 leaves: does not fit"), "{text}");
}

#[test]
fn ours_stand_above_what_others_published_and_both_have_their_units() {
    let tree = |rest: &str| format!("arity = 2\nheights = [10]\nrepeats = 1\nways = [\"colors\"]\n{rest}");
    let report = run(&[
        &tree("measure = \"setup\""),
        &tree("measure = \"proofs\"\nlines = [{ scheme = \"clear\", name = \"in the clear\" }]"),
    ])
    .unwrap();
    let text = report.table();
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no {words} in {text}"));
    assert!(at("MEASURED: setup") < at("PUBLISHED, on other machines: setup"));
    assert!(at("in the clear, colors") < at("SealPIR+TreePIR [T"));
    assert!(at("MEASURED: communication") < at("SealPIR+qTreePIR [T"));
    assert!(text.contains("[T1] ") && text.contains("i9-13900H") && text.contains("proofs are correct"));
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(110), "{widest:?} columns");
}

#[test]
fn curves_are_drawn_over_several_heights() {
    let report = run(&["arity = 2\nheights = [3, 5]\nmeasure = \"proofs\"\nrepeats = 1"]).unwrap();
    let Ok(drawing) = report.svg() else { return };
    for words in ["communication", "server time, all tables", "clear-keyed, buckets", "height of the tree"] {
        assert!(drawing.contains(words), "{words}");
    }
    assert!(!drawing.contains("NaN") && !drawing.contains("inf"));
}

#[test]
fn a_scheme_that_is_not_there_is_a_mistake() {
    let error = run(&["arity = 2\nheights = [3]\nmeasure = \"proofs\"\nlines = [{ scheme = \"foo\" }]"]);
    assert!(matches!(error, Err(BenchError::UnknownScheme { .. })));
}
