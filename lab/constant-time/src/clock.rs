//! Timing every case, with any kernels of this machine (dudect: Reparaz, Balasch and Verbauwhede,
//! *Dude, is my code constant time?*, DATE 2017). Advisory: other programs on the machine, and few
//! measurements, hide differences.
//!
//! A coin decides the class of each measurement: the secrets that are written in the case, or
//! random ones. The work before and after is the same for both. If their mean times differ, time
//! depends on secrets.

use crate::cases::{self, Case};
use crate::trial::{self, Class};
use crate::welch::Battery;
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
        (class, trial::run(class, source, || round(0)).as_nanos() as f64)
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
