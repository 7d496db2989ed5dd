//! The unit of work, by which schemes can be compared before anything is built.
//!
//! The unit is one multiply-add of bytes. An operation that takes longer counts as many units as a
//! core does in that time, on the machine where the figures below were measured: one core of an AMD
//! EPYC (Zen 5, AVX-512), which reads memory at 30 to 36 bytes per nanosecond. The figures are
//! properties of that machine; another one has other times, in much the same proportions.
//!
//! They are estimates for choosing parameters, good within a factor of two where a README compares
//! them with measurements (`sotto-layers`). No check rests on them.

use std::time::Duration;

/// Units of work that one core does in a nanosecond.
pub const OPS_PER_NANOSECOND: u64 = 350;

/// Work of reading a byte from memory sequentially. Computation on the byte overlaps with the read.
pub const READ_BYTE: u64 = 12;

/// Work of reaching a row at a random address, in addition to its bytes; several rows are in flight
/// at once.
pub const FIND_ROW: u64 = 3500;

/// Work of one block of AES-128, with several in flight.
pub const AES_BLOCK: u64 = 320;

/// Nanoseconds that a byte on the wire is worth: a link of 100 Mbit/s.
pub const SENT_BYTE_NANOSECONDS: u64 = 80;

/// The time that `ops` units of work take on one core.
pub fn time(ops: u64) -> Duration {
    Duration::from_nanos(ops / OPS_PER_NANOSECOND)
}
