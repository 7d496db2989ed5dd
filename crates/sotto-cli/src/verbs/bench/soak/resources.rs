//! The resources of the server over a soak, sampled at many moments.

use super::server::ProcessUsage;
use serde::Serialize;
use std::time::Duration;

/// The resources of the server at one moment.
pub(super) struct UsageSample {
    pub(super) at: Duration,
    pub(super) holds: ProcessUsage,
}

/// The resources of the server over a soak: medians of two spans, each about as long as two epochs.
pub(super) struct ResourceUse {
    /// Median after a sixth of the time, when everything has happened a few times.
    pub(super) warm: ProcessUsage,
    /// Median at the end.
    pub(super) last: ProcessUsage,
    pub(super) peak: ProcessUsage,
    /// A selection of samples, for plots.
    pub(super) drawn: Vec<UsagePoint>,
}

/// A sample, as it is reported.
#[derive(Debug, Clone, Serialize)]
pub(super) struct UsagePoint {
    seconds: f64,
    memory_mib: f64,
    descriptors: usize,
}

impl ResourceUse {
    /// Computes the medians of all samples of a soak of length `whole`.
    pub(super) fn of(samples: &[UsageSample], whole: Duration) -> Self {
        let stretch = whole / 6;
        let within = |from: Duration| {
            let inside: Vec<_> =
                samples.iter().filter(|sample| sample.at >= from && sample.at < from + stretch).collect();
            let of = |what: fn(&ProcessUsage) -> u64| {
                let mut all: Vec<_> = inside.iter().map(|sample| what(&sample.holds)).collect();
                all.sort_unstable();
                all.get(all.len() / 2).copied().unwrap_or(0)
            };
            ProcessUsage {
                resident: of(|holds| holds.resident),
                anonymous: of(|holds| holds.anonymous),
                descriptors: usize::try_from(of(|holds| holds.descriptors as u64)).unwrap_or(usize::MAX),
            }
        };
        let most = |what: fn(&ProcessUsage) -> u64| {
            samples.iter().map(|sample| what(&sample.holds)).max().unwrap_or(0)
        };
        let step = samples.len().div_ceil(60).max(1);
        let drawn = samples.iter().step_by(step).map(|sample| UsagePoint {
            seconds: sample.at.as_secs_f64(),
            memory_mib: mib(sample.holds.resident),
            descriptors: sample.holds.descriptors,
        });
        ResourceUse {
            warm: within(stretch),
            last: within(whole.saturating_sub(stretch)),
            peak: ProcessUsage {
                resident: most(|holds| holds.resident),
                anonymous: most(|holds| holds.anonymous),
                descriptors: usize::try_from(most(|holds| holds.descriptors as u64)).unwrap_or(usize::MAX),
            },
            drawn: drawn.collect(),
        }
    }
}

/// Converts bytes to MiB.
pub(super) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_no_level_and_growth_is() {
        let of = |held: fn(u64) -> u64| {
            let sample = |at| {
                let (resident, descriptors) = (held(at), at as usize);
                UsageSample {
                    at: Duration::from_secs(at),
                    holds: ProcessUsage { resident, anonymous: 0, descriptors },
                }
            };
            ResourceUse::of(&(0..600).map(sample).collect::<Vec<_>>(), Duration::from_secs(600))
        };
        let spiky = of(|at| if at % 60 == 0 { 900 } else { 100 });
        assert_eq!((spiky.warm.resident, spiky.last.resident, spiky.peak.resident), (100, 100, 900));
        assert_eq!((spiky.warm.descriptors, spiky.last.descriptors), (150, 550));
        assert_eq!(spiky.drawn.len(), 60);
        let leaky = of(|at| 100 + at);
        assert_eq!((leaky.warm.resident, leaky.last.resident), (250, 650));
    }
}
