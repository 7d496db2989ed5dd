//! Which schemes go through each conformance trial.

use sotto_registry::SCHEMES;
use sotto_testkit::conformance::{Subject, trials};
use sotto_testkit::ledger;
use std::collections::BTreeMap;

#[test]
fn ledger_of_trials() {
    let mut schemes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for entry in SCHEMES {
        for trial in trials(Box::leak(Box::new(Subject::private(entry)))) {
            let (scheme, name) = trial.name().split_once("::").unwrap();
            assert_eq!(scheme, entry.id.0);
            schemes.entry(name.to_owned()).or_default().push(entry.id.0);
        }
    }
    let lines = schemes.into_iter().map(|(trial, mut of)| {
        of.sort_unstable();
        let all = of.len() == SCHEMES.len();
        format!("{trial}: {}\n", if all { "every scheme".to_owned() } else { of.join(" ") })
    });
    ledger::check("trials.txt", &lines.collect::<String>());
}
