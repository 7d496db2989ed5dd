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
    fn answer_many(&self, asks: &[(&AnySession, &[u8])]) -> Vec<sotto_core::Result<Vec<u8>>> {
        let first = self.1.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let mut answers = self.0.answer_many(asks);
        if let Some(Ok(answer)) = answers.get_mut(2).filter(|_| first) {
            answer[0] ^= 1;
        }
        answers
    }
    fn stream(&self) -> Option<&dyn AnyStreamServer> {
        self.0.stream()
    }
    fn supplier(&self) -> Option<&dyn AnyHintServer> {
        self.0.supplier()
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
    let encoded = encode::encode(&plan, &source, folder.path(), &|_| ()).unwrap();
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
    (unable.id, unable.server.revise) = (sotto_core::SchemeId("fixed/1"), None);
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
