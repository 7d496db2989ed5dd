//! The scheme of a table for which none was named, for a person.

use crate::screen::units;
use sotto_plan::{FrontierPoint, SchemeChoice, SchemePrice};
use std::time::Duration;

/// Most lines of the frontier.
const MAX_POINTS: usize = 6;

/// The choice in lines: the scheme and why, the next best, and the frontier.
pub(super) fn lines(choice: &SchemeChoice) -> Vec<(&'static str, String)> {
    let lookups = match choice.lookups {
        1 => "1 lookup".to_owned(),
        lookups => format!("{} lookups", units::count(lookups)),
    };
    let chosen = format!(
        "{} for {lookups} of one client per epoch (--lookups): {}",
        price_text(&choice.price),
        choice.why
    );
    let others = [("second choice", &choice.second), ("a download", &choice.download)];
    let others = others.into_iter().filter_map(|(name, price)| Some((name, price_text(price.as_ref()?))));
    // Of many points the two ends, and some between.
    let (points, last) = (&choice.frontier, choice.frontier.len().saturating_sub(1));
    let shown = points.len().min(MAX_POINTS);
    let at = |line: usize| points.get(line * last / shown.saturating_sub(1).max(1));
    let frontier = (0..shown).filter_map(at).enumerate().map(|(line, point)| {
        let name = if line == 0 { "frontier" } else { "" };
        (name, point_text(point))
    });
    std::iter::once(("chosen", chosen)).chain(others).chain(frontier).collect()
}

fn point_text(point: &FrontierPoint) -> String {
    let server = Duration::try_from_secs_f64(point.server_s).unwrap_or(Duration::MAX);
    format!(
        "{} for {}: {} a lookup, with its share of {} once; {} of a server",
        point.scheme,
        point.parameters,
        units::bytes(point.lookup_bytes as u64),
        units::bytes(point.once_bytes),
        units::time(server)
    )
}

fn price_text(price: &SchemePrice) -> String {
    let computing = Duration::try_from_secs_f64(price.computing_s).unwrap_or(Duration::MAX);
    let (bytes, computing) = (units::bytes(price.epoch_bytes), units::time(computing));
    format!("{} with {bytes}, {computing} of computing", price.scheme)
}
