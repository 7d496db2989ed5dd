//! The scheme of a table for which none was named, for a person.

use crate::screen::units;
use sotto_plan::{SchemeChoice, SchemePrice};
use std::time::Duration;

/// The choice in lines: the scheme and why, and the next best.
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
    std::iter::once(("chosen", chosen)).chain(others).collect()
}

fn price_text(price: &SchemePrice) -> String {
    let computing = Duration::try_from_secs_f64(price.computing_s).unwrap_or(Duration::MAX);
    let (bytes, computing) = (units::bytes(price.epoch_bytes), units::time(computing));
    format!("{} with {bytes}, {computing} of computing", price.scheme)
}
