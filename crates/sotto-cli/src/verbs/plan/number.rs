//! Numbers as people write them: `1000000`, `1e6`, `2^20`; and bytes, `64MiB`.

/// Parses a count: digits, a power, or digits with an exponent.
pub(super) fn count(text: &str) -> Result<u64, String> {
    let none = || format!("{text:?} is not a count, such as 1000000, 1e6 or 2^20");
    let plain = text.replace('_', "");
    if let Some((base, power)) = plain.split_once('^') {
        let (base, power) = (base.parse::<u64>().ok(), power.parse::<u32>().ok());
        return base.zip(power).and_then(|(base, power)| base.checked_pow(power)).ok_or_else(none);
    }
    if let Some((digits, zeros)) = plain.split_once(['e', 'E']) {
        let (digits, zeros) = (digits.parse::<u64>().ok(), zeros.parse::<u32>().ok());
        let scaled =
            digits.zip(zeros).and_then(|(digits, zeros)| digits.checked_mul(10u64.checked_pow(zeros)?));
        return scaled.ok_or_else(none);
    }
    plain.parse().map_err(|_| none())
}

/// Units of bytes.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1000),
    ("B", 1),
];

/// Parses bytes: a count, with or without a unit.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let found = UNITS.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?.trim_end(), *size)));
    let (number, size) = found.unwrap_or((text, 1));
    let read = count(number).ok().and_then(|number| number.checked_mul(size));
    read.ok_or_else(|| format!("{text:?} is not a number of bytes, such as 1000, 64MiB or 8GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_digits_powers_or_have_an_exponent() {
        for (text, value) in
            [("7", 7), ("1_000", 1000), ("2^20", 1 << 20), ("1e6", 1_000_000), ("25E3", 25_000)]
        {
            assert_eq!(count(text), Ok(value));
        }
        for text in ["", "-1", "1.5", "2^", "^2", "2^64", "1e20", "e6", "many"] {
            assert!(count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_have_units() {
        for (text, value) in
            [("9", 9), ("9B", 9), ("2KiB", 2048), ("2 KB", 2000), ("2^3GiB", 8 << 30), ("1e2MB", 100_000_000)]
        {
            assert_eq!(bytes(text), Ok(value));
        }
        for text in ["", "GiB", "1.5GiB", "9e18TiB", "1 XB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
