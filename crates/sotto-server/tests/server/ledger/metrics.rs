//! Every metric: its name, its kind, its labels with the values that are known, and its help.

use sotto_testkit::ledger;
use std::collections::{BTreeMap, BTreeSet};

/// A metric's kind, help, and labels with their values.
#[derive(Default)]
struct Metric {
    kind: String,
    help: String,
    labels: BTreeMap<String, BTreeSet<String>>,
    has_series: bool,
}

#[test]
fn ledger_of_metrics() {
    let sample = sotto_server::metrics_sample();
    let mut metrics: Vec<(String, Metric)> = Vec::new();
    for line in sample.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            let metric = Metric { help: help.to_owned(), ..Metric::default() };
            metrics.push((name.to_owned(), metric));
            continue;
        }
        let Some((_, metric)) = metrics.last_mut() else { continue };
        if let Some((_, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            kind.clone_into(&mut metric.kind);
        } else if !line.starts_with('#') {
            metric.has_series = true;
            let labels = line.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
            for label in labels.iter().flat_map(|(labels, _)| labels.split(',')) {
                let (name, value) = label.split_once('=').unwrap();
                if name != "le" {
                    metric
                        .labels
                        .entry(name.to_owned())
                        .or_default()
                        .insert(value.trim_matches('"').to_owned());
                }
            }
        }
    }
    let mut lines: Vec<String> = metrics
        .iter()
        .map(|(name, metric)| {
            assert!(metric.has_series, "the sample has nothing of {name}: see `metrics_sample`");
            let labels = metric.labels.iter().map(|(name, values)| {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                format!("{name}={}", values.join("|"))
            });
            let labels: Vec<String> = labels.collect();
            format!("{name} {} {{{}}} {}\n", metric.kind, labels.join(", "), metric.help)
        })
        .collect();
    lines.sort();
    assert!(lines.len() > 30, "{sample}");
    ledger::check("metrics.txt", &lines.concat());
}
