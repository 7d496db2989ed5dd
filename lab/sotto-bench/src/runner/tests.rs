use super::client::BenchClient;
use super::*;
use crate::machine::Reader;
use sotto_core::{AnyHintServer, AnyServer, AnySession, AnyStreamServer};
use sotto_testkit::cleartext::{CLEAR, CLEAR_HELPED, CLEAR_KEYED, CLEAR_TWO};
use std::sync::atomic::{AtomicUsize, Ordering};

static CLEAR_SCHEMES: &[&SchemeEntry] = &[&CLEAR, &CLEAR_KEYED, &CLEAR_TWO];

fn definition(cases: &[&str]) -> Definition {
    let cases: String = cases.iter().map(|case| format!("[[case]]\n{case}\n")).collect();
    Definition::parse("t.toml", &format!("name = \"t\"\nabout = \"Test.\"\n{cases}")).unwrap()
}

fn quick() -> Options {
    Options { quick: true, ..Options::default() }
}

fn clear(definition: &Definition) -> Result<Report, BenchError> {
    run_with(definition, CLEAR_SCHEMES, &quick(), &|_| ())
}

#[test]
fn packed_split_and_padded_rows_all_come_back() {
    for scheme in ["clear", "clear-keyed/1", "clear-two"] {
        let case = |rest: &str| format!("scheme = \"{scheme}\"\nlookups = 3\nbatch = [1, 2, 5]\n{rest}");
        let cases =
            ["rows = 5003\nrow_bytes = 7", "rows = 77\nrow_bytes = 3000", "rows = 3\nrow_bits = 1"].map(case);
        let report = clear(&definition(&cases.each_ref().map(String::as_str))).unwrap();
        assert_eq!(report.measured.len(), 3);
        for measured in &report.measured {
            // Three timed passes and one untimed, of each batch size.
            assert_eq!(measured.checked_answers_count, 4 * (1 + 2 + 5));
            assert_eq!(measured.batches.iter().map(|b| b.batch_count).collect::<Vec<_>>(), [1, 2, 5]);
            assert_eq!(measured.baselines.len(), 2);
        }
        // The model's bytes are those of the messages.
        for (measured, modeled) in report.measured.iter().zip(&report.modeled) {
            assert_eq!(measured.traffic, modeled.traffic, "{scheme} {}", measured.table.shape);
        }
    }
}

#[test]
fn lookups_in_a_row_are_checked_and_counted() {
    let case = |series: &str| format!("scheme = \"clear\"\nrows = 100\nrow_bytes = 9\n{series}");
    let report = clear(&definition(&[&case("series = 70"), &case("")])).unwrap();
    let [with, without] = report.measured.as_slice() else { panic!("two cases") };
    assert_eq!(with.checked_answers_count, without.checked_answers_count + 70);
    let series = with.series.as_ref().unwrap();
    assert_eq!((series.lookups_count, series.budget_count, series.amortized_ms), (70, 0, None));
    assert!(without.series.is_none());
    assert!(report.table().contains("consecutive lookups"));
    assert!(series.online_ms >= series.server_ms);
}

#[test]
fn steps_are_asked_of_schemes_that_say_them() {
    let case = "scheme = \"bgvpir\"\nset = \"pow2\"\nrows = 9\nrow_bytes = 1\nlookups = 1\n";
    let run = |case: &str| {
        run_with(&definition(&[case]), sotto_registry::SCHEMES, &quick(), &|_| ())
            .map(|report| report.measured)
    };
    let unknown = run(&format!("{case}steps = {{ orders = [\"paper\", \"raw\"] }}")).unwrap_err();
    assert!(unknown.to_string().contains("has no order raw, only distributed, paper"), "{unknown}");
    let orders: Vec<String> =
        run(&format!("{case}steps = {{}}")).unwrap()[0].steps.iter().map(|line| line.order.clone()).collect();
    assert_eq!(orders, ["distributed", "paper"]);
    let clear = clear(&definition(&["scheme = \"clear\"\nrows = 9\nrow_bytes = 1\nsteps = {}"])).unwrap_err();
    assert!(clear.to_string().contains("does not report its steps"), "{clear}");
}

#[test]
fn sizes_alone_are_modeled_and_nothing_else() {
    let case = |rest: &str| format!("scheme = \"clear\"\nrows = \"2^31\"\nrow_bytes = 1024\n{rest}");
    let report = clear(&definition(&[&case("sizes = true"), &case("")])).unwrap();
    assert_eq!((report.measured.len(), report.modeled.len(), report.skipped.len()), (0, 2, 1));
}

#[test]
fn threads_may_be_overruled() {
    let definition = definition(&["scheme = \"clear\"\nrows = 10\nrow_bytes = 9\nthreads = 2"]);
    let options = Options { threads: Some(3), ..quick() };
    let report = run_with(&definition, CLEAR_SCHEMES, &options, &|_| ()).unwrap();
    assert_eq!(report.measured[0].threads_count, 3);
    assert_eq!(clear(&definition).unwrap().measured[0].threads_count, 2);
}

#[test]
fn other_rows_than_expected_end_the_run() {
    let case = "scheme = \"clear\"\nrows = 10\nrow_bytes = 9";
    let expecting = |digest: &str| definition(&[&format!("{case}\nrows_blake3 = \"{digest}\"")]);
    let error = clear(&expecting(&"0".repeat(64))).unwrap_err();
    let BenchError::OtherRows { got, .. } = error else { panic!("{error}") };
    assert_eq!(clear(&expecting(&got)).unwrap().measured.len(), 1);
}

#[test]
fn cases_too_large_or_too_long_are_reported_and_not_run() {
    let report = clear(&definition(&[
        "scheme = \"clear\"\nrows = \"2^31\"\nrow_bytes = 1024",
        "scheme = \"clear\"\nrows = 10\nrow_bytes = 9\nfull = true",
        "scheme = \"clear\"\nrows = \"2^39\"\nrow_bytes = 32",
    ]))
    .unwrap();
    assert!(report.measured.is_empty());
    let reasons: Vec<&str> = report.skipped.iter().map(|s| s.reason.as_str()).collect();
    for (reason, says) in reasons.iter().zip(["does not fit: needs", "--full", "no parameters"]) {
        assert!(reason.contains(says), "{reason}");
    }
    // What does not run is still modeled, where the scheme has parameters for it.
    assert_eq!(report.modeled.len(), 2);
    assert!(report.table().contains("NOT RUN"));
}

#[test]
fn parameters_can_be_overwritten_but_not_invented() {
    let case = "scheme = \"clear\"\nrows = 100\nrow_bytes = 8\n";
    let report =
        clear(&definition(&[&format!("{case}params = {{ records = 50, record_bytes = 16 }}")])).unwrap();
    assert_eq!((report.measured[0].records_count, report.measured[0].record_bytes), (50, 16));
    for (params, says) in [
        ("{ recrods = 50 }", "unknown field recrods, expected one of record"),
        ("{ records = 3 }", "do not fit"),
        ("{ records = 0 }", "must be 1 to"),
    ] {
        let error = clear(&definition(&[&format!("{case}params = {params}")])).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn lines_run_in_turns_as_long_as_memory_holds_them() {
    let lines = "lines = [{ scheme = \"clear\" }, { scheme = \"clear-keyed\", name = \"K\" }, { scheme = \"clear-two\" }]";
    let definition =
        definition(&[&format!("{lines}\nrows = 900\nrow_bytes = 9\nbatch = [1, 3]\nlookups = 2")]);
    let steps = std::sync::Mutex::new(Vec::new());
    let report = run_with(&definition, CLEAR_SCHEMES, &quick(), &|p| {
        if p.step == "1 at once" {
            steps.lock().unwrap().push(p.case.to_owned());
        }
    })
    .unwrap();
    let [a, k, t] = ["clear 900 x 9 B", "K 900 x 9 B", "clear-two 900 x 9 B"];
    assert_eq!(steps.into_inner().unwrap(), [a, k, t, a, k, t]);
    assert!(report.measured.iter().all(|measured| measured.checked_answers_count == 3 * (1 + 3)));
    let held: Vec<u64> = report.measured.iter().map(|measured| measured.joining.session_bytes).collect();
    assert!(held[0] == 0 && held[1] > 0 && held[2] == 0, "{held:?}");
    let text = report.table();
    for words in ["side by side", "900 x 9 B:", "|  K "] {
        assert!(text.contains(words), "no {words} in {text}");
    }

    let plans = || {
        definition.cases.iter().map(|case| match PreparedCase::of(case, CLEAR_SCHEMES, &quick()).unwrap() {
            CasePlan::Plan(plan) => plan,
            CasePlan::NoFit(why) => panic!("{why}"),
        })
    };
    let parted =
        |available| plan::part(plans().collect(), available).iter().map(Vec::len).collect::<Vec<_>>();
    let two: Vec<_> = plans().take(2).collect();
    let two = plan::needed_memory(two.iter().map(|plan| &**plan));
    assert_eq!(parted(None), [3]);
    assert_eq!(parted(Some(two)), [2, 1]);
    assert_eq!(parted(Some(0)), [1, 1, 1]);
}

#[test]
fn a_set_that_is_not_there_is_a_mistake() {
    let case = "scheme = \"clear\"\nset = \"large\"\nrows = 1\nrow_bytes = 1";
    let error = clear(&definition(&[case])).unwrap_err().to_string();
    assert!(error.contains("has no set large"), "{error}");
}

#[test]
fn an_unknown_scheme_names_those_there_are() {
    let error = clear(&definition(&["scheme = \"foo\"\nrows = 1\nrow_bytes = 1"])).unwrap_err().to_string();
    assert!(error.contains("foo") && error.contains("clear/1, clear-keyed/1"), "{error}");
}

/// Two servers, of which the first answers every third query of a pass wrongly, by one bit.
struct FaultyServer<'a>(&'a dyn AnyServer, AtomicUsize);

impl AnyServer for FaultyServer<'_> {
    fn keys_bytes(&self) -> usize {
        self.0.keys_bytes()
    }
    fn query_bytes(&self) -> usize {
        self.0.query_bytes()
    }
    fn answer_bytes(&self) -> usize {
        self.0.answer_bytes()
    }
    fn session_bytes(&self) -> usize {
        self.0.session_bytes()
    }
    fn admit(&self, keys: &[u8]) -> sotto_core::Result<AnySession> {
        self.0.admit(keys)
    }
    fn answer_many(&self, queries: &[(&AnySession, &[u8])]) -> Vec<sotto_core::Result<Vec<u8>>> {
        let first = self.1.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let mut answers = self.0.answer_many(queries);
        if let Some(Ok(answer)) = answers.get_mut(2).filter(|_| first) {
            answer[0] ^= 1;
        }
        answers
    }
    fn stream(&self) -> Option<&dyn AnyStreamServer> {
        self.0.stream()
    }
    fn hint_server(&self) -> Option<&dyn AnyHintServer> {
        self.0.hint_server()
    }
}

#[test]
fn one_wrong_bit_in_one_answer_ends_the_run() {
    // The two-server scheme has no checksum of its own: only the comparison can notice.
    let definition = definition(&["scheme = \"clear-two\"\nrows = 64\nrow_bytes = 64"]);
    let options = quick();
    let CasePlan::Plan(plan) = PreparedCase::of(&definition.cases[0], CLEAR_SCHEMES, &options).unwrap()
    else {
        panic!()
    };
    let source = GeneratedRows::new(plan.case);
    let folder = tempfile::tempdir().unwrap();
    let encoded = encode::encode(&plan, &|at, out| source.fill(at, out), folder.path(), &|_| ()).unwrap();
    let honest = (plan.entry.server.open)(&plan.params, encoded.image.clone()).unwrap();
    let lying = FaultyServer(honest.as_ref(), AtomicUsize::new(0));
    let reader = Reader::new(1).unwrap();
    let mut rng = sotto_prg::system_rng().unwrap();
    let truth = |row| source.row(row);
    let mut asking = BenchClient::begin(&plan, &lying, encoded.image.as_ref(), &reader, &truth).unwrap();
    asking.pass(&[5, 63], &mut rng).unwrap();
    let error = asking.pass(&[5, 63, 0], &mut rng).unwrap_err();
    assert!(matches!(error, BenchError::WrongAnswer { row: 0, .. }), "{error}");
    assert!(error.to_string().contains("WRONG ANSWER"), "{error}");
    assert!(error.to_string().contains("1 of 64 bytes differ"), "{error}");
}

#[test]
fn changed_rows_make_the_next_epoch_where_the_scheme_can() {
    let case = |scheme: &str| {
        format!("scheme = \"{scheme}\"\nrows = 500\nrow_bytes = 70\nchanges = 20\nlookups = 1")
    };
    let mut unable = CLEAR;
    (unable.id, unable.server.update_image) = (sotto_core::SchemeId("fixed/1"), None);
    let schemes: &[&'static SchemeEntry] = &[&CLEAR, Box::leak(Box::new(unable)), &CLEAR_HELPED];
    let cases = definition(&[&case("clear"), &case("fixed"), &case("clear-helped")]);
    let report = run_with(&cases, schemes, &quick(), &|_| ()).unwrap();
    let update = report.measured[0].update.as_ref().unwrap();
    assert_eq!((update.changed_rows_count, update.checked_answers_count), (20, 8));
    assert!(update.delta_bytes > 0 && update.delta_bytes < update.held_bytes);
    assert!(report.measured[1].update.is_none());
    // Its hints were made of the old rows, and followed.
    let update = report.measured[2].update.as_ref().unwrap();
    assert_eq!((update.changed_rows_count, update.checked_answers_count), (20, 8));
    assert!(report.table().contains("the next epoch"));
}

static TREE_SCHEMES: &[&SchemeEntry] = &[&CLEAR, &CLEAR_KEYED, &CLEAR_TWO, &CLEAR_HELPED];

fn run_trees(trees: &[&str]) -> Result<Report, BenchError> {
    let trees: String = trees.iter().map(|tree| format!("[[tree]]\n{tree}\n")).collect();
    let definition =
        Definition::parse("t.toml", &format!("name = \"t\"\nabout = \"Test.\"\n{trees}")).unwrap();
    run_with(&definition, TREE_SCHEMES, &quick(), &|_| ())
}

#[test]
fn proofs_of_all_trees_by_both_ways_and_every_scheme_alone_come_back_right() {
    let tree = |arity: u16, heights: &str| {
        format!("arity = {arity}\nheights = {heights}\nmeasure = \"proofs\"\nrepeats = 2\nthreads = 2")
    };
    // Twelve layers are the fewest for which a batch code has buckets.
    let trees = [tree(2, "[1, 2, 9, 12]"), tree(3, "[3]"), tree(16, "[1, 2]")];
    let report = run_trees(&trees.each_ref().map(String::as_str)).unwrap();
    let measured = &report.trees.measured;
    let alone = TREE_SCHEMES.iter().filter(|entry| entry.servers == 1).count();
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
    let report = run_trees(&["arity = 2\nheights = [12]\nmeasure = \"setup\"\nrepeats = 2"]).unwrap();
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
    let report = run_trees(&[&tree(2, "[10, 12]"), &tree(256, "[4]")]).unwrap();
    assert_eq!(report.trees.measured.len(), 6);
    for m in &report.trees.measured {
        assert!(m.figures.index_ms > Some(0.0));
        assert_eq!(m.figures.known_index_ms.is_some(), m.method == "colors");
    }
}

#[test]
fn what_is_too_large_or_too_long_is_said() {
    let tree = |heights: &str, rest: &str| format!("arity = 2\nheights = {heights}\n{rest}");
    let report = run_trees(&[
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
    let report = run_trees(&[
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
    let report = run_trees(&["arity = 2\nheights = [3, 5]\nmeasure = \"proofs\"\nrepeats = 1"]).unwrap();
    let Ok(drawing) = report.svg() else { return };
    for words in ["communication", "server time, all tables", "clear-keyed, buckets", "height of the tree"] {
        assert!(drawing.contains(words), "{words}");
    }
    assert!(!drawing.contains("NaN") && !drawing.contains("inf"));
}

#[test]
fn a_scheme_that_is_not_there_is_a_mistake() {
    let error =
        run_trees(&["arity = 2\nheights = [3]\nmeasure = \"proofs\"\nlines = [{ scheme = \"foo\" }]"]);
    assert!(matches!(error, Err(BenchError::UnknownScheme { .. })));
}
