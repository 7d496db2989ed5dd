//! Baselines that every plan is compared with, so that the price of privacy can be judged: no
//! scheme, and no privacy.

use crate::workload::{STAY_DAYS, TableData, Workload};
use serde::Serialize;

/// Keys in a bucket where clients name a bucket in the clear: about as many as services for leaked
/// passwords return.
pub const CROWD: u64 = 500;

/// Costs of a lookup without a PIR scheme.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Baseline {
    /// Name of the baseline.
    pub name: String,
    /// Bytes of a request.
    pub up_bytes: u64,
    /// Bytes of its answer.
    pub down_bytes: u64,
    /// Bytes that a client downloads once.
    pub once_bytes: u64,
    /// Bytes that a client downloads for each epoch.
    pub update_bytes: u64,
    /// Seconds until the answer arrives.
    pub latency_s: f64,
    /// Dollars per million requests, for the data sent.
    pub dollars: f64,
    /// Description of what the server learns.
    pub leaks: String,
}

/// Baselines of a workload.
pub(crate) fn of(work: &Workload) -> Vec<Baseline> {
    let table = work.table_bytes();
    let epochs = (work.updates_per_day * STAY_DAYS).min(work.lookups as f64 * STAY_DAYS);
    let lookups = work.lookups as f64 * STAY_DAYS;
    let update = (table as f64 * work.changed * 1.1).min(table as f64) as u64;
    let gb = |bytes: f64| bytes / 1e9 * work.machine.dollars_gb * 1e6;
    let mut all = vec![Baseline {
        name: "download everything".to_owned(),
        up_bytes: 0,
        down_bytes: 0,
        once_bytes: table,
        update_bytes: update,
        latency_s: 0.0,
        dollars: gb((table as f64 + epochs * update as f64) / lookups),
        leaks: "nothing; each client has the whole table".to_owned(),
    }];
    if let TableData::Key { keys, value_bytes, .. } = &work.data {
        let many = u64::from(work.batch.unwrap_or(1));
        let bucket = CROWD.min(*keys);
        let down = bucket.saturating_mul(value_bytes.saturating_add(16)).saturating_mul(many);
        let link = work.link.round_trip_ms / 1e3 + down as f64 * 8.0 / (work.link.down_mbit * 1e6);
        all.push(Baseline {
            name: format!("k-anonymity, buckets of {bucket}"),
            up_bytes: 8 * many,
            down_bytes: down,
            once_bytes: 0,
            update_bytes: 0,
            latency_s: link,
            dollars: gb(down as f64),
            leaks: format!("which {bucket} keys the key is among, each time: no private lookup"),
        });
    }
    all
}
