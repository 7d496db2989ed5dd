//! The scheme of a table for which none was named: the one that a plan ranks first.
//!
//! The choice is a function of the table and of the options. A plan's bytes are exact, and its times
//! are each scheme's own count of its work at the rate of a reference machine: neither this machine
//! nor what was measured on it enters.

use crate::frontier::points_of;
use crate::{
    Candidate, FrontierPoint, PlanError, SearchScope, ServerTrust, TableData, Workload, plan,
    refusal_unless_named,
};
use serde::{Serialize, Serializer};
use sotto_core::{Goal, SchemeEntry};

/// Lookups of one client in an epoch, if nobody says how many.
const DEFAULT_LOOKUPS: u64 = 100;

/// Lookups of one client in an epoch, for a scheme that is named and if nobody says how many.
pub const LOOKUPS_OF_NAMED: u64 = 1000;

/// Table for which a scheme is to be chosen, and the options that the scheme has to satisfy.
#[derive(Clone)]
pub struct SchemeRequest {
    /// Contents of the table.
    pub data: TableData,
    /// Lookups of one client in an epoch; `None` for 100.
    pub lookups: Option<u64>,
    /// Largest number of rows, or keys, in a request, if it is for more than one.
    pub batch: Option<u16>,
    /// Number of parts that the table is split into, if it is.
    pub parts: Option<u32>,
    /// Whether clients may learn nothing but the requested row.
    pub symmetric: bool,
    /// Whether rows must be verified.
    pub verified: bool,
    /// Whether keys must be encoded in sums of rows.
    pub band: bool,
    /// Scheme of the table's latest epoch, which is kept.
    pub existing: Option<&'static SchemeEntry>,
}

/// Scheme that was chosen, with its price and that of the next best.
#[derive(Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SchemeChoice {
    /// The scheme.
    #[serde(skip)]
    pub entry: &'static SchemeEntry,
    /// Goal that parameters are chosen for.
    #[serde(serialize_with = "goal_name")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub goal: Goal,
    /// Lookups of one client in an epoch.
    pub lookups: u64,
    /// The reason, in words.
    pub why: String,
    /// Price of the scheme.
    #[serde(flatten)]
    pub price: SchemePrice,
    /// Price of the next best scheme.
    pub second: Option<SchemePrice>,
    /// Price of a download of the table, if that is the third or later.
    pub download: Option<SchemePrice>,
    /// Schemes and goals that no other beats in both bytes and server time, by bytes; none for a scheme
    /// that was there.
    pub frontier: Vec<FrontierPoint>,
}

/// What a client and its servers spend in an epoch.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SchemePrice {
    /// Name of the scheme, with its version.
    pub scheme: String,
    /// Bytes that a client sends and receives.
    pub epoch_bytes: u64,
    /// Seconds of computing, of a client and of its servers.
    #[serde(skip)]
    pub computing_s: f64,
    /// Seconds of computing and of sending: see [`Candidate::epoch_s`].
    pub epoch_s: f64,
}

impl SchemePrice {
    fn of(offer: &Candidate, lookups: u64) -> Self {
        let once = offer.once_bytes.saturating_add(offer.keys_bytes).saturating_add(offer.hints_bytes);
        let each = offer.up_bytes.saturating_add(offer.down_bytes);
        SchemePrice {
            scheme: offer.choice.scheme.clone(),
            epoch_bytes: once.saturating_add(lookups.saturating_mul(each)),
            computing_s: (offer.server_s + offer.client_s) * lookups as f64,
            epoch_s: offer.epoch_s,
        }
    }
}

impl SchemeRequest {
    /// Chooses the scheme: that of the table's latest epoch, or else the one with which a client and
    /// its servers spend least in an epoch.
    ///
    /// # Errors
    /// [`PlanError::Workload`], and [`PlanError::NoScheme`] where no scheme fits.
    pub fn choose(self) -> Result<SchemeChoice, PlanError> {
        let only = self.existing;
        let workload = Workload {
            batch: self.batch,
            machines: self.parts.unwrap_or(1),
            symmetric: self.symmetric,
            verified: self.verified,
            // Whoever made the table that is there trusted its servers.
            trust: if only.is_some() { ServerTrust::TwoServers } else { ServerTrust::OneServer },
            ..Workload::of_epoch(self.data.clone(), self.lookups.unwrap_or(DEFAULT_LOOKUPS))
        };
        let lookups = workload.lookups;
        let refuses = |entry: &SchemeEntry| self.refuses(entry);
        let scope = SearchScope { only, refuses: Some(&refuses), unproven: true, all: true };
        let planned = plan(&workload, scope, None)?;
        // Named sets are for those who name them.
        let offers: Vec<_> = planned.offers.into_iter().filter(|offer| offer.choice.set.is_none()).collect();
        let none = || {
            let why = planned.refused.iter().map(|refused| format!("{}: {}", refused.scheme, refused.why));
            PlanError::NoScheme(why.collect::<Vec<_>>().join("; "))
        };
        let mut schemes: Vec<&Candidate> = Vec::new();
        for offer in &offers {
            if schemes.iter().all(|known| known.choice.scheme != offer.choice.scheme) {
                schemes.push(offer);
            }
        }
        let best = *schemes.first().ok_or_else(none)?;
        let named = |offer: &Candidate| sotto_registry::find(&offer.choice.scheme);
        let entry = named(best).ok_or_else(none)?;
        let is_download = |offer: &&&Candidate| named(offer).is_some_and(SchemeEntry::is_downloadable);
        let why = match (only, entry.is_downloadable()) {
            (Some(_), _) => "the scheme of the table that is there; replacing it chooses again".to_owned(),
            (None, true) => "a download of the table costs less than private lookups in it".to_owned(),
            (None, false) => format!(
                "it costs least of the {} schemes that fit (`sotto plan --rank-by epoch` shows them)",
                schemes.len()
            ),
        };
        let price = |offer: &Candidate| SchemePrice::of(offer, lookups);
        Ok(SchemeChoice {
            entry,
            goal: best.choice.goal()?,
            lookups,
            why,
            price: price(best),
            second: schemes.get(1).copied().map(price),
            download: schemes.iter().skip(2).find(is_download).copied().map(price),
            frontier: if only.is_some() { Vec::new() } else { points_of(&offers, lookups) },
        })
    }

    /// Why a scheme is not taken unless it is named.
    fn refuses(&self, entry: &SchemeEntry) -> Option<String> {
        let why = match entry {
            _ if self.band && entry.sum.is_none() => "it does not add rows up (--band)",
            _ if self.parts.is_some() && entry.server.parts.is_none() => {
                "its tables cannot be split into parts"
            }
            _ if self.existing.is_some() => return None,
            _ => return refusal_unless_named(entry),
        };
        Some(why.to_owned())
    }
}

fn goal_name<S: Serializer>(goal: &Goal, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(goal.name())
}
