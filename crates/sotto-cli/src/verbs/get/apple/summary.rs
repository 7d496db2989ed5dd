//! The summary of lookups: values, what they revealed to whom, and their cost.

use super::{PrintedResult, TrafficSummary};
use crate::screen::{grid, units};
use sotto_apple::client::Client;
use sotto_catalog::ValueKind;

/// The printed form of a value. Clients do not know the type of values, so valid text is printed as
/// text. Rows by number without lengths all have one length, and so zeros after a text.
pub(super) fn answer(name: String, is_key: bool, says_length: bool, value: Option<Vec<u8>>) -> PrintedResult {
    let exact = is_key || says_length;
    let is_text = value.as_deref().is_some_and(|value| {
        let end = value.iter().rposition(|byte| *byte != 0 || exact).map_or(0, |last| last + 1);
        let text = value.get(..end).and_then(|text| std::str::from_utf8(text).ok());
        text.is_some_and(|text| (exact || !text.is_empty()) && !text.chars().any(char::is_control))
    });
    let kind = if is_text { ValueKind::Text } else { ValueKind::Bytes };
    if is_key {
        PrintedResult::of_key(kind, name, None, value)
    } else {
        PrintedResult::new(kind, name, None, value)
    }
}

pub(super) fn facts(use_case: &str, client: &Client, traffic: &TrafficSummary, is_relayed: bool) -> String {
    let keys = match traffic.keys {
        0 => "nothing (keys of an earlier call)".to_owned(),
        keys => format!("{} of keys up", units::bytes(keys)),
    };
    let revealed = match client.parts_told() {
        1 => "nothing about the row".to_owned(),
        parts if parts == client.shards() as u64 => format!("in which of {parts} shards each key is"),
        parts => format!("at most in which of {parts} parts of all keys each key is"),
    };
    let relay = is_relayed
        .then(|| ("relay learns", "the address of this client, and the number of bytes".to_owned()));
    let mut facts = vec![("use case", use_case.to_owned()), ("server learns", revealed)];
    facts.extend(relay);
    facts.extend(client.is_symmetric().then(|| {
        let count = match traffic.evaluations {
            1 => "1 evaluation, proved".to_owned(),
            count => format!("{count} evaluations, proved"),
        };
        ("opened", count)
    }));
    let verified = match client.is_symmetric() {
        true => "only evaluations: this protocol has no other proofs",
        false => "no: this protocol has no proofs",
    };
    facts.extend([
        ("verified", verified.to_owned()),
        ("bytes", format!("{} up, {} down", units::bytes(traffic.up), units::bytes(traffic.down))),
        ("once", format!("{keys}, {} of configuration", units::bytes(traffic.config))),
        ("time", format!("round trip {}", units::time(traffic.round_trip))),
    ]);
    grid::facts(facts)
}
