//! The definition that ships for tests, end to end: generate, encode, map, ask, answer, recover, compare.

// Clippy knows tests by their attribute, and what they share has none.
#![allow(clippy::unwrap_used)]

use sotto_bench::{Options, Report, load, run};
use std::sync::Mutex;

#[test]
fn the_quick_definition_runs_and_every_answer_is_right() {
    check("quick");
}

/// Schemes with keys, several sets and goals on one table, in turns.
#[test]
fn the_quick_definition_of_the_spiral_family_runs_too() {
    let report = check("spiral-quick");
    let find = |title: &str| report.measured.iter().find(|m| m.method.title == title).unwrap();
    let (ours, theirs, hint) = (find("fspiral"), find("Spiral, paper"), find("simplepir"));
    for keyed in [ours, theirs] {
        assert!(keyed.traffic.keys_bytes > 0 && keyed.joining.session_bytes > 0, "{}", keyed.method.title);
        assert!(keyed.joining.keygen_ms > 0.0 && keyed.joining.keygen_ms <= keyed.joining.prepare_ms);
        assert_eq!(keyed.traffic.once_bytes, 0, "no hint");
    }
    assert_eq!((hint.traffic.keys_bytes, hint.joining.session_bytes), (0, 0));
    assert_eq!(
        (theirs.method.set.as_deref(), theirs.method.scheme.as_str()),
        (Some("paper-1m-256"), "spiral/1")
    );
    let fewest = find("fspiral, query-bytes");
    assert!(fewest.traffic.up_bytes <= ours.traffic.up_bytes);
    let widest = report.table().lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(110), "{widest:?} columns");
}

/// Lookups step by step, in both orders, and links on which they pay.
#[test]
fn the_quick_definition_of_bgvpir_says_its_steps() {
    let report = check("bgvpir-quick");
    let text = report.table();
    for measured in &report.measured {
        let (orders, threads): (Vec<&str>, Vec<usize>) =
            measured.steps.iter().map(|line| (line.order.as_str(), line.threads_count)).unzip();
        assert!(orders.starts_with(&["distributed", "paper"]) && threads[..2] == [1, 1], "{orders:?}");
        for line in &measured.steps {
            let names: Vec<&str> = line.steps.iter().map(|step| step.name.as_str()).collect();
            assert_eq!(names, ["rotations", "unfolding", "inner product", "last step"]);
            assert!(line.server_ms > 0.0 && line.steps.iter().all(|step| step.server_ms <= line.server_ms));
        }
        let found = measured.break_even.as_ref().unwrap();
        // The table is smaller than a query, so that it is quicker to download on any link.
        assert_eq!((found.below_mbit_per_s, found.first_below_mbit_per_s), (0.0, 0.0));
        assert!(found.work_ms > 0.0 && found.moved_bytes > measured.table.table_bytes);
    }
    for heading in
        ["MEASURED: an answer step by step", "MEASURED: links on which a lookup is faster than a download"]
    {
        assert!(text.contains(heading), "{heading}");
    }
    if let Ok(svg) = report.svg() {
        assert!(svg.contains("One answer step by step") && svg.contains("inner product"));
    }
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(110), "{widest:?} columns");
}

/// Traffic by the parameters alone: nothing is run, and nothing is missing.
#[test]
fn the_sizes_of_bgvpir_stand_beside_the_papers() {
    let definition = load("bgvpir-table1").unwrap();
    let report = run(&definition, &Options::default(), &|_| ()).unwrap();
    assert!(report.measured.is_empty() && report.skipped.is_empty());
    assert_eq!(report.modeled.len(), definition.cases.len());
    let paper = report.published.iter().find(|row| row.scheme == "BGV-PIR, pruned").unwrap();
    let ours = report.modeled.iter().find(|row| row.method.set.as_deref() == Some("m8191-paper")).unwrap();
    assert!(
        ours.traffic.up_bytes < paper.up_bytes.unwrap()
            && ours.traffic.down_bytes < paper.down_bytes.unwrap()
    );
    let text = report.table();
    assert!(text.contains("PUBLISHED") && text.lines().all(|line| line.chars().count() <= 110), "{text}");
}

/// Every scheme with one server, on a tree of a few hashes.
#[test]
fn the_quick_definition_of_trees_runs_and_every_proof_is_right() {
    let report = sotto_bench::run(&load("tree-quick").unwrap(), &Options::default(), &|_| ()).unwrap();
    let trees = &report.trees;
    assert!(report.measured.is_empty() && report.modeled.is_empty());
    let of = |scheme: &str| trees.measured.iter().filter(|m| m.scheme.as_deref() == Some(scheme)).count();
    for scheme in sotto_registry::SCHEMES.iter().filter(|entry| entry.servers == 1) {
        let name = scheme.id.0.split('/').next().unwrap();
        let skipped = trees.skipped.iter().any(|s| s.line.starts_with(name));
        assert!(of(scheme.id.0) > 0 || skipped, "{name}: {:?}", trees.skipped);
    }
    assert!(of("simplepir/1") >= 5 && of("fspiral/1") == 1);
    let proofs: u64 = trees.measured.iter().map(|m| m.checked_proofs_count).sum();
    assert!(proofs >= 3 * 6, "{proofs}");
    assert!(trees.published.iter().any(|row| row.line == "qTreePIR"));
}

fn check(name: &str) -> Report {
    let definition = load(name).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let options = Options { quick: true, scratch: Some(scratch.path().to_owned()), ..Options::default() };
    let steps = Mutex::new(Vec::new());
    let report = run(&definition, &options, &|p| steps.lock().unwrap().push(p.to_string())).unwrap();

    assert_eq!(report.measured.len(), definition.cases.len());
    for (measured, case) in report.measured.iter().zip(&definition.cases) {
        let per_repeat: usize = case.batches.iter().sum();
        // Each batch size is repeated as often as the definition says, and once more to warm up; and so are steps.
        let stepped: usize = measured.steps.iter().map(|line| line.repeated_count + 1).sum();
        assert_eq!(measured.checked_answers_count, (per_repeat * (case.lookups + 1) + stepped) as u64);
        assert!(measured.security_bits >= 128.0 && measured.failure_log2 <= -40.0);
        assert!(measured.batches.iter().all(|b| b.server_ms > 0.0 && b.read_memory_gb_per_s > 0.0));
        assert_eq!(measured.update.is_some(), case.changes.is_some());
        assert!(measured.offline.stages.iter().any(|s| s.name == "digest"));
        assert!(measured.batches.iter().all(|b| b.per_lookup_ms <= b.server_ms && b.per_lookup_ms > 0.0));
    }
    for (measured, modeled) in report.measured.iter().zip(&report.modeled) {
        assert_eq!(measured.traffic, modeled.traffic, "the model's bytes are those of the messages");
        assert!(modeled.read_floor_ms.is_some());
    }
    let steps = steps.into_inner().unwrap();
    assert!(steps.iter().any(|s| s.contains("preparing a client")), "{steps:?}");
    let left: Vec<_> = std::fs::read_dir(scratch.path()).unwrap().collect();
    assert!(left.is_empty(), "images are removed: {left:?}");
    report
}
