//! Timing every case, with any kernels of this machine (dudect: Reparaz, Balasch and Verbauwhede,
//! *Dude, is my code constant time?*, DATE 2017). Advisory: other programs on the machine, and few
//! measurements, hide differences.
//!
//! A coin decides the class of each measurement: the secrets that are written in the case, or
//! random ones. The work before and after is the same for both. If their mean times differ, time
//! depends on secrets: that is Welch's t-test, online, over all times and over the faster ones.
//!
//! Other programs on a machine make some measurements long, and hide small differences. So the test
//! is also made of the times below some percentile, for many percentiles, and of squared deviations,
//! as dudect's reference implementation does.

use crate::cases::{self, Case};
use crate::secret::{Class, run_trial};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sotto_testkit::rng::seeded;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Above this |t| time depends on secrets, as in dudect's implementation.
const MAX_T: f64 = 10.0;
/// Fewer measurements than these find coarse leaks only.
const MIN_MEASUREMENTS: usize = 10_000;
/// The measurements that percentiles come from, and the part of the time that they may take.
const FIRST: usize = 1_000;
const FIRST_PART: u32 = 10;

/// Times the cases whose names contain one of `names`, or all, for `seconds` in total, and the
/// controls in any case. Fails only if the controls do.
pub(crate) fn run(seconds: u64, names: &[String]) -> ExitCode {
    let is_selected = |case: &Case| {
        case.is_control() || names.is_empty() || names.iter().any(|part| case.name.contains(part))
    };
    let cases: Vec<Case> = cases::for_the_clock().into_iter().filter(is_selected).collect();
    let each = Duration::from_secs(seconds) / u32::try_from(cases.len()).unwrap_or(u32::MAX).max(1);
    println!("kernels: {}; {:.1} s for each case", sotto_math::machine::backend(), each.as_secs_f64());
    println!("{:24} {:>12} {:>8}", "case", "measurements", "max |t|");
    let mut wrong = Vec::new();
    for case in &cases {
        let battery = measure(case, each);
        let (count, t) = (battery.count(), battery.max_t());
        let word = match (t > MAX_T, count < MIN_MEASUREMENTS) {
            (true, _) => "depends on secrets",
            (false, true) => "no dependence found in few measurements",
            (false, false) => "no dependence found",
        };
        println!("{:24} {count:12} {t:8.1}  {word}", case.name);
        if case.is_control() && (t > MAX_T) != cases::leaks(case) {
            wrong.push(format!(
                "{}: |t| of this control is {t:.1}, so the results above prove nothing",
                case.name
            ));
        }
    }
    wrong.iter().for_each(|wrong| println!("{wrong}"));
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(case: &Case, limit: Duration) -> Battery {
    let (mut round, mut rng) = (case.made(), seeded(&case.name));
    let mut once = || {
        let class = if rng.next_u32() & 1 == 0 { Class::Fixed } else { Class::Random };
        let source = ChaCha20Rng::from_rng(&mut rng);
        (class, run_trial(class, source, || round(0)).as_nanos() as f64)
    };
    let begun = Instant::now();
    let mut first = Vec::with_capacity(FIRST);
    while first.len() < FIRST && begun.elapsed() < limit / FIRST_PART {
        first.push(once().1);
    }
    let mut battery = Battery::new(first);
    while begun.elapsed() < limit {
        let (class, time) = once();
        battery.add(class, time);
    }
    battery
}

/// Tests over times below a percentile.
const CROPS: usize = 100;
/// Minimum number of measurements of each class for a meaningful test.
const MIN: f64 = 100.0;

/// Sums of one class (Welford).
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, x: f64) {
        self.count += 1.0;
        let before = x - self.mean;
        self.mean += before / self.count;
        self.squares += before * (x - self.mean);
    }

    /// The variance of the mean.
    fn error(&self) -> f64 {
        self.squares / (self.count - 1.0) / self.count
    }
}

/// One test: the sums of both classes.
#[derive(Debug, Clone, Copy, Default)]
struct Test([Sums; 2]);

impl Test {
    fn add(&mut self, class: Class, x: f64) {
        let Test([fixed, random]) = self;
        match class {
            Class::Fixed => fixed.add(x),
            Class::Random => random.add(x),
        }
    }

    /// |t|, where there are enough measurements.
    fn t(&self) -> Option<f64> {
        let Test([fixed, random]) = self;
        let apart = (fixed.mean - random.mean).abs();
        let enough = fixed.count.min(random.count) >= MIN;
        // Classes without any spread differ, or do not.
        let of = |error: f64| if apart == 0.0 { 0.0 } else { apart / error };
        enough.then(|| of((fixed.error() + random.error()).sqrt()))
    }
}

/// All tests of one case.
struct Battery {
    all: Test,
    squares: Test,
    crops: Vec<(f64, Test)>,
    count: usize,
}

impl Battery {
    /// Tests whose percentiles are those of the first measurements, which count for nothing else.
    fn new(mut first: Vec<f64>) -> Self {
        first.sort_unstable_by(f64::total_cmp);
        let at = |k: usize| {
            let part = 1.0 - 0.5f64.powf(10.0 * (k + 1) as f64 / CROPS as f64);
            first.get((first.len() as f64 * part) as usize).copied().unwrap_or(f64::INFINITY)
        };
        let crops = (0..CROPS).map(|k| (at(k), Test::default())).collect();
        Battery { all: Test::default(), squares: Test::default(), crops, count: 0 }
    }

    fn add(&mut self, class: Class, time: f64) {
        self.count += 1;
        self.all.add(class, time);
        for (_, test) in self.crops.iter_mut().filter(|(limit, _)| time < *limit) {
            test.add(class, time);
        }
        // Around the mean of both, which is known well enough by then.
        if self.count as f64 > 2.0 * MIN {
            let Test([fixed, random]) = self.all;
            let mean = (fixed.mean * fixed.count + random.mean * random.count) / (fixed.count + random.count);
            self.squares.add(class, (time - mean).powi(2));
        }
    }

    /// Number of tested measurements.
    fn count(&self) -> usize {
        self.count
    }

    /// The largest |t| of all tests; 0 if there were too few measurements for any.
    fn max_t(&self) -> f64 {
        let crops = self.crops.iter().map(|(_, test)| test);
        crops.chain([&self.all, &self.squares]).filter_map(Test::t).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest |t| of times around 1000 with a spread of 100, of which `shift` makes random ones others.
    fn max_t(label: &str, shift: impl Fn(f64) -> f64) -> f64 {
        let mut rng = seeded(label);
        let mut next = || {
            let spread = (0..12).map(|_| f64::from(rng.next_u32()) / f64::from(u32::MAX)).sum::<f64>() - 6.0;
            let class = if rng.next_u32() & 1 == 0 { Class::Fixed } else { Class::Random };
            let time = 1000.0 + 100.0 * spread;
            (class, if class == Class::Random { shift(time) } else { time })
        };
        let mut battery = Battery::new((0..1000).map(|_| next().1).collect());
        (0..20_000).map(|_| next()).for_each(|(class, time)| battery.add(class, time));
        assert_eq!(battery.count(), 20_000);
        battery.max_t()
    }

    #[test]
    fn equal_classes_are_not_distinguished() {
        for label in ["one", "two", "three", "four"] {
            let t = max_t(label, |time| time);
            assert!(t < 5.0, "{label}: {t}");
        }
    }

    #[test]
    fn a_mean_a_spread_and_a_rare_delay_are_noticed() {
        let t = max_t("mean", |time| time + 10.0);
        // A tenth of a deviation, of 10,000 each: 7.
        assert!((5.0..12.0).contains(&t), "{t}");
        assert!(max_t("spread", |time| 1000.0 + 1.3 * (time - 1000.0)) > 10.0);
        assert!(max_t("delay", |time| if time < 900.0 { time + 50.0 } else { time }) > 10.0);
    }

    #[test]
    fn the_statistic_is_welchs() {
        let mut test = Test::default();
        for i in 0..100 {
            test.add(Class::Fixed, f64::from(i % 2));
            test.add(Class::Random, f64::from(i % 4));
        }
        // Means 0.5 and 1.5; variances 25 / 99 and 125 / 99.
        let t = 1.0 / (25.0 / 99.0 / 100.0 + 125.0 / 99.0 / 100.0f64).sqrt();
        assert!((test.t().unwrap() - t).abs() < 1e-9);
        assert_eq!(Test::default().t(), None);
    }
}
