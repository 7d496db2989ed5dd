//! Ranking of candidates, schemes that do not fit, and workloads that are refused.

use super::{keys, plan_of, rows};
use sotto_plan::calibration::{Calibration, CalibrationSample, FORMAT, MemorySample, PartSample};
use sotto_plan::{PlanError, RankBy, SearchScope, ServerTrust, TableData, Workload, plan};

/// A machine on which every scheme does three of its operations in a nanosecond, and has parts.
fn calibration() -> Calibration {
    let sample = |scheme: &str, server_ops: u64| CalibrationSample {
        scheme: scheme.to_owned(),
        rows: 1 << 10,
        row_bytes: 1 << 10,
        server_ops,
        client_ops: server_ops,
        server_ns: server_ops as f64 / 3.0,
        pass_ns: server_ops as f64,
        pass_lookups: 4,
        threads_ns: server_ops as f64 / 5.0,
        client_ns: server_ops as f64 / 3.0,
        encode_ns: 1e6,
        parts: Some(PartSample {
            parts: 4,
            partial_ns: server_ops as f64 / 10.0,
            join_ns: 100.0,
            partial_bytes: 10,
            answer_bytes: 5,
        }),
    };
    let each = |entry: &&sotto_core::SchemeEntry| [sample(entry.id.0, 1 << 20), sample(entry.id.0, 1 << 30)];
    let samples = sotto_registry::SCHEMES.iter().flat_map(each).collect();
    // Memory that never slows a scheme down.
    let memory = vec![MemorySample { bytes: 1 << 30, read_ns: 1.0, threads_ns: 0.6 }];
    Calibration { format: FORMAT.into(), machine: "a test".into(), threads: 2, memory, samples, took_s: 0.0 }
}

#[test]
fn a_plan_is_the_same_each_time_and_in_the_order_of_its_aim() {
    for aim in RankBy::ALL.map(|(_, aim)| aim) {
        let workload = Workload { aim, trust: ServerTrust::TwoServers, ..rows(1 << 14, 32) };
        let of = |id: &str| {
            let scope = SearchScope { only: sotto_registry::find(id), all: true, ..SearchScope::default() };
            plan(&workload, scope, Some(&calibration())).unwrap()
        };
        for id in ["simplepir/1", "fspiral/1", "dpf/1", "s3pir/1"] {
            let [one, two] = [(); 2].map(|()| of(id));
            assert_eq!((&one.offers, &one.refused), (&two.offers, &two.refused));
            assert!(one.offers.is_sorted_by(|a, b| a.by(aim) <= b.by(aim)), "{aim:?}");
            assert_eq!(one.chosen.as_ref(), one.offers.first().map(|offer| &offer.choice));
            assert!(one.offers.iter().all(|offer| offer.calibrated) && !one.offers.is_empty());
            // The JSON contains no value that is not a number.
            let json = serde_json::to_string(&one).unwrap();
            assert!(!json.contains("NaN") && json.contains("\"format\":\"sotto-plan/1\""));
        }
    }
}

#[test]
fn every_scheme_is_offered_or_refused_with_a_reason() {
    let workload = Workload { most_latency_ms: Some(80.0), ..rows(1 << 14, 32) };
    let plan = plan(&workload, SearchScope::default(), None).unwrap();
    assert_eq!(plan.offers.len() + plan.refused.len(), sotto_registry::SCHEMES.len());
    let why =
        |name: &str| plan.refused.iter().find(|refused| refused.scheme == name).map(|refused| &refused.why);
    assert!(why("dpf/1").unwrap().contains("operators"));
    assert!(plan.refused.iter().any(|refused| refused.why.starts_with("latency")), "{:?}", plan.refused);
    assert!(plan.refused.iter().all(|refused| !refused.why.is_empty()));
    assert!(plan.offers.iter().all(|offer| offer.loaded_p50_s <= 0.080 && !offer.calibrated));
}

#[test]
fn limits_of_memory_refuse() {
    let usual = rows(1 << 16, 32);
    let small = sotto_plan::Machine { memory_bytes: 1 << 20, ..usual.machine };
    let none = plan_of(&Workload { machine: small, ..usual.clone() }, "simplepir/1");
    assert!(none.offers.is_empty() && none.chosen.is_none());
    assert!(none.refused.iter().any(|refused| refused.why.starts_with("memory")));
    let few = Workload { most_client_bytes: Some(100_000), ..usual };
    let [hint, keys] = ["simplepir/1", "fspiral/1"].map(|id| plan_of(&few, id).offers);
    assert!(hint.is_empty() && keys.iter().all(|offer| offer.client_bytes <= 100_000) && !keys.is_empty());
}

#[test]
fn parts_are_modeled_and_said_to_be() {
    let workload = Workload { machines: 4, trust: ServerTrust::TwoServers, ..rows(1 << 18, 64) };
    let plan = plan(&workload, SearchScope::default(), Some(&calibration())).unwrap();
    assert!(plan.offers.iter().any(|offer| offer.choice.scheme == "simplepir/1"));
    for offer in &plan.offers {
        let cut = offer.modeled.unwrap();
        assert!(cut.from_parts && cut.machines == 4);
        assert_eq!(cut.memory_bytes, offer.memory_bytes.div_ceil(4));
        // Four parts of 0.1 each are 1.2 times the whole, and joining is added to that.
        assert!(cut.server_s > offer.server_s * 1.19, "{}", offer.choice.scheme);
        assert_eq!(cut.partials_bytes % 4, 0);
    }
    assert!(plan.refused.iter().any(|refused| refused.why.contains("cannot be split")));
}

#[test]
fn baselines_stand_beside() {
    let of = |workload: &Workload| plan_of(workload, "simplepir/1").baselines;
    let by_row = of(&rows(1000, 10));
    assert_eq!(by_row.len(), 1);
    assert_eq!(by_row[0].once_bytes, 10_000);
    let by_key = of(&keys(100_000, 4));
    assert_eq!(by_key.len(), 2);
    assert_eq!(by_key[1].down_bytes, 500 * 20);
    assert!(by_key[1].leaks.contains("no private lookup"));
}

#[test]
fn figures_that_make_no_sense_are_refused_by_name() {
    let usual = || rows(1000, 10);
    let data = |rows, row_bytes| TableData::Row { rows, row_bytes, room: 0 };
    for (workload, said) in [
        (Workload { data: data(0, 10), ..usual() }, "rows"),
        (Workload { data: data(1 << 41, 10), ..usual() }, "rows"),
        (Workload { data: data(10, 0), ..usual() }, "width"),
        (Workload { data: data(10, 1 << 31), ..usual() }, "width"),
        (Workload { clients: 0, ..usual() }, "clients"),
        (Workload { lookups: 0, ..usual() }, "lookups"),
        (Workload { changed: 1.5, ..usual() }, "share"),
        (Workload { updates_per_day: f64::NAN, ..usual() }, "updates"),
        (Workload { peak: Some(f64::INFINITY), ..usual() }, "peak"),
        (Workload { machines: 0, ..usual() }, "machines"),
        (Workload { batch: Some(0), ..usual() }, "request"),
    ] {
        let error = plan(&workload, SearchScope::default(), None).map(|plan| plan.offers.len()).unwrap_err();
        assert!(matches!(&error, PlanError::Workload { what, .. } if what.contains(said)), "{said}: {error}");
    }
    // The largest allowed table is planned for, or refused scheme by scheme.
    let most =
        plan(&Workload { data: data(1 << 40, 1 << 30), ..usual() }, SearchScope::default(), None).unwrap();
    assert!(most.offers.is_empty() && most.refused.len() == sotto_registry::SCHEMES.len());
}
