//! Entries of an index table that follow their lengths, as newer clients read them.
//!
//! ```text
//! length (LE, 1, 2, 4 or 8 bytes) | value | zeros
//! ```
//!
//! The number of bytes of a length follows from the longest value, whose size is the entry size in
//! a configuration.

use sotto_catalog::RowForm;

/// Form of entries whose longest value has `longest` bytes.
pub fn form(longest: u64) -> RowForm {
    RowForm::Length(match longest {
        0..0x100 => 1,
        0x100..0x1_0000 => 2,
        0x1_0000..0x1_0000_0000 => 4,
        _ => 8,
    })
}

/// Bytes of an entry whose longest value has `longest` bytes; `None` on overflow.
pub fn entry_bytes(longest: u64) -> Option<u64> {
    longest.checked_add(form(longest).overhead())
}

/// Bytes of the longest value of entries of `entry_bytes` bytes including the length; `None` if
/// entries cannot have that size.
pub fn longest(entry_bytes: u64) -> Option<u64> {
    let all = [1, 2, 4, 8].into_iter().filter_map(|width| entry_bytes.checked_sub(width));
    all.into_iter().find(|longest| self::entry_bytes(*longest) == Some(entry_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_has_as_many_bytes_as_the_longest_value_calls_for() {
        let table = [
            (0, 1),
            (255, 256),
            (256, 258),
            (0xFFFF, 0x1_0001),
            (0x1_0000, 0x1_0004),
            (0xFFFF_FFFF, 0x1_0000_0003),
            (0x1_0000_0000, 0x1_0000_0008),
        ];
        for (value, entry) in table {
            assert_eq!((entry_bytes(value), longest(entry)), (Some(entry), Some(value)));
        }
        for none in [0, 257, 0x1_0002, 0x1_0003, 0x1_0000_0004, 0x1_0000_0007] {
            assert_eq!(longest(none), None, "{none}");
        }
        assert_eq!(entry_bytes(u64::MAX), None);
    }
}
