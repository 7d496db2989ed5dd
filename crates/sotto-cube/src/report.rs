//! Guarantees and costs of checked parameters, for a person: the set, the ring, the shape of the
//! table, and the noise step by step against its limit at the end.

use crate::cost;
use crate::literal::Template;
use crate::literal::{GadgetTriple, Literal, TableForm, Upload};
use crate::params::Inner;
use sotto_core::{Costs, ParamsDigest, ParamsReport};

/// Makes the report of parameters; `sets` are those of their scheme.
pub(crate) fn of(params: &Inner, sets: &[Template]) -> ParamsReport {
    let costs = cost::of_literal(&params.literal, params.set);
    ParamsReport {
        digest: ParamsDigest([0; 32]),
        records: params.literal.records,
        record_bytes: params.literal.record_bytes,
        costs: Costs {
            artifact_bytes: 0,
            keys_bytes: costs.keys_bytes,
            query_bytes: params.query_bytes(),
            answer_bytes: params.grid.units() * params.unit_answer_bytes(),
            server_ops: costs.server_ops,
            client_ops: costs.client_ops,
            resident_bytes: params.grid.bytes(),
            ..Costs::default()
        },
        security: params.security.clone(),
        failure_log2: params.failure_log2,
        abort_leakage: None,
        details: sotto_core::report_details(|| details(params, sets, costs.session_bytes)),
    }
}

/// Details in groups: the part of a name before the colon is the group.
fn details(params: &Inner, sets: &[Template], session_bytes: u64) -> Vec<(&'static str, String)> {
    let Inner { literal, set: ring, noise, .. } = params;
    let moduli = match ring.special {
        Some(_) => format!("N = {}, log2 Q = {:.3}, log2 q = {:.3}", ring.n, ring.log2_full(), ring.log2_q()),
        None => format!("N = {}, log2 q = {:.3}", ring.n, ring.log2_q()),
    };
    let [mask, body] = literal.answer_bits;
    let keys = match literal.form {
        TableForm::Plain => literal.key_bits.to_string(),
        _ => format!("{}, of packing {}", literal.key_bits, literal.pack_key_bits),
    };
    let half = format!("2^{:.1}", ring.log2_q() - f64::from(literal.p_log2) - 1.0);
    let mut out = vec![
        ("set", name(literal, sets)),
        ("ring", format!("{}, {}", ring.name, ring.about)),
        ("moduli", moduli),
        ("message", message(literal)),
        ("table", format!("{} rows of 2^{} records, {}", literal.rows, literal.nu2, units(params))),
        ("selectors", selectors(literal)),
    ];
    let gadgets = [
        ("gadget: of expansion", literal.expand),
        ("gadget: of the bits' expansion", literal.expand_right),
        ("gadget: of conversion", literal.convert),
        ("gadget: of folding", literal.fold),
        ("gadget: of packing", literal.pack),
    ];
    out.extend(gadgets.into_iter().filter(|(_, triple)| triple[0] > 0).map(|(name, g)| (name, gadget(g))));
    out.extend([
        ("bits sent: of a query's words", literal.query_bits.to_string()),
        ("bits sent: of a key's words", keys),
        ("bits sent: of an answer's words", format!("{mask} of masks, {body} of bodies")),
        ("noise: of selectors", deviation(noise.selector)),
    ]);
    if literal.nu2 > 0 {
        let (message, secret) = (deviation(noise.message_row), deviation(noise.secret_row));
        out.push(("noise: of bits", format!("{message} and {secret}")));
    }
    out.push(("noise: after the first dimension", deviation(noise.first)));
    if literal.nu2 > 0 {
        out.push(("noise: after folding", deviation(noise.folded)));
    }
    if literal.form == TableForm::Packed {
        out.push(("noise: after packing", deviation(noise.packed)));
    }
    out.push(("noise: room for it", format!("{half}, half a step of the message")));
    out.push((
        "written in place",
        format!("{} of {} rows of a column under one mask", literal.written, literal.rows),
    ));
    out.push(("memory of a client's keys", cost::bytes_text(session_bytes)));
    out
}

/// The name of the set that a literal was made from; its numbers may also have been chosen by hand.
fn name(literal: &Literal, sets: &[Template]) -> String {
    let found = sets.iter().find(|set| set.makes(literal));
    found.map_or_else(|| "none of this build".to_owned(), |set| format!("{}: {}", set.name, set.about))
}

fn message(literal: &Literal) -> String {
    let p = literal.p_log2;
    match (literal.form, literal.n) {
        (TableForm::Plain, _) => format!("p = 2^{p}, one polynomial to a unit"),
        (TableForm::Packed, n) => format!("p = 2^{p}, {n} x {n} polynomials to a unit, packed (n = {n})"),
        (TableForm::Matrix, n) => format!("p = 2^{p}, a {n} x {n} matrix of polynomials to a unit (n = {n})"),
    }
}

fn units(params: &Inner) -> String {
    let bytes = params.grid.unit_bytes();
    match params.grid.units() {
        1 => format!("one unit of at most {bytes} bytes to a record"),
        n => format!("{n} units of {bytes} bytes to a record"),
    }
}

fn selectors(literal: &Literal) -> String {
    match literal.upload {
        Upload::Expanded => "expanded from one ciphertext".to_owned(),
        Upload::Direct => "sent one by one".to_owned(),
    }
}

fn gadget([l, b, a]: GadgetTriple) -> String {
    let digits = if l == 1 { "1 digit".to_owned() } else { format!("{l} digits") };
    if a == 0 { format!("{digits}, B = 2^{b}") } else { format!("{digits}, B = 2^{b}, A = 2^{a}") }
}

/// Formats the standard deviation of a variance.
fn deviation(variance: f64) -> String {
    format!("2^{:.1}", variance.log2() / 2.0)
}
