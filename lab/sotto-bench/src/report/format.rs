//! Formatting numbers and lines for people. GiB is 2^30 bytes and GB 10^9, and both are spelled out.

/// `121 MiB`, with three digits.
pub(crate) fn bytes(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB"] {
        if value < 1023.5 || unit == "TiB" {
            return if unit == "B" { format!("{n} B") } else { format!("{} {unit}", digits(value)) };
        }
        value /= 1024.0;
    }
    format!("{n} B")
}

/// `14 KB`, with three digits: multiples of 1000, as most papers count.
pub(crate) fn decimal(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if value < 999.5 || unit == "GB" {
            // Papers print "14 KB", not "14.0 KB".
            let shown = digits(value);
            let trimmed =
                if shown.contains('.') { shown.trim_end_matches('0').trim_end_matches('.') } else { &shown };
            return format!("{trimmed} {unit}");
        }
        value /= 1000.0;
    }
    format!("{n} B")
}

/// `43.2 ms` or `21.0 ns`, from milliseconds.
pub(crate) fn time(ms: f64) -> String {
    match ms.abs() {
        v if !v.is_finite() => "-".to_owned(),
        v if v >= 1000.0 => format!("{} s", digits(ms / 1e3)),
        v if v >= 0.1 || v == 0.0 => format!("{} ms", digits(ms)),
        v if v >= 1e-4 => format!("{} us", digits(ms * 1e3)),
        _ => format!("{} ns", digits(ms * 1e6)),
    }
}

/// Three significant digits, without an exponent.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "-".to_owned(),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.9995 || v == 0.0 => format!("{value:.2}"),
        v if v >= 0.00995 => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    }
}

/// `94 %`.
pub(crate) fn percent(ratio: f64) -> String {
    if ratio.is_finite() { format!("{:.0} %", ratio * 100.0) } else { "-".to_owned() }
}

/// `2^20` where the number is a power of two, otherwise its digits.
pub(crate) fn power(n: u64) -> String {
    if n.is_power_of_two() && n > 512 { format!("2^{}", n.trailing_zeros()) } else { n.to_string() }
}

/// `2^20 x 256 B`, or `2^33 x 1 bit`.
pub(crate) fn shape(rows: u64, row_bits: u64) -> String {
    let row = match row_bits {
        1 => "1 bit".to_owned(),
        bits if bits < 8 => format!("{bits} bits"),
        bits if bits >= 8 * 10_240 && (bits / 8).is_multiple_of(1024) => format!("{} KiB", bits / 8192),
        bits if bits >= 8 * 10_000 && (bits / 8).is_multiple_of(1000) => format!("{} KB", bits / 8000),
        bits => format!("{} B", bits / 8),
    };
    format!("{} x {row}", power(rows))
}

/// Lines of at most `width` characters, except where a single word is longer; all but the first indented.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, "   ".to_owned()));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_three_digits() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.00 KiB");
        assert_eq!(bytes(1 << 30), "1.00 GiB");
        assert_eq!(bytes((1 << 30) - 1), "1.00 GiB");
        assert_eq!(bytes(126_877_696), "121 MiB");
        assert_eq!(bytes(u64::MAX), "16777216 TiB");
        assert_eq!([14_000, 3_900_000, 128, 1_500].map(decimal), ["14 KB", "3.9 MB", "128 B", "1.5 KB"]);
        assert_eq!(
            [43.21, 0.0000213, 0.0021, 0.5, 2100.0].map(time),
            ["43.2 ms", "21.3 ns", "2.10 us", "0.500 ms", "2.10 s"]
        );
        assert_eq!(digits(0.0), "0.00");
        assert_eq!(digits(0.1234), "0.123");
        assert_eq!(digits(43.21), "43.2");
        assert_eq!(digits(f64::INFINITY), "-");
        assert_eq!(percent(0.936), "94 %");
    }

    #[test]
    fn shapes_as_papers_write_them() {
        assert_eq!(shape(1 << 20, 2048), "2^20 x 256 B");
        assert_eq!(shape(1 << 33, 1), "2^33 x 1 bit");
        assert_eq!(shape(1 << 15, 32768 * 8), "2^15 x 32 KiB");
        assert_eq!(shape(1 << 18, 30_000 * 8), "2^18 x 30 KB");
        assert_eq!(shape(5003, 56), "5003 x 7 B");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("a line", 20), ["a line"]);
        assert_eq!(wrapped("one two three four", 10), ["one two", "    three", "    four"]);
        assert_eq!(wrapped("unbreakablyLong x", 5), ["unbreakablyLong", "    x"]);
    }
}
