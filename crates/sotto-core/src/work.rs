//! How work is counted, so that schemes can be compared before anything is built.
//!
//! The unit is one multiply-add of bytes. What takes longer counts as many as a core does in that time, on the machine by
//! which the figures below were found: one core of an AMD EPYC (Zen 5, AVX-512), whose plain read of memory takes 30 to 36
//! bytes a nanosecond. They are properties of that machine: another one has other times, and much the same order.
//!
//! These are estimates for choosing, good within a factor of two where a README compares them with measurements
//! (`sotto-layers`). Nothing that is checked rests on them.

use std::time::Duration;

/// Operations of one core in a nanosecond.
pub const OPS_PER_NANOSECOND: u64 = 350;

/// A byte that is read from memory, one after the other. Whatever is computed of it meanwhile is hidden behind.
pub const READ_BYTE: u64 = 12;

/// A row somewhere in memory, on top of its bytes: several are under way at once.
pub const FIND_ROW: u64 = 3500;

/// A block of AES-128, with several at a time.
pub const AES_BLOCK: u64 = 320;

/// What a byte on the wire is worth in time: a link of 100 Mbit/s.
pub const SENT_BYTE_NANOSECONDS: u64 = 80;

/// The time of some operations on one core.
pub fn time(ops: u64) -> Duration {
    Duration::from_nanos(ops / OPS_PER_NANOSECOND)
}
