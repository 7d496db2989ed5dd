//! Guarantees and costs of checked parameters, for a person.

use crate::cost;
use crate::family::{Family, Method};
use crate::params::Params;
use sotto_core::{Costs, ParamsDigest, ParamsReport};

/// Makes the report of parameters.
pub(crate) fn of<F: Family>(params: &Params<F>) -> ParamsReport {
    let (literal, set, layout, method) = (&params.literal, params.set, &params.layout, &params.method);
    let answer = method.answers(layout) * cost::answer_bytes(set, literal.answer_bits);
    ParamsReport {
        digest: ParamsDigest([0; 32]),
        records: literal.records,
        record_bytes: layout.record_bytes() as u64,
        costs: Costs {
            artifact_bytes: 0,
            keys_bytes: cost::keys_bytes(set, method.keys()) as u64,
            query_bytes: cost::query_bytes(set, layout.queries) as u64,
            answer_bytes: answer as u64,
            server_ops: cost::server_ops(cost::nanoseconds(method, layout, set)),
            client_ops: cost::client_ops(method, layout, set),
            resident_bytes: cost::image_bytes(layout),
            ..Costs::default()
        },
        security: params.security.clone(),
        failure_log2: params.failure_log2,
        details: sotto_core::report_details(|| details(params)),
    }
}

/// Details in groups: the part of a name before the colon is the group.
fn details<F: Family>(params: &Params<F>) -> Vec<(&'static str, String)> {
    let (literal, layout, method) = (&params.literal, &params.layout, &params.method);
    let mut out = vec![
        ("ring", format!("{}, {}", params.set.name, params.set.about)),
        ("buckets", format!("{} of {} records", layout.buckets, layout.records)),
        (
            "table",
            format!(
                "{} of {} rows by {} columns of plaintexts, {} positions, records in {} parts",
                layout.tables(),
                layout.rows,
                layout.cols(),
                layout.positions,
                layout.split
            ),
        ),
        ("written in place", format!("{} rows under one mask", literal.written)),
        ("keys: of evaluation", method.keys().count().to_string()),
        ("ciphertexts", format!("{} asked, {} answered", layout.queries, method.answers(layout))),
        (
            "bits sent: of an answer's words",
            format!("{} of masks, {} of bodies", literal.answer_bits[1], literal.answer_bits[0]),
        ),
        (
            "memory of a client's keys",
            format!("{:.1} MB", cost::session_bytes(params.set, method.keys()) as f64 / 1e6),
        ),
    ];
    out.extend(
        params.noise.steps.iter().map(|(step, variance)| (*step, format!("2^{:.1}", variance.log2() / 2.0))),
    );
    out
}
