//! The summary of a table of Apple's lookups, for `sotto encode` and `sotto inspect`.

use crate::screen::units;
use serde_json::{Value, json};
use sotto_apple::image::{OpenUseCase, UseCaseDescription, UseCaseKind};
use sotto_apple::sets::WeakParams;
use sotto_core::{Image, Section};

/// The lines that summarize a table.
pub(super) fn facts(opened: &OpenUseCase) -> Vec<(&'static str, String)> {
    let description = &opened.description;
    let mut lines = vec![
        ("use case", format!("{}, epoch {}", description.name, description.epoch)),
        (
            "lookup by",
            match &description.kind {
                UseCaseKind::Keyword { form, .. } => format!("key ({})", form.name()),
                UseCaseKind::Index | UseCaseKind::IndexWithLengths => "row number".to_owned(),
            },
        ),
        ("rows", units::count(description.rows())),
    ];
    if description.oprf.is_some() {
        lines.push((
            "symmetric",
            "rows are sealed; each opens with one evaluation, which the server grants".to_owned(),
        ));
    }
    if let Some(shard) = description.shards.first() {
        let [d0, d1] = shard.dimensions;
        let (entries, bytes) = (units::count(shard.entries), units::bytes(shard.entry_bytes));
        let tables = match description.kind {
            UseCaseKind::Keyword { .. } => format!("2 tables of {entries} buckets of {bytes}"),
            UseCaseKind::Index => format!("a table of {entries} rows of {bytes}"),
            UseCaseKind::IndexWithLengths => {
                format!("a table of {entries} rows of up to {bytes}, with their lengths")
            }
        };
        lines
            .push(("shards", format!("{}, each {tables}: {d0} x {d1} plaintexts", description.shards.len())));
    }
    let costs = opened.use_case.costs();
    let bytes = |bytes: usize| units::bytes(bytes as u64);
    lines.push(("parameters", format!("{}, {}", description.set, security(description))));
    lines.push((
        "client sends",
        format!("{} of keys once, {} per query", bytes(costs.keys), bytes(costs.query)),
    ));
    lines.push(("client receives", bytes(costs.answer)));
    lines
}

fn security(description: &UseCaseDescription) -> String {
    let security = description
        .set()
        .ok()
        .and_then(|set| set.kit(WeakParams::Allow).ok())
        .and_then(|(_, security)| security);
    security.map_or("less than 128 bits of security".into(), |security| {
        format!("{:.1} bits of security", security.bits)
    })
}

/// The summary as JSON.
pub(super) fn json(opened: &OpenUseCase) -> Value {
    let (costs, file) = (opened.use_case.costs(), opened.image.file());
    json!({
        "image": file.path(),
        "image_bytes": file.header().file_bytes,
        "table_bytes": file.section(Section::Resident).map_or(0, <[u8]>::len),
        "rows": opened.description.rows(),
        "description": opened.description,
        "digest": file.digest(),
        "keys_bytes": costs.keys,
        "query_bytes": costs.query,
        "answer_bytes": costs.answer,
    })
}
