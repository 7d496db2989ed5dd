//! One timed measurement of a case: its secrets, and the time of the code that depends on them.
//! Under Valgrind, and in tests, a case has the secrets that are written in it, and nothing is
//! timed.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sotto_testkit::rng::seeded;
use std::cell::RefCell;
use std::hint::black_box;
use std::time::{Duration, Instant};

thread_local! {
    static TRIAL: RefCell<Option<Trial>> = const { RefCell::new(None) };
}

/// The two classes of inputs of dudect: always the same secrets, or random ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Fixed,
    Random,
}

struct Trial {
    class: Class,
    /// The generator of random secrets.
    source: ChaCha20Rng,
    took: Duration,
}

/// Runs a case with secrets of a class, drawn from `source`, and returns the time of its [timed]
/// parts.
pub(crate) fn run(class: Class, source: ChaCha20Rng, case: impl FnOnce()) -> Duration {
    TRIAL.set(Some(Trial { class, source, took: Duration::ZERO }));
    case();
    TRIAL.take().map_or(Duration::ZERO, |trial| trial.took)
}

/// One of two secrets, by the class of this trial. Both are made for either class, so that a cache
/// does not distinguish them.
fn either<T>(written: T, random: impl FnOnce(&mut ChaCha20Rng) -> T) -> T {
    TRIAL.with_borrow_mut(|trial| match trial {
        None => written,
        Some(trial) => {
            let random = black_box(random(&mut trial.source));
            if trial.class == Class::Random { random } else { written }
        }
    })
}

/// A number for a case: the written one, or a random one below `below`.
pub(crate) fn pick(written: u64, below: u64) -> u64 {
    either(written, |source| source.next_u64() % below)
}

/// The generator of a case's secrets: always the same, or not.
pub(crate) fn source(label: &str) -> ChaCha20Rng {
    either(seeded(label), ChaCha20Rng::from_rng)
}

/// Runs a part of a case that has secrets, and adds its time.
pub(crate) fn timed<T>(part: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let out = black_box(part());
    let took = begun.elapsed();
    TRIAL.with_borrow_mut(|trial| {
        if let Some(trial) = trial {
            trial.took += took;
        }
    });
    out
}
