//! Marking values as secret, and as public again. Without feature `valgrind` nothing is marked, and
//! a case is a lookup.
//!
//! Secret memory is *undefined* to memcheck, and so is everything computed from it. Sent bytes are
//! made public before the other end reads them.

use rand_core::{Infallible, TryCryptoRng, TryRng};
use sotto_core::Record;

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
    std::hint::black_box(value);
}

/// Makes a value's own bytes public.
pub(crate) fn show<T: ?Sized>(value: &mut T) {
    #[cfg(feature = "valgrind")]
    mark(value, MemState::Defined);
    std::hint::black_box(value);
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
