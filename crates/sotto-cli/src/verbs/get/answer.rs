//! The result of a row or of a key.

use super::Get;
use crate::failure::Failure;
use crate::screen::{Screen, units};
use serde_json::json;
use sotto_catalog::ValueKind;
use sotto_client::{ClientError, Lookup, LookupResult};
use std::io::IsTerminal;

/// Maximum number of places that one message names.
const MAX_NAMED: usize = 5;

/// The result of one lookup: a row, a bit or a key.
pub(super) struct PrintedResult {
    /// Name of the lookup, as the person gave it.
    pub(super) name: String,
    /// Key, if the lookup was by key.
    key: Option<String>,
    /// Index of the bit, if the lookup was of a bit.
    bit: Option<u64>,
    /// Index of the row, if the value is in one row.
    row: Option<u64>,
    /// Bytes of the value, and their printed form; `None` if the table does not have the key.
    value: Option<(Vec<u8>, String)>,
    /// Why the table cannot have such a row or key. A query was sent all the same.
    error: Option<String>,
}

impl Get {
    /// All lookups, in the order of the output: rows, bits, keys.
    pub(super) fn lookups(&self) -> Vec<Lookup<'_>> {
        let rows = self.row_numbers.iter().copied().map(Lookup::Row);
        let bits = self.bit_numbers.iter().copied().map(Lookup::Bit);
        rows.chain(bits).chain(self.all_keys.iter().map(|key| Lookup::Key(&key.text))).collect()
    }

    /// An answer for each lookup, in the order of [`Get::lookups`].
    pub(super) fn answers(
        &self,
        kind: ValueKind,
        results: Vec<Result<LookupResult, ClientError>>,
    ) -> Vec<PrintedResult> {
        let results = self.lookups().into_iter().zip(results);
        let answer = |(lookup, result): (Lookup<'_>, Result<LookupResult, ClientError>)| {
            let (result, error) = match result {
                Ok(result) => (result, None),
                Err(error) => (LookupResult { row: None, value: None }, Some(error.to_string())),
            };
            let LookupResult { row, value } = result;
            let answer = match lookup {
                Lookup::Row(number) => {
                    PrintedResult::new(kind, format!("row {number}"), row.or(Some(number)), value)
                }
                Lookup::Bit(number) => PrintedResult::bit(number, row, value),
                Lookup::Key(key) => PrintedResult::of_key(kind, key.to_owned(), row, value),
            };
            PrintedResult { error, ..answer }
        };
        results.map(answer).collect()
    }

    /// Prints results, a line each.
    pub(super) fn print(&self, screen: Screen, answers: &[PrintedResult]) -> crate::failure::Result<()> {
        let terminal = std::io::stdout().is_terminal();
        answers
            .iter()
            .try_for_each(|answer| screen.say(format!("{}  {}", answer.name, answer.printable(terminal))))
    }

    /// The failure that names rows and keys which the table cannot have, by their place on the command line or in the file of
    /// keys and not by their text: what is looked up is private, and messages end up in logs.
    pub(super) fn check(&self, answers: &[PrintedResult]) -> crate::failure::Result<()> {
        let before_keys = self.row_numbers.len() + self.bit_numbers.len();
        let place = |at: usize| match at.checked_sub(before_keys).and_then(|at| self.all_keys.get(at)) {
            Some(key) => key.place.to_string(),
            None => format!("number {} of the rows and bits", at + 1),
        };
        let refused = answers.iter().enumerate();
        let refused: Vec<_> = refused.filter_map(|(at, answer)| Some((at, answer.error.as_ref()?))).collect();
        let Some((first, why)) = refused.first() else { return Ok(()) };
        let text = match refused.len() {
            1 => format!("{}: {why}", place(*first)),
            several => {
                let named: Vec<_> = refused.iter().take(MAX_NAMED).map(|(at, _)| place(*at)).collect();
                let more = if several > MAX_NAMED { ", ..." } else { "" };
                let total = answers.len();
                format!("{several} of {total} lookups: {why} ({}{more})", named.join(", "))
            }
        };
        Err(Failure::missing(text).fix("give rows and keys of the table; the other lookups succeeded"))
    }
}

impl PrintedResult {
    pub(super) fn new(kind: ValueKind, name: String, row: Option<u64>, value: Option<Vec<u8>>) -> Self {
        let show = |bytes: Vec<u8>| {
            let shown = kind.show(&bytes);
            (bytes, shown)
        };
        PrintedResult { name, key: None, bit: None, row, value: value.map(show), error: None }
    }

    pub(super) fn of_key(kind: ValueKind, key: String, row: Option<u64>, value: Option<Vec<u8>>) -> Self {
        PrintedResult { key: Some(key.clone()), ..PrintedResult::new(kind, key, row, value) }
    }

    fn bit(number: u64, row: Option<u64>, value: Option<Vec<u8>>) -> Self {
        let value = value.map(|value| {
            let shown = u8::from(value == [1]).to_string();
            (value, shown)
        });
        PrintedResult { name: format!("bit {number}"), key: None, bit: Some(number), row, value, error: None }
    }

    /// The value, or the reason why there is none. On a terminal control characters are escaped, so
    /// that a publisher's value cannot move the cursor; elsewhere the bytes are printed as they
    /// are.
    pub(super) fn printable(&self, terminal: bool) -> String {
        if let Some(error) = &self.error {
            return format!("({error})");
        }
        match (&self.value, self.row) {
            (None, _) => "(the table does not have this key)".to_owned(),
            (Some((_, shown)), Some(row)) if shown.is_empty() => format!("(row {row} is empty)"),
            (Some((_, shown)), None) if shown.is_empty() => "(present, with an empty value)".to_owned(),
            (Some((_, shown)), _) if terminal => escaped(shown),
            (Some((_, shown)), _) => shown.clone(),
        }
    }

    /// Whether there is a value.
    pub(super) fn is_there(&self) -> bool {
        self.value.is_some()
    }

    /// The result as JSON.
    pub(super) fn report(&self) -> serde_json::Value {
        if let Some(error) = &self.error {
            return json!({ "key": self.key, "row": self.row, "bit": self.bit, "error": error });
        }
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

/// Text whose control characters are escaped as in a Rust literal: `\t`, `\n`, `\u{1b}`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => escaped.extend(c.escape_default()),
            false => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_move_the_cursor_and_are_whole_in_pipes() {
        let printable = |row, shown: Option<&str>, terminal| {
            let value = shown.map(|shown| (Vec::new(), shown.to_owned()));
            PrintedResult { name: String::new(), key: None, bit: None, row, value, error: None }
                .printable(terminal)
        };
        let value = "a\u{1b}[2Jb\n\tZürich";
        assert_eq!(printable(Some(0), Some(value), true), r"a\u{1b}[2Jb\n\tZürich");
        assert_eq!(printable(Some(0), Some(value), false), value);
        assert!(printable(Some(7), Some(""), true).contains("row 7"));
        assert!(printable(None, Some(""), true).contains("present, with an empty value"));
        assert!(printable(None, None, true).contains("does not have"));
    }
}
