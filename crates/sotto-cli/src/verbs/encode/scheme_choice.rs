//! The scheme of a table for which none was named: the one that a plan ranks first.
//!
//! The choice is a function of the table and of the options. A plan's bytes are exact, and its times
//! are each scheme's own count of its work at the rate of a reference machine: neither this machine
//! nor what was measured on it enters.

use crate::failure::{Exit, Failure, Result};
use crate::publication::TableIdentity;
use crate::screen::progress::StageUnit;
use crate::screen::{Screen, units};
use crate::source_args::{SourceArgs, goal, scheme};
use serde_json::{Value, json};
use sotto_core::{Goal, SchemeEntry};
use sotto_plan::{Candidate, SearchScope, ServerTrust, Workload, plan, refusal_unless_named};
use std::path::Path;
use std::time::Duration;

/// Lookups of one client in an epoch, if nobody says how many.
const DEFAULT_LOOKUPS: u64 = 100;

/// The options that a scheme has to satisfy.
pub(super) struct ChoiceRequest<'a> {
    pub(super) source: &'a SourceArgs,
    pub(super) input: &'a Path,
    pub(super) out: &'a Path,
    pub(super) replace: bool,
    pub(super) lookups: Option<u64>,
    pub(super) batch: Option<u16>,
    pub(super) parts: Option<u32>,
    pub(super) symmetric: bool,
    pub(super) row_proofs: bool,
}

/// A scheme that was chosen, with its price and that of the next best.
pub(super) struct SchemeChoice {
    pub(super) entry: &'static SchemeEntry,
    pub(super) goal: Goal,
    pub(super) lookups: u64,
    why: String,
    price: Price,
    second: Option<Price>,
    /// That of a download, if it is the third or later.
    download: Option<Price>,
}

/// What a client and its servers spend in an epoch.
struct Price {
    scheme: String,
    bytes: u64,
    computing_s: f64,
    epoch_s: f64,
}

impl Price {
    fn of(offer: &Candidate, lookups: u64) -> Self {
        let once = offer.once_bytes.saturating_add(offer.keys_bytes).saturating_add(offer.hints_bytes);
        let each = offer.up_bytes.saturating_add(offer.down_bytes);
        Price {
            scheme: offer.choice.scheme.clone(),
            bytes: once.saturating_add(lookups.saturating_mul(each)),
            computing_s: (offer.server_s + offer.client_s) * lookups as f64,
            epoch_s: offer.epoch_s,
        }
    }

    fn text(&self) -> String {
        let computing = Duration::try_from_secs_f64(self.computing_s).unwrap_or(Duration::MAX);
        format!("{} with {}, {} of computing", self.scheme, units::bytes(self.bytes), units::time(computing))
    }

    fn json(&self) -> Value {
        json!({ "scheme": self.scheme, "epoch_bytes": self.bytes, "epoch_s": self.epoch_s })
    }
}

impl ChoiceRequest<'_> {
    /// Chooses the scheme: that of the table in the directory, or else the one with which a client
    /// and its servers spend least in an epoch.
    pub(super) fn choose(&self, screen: Screen) -> Result<SchemeChoice> {
        let existing = if self.replace { None } else { TableIdentity::read(self.out)? };
        let only = existing.map(|table| scheme(table.scheme())).transpose();
        let only = only.map_err(|why| Failure::new(Exit::Params, why).fix("give --scheme and --replace"))?;
        // Beside the table, since the system's temporary folder may be smaller.
        let beside = self.out.ancestors().skip(1).find(|folder| folder.is_dir());
        let (data, _) = self.source.survey(self.input, beside, screen)?;
        let workload = Workload {
            batch: self.batch,
            machines: self.parts.unwrap_or(1),
            symmetric: self.symmetric,
            verified: self.row_proofs,
            // Whoever made the table that is there trusted its servers.
            trust: if only.is_some() { ServerTrust::TwoServers } else { ServerTrust::OneServer },
            ..Workload::of_epoch(data, self.lookups.unwrap_or(DEFAULT_LOOKUPS))
        };
        let lookups = workload.lookups;
        let refuses = |entry: &SchemeEntry| self.refuses(entry, only.is_some());
        let only = only.map(|scheme| scheme.entry());
        let scope = SearchScope { only, refuses: Some(&refuses), unproven: true, ..SearchScope::default() };
        let bars = screen.bars();
        bars.at("choosing a scheme", 0, 0, StageUnit::Share);
        let planned = plan(&workload, scope, None)?;
        bars.finish();
        let Some(best) = planned.offers.first() else {
            let why = planned.refused.iter().map(|refused| format!("{}: {}", refused.scheme, refused.why));
            let why = why.collect::<Vec<_>>().join("; ");
            return Err(Failure::new(Exit::Params, format!("no scheme fits the table ({why})"))
                .fix("give --scheme, or omit what no scheme can do"));
        };
        let named = |offer: &Candidate| sotto_registry::find(&offer.choice.scheme);
        let entry = named(best).ok_or_else(|| Failure::internal("a plan of an unknown scheme"))?;
        let is_download = |offer: &&Candidate| named(offer).is_some_and(SchemeEntry::is_downloadable);
        let why = match (only, entry.is_downloadable()) {
            (Some(_), _) => "the scheme of the table that is there; --replace chooses again".to_owned(),
            (None, true) => "a download of the table costs less than private lookups in it".to_owned(),
            (None, false) => format!(
                "it costs least of the {} schemes that fit (`sotto plan --rank-by epoch` shows them)",
                planned.offers.len()
            ),
        };
        Ok(SchemeChoice {
            entry,
            goal: goal(&best.choice.goal).map_err(Failure::internal)?,
            lookups,
            why,
            price: Price::of(best, lookups),
            second: planned.offers.get(1).map(|offer| Price::of(offer, lookups)),
            download: planned.offers.iter().skip(2).find(is_download).map(|offer| Price::of(offer, lookups)),
        })
    }

    /// Why a scheme is not taken unless it is named.
    fn refuses(&self, entry: &SchemeEntry, is_kept: bool) -> Option<String> {
        let why = match entry {
            _ if self.source.is_band() && entry.sum.is_none() => "it does not add rows up (--band)",
            _ if self.parts.is_some() && entry.server.parts.is_none() => {
                "its tables cannot be split into parts"
            }
            _ if is_kept => return None,
            _ => return refusal_unless_named(entry),
        };
        Some(why.to_owned())
    }
}

impl SchemeChoice {
    /// The choice for a person: the scheme and why, and the next best.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let lookups = match self.lookups {
            1 => "1 lookup".to_owned(),
            lookups => format!("{} lookups", units::count(lookups)),
        };
        let chosen =
            format!("{} for {lookups} of one client per epoch (--lookups): {}", self.price.text(), self.why);
        let others = [("second choice", &self.second), ("a download", &self.download)];
        let others = others.into_iter().filter_map(|(name, price)| Some((name, price.as_ref()?.text())));
        std::iter::once(("chosen", chosen)).chain(others).collect()
    }

    /// The choice for a script.
    pub(super) fn json(&self) -> Value {
        let mut choice = self.price.json();
        if let Value::Object(fields) = &mut choice {
            fields.insert("lookups".to_owned(), self.lookups.into());
            fields.insert("goal".to_owned(), self.goal.name().into());
            fields.insert("why".to_owned(), self.why.clone().into());
            for (name, price) in [("second", &self.second), ("download", &self.download)] {
                fields.insert(name.to_owned(), price.as_ref().map_or(Value::Null, Price::json));
            }
        }
        choice
    }
}
