//! Rows and keys from a JSON list.
//!
//! A missing request would reveal something, so an item that is neither a valid row nor a valid key
//! is queried as row 0, and is an error once the answers have arrived.

use serde_json::Value;
use sotto_binding::{BindingError, ErrorKind};
use sotto_client::Lookup;

/// Maximum number of lookups of one call.
const MAX: usize = 1 << 16;

/// One item of the list.
pub(crate) enum ParsedLookup {
    Row(u64),
    Key(String),
    /// An item that is neither a valid row nor a valid key.
    Invalid(BindingError),
}

impl ParsedLookup {
    /// The lookup to make.
    pub(crate) fn as_lookup(&self) -> Lookup<'_> {
        match self {
            ParsedLookup::Row(row) => Lookup::Row(*row),
            ParsedLookup::Key(key) => Lookup::Key(key),
            ParsedLookup::Invalid(_) => Lookup::Row(0),
        }
    }

    /// A key from its bytes, valid or not.
    pub(crate) fn key(bytes: Result<&[u8], BindingError>) -> Self {
        match bytes.map(str::from_utf8) {
            Ok(Ok(key)) => ParsedLookup::Key(key.to_owned()),
            Ok(Err(error)) => ParsedLookup::Invalid(BindingError::misuse(
                format!("a key is not UTF-8: {error}"),
                "give keys in UTF-8",
            )),
            Err(fault) => ParsedLookup::Invalid(fault),
        }
    }

    /// Parses a list. An invalid list becomes one invalid item.
    pub(crate) fn list(json: Result<&[u8], BindingError>) -> Vec<Self> {
        let parsed = json.and_then(|json| {
            let fix = "give a list of rows and keys, such as [7, \"ann@example.com\"]";
            let list: Vec<Value> = serde_json::from_slice(json).map_err(|error| {
                BindingError::misuse(format!("the lookups are not a JSON list: {error}"), fix)
            })?;
            match list.len() <= MAX {
                true => Ok(list),
                false => Err(BindingError::misuse(
                    format!("{} lookups in one call, at most {MAX} are allowed", list.len()),
                    fix,
                )),
            }
        });
        match parsed {
            Ok(list) => list.into_iter().map(ParsedLookup::of).collect(),
            Err(fault) => vec![ParsedLookup::Invalid(fault)],
        }
    }

    fn of(value: Value) -> Self {
        match value {
            Value::String(key) => ParsedLookup::Key(key),
            Value::Number(number) => match number.as_u64() {
                Some(row) => ParsedLookup::Row(row),
                None => ParsedLookup::Invalid(BindingError::new(
                    ErrorKind::Row,
                    "misuse",
                    format!("a row number is not a whole number from 0: {number}"),
                    "give a row of the table",
                )),
            },
            _ => ParsedLookup::Invalid(BindingError::misuse(
                "a lookup is neither a number nor text",
                "give a row as a number, or a key as text",
            )),
        }
    }
}
