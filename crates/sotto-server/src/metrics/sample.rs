//! A sample of every metric, for tools that list names, help texts and labels.

use super::placement::PlacementLabel;
use super::{ByTable, EpochLabel, EvictionReason, MediumLabel, Metrics};
use prometheus_client::encoding::text;
use std::time::Duration;

/// The exposition text of a server that has counted something of each metric.
#[doc(hidden)]
pub fn metrics_sample() -> String {
    let metrics = Metrics::new();
    let table = || ByTable { table: "table".into() };
    metrics.request("route", "outcome");
    metrics.pass("table", 1);
    metrics.stream("table");
    metrics.unit("table");
    metrics.order("table");
    metrics.evaluated("table", 1);
    metrics.answered("table", Duration::ZERO, Duration::ZERO);
    metrics.scanned(Duration::ZERO);
    let evicted = [
        EvictionReason::Expired,
        EvictionReason::Client,
        EvictionReason::Memory,
        EvictionReason::Disk,
        EvictionReason::Damaged,
    ];
    evicted.into_iter().for_each(|reason| metrics.evicted(reason));
    ["client", "all"].into_iter().for_each(|scope| metrics.over_budget(scope));
    for gauge in [&metrics.table_up, &metrics.server_role, &metrics.sessions, &metrics.admitted] {
        gauge.get_or_create(&table()).set(0);
    }
    for medium in ["memory", "disk"] {
        metrics.session_bytes.get_or_create(&MediumLabel { medium }).set(0);
    }
    for generation in ["newest", "previous"] {
        metrics.live.get_or_create(&EpochLabel { table: "table".into(), generation }).set(0);
    }
    for medium in ["file", "memory"] {
        for pages in ["huge", "small", "unknown"] {
            metrics.lying.get_or_create(&PlacementLabel { table: "table".into(), medium, pages }).set(0);
        }
    }
    metrics.apple.sample();
    let mut out = String::new();
    match text::encode(&mut out, &metrics.registry) {
        Ok(()) => out,
        Err(_) => String::new(),
    }
}
