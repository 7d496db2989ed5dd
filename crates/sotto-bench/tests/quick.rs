//! The definition that ships for tests, end to end: generate, encode, map, ask, answer, recover, compare.

use sotto_bench::{Options, load, run};
use std::sync::Mutex;

#[test]
fn the_quick_definition_runs_and_every_answer_is_right() {
    let definition = load("quick").unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let options = Options { quick: true, scratch: Some(scratch.path().to_owned()), ..Options::default() };
    let steps = Mutex::new(Vec::new());
    let report = run(&definition, &options, &|p| steps.lock().unwrap().push(p.to_string())).unwrap();

    assert_eq!(report.measured.len(), definition.cases.len());
    for (measured, case) in report.measured.iter().zip(&definition.cases) {
        let per_repeat: usize = case.batches.iter().sum();
        // Each batch size is repeated as often as the definition says, and once more to warm up.
        assert_eq!(measured.checked_answers_count, (per_repeat * (case.lookups + 1)) as u64);
        assert!(measured.security_bits >= 128.0 && measured.failure_log2 <= -40.0);
        assert!(measured.batches.iter().all(|b| b.server_ms > 0.0 && b.read_memory_gb_per_s > 0.0));
        assert_eq!(measured.update.is_some(), case.changes.is_some());
        assert!(measured.offline.stages.iter().any(|s| s.name == "digest"));
    }
    for (measured, modelled) in report.measured.iter().zip(&report.modelled) {
        assert_eq!(measured.traffic, modelled.traffic, "the model's bytes are those of the messages");
        assert!(modelled.read_floor_ms.is_some());
    }
    let steps = steps.into_inner().unwrap();
    assert!(steps.iter().any(|s| s.contains("preparing a client")), "{steps:?}");
    let left: Vec<_> = std::fs::read_dir(scratch.path()).unwrap().collect();
    assert!(left.is_empty(), "images are removed: {left:?}");
}
