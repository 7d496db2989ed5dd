//! What came of a row or of a key.

use super::Get;
use crate::screen::units;
use serde_json::json;
use sotto_catalog::ValueKind;
use sotto_client::{Granted, Wish};

/// What came of one.
pub(super) struct Answer {
    /// What the person called it.
    pub(super) name: String,
    /// The key it was asked by, if it was.
    key: Option<String>,
    /// Which bit of the table it is, if it is one.
    bit: Option<u64>,
    /// Where it lies, if that is one row.
    row: Option<u64>,
    /// Bytes, and what they mean; `None` if the table does not have the key.
    value: Option<(Vec<u8>, String)>,
}

impl Get {
    /// Everything that is wanted, in the order it is told: rows, bits, keys.
    pub(super) fn wishes(&self) -> Vec<Wish<'_>> {
        let rows = self.row_numbers.iter().copied().map(Wish::Row);
        let bits = self.bit_numbers.iter().copied().map(Wish::Bit);
        rows.chain(bits).chain(self.all_keys.iter().map(|key| Wish::Key(key))).collect()
    }

    /// What is told of each.
    pub(super) fn answers(&self, kind: ValueKind, granted: Vec<Granted>) -> Vec<Answer> {
        let told = self.wishes().into_iter().zip(granted);
        told.map(|(wish, Granted { row, value })| match wish {
            Wish::Row(number) => Answer::new(kind, format!("row {number}"), row, value),
            Wish::Bit(number) => Answer::bit(number, row, value),
            Wish::Key(key) => Answer::of_key(kind, key.to_owned(), row, value),
        })
        .collect()
    }
}

impl Answer {
    pub(super) fn new(kind: ValueKind, name: String, row: Option<u64>, value: Option<Vec<u8>>) -> Self {
        let show = |bytes: Vec<u8>| {
            let shown = kind.show(&bytes);
            (bytes, shown)
        };
        Answer { name, key: None, bit: None, row, value: value.map(show) }
    }

    pub(super) fn of_key(kind: ValueKind, key: String, row: Option<u64>, value: Option<Vec<u8>>) -> Self {
        Answer { key: Some(key.clone()), ..Answer::new(kind, key, row, value) }
    }

    fn bit(number: u64, row: Option<u64>, value: Option<Vec<u8>>) -> Self {
        let value = value.map(|value| {
            let shown = u8::from(value == [1]).to_string();
            (value, shown)
        });
        Answer { name: format!("bit {number}"), key: None, bit: Some(number), row, value }
    }

    /// The value, or what is to be said where there is none, such that it cannot move the cursor: the publisher chose it, not
    /// the person at the terminal.
    pub(super) fn printable(&self) -> String {
        match (&self.value, self.row) {
            (None, _) => "(the table does not have this key)".to_owned(),
            (Some((_, shown)), Some(row)) if shown.is_empty() => format!("(empty: row {row} holds no value)"),
            (Some((_, shown)), None) if shown.is_empty() => "(there, with an empty value)".to_owned(),
            (Some((_, shown)), _) => {
                shown.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
            }
        }
    }

    /// Whether there is a value.
    pub(super) fn is_there(&self) -> bool {
        self.value.is_some()
    }

    /// For programs.
    pub(super) fn report(&self) -> serde_json::Value {
        let (hex, shown) = self.value.as_ref().map(|(bytes, shown)| (units::hex(bytes), shown)).unzip();
        match (self.bit, self.row) {
            (Some(bit), Some(row)) => json!({ "bit": bit, "row": row, "value": shown }),
            (None, Some(row)) => match &self.key {
                Some(key) => json!({ "key": key, "row": row, "hex": hex, "value": shown }),
                None => json!({ "row": row, "hex": hex, "value": shown }),
            },
            (_, None) => {
                json!({ "key": self.key, "found": self.value.is_some(), "hex": hex, "value": shown })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_move_the_cursor() {
        let printable = |row, shown: Option<&str>| {
            let value = shown.map(|shown| (Vec::new(), shown.to_owned()));
            Answer { name: String::new(), key: None, bit: None, row, value }.printable()
        };
        assert_eq!(printable(Some(0), Some("a\u{1b}[2Jb\n")), "a\u{fffd}[2Jb\u{fffd}");
        assert_eq!(printable(None, Some("Zürich")), "Zürich");
        assert!(printable(Some(7), Some("")).contains("row 7"));
        assert!(printable(None, Some("")).contains("there"));
        assert!(printable(None, None).contains("does not have"));
    }
}
