//! Reads keys in the form of their table, for every format, and counts suspicious ones.

use super::Notes;
use super::error::IngestProblem;
use super::line_reader::Cell;
use sotto_layers::keyword::{Key, KeyForm};
use std::borrow::Cow;

/// Reads keys of one form.
pub(crate) struct KeyReader {
    form: KeyForm,
    notes: Notes,
}

/// Characters that people write between the digits of a telephone number.
const SEPARATORS: [char; 8] = [' ', '-', '.', '(', ')', '/', '\u{a0}', '\u{202f}'];

impl KeyReader {
    /// A reader of keys of this form.
    pub(crate) fn new(form: KeyForm) -> Self {
        KeyReader { form, notes: Notes::default() }
    }

    /// Reads the key of a cell.
    pub(crate) fn read(&mut self, cell: &Cell) -> Result<Key, IngestProblem> {
        let text = cell.text()?;
        if self.form == KeyForm::Text && text.contains(&0) {
            return Err(IngestProblem::ZeroByteInKey);
        }
        // Publishers' lists may be formatted for people; clients look up plain numbers.
        let written = if self.form == KeyForm::Phone { plain(&text) } else { text };
        let key = self.form.canonical(&written).map_err(IngestProblem::Key)?;
        self.note(&key);
        Ok(key)
    }

    fn note(&mut self, key: &[u8]) {
        let is_text = self.form == KeyForm::Text;
        let has = |is: bool| u64::from(is);
        self.notes.wildcard_keys += has((is_text || self.form == KeyForm::Domain) && key.starts_with(b"*."));
        self.notes.spaced_numbers += has(is_text && is_spaced_number(key));
        self.notes.digest_keys += has(is_text && is_digest(key));
    }

    /// Adds counts of suspicious keys to the notes of a file. Hashes are noted only if all keys are
    /// hashes.
    pub(crate) fn notes(&self, of_file: Notes) -> Notes {
        let Notes { wildcard_keys, spaced_numbers, digest_keys, .. } = self.notes;
        let digest_keys = if digest_keys == of_file.lines { digest_keys } else { 0 };
        Notes { wildcard_keys, spaced_numbers, digest_keys, ..of_file }
    }
}

/// A telephone number without the separators between its digits.
fn plain(text: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(text) {
        Ok(text) if text.contains(SEPARATORS) => text.replace(SEPARATORS, "").into_bytes().into(),
        _ => text.into(),
    }
}

fn is_spaced_number(key: &[u8]) -> bool {
    key.starts_with(b"+") && {
        let plain = plain(key);
        plain.len() < key.len() && KeyForm::Phone.canonical(&plain).is_ok()
    }
}

/// Whether a key has the length of a hash in hexadecimal digits, with a letter among them.
fn is_digest(key: &[u8]) -> bool {
    matches!(key.len(), 32 | 40 | 64)
        && key.iter().all(u8::is_ascii_hexdigit)
        && key.iter().any(u8::is_ascii_alphabetic)
}
