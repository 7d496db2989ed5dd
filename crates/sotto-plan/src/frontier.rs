//! The frontier of a table: what bytes, server time and encoding can be traded for one another, for
//! several numbers of lookups in an epoch.

use crate::calibration::Calibration;
use crate::candidate::Candidate;
use crate::workload::{RankBy, Workload};
use crate::{PlanError, SearchScope, plan};
use serde::Serialize;

/// Lookups of a client in an epoch for which a frontier is computed.
pub const LOOKUPS: [u64; 4] = [1, 2, 10, 1000];

/// Frontier of a table.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frontier {
    /// Name and version of the format.
    pub format: &'static str,
    /// Workload that was planned for, but for its lookups and epochs.
    pub workload: Workload,
    /// Points by their number of lookups, and then by bytes.
    pub points: Vec<FrontierPoint>,
}

/// A scheme with parameters that no other beats in bytes, server time and encoding at once.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrontierPoint {
    /// Lookups of a client in an epoch.
    pub lookups: u64,
    /// Name of the scheme, with its version.
    pub scheme: String,
    /// Goal that parameters are chosen for, or the name of a parameter set.
    pub parameters: String,
    /// Bytes of a lookup, with its share of what is sent once in an epoch.
    pub lookup_bytes: f64,
    /// Bytes that are sent once in an epoch, in either direction.
    pub once_bytes: u64,
    /// Core-seconds of all servers for a lookup.
    pub server_s: f64,
    /// Core-seconds of encoding, if that was measured.
    pub encode_s: Option<f64>,
}

impl FrontierPoint {
    fn of(offer: &Candidate, lookups: u64) -> Self {
        let once = offer.once_bytes.saturating_add(offer.keys_bytes).saturating_add(offer.hints_bytes);
        let each = offer.up_bytes.saturating_add(offer.down_bytes);
        FrontierPoint {
            lookups,
            scheme: offer.choice.scheme.clone(),
            parameters: offer.choice.set.clone().unwrap_or_else(|| offer.choice.goal.clone()),
            lookup_bytes: each as f64 + once as f64 / lookups as f64,
            once_bytes: once,
            server_s: offer.server_s,
            encode_s: offer.encode_s,
        }
    }

    /// Whether another point is at least as good in everything, and better in something. What was not
    /// measured of either is not compared.
    fn is_beaten_by(&self, other: &FrontierPoint) -> bool {
        let encoding = self.encode_s.zip(other.encode_s);
        let costs = [(self.lookup_bytes, other.lookup_bytes), (self.server_s, other.server_s)];
        let mut costs = costs.into_iter().chain(encoding);
        costs.clone().all(|(own, other)| other <= own) && costs.any(|(own, other)| other < own)
    }
}

/// Computes the frontier for [`LOOKUPS`] lookups of a client in an epoch.
///
/// # Errors
/// [`PlanError::Workload`].
pub fn frontier(
    workload: &Workload,
    scope: SearchScope<'_>,
    calibration: Option<&Calibration>,
) -> Result<Frontier, PlanError> {
    let mut points = Vec::new();
    for lookups in LOOKUPS {
        let epoch = Workload { lookups, updates_per_day: 1.0, aim: RankBy::Bytes, ..workload.clone() };
        let scope = SearchScope { all: true, unproven: true, ..scope };
        points.extend(points_of(&plan(&epoch, scope, calibration)?.offers, lookups));
    }
    Ok(Frontier { format: "sotto-frontier/1", workload: workload.clone(), points })
}

/// The points of some candidates for a number of lookups, by bytes.
pub(crate) fn points_of(offers: &[Candidate], lookups: u64) -> Vec<FrontierPoint> {
    let mut all: Vec<_> = offers.iter().map(|offer| FrontierPoint::of(offer, lookups)).collect();
    all.sort_by(|a, b| a.lookup_bytes.total_cmp(&b.lookup_bytes).then_with(|| a.scheme.cmp(&b.scheme)));
    let best = all.iter().filter(|point| !all.iter().any(|other| point.is_beaten_by(other)));
    best.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TableData;

    fn point(lookup_bytes: f64, server_s: f64, encode_s: Option<f64>) -> FrontierPoint {
        let (scheme, parameters) = ("a/1".to_owned(), "rate".to_owned());
        FrontierPoint { lookups: 1, scheme, parameters, lookup_bytes, once_bytes: 0, server_s, encode_s }
    }

    #[test]
    fn a_point_is_beaten_by_one_that_is_nowhere_worse() {
        let own = point(2.0, 2.0, Some(2.0));
        for (other, beats) in [
            (point(2.0, 2.0, Some(1.0)), true),
            (point(1.0, 1.0, Some(1.0)), true),
            (point(1.0, 2.0, None), true),
            (point(1.0, 1.0, Some(3.0)), false),
            (point(3.0, 1.0, None), false),
            (own.clone(), false),
        ] {
            assert_eq!(own.is_beaten_by(&other), beats, "{other:?}");
        }
    }

    #[test]
    fn more_lookups_pay_for_more_bytes_that_are_sent_once() {
        let workload = Workload::usual(TableData::Row { rows: 1 << 15, row_bytes: 64, room: 0 });
        let names = ["ypir-sp/2", "simplepir/1", "trivial/1"];
        let refuses = |entry: &sotto_core::SchemeEntry| {
            (!names.contains(&entry.id.0)).then(|| "not in this test".to_owned())
        };
        let scope = SearchScope { refuses: Some(&refuses), ..SearchScope::default() };
        let points = frontier(&workload, scope, None).unwrap().points;
        for lookups in LOOKUPS {
            let of: Vec<_> = points.iter().filter(|point| point.lookups == lookups).collect();
            assert!(!of.is_empty(), "{lookups}");
            // Without a calibration there are two costs, so fewer bytes take more time.
            assert!(of.iter().all(|point| point.encode_s.is_none()));
            for pair in of.windows(2) {
                assert!(pair[0].lookup_bytes < pair[1].lookup_bytes && pair[0].server_s > pair[1].server_s);
            }
        }
        let first = |lookups| points.iter().find(|point| point.lookups == lookups).unwrap();
        assert!(first(1).once_bytes < first(1000).once_bytes);
    }
}
