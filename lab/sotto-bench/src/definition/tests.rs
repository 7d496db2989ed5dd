use super::*;

const MINIMAL: &str =
    "name = \"n\"\nabout = \"a\"\n\n[[case]]\nscheme = \"simplepir\"\nrows = \"2^20\"\nrow_bytes = 256\n";

fn error(text: &str) -> String {
    Definition::parse("d.toml", text).unwrap_err().to_string()
}

#[test]
fn what_is_not_said_has_a_default() {
    let definition = Definition::parse("d.toml", MINIMAL).unwrap();
    let [case] = definition.cases.as_slice() else { panic!("one case") };
    assert_eq!((case.rows, case.row_bits, case.threads, case.lookups), (1 << 20, 2048, 1, 9));
    assert_eq!((case.batches.as_slice(), case.content, case.full), ([1].as_slice(), Content::Random, false));
    assert_eq!(case.table_bytes(), 1 << 28);
}

#[test]
fn bits_are_packed_into_bytes() {
    let text = MINIMAL.replace("row_bytes = 256", "row_bits = 1").replace("2^20", "2^33");
    let case = &Definition::parse("d.toml", &text).unwrap().cases[0];
    assert_eq!((case.stored_rows(), case.stored_row_bytes(), case.table_bytes()), (1 << 30, 1, 1 << 30));
}

#[test]
fn every_shipped_definition_is_sound_and_in_the_folder() {
    for shipped in shipped() {
        let definition = load(shipped.name).unwrap();
        assert_eq!(definition.name, shipped.name);
        assert!(definition.about.ends_with('.'), "{}: a purpose is a sentence", shipped.name);
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/definitions");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut known: Vec<&str> = shipped().iter().map(|s| s.name).collect();
    known.sort_unstable();
    assert_eq!(names, known);
}

#[test]
fn unknown_keys_are_refused_with_their_line() {
    let why = error(&format!("{MINIMAL}lookup = 3\n"));
    assert!(why.contains("line 8") && why.contains("lookup"), "{why}");
    let why = error(&format!("nmae = \"x\"\n{MINIMAL}"));
    assert!(why.contains("line 1") && why.contains("nmae"), "{why}");
}

#[test]
fn mistakes_are_told_with_line_and_remedy() {
    for (from, to, line, says) in [
        ("row_bytes = 256", "row_bytes = 0", "line 7", "at least 1"),
        ("row_bytes = 256", "row_bits = 12", "line 4", "1, 2, 4 or a multiple of 8"),
        ("row_bytes = 256", "row_bits = 1\nrow_bytes = 1", "line 4", "either row_bytes or row_bits"),
        ("row_bytes = 256", "", "line 4", "either row_bytes or row_bits"),
        ("\"2^20\"", "\"2^90\"", "line 6", "2^90"),
        ("\"2^20\"", "-3", "line 6", "-3"),
        ("\"2^20\"", "\"2^60\"", "line 4", "bytes"),
        ("row_bytes = 256", "row_bytes = 256\nbatch = [2, 4]", "line 4", "start with 1"),
        ("row_bytes = 256", "row_bytes = 256\nbatch = [1, 4, 4]", "line 4", "ascend"),
        ("row_bytes = 256", "row_bytes = 256\nbatch = [1, 1000]", "line 4", "at most 256"),
        ("row_bytes = 256", "row_bytes = 256\nchanges = 600_000", "line 4", "more than half"),
        ("row_bytes = 256", "row_bytes = 256\ncontent = \"lorem\"", "line 8", "lorem"),
        ("row_bytes = 256", "row_bytes = 256\nrows_blake3 = \"12\"", "line 8", "64"),
        ("row_bytes = 256", "row_bytes = 9223372036854775807", "line 4", "row_bytes"),
    ] {
        let why = error(&MINIMAL.replace(from, to));
        assert!(why.contains(line) && why.contains(says), "{to}: {why}");
    }
    assert!(error("name = \"n\"\nabout = \"a\"\ncase = []\n").contains("[[case]]"));
}

#[test]
fn a_missing_file_names_the_alternatives() {
    let why = load("no-such-definition").unwrap_err().to_string();
    assert!(why.contains("no-such-definition") && why.contains("scan-1gib"), "{why}");
}

#[test]
fn lines_share_a_table_and_a_turn() {
    let text = MINIMAL.replace(
        "scheme = \"simplepir\"",
        "lines = [{ scheme = \"a\", set = \"s\" }, { scheme = \"b/1\", goal = \"query-bytes\" }, { scheme = \"c\", \
        name = \"C\" }]",
    ) + "\n[[case]]\nscheme = \"d\"\nrows = 9\nrow_bytes = 1\n";
    let definition = Definition::parse("d.toml", &text).unwrap();
    let titles: Vec<String> = definition.cases.iter().map(Case::title).collect();
    assert_eq!(titles, ["a s", "b, query-bytes", "C", "d"]);
    assert!(definition.cases[..3].iter().all(|case| (case.rows, case.row_bits) == (1 << 20, 2048)));
    assert_eq!(definition.turns().map(<[Case]>::len).collect::<Vec<_>>(), [3, 1]);
    assert_eq!((definition.cases[1].goal, definition.cases[0].goal), (Goal::QueryBytes, Goal::ServerTime));
}

#[test]
fn a_case_is_one_scheme_or_several_lines() {
    let scheme = "scheme = \"simplepir\"";
    for (with, says) in [
        ("", "either scheme"),
        ("lines = []", "either scheme"),
        ("set = \"s\"\nlines = [{ scheme = \"a\" }]", "either scheme"),
        ("scheme = \"a\"\nlines = [{ scheme = \"a\" }]", "either scheme"),
        ("scheme = \"a\"\nset = \"s\"\ngoal = \"rate\"", "either set or goal"),
        ("scheme = \"a\"\nname = \"\"", "printable"),
        ("scheme = \"a\"\nname = \"a name that no column of a report has room for\"", "28"),
        ("scheme = \"a\"\ngoal = \"speed\"", "server-time, query-bytes"),
        ("lines = [{ scheme = \"a\", lookups = 3 }]", "lookups"),
    ] {
        let why = error(&MINIMAL.replace(scheme, with));
        assert!(why.contains("line") && why.contains(says), "{with}: {why}");
    }
}

#[test]
fn trees_have_defaults_and_limits() {
    let text =
        "name = \"n\"\nabout = \"a\"\n\n[[tree]]\narity = 2\nheights = [3, 20]\nmeasure = \"proofs\"\n";
    let definition = Definition::parse("d.toml", text).unwrap();
    let tasks: Vec<_> = definition.cases.iter().map(|case| case.tree.unwrap()).collect();
    let facts = |task: &TreeTask| (task.shape.leaves(), task.method);
    assert_eq!(
        tasks.iter().map(facts).collect::<Vec<_>>(),
        [8, 1 << 20].map(|n| [(n, ProofMethod::Colors), (n, ProofMethod::Buckets)]).concat()
    );
    assert!(definition.cases.iter().all(|case| case.lookups == 5 && case.scheme.is_empty()));
    assert_eq!(definition.turns().map(<[Case]>::len).collect::<Vec<_>>(), [1; 4]);
    for (from, to, says) in [
        ("[3, 20]", "[]", "heights is empty"),
        ("[3, 20]", "[41]", "2^40"),
        ("arity = 2", "arity = 1", "arity: must be 2 to 256"),
        ("\"proofs\"", "\"proof\"", "unknown variant"),
        ("\"proofs\"", "\"setup\"\nlines = [{ scheme = \"s\" }]", "omit them"),
        ("\"proofs\"", "\"proofs\"\nways = [\"buckets\", \"buckets\"]", "or both"),
        ("\"proofs\"", "\"proofs\"\nlines = []", "a list of lines"),
        ("\"proofs\"", "\"proofs\"\nrepeats = 0", "at least 1"),
        ("\"proofs\"", "\"proofs\"\nrows = 3", "unknown field"),
    ] {
        let why = error(&text.replace(from, to));
        assert!(why.contains(says) && why.contains("line"), "{why}");
    }
}

#[test]
fn steps_have_orders_and_threads() {
    let of = |steps: &str| Definition::parse("d.toml", &format!("{MINIMAL}steps = {steps}\n"));
    let steps = |steps: &str| of(steps).unwrap().cases[0].steps.clone().unwrap();
    assert_eq!(steps("{}"), Steps { orders: vec![], threads: vec![1] });
    let named = steps("{ orders = [\"b\", \"a\"], threads = [2, 3] }");
    assert_eq!(named, Steps { orders: vec!["b".into(), "a".into()], threads: vec![2, 3] });
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(steps("{ threads = [\"all\"] }").threads, [all]);
    for (text, says) in [
        ("{ threads = [] }", "empty"),
        ("{ threads = [2000] }", "at most 1024"),
        ("{ threads = [\"some\"] }", "did not match"),
        ("{ order = [] }", "unknown field"),
    ] {
        let why = of(text).unwrap_err().to_string();
        assert!(why.contains(says) && why.contains("line"), "{text}: {why}");
    }
}
