//! The report of checked parameters: guarantees and costs, for people.

use crate::cost;
use crate::folding_tree::Side;
use crate::literal::RowFormat;
use crate::order::ProductOrder;
use crate::params::Inner;
use sotto_core::{Costs, ParamsDigest, ParamsReport};

/// The report of parameters.
pub(crate) fn of(params: &Inner) -> ParamsReport {
    let (literal, set, tree) = (&params.literal, params.set, &params.tree);
    ParamsReport {
        digest: ParamsDigest([0; 32]),
        records: literal.records,
        record_bytes: params.record_bytes() as u64,
        costs: Costs {
            artifact_bytes: 0,
            keys_bytes: cost::keys_bytes(literal, set) as u64,
            query_bytes: cost::query_bytes(literal, set) as u64,
            answer_bytes: cost::answer_bytes(literal, set) as u64,
            server_ops: cost::server_ops(literal, set, tree),
            client_ops: cost::client_ops(literal),
            resident_bytes: cost::image_bytes(literal, set, tree),
            ..Costs::default()
        },
        security: params.security.clone(),
        failure_log2: params.failure_log2,
        details: sotto_core::report_details(|| details(params)),
    }
}

/// Facts in groups: names that share a prefix before a colon are a group.
fn details(params: &Inner) -> Vec<(&'static str, String)> {
    let (literal, tree, layout) = (&params.literal, &params.tree, &params.layout);
    let products = tree.products(Side::Left) + tree.products(Side::Right);
    let [ours, theirs] = [ProductOrder::Distributed, ProductOrder::Paper]
        .map(|order| cost::products(literal, params.set, tree, order));
    let [u, v] = params.noise.unfolded.map(deviation);
    let block = layout.record_slots() * layout.slot_bits as usize;
    vec![
        ("ring", format!("{}, {}", params.set.name, params.set.about)),
        (
            "primes",
            format!(
                "{} of 50 bits and the special one; {} when the table is multiplied",
                literal.primes, literal.scan_primes
            ),
        ),
        (
            "table",
            format!(
                "{} rows of {} records, {} layers",
                layout.rows(literal.records),
                literal.period,
                literal.layers
            ),
        ),
        (
            "image",
            match literal.form {
                RowFormat::Values => "rows as values, ready to be multiplied",
                RowFormat::Coefficients => "rows as coefficients, transformed in each pass",
            }
            .into(),
        ),
        ("written in place", format!("{} rows under one mask", literal.written)),
        ("records", format!("blocks of {block} bits a layer")),
        ("tree: of u", lengths(&literal.left)),
        ("tree: of v", lengths(&literal.right)),
        ("tree: besides the record an answer holds", {
            let alone = tree.selects_nothing_else(literal.period as usize);
            if alone { "nothing, for an honest client" } else { "parts of other rows" }.into()
        }),
        (
            "tree: keys of rotation",
            match literal.stride {
                1 => "by one place".into(),
                stride => format!("by one place, and by {stride}"),
            },
        ),
        ("tree: rotations one after the other", literal.turns(tree).depth().to_string()),
        ("tree: rotations", tree.folded().saturating_sub(1).to_string()),
        ("tree: products with relinearization", products.to_string()),
        ("products of polynomials: rows first", ours.to_string()),
        ("products of polynomials: in the paper's order", theirs.to_string()),
        (
            "bits sent: of an answer's words",
            format!("{} of masks, {} of bodies", literal.answer_bits[1], literal.answer_bits[0]),
        ),
        ("noise: after the last rotation", deviation(params.noise.rotated)),
        ("noise: of u and v", format!("{u} and {v}")),
        ("noise: after the sums over rows", deviation(params.noise.first)),
        ("noise: of u times v, in the paper's order", deviation(params.noise.raw)),
        ("noise: of the whole sum", deviation(params.noise.sums[0])),
        ("noise: of the answer", deviation(params.noise.answer)),
        ("memory of a client's keys", format!("{:.1} MB", cost::session_bytes(literal) as f64 / 1e6)),
    ]
}

fn lengths(leaves: &[u32]) -> String {
    leaves.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ")
}

/// The standard deviation of a variance.
fn deviation(variance: f64) -> String {
    format!("2^{:.1}", variance.log2() / 2.0)
}
