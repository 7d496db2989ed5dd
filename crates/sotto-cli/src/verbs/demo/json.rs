//! The results of the demo as JSON.

use super::baseline::Cost;
use super::scheme_run::SchemeRun;
use super::setup::DemoServer;
use super::{DemoReport, LARGER};
use crate::verbs::encode::{self, EncodeOutcome};
use serde_json::{Value, json};
use sotto_core::Costs;

/// All results of the demo.
pub(super) fn json(stage: &DemoServer, report: &DemoReport<'_>) -> Value {
    let DemoReport { both: [hinted, keyed], reading, baselines, larger, many_clients, log } = report;
    json!({
        "server": stage.url(),
        "hinted": scheme(&stage.encoded.hinted, hinted),
        "keyed": scheme(&stage.encoded.keyed, keyed),
        "scan": {
            "bytes": reading.bytes,
            "pass_ms": hinted.pass.as_secs_f64() * 1e3,
            "read_ms": reading.time.as_secs_f64() * 1e3,
            "of_read_ratio": reading.share_of(hinted.pass),
        },
        "in_the_clear": cost(baselines.clear),
        "download": cost(baselines.download),
        "larger": {
            "table_bytes": LARGER.rows * LARGER.row_bytes,
            "hinted": costs(&larger.hinted),
            "keyed": costs(&larger.keyed),
        },
        "crowd": {
            "clients": many_clients.clients,
            "lookups_per_second": many_clients.per_second,
            "queries_per_pass": many_clients.batch,
        },
        "log": log.json(),
    })
}

fn scheme(done: &EncodeOutcome, run: &SchemeRun) -> Value {
    let mut value = run.json();
    if let Some(object) = value.as_object_mut() {
        object.insert("encode".to_owned(), json!(done.summary));
        object.insert("scheme".to_owned(), json!(done.scheme));
        object.insert("stages_s".to_owned(), encode::stages_json(&done.stages));
        object.insert("public_key".to_owned(), done.public_key.to_string().into());
    }
    value
}

fn cost(cost: Cost) -> Value {
    json!({ "up_bytes": cost.up, "down_bytes": cost.down, "ms": cost.time.as_secs_f64() * 1e3 })
}

fn costs(costs: &Costs) -> Value {
    json!({
        "artifact_bytes": costs.artifact_bytes,
        "keys_bytes": costs.keys_bytes,
        "query_bytes": costs.query_bytes,
        "answer_bytes": costs.answer_bytes,
    })
}
