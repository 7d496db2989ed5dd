//! What came of a row or of a key.

use super::Get;
use crate::blame;
use crate::failure::{Failure, Result};
use crate::screen::units;
use serde_json::json;
use sotto_catalog::{Bit, CatalogError, TableKind, ValueKind};
use sotto_client::Table;

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
    /// One request for everything.
    pub(super) fn look_up(&self, table: &mut Table) -> Result<Vec<Answer>> {
        if matches!(table.catalog().kind, TableKind::Keyword) {
            return self.find(table);
        }
        loop {
            let epoch = table.catalog().epoch;
            let mut rows = self.row_numbers.clone();
            let bits = bits(&self.bit_numbers, |bit| table.catalog().bit(bit))?;
            rows.extend(bits.iter().map(|(_, bit)| bit.row()));
            for key in &self.all_keys {
                let row = table.catalog().row_of(key);
                rows.push(row.map_err(|error| blame::client(error.into()))?);
            }
            let values = table.get_many(&rows).map_err(blame::client)?;
            // A new epoch in between may count its blocks from another key, or have rows of another width, which would make
            // these the rows of other keys and bits. Epochs only grow, so this ends.
            if table.catalog().epoch == epoch || self.all_keys.is_empty() && bits.is_empty() {
                let found = rows.into_iter().zip(values).collect();
                return Ok(self.name(table.catalog().value, &bits, found));
            }
        }
    }

    /// The same, of a table that is asked by key.
    fn find(&self, table: &mut Table) -> Result<Vec<Answer>> {
        if !self.row_numbers.is_empty() || !self.bit_numbers.is_empty() {
            return Err(asked_by_key());
        }
        let values = table.find_many(&self.all_keys).map_err(blame::client)?;
        let (kind, answers) = (table.catalog().value, self.all_keys.iter().cloned().zip(values));
        Ok(answers.map(|(key, value)| Answer::of_key(kind, key, None, value)).collect())
    }

    /// What came of the rows that were asked for: those of numbers, then those of bits, then those of keys.
    pub(super) fn name(
        &self,
        kind: ValueKind,
        bits: &[(u64, Bit)],
        found: Vec<(u64, Vec<u8>)>,
    ) -> Vec<Answer> {
        let mut found = found.into_iter();
        let mut answers = Vec::new();
        for (number, (row, value)) in self.row_numbers.iter().zip(found.by_ref()) {
            answers.push(Answer::new(kind, format!("row {number}"), Some(row), Some(value)));
        }
        for ((number, bit), (row, value)) in bits.iter().zip(found.by_ref()) {
            answers.push(Answer::bit(*number, row, bit.of(&value)));
        }
        for (key, (row, value)) in self.all_keys.iter().zip(found) {
            answers.push(Answer::of_key(kind, key.clone(), Some(row), Some(value)));
        }
        answers
    }
}

/// Where bits lie, each beside its number.
pub(super) fn bits(
    numbers: &[u64],
    locate: impl Fn(u64) -> sotto_catalog::Result<Bit>,
) -> Result<Vec<(u64, Bit)>> {
    let bits = numbers.iter().map(|number| Ok((*number, locate(*number)?)));
    bits.collect::<Result<_, CatalogError>>().map_err(|error| blame::client(error.into()))
}

/// A row was named where keys are.
pub(super) fn asked_by_key() -> Failure {
    Failure::usage("the table is asked by key, and its rows mean nothing by themselves").fix("give --key")
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

    fn bit(number: u64, row: u64, is_set: bool) -> Self {
        let value = u8::from(is_set);
        Answer {
            name: format!("bit {number}"),
            key: None,
            bit: Some(number),
            row: Some(row),
            value: Some((vec![value], value.to_string())),
        }
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
