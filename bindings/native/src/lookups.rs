//! Rows and keys from a JSON list, and the results in one piece of memory, as `README.md` describes.
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

/// Length that stands for a value that the table does not have.
const ABSENT: u64 = u64::MAX;

/// Bytes of the number of values, and of each offset and length.
const HEAD: usize = 8;
const ENTRY: usize = 16;

/// Encodes values one after the other, after the offset and length of each.
pub(crate) fn encode_values(values: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut out = (values.len() as u64).to_le_bytes().to_vec();
    let mut start = (HEAD + ENTRY * values.len()) as u64;
    for value in values {
        let length = value.as_ref().map_or(ABSENT, |value| value.len() as u64);
        out.extend(start.to_le_bytes());
        out.extend(length.to_le_bytes());
        start += value.as_ref().map_or(0, |value| value.len() as u64);
    }
    values.iter().flatten().for_each(|value| out.extend(value));
    out
}

/// A value of an encoded list.
pub(crate) enum ValueAt<'a> {
    Bytes(&'a [u8]),
    /// The table does not have the key.
    Absent,
    /// The list has fewer values.
    PastEnd,
}

/// The value at an index.
pub(crate) fn value_at(values: &[u8], index: usize) -> ValueAt<'_> {
    read(values, index).unwrap_or(ValueAt::PastEnd)
}

fn read(values: &[u8], index: usize) -> Option<ValueAt<'_>> {
    let count = u64::from_le_bytes(*values.first_chunk()?);
    if index as u64 >= count {
        return None;
    }
    let entry = values.get(HEAD.checked_add(ENTRY.checked_mul(index)?)?..)?;
    let (start, rest) = entry.split_first_chunk()?;
    let (start, length) = (u64::from_le_bytes(*start), u64::from_le_bytes(*rest.first_chunk()?));
    if length == ABSENT {
        return Some(ValueAt::Absent);
    }
    let (start, length) = (usize::try_from(start).ok()?, usize::try_from(length).ok()?);
    values.get(start..start.checked_add(length)?).map(ValueAt::Bytes)
}
