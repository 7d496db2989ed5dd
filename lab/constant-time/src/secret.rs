//! Marking values as secret, and as public again. Without feature `valgrind` nothing is marked, and
//! a case is a lookup.
//!
//! Secret memory is *undefined* to memcheck, and so is everything computed from it. Sent bytes are
//! made public before the other end reads them.
//!
//! A trial is one timed measurement of a case: its secrets, and the time of the code that depends on
//! them. Under Valgrind, and in tests, a case has the secrets that are written in it, and nothing is
//! timed.

use rand_chacha::ChaCha20Rng;
use rand_core::{Infallible, Rng, SeedableRng, TryCryptoRng, TryRng};
use sotto_core::Record;
use sotto_testkit::rng::seeded;
use std::cell::RefCell;
use std::hint::black_box;
use std::time::{Duration, Instant};

#[cfg(feature = "valgrind")]
use crabgrind::memcheck::{MemState, mark_mem};

/// Marks a value's own bytes, and not what it points to.
#[cfg(feature = "valgrind")]
fn mark<T: ?Sized>(value: &mut T, state: MemState) {
    let len = size_of_val(value);
    // It fails without Valgrind, where there is nothing to mark.
    let _ = mark_mem(std::ptr::from_mut(value).cast(), len, state);
}

/// Makes a value's own bytes secret.
pub(crate) fn hide<T: ?Sized>(value: &mut T) {
    #[cfg(feature = "valgrind")]
    mark(value, MemState::Undefined);
    black_box(value);
}

/// Makes a value's own bytes public.
pub(crate) fn show<T: ?Sized>(value: &mut T) {
    #[cfg(feature = "valgrind")]
    mark(value, MemState::Defined);
    black_box(value);
}

/// A secret number.
pub(crate) fn hidden<T>(mut value: T) -> T {
    hide(&mut value);
    value
}

/// A value without pointers, made public.
pub(crate) fn shown<T>(mut value: T) -> T {
    show(&mut value);
    value
}

/// Messages, as the other end gets them.
pub(crate) fn sent(mut messages: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    messages.iter_mut().for_each(|message| show(message.as_mut_slice()));
    messages
}

/// A record's bytes, to be compared with what they should be.
pub(crate) fn bytes_of(record: &Record) -> Vec<u8> {
    let mut bytes = record.bytes().to_vec();
    show(bytes.as_mut_slice());
    bytes
}

/// A generator that repeats itself, and whose bytes are secret.
pub(crate) struct SecretRng<R>(pub(crate) R);

impl<R: TryRng<Error = Infallible>> TryRng for SecretRng<R> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32().map(hidden)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64().map(hidden)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(out)?;
        hide(out);
        Ok(())
    }
}

impl<R: TryRng<Error = Infallible>> TryCryptoRng for SecretRng<R> {}

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
pub(crate) fn run_trial(class: Class, source: ChaCha20Rng, case: impl FnOnce()) -> Duration {
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
