//! The ratios with their expected values: larger is better in all of them.
//!
//! The values are medians of runs of `make bench-regression`, the second column with `SOTTO_SIMD=avx2`.
//! A change that makes something faster raises its figure here, and lowers those of ratios to it; a
//! change that makes something slower on purpose explains it.

use super::BACKENDS;
use super::Figure::{self, Batching, OfRead, Times};
use super::kernels::Kernel::{DefaultShape, Gather, Scan, Select, Tiles};
use super::kernels::{CachedKernel, Kernel};

/// The machine of the expected values.
pub(super) const MEASURED_ON: &str = "AMD EPYC guest, Zen 4 (family 25 model 17), one thread";

/// One ratio.
pub(super) struct Ratio {
    pub(super) name: &'static str,
    pub(super) against: &'static str,
    pub(super) probe: Probe,
    /// The expected ratio with each of the known backends.
    pub(super) expected: [f64; BACKENDS.len()],
}

/// The measured quantity of a ratio.
pub(super) enum Probe {
    /// A kernel over memory.
    Memory(Kernel),
    /// A kernel in the caches.
    Cached(CachedKernel),
    /// A whole scheme.
    Scheme(Figure),
}

const fn memory(name: &'static str, kernel: Kernel, expected: [f64; BACKENDS.len()]) -> Ratio {
    Ratio { name, against: "a plain read", probe: Probe::Memory(kernel), expected }
}

const fn shape(name: &'static str, kernel: &'static str, expected: [f64; BACKENDS.len()]) -> Ratio {
    Ratio { name, against: "the best of its shapes", probe: Probe::Memory(DefaultShape { kernel }), expected }
}

const fn cached(name: &'static str, kernel: CachedKernel, expected: [f64; BACKENDS.len()]) -> Ratio {
    Ratio { name, against: "a read in the cache", probe: Probe::Cached(kernel), expected }
}

const fn scheme(
    name: &'static str,
    against: &'static str,
    figure: Figure,
    expected: [f64; BACKENDS.len()],
) -> Ratio {
    Ratio { name, against, probe: Probe::Scheme(figure), expected }
}

pub(super) const RATIOS: &[Ratio] = &[
    memory("scan, 24-bit words", Scan { planes: 3, queries: 1 }, [1.05, 0.21]),
    memory("scan, 24-bit words, 4 queries", Scan { planes: 3, queries: 4 }, [0.55, 0.12]),
    memory("scan, 32-bit words", Scan { planes: 4, queries: 1 }, [0.91, 0.22]),
    memory("scan, 32-bit words, 2 queries", Scan { planes: 4, queries: 2 }, [0.71, 0.15]),
    memory("scan, 32-bit words, 4 queries", Scan { planes: 4, queries: 4 }, [0.44, 0.1]),
    memory("scan, 32-bit words, 8 queries", Scan { planes: 4, queries: 8 }, [0.21, 0.062]),
    memory("scan, 56-bit words", Scan { planes: 7, queries: 1 }, [0.92, 0.17]),
    memory("tiles", Tiles { queries: 1 }, [0.88, 0.41]),
    memory("tiles, 4 queries", Tiles { queries: 4 }, [0.26, 0.12]),
    memory("select", Select { queries: 1 }, [0.94, 0.27]),
    memory("select, 8 queries", Select { queries: 8 }, [0.99, 0.19]),
    memory("select, 32 queries", Select { queries: 32 }, [0.77, 0.071]),
    memory("gather, a row in 2048", Gather, [90.1, 83.0]),
    shape("default shape of scan", "scan", [1.0, 0.99]),
    shape("default shape of tiles", "tiles", [1.0, 1.0]),
    shape("default shape of select", "select", [1.0, 1.0]),
    cached("transform of 2048", CachedKernel::Forward { n: 2048 }, [0.03, 0.02]),
    cached("transform of 4096", CachedKernel::Forward { n: 4096 }, [0.028, 0.019]),
    cached("transform of 4096, back", CachedKernel::Inverse { n: 4096 }, [0.029, 0.02]),
    Ratio {
        name: "transform of 8191",
        against: "that of 16384",
        probe: Probe::Cached(CachedKernel::Rader),
        expected: [0.56, 0.58],
    },
    cached("AES of a counter", CachedKernel::Aes, [0.11, 0.046]),
    cached("AES, a level of a tree", CachedKernel::Double, [0.11, 0.045]),
    scheme("SimplePIR, 64 MiB", "a plain read", OfRead("simplepir"), [0.89, 0.22]),
    scheme("SimplePIR, 4 at once", "one at a time", Batching("simplepir"), [1.73, 1.91]),
    scheme("FSpiral, 64 MiB", "SimplePIR", Times("simplepir", "fspiral"), [0.079, 0.21]),
    scheme("FSpiral, 1 MiB: expansion", "a plain read", OfRead("fspiral, 1 MiB"), [0.0091, 0.0061]),
    scheme("DPF, 32 MiB", "a plain read", OfRead("dpf"), [0.94, 0.41]),
    scheme("DPF, 8 at once", "one at a time", Batching("dpf"), [6.98, 3.7]),
    scheme("S3PIR with two servers", "DPF", Times("dpf", "s3pir-two"), [43.1, 97.5]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;
    use crate::regression::DEFINITION;
    use std::collections::HashSet;

    #[test]
    fn every_ratio_has_a_name_of_its_own_and_figures() {
        let names: HashSet<_> = RATIOS.iter().map(|ratio| ratio.name).collect();
        assert_eq!(names.len(), RATIOS.len());
        assert!(RATIOS.len() >= 20);
        for ratio in RATIOS {
            assert!(
                ratio.expected.iter().all(|figure| *figure > 0.0 && figure.is_finite()),
                "{}",
                ratio.name
            );
        }
    }

    #[test]
    fn every_line_of_the_definition_is_used_and_every_line_that_is_used_is_there() {
        let titles: Vec<String> = load(DEFINITION).unwrap().cases.iter().map(|case| case.title()).collect();
        let mut used = HashSet::new();
        for ratio in RATIOS {
            match ratio.probe {
                Probe::Scheme(OfRead(title) | Batching(title)) => used.extend([title]),
                Probe::Scheme(Times(slow, fast)) => used.extend([slow, fast]),
                _ => (),
            }
        }
        assert_eq!(titles.iter().map(String::as_str).collect::<HashSet<_>>(), used);
        assert_eq!(titles.len(), used.len(), "titles are their own");
    }

    #[test]
    fn every_kernel_that_has_shapes_has_its_default_guarded() {
        let guarded: Vec<_> = RATIOS
            .iter()
            .filter_map(|ratio| match ratio.probe {
                Probe::Memory(DefaultShape { kernel }) => Some(kernel),
                _ => None,
            })
            .collect();
        let kernels: Vec<_> = sotto_math::machine::shapes().iter().map(|shape| shape.kernel).collect();
        assert_eq!(guarded, kernels);
    }
}
