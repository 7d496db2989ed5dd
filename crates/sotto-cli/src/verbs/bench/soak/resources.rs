//! The resources of the server over a soak, sampled at many moments.

use super::server::ProcessUsage;
use serde::Serialize;
use std::time::Duration;

/// The resources of the server at one moment.
pub(super) struct UsageSample {
    pub(super) at: Duration,
    pub(super) usage: ProcessUsage,
}

/// The resources of the server over a soak: medians of two spans, each about as long as two epochs.
pub(super) struct ResourceUse {
    /// Median after a sixth of the time, when everything has happened a few times.
    pub(super) warm: ProcessUsage,
    /// Median at the end.
    pub(super) last: ProcessUsage,
    pub(super) peak: ProcessUsage,
    /// A selection of samples, for plots.
    pub(super) points: Vec<UsagePoint>,
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
        let span = whole / 6;
        let within = |from: Duration| {
            let inside: Vec<_> =
                samples.iter().filter(|sample| sample.at >= from && sample.at < from + span).collect();
            let of = |field: fn(&ProcessUsage) -> u64| {
                let mut all: Vec<_> = inside.iter().map(|sample| field(&sample.usage)).collect();
                all.sort_unstable();
                all.get(all.len() / 2).copied().unwrap_or(0)
            };
            ProcessUsage {
                resident: of(|usage| usage.resident),
                anonymous: of(|usage| usage.anonymous),
                descriptors: usize::try_from(of(|usage| usage.descriptors as u64)).unwrap_or(usize::MAX),
            }
        };
        let max = |field: fn(&ProcessUsage) -> u64| {
            samples.iter().map(|sample| field(&sample.usage)).max().unwrap_or(0)
        };
        let step = samples.len().div_ceil(60).max(1);
        let points = samples.iter().step_by(step).map(|sample| UsagePoint {
            seconds: sample.at.as_secs_f64(),
            memory_mib: mib(sample.usage.resident),
            descriptors: sample.usage.descriptors,
        });
        ResourceUse {
            warm: within(span),
            last: within(whole.saturating_sub(span)),
            peak: ProcessUsage {
                resident: max(|usage| usage.resident),
                anonymous: max(|usage| usage.anonymous),
                descriptors: usize::try_from(max(|usage| usage.descriptors as u64)).unwrap_or(usize::MAX),
            },
            points: points.collect(),
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
        let of = |memory: fn(u64) -> u64| {
            let sample = |at| {
                let (resident, descriptors) = (memory(at), at as usize);
                UsageSample {
                    at: Duration::from_secs(at),
                    usage: ProcessUsage { resident, anonymous: 0, descriptors },
                }
            };
            ResourceUse::of(&(0..600).map(sample).collect::<Vec<_>>(), Duration::from_secs(600))
        };
        let spiky = of(|at| if at % 60 == 0 { 900 } else { 100 });
        assert_eq!((spiky.warm.resident, spiky.last.resident, spiky.peak.resident), (100, 100, 900));
        assert_eq!((spiky.warm.descriptors, spiky.last.descriptors), (150, 550));
        assert_eq!(spiky.points.len(), 60);
        let leaky = of(|at| 100 + at);
        assert_eq!((leaky.warm.resident, leaky.last.resident), (250, 650));
    }
}
