//! Numbers for a person: three significant digits, one unit.

use crate::failure::Result;
use serde::Serializer;
use std::time::Duration;

/// Formats bytes: `17 B`, `1.50 KiB`, `32.0 MiB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64;
    let mut unit = "B";
    for next in UNITS {
        // 999.5 would round to four digits, so it already takes the next unit.
        if value < 999.5 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    format!("{} {unit}", digits(value))
}

/// Formats a number in groups of three: `1 234 567`.
pub(crate) fn count(n: u64) -> String {
    let text = n.to_string();
    let mut out = String::with_capacity(text.len() * 4 / 3);
    for (i, digit) in text.chars().enumerate() {
        if i > 0 && (text.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// Formats a duration: `840 us`, `12.3 ms`, `4.56 s`.
pub(crate) fn time(t: Duration) -> String {
    let s = t.as_secs_f64();
    if s < 999.5e-6 {
        format!("{} us", digits(s * 1e6))
    } else if s < 0.9995 {
        format!("{} ms", digits(s * 1e3))
    } else {
        format!("{} s", digits(s))
    }
}

/// Formats milliseconds without a unit, for columns whose heading has it.
pub(crate) fn millis(t: Duration) -> String {
    digits(t.as_secs_f64() * 1e3)
}

/// Formats a bound on a probability: `at most 2^-41.2`; `below 2^-999` for tiny ones; `0` for what
/// cannot happen.
pub(crate) fn at_most(log2: f64) -> String {
    if log2 == f64::NEG_INFINITY {
        "0".to_owned()
    } else if log2 < -999.0 {
        "below 2^-999".to_owned()
    } else {
        format!("at most 2^{log2:.1}")
    }
}

/// Formats bits of security; information-theoretic schemes have no number.
pub(crate) fn security(bits: f64) -> String {
    if bits.is_infinite() { "information-theoretic".to_owned() } else { format!("{bits:.1} bits") }
}

/// Formats a number with at most three significant digits.
pub(crate) fn digits(value: f64) -> String {
    let places = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.places$}")
}

/// Writes a duration in JSON as milliseconds.
pub(crate) fn ms<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64() * 1e3)
}

/// Formats bytes as lower case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_three_digits() {
        for (n, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (33_554_432, "32.0 MiB"),
            (1_073_741_824, "1.00 GiB"),
            // A fourth digit takes the next unit.
            (1_023_999, "0.98 MiB"),
        ] {
            assert_eq!(bytes(n), text);
        }
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(7), "7");
        assert_eq!(count(123), "123");
        assert_eq!(count(16_777_216), "16 777 216");
    }

    #[test]
    fn times_pick_a_unit() {
        assert_eq!(time(Duration::from_micros(840)), "840 us");
        assert_eq!(time(Duration::from_micros(12_340)), "12.3 ms");
        assert_eq!(time(Duration::from_millis(4_560)), "4.56 s");
    }

    #[test]
    fn probabilities_are_powers_of_two() {
        assert_eq!(at_most(-41.23), "at most 2^-41.2");
        assert_eq!(at_most(-46_246.2), "below 2^-999");
        assert_eq!(at_most(f64::NEG_INFINITY), "0");
    }
}
