//! Borsh encoding and decoding of saved states and journals.
//!
//! Numbers are little-endian and of fixed width, and a struct is the bytes of its fields one after
//! the other, so the drawings in `spec/` can be read off the types. Lists whose lengths follow from
//! the parameters are written and read without a length.

use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Error, PeerMisbehaved, Result};
use std::io::{self, Read, Write};

/// Bytes that one read takes at most.
const CHUNK: usize = 1 << 16;

/// Writes a value to `out` in borsh.
///
/// # Errors
/// Errors of `out`.
pub fn put(value: &impl BorshSerialize, mut out: &mut dyn Write) -> Result<()> {
    Ok(value.serialize(&mut out)?)
}

/// A reader of states and journals, which names the file in its errors.
pub struct StateReader<'a> {
    from: &'a mut dyn Read,
    what: &'static str,
    /// The error of the storage, as opposed to malformed bytes.
    failed: Option<io::Error>,
}

impl<'a> StateReader<'a> {
    /// Reads a saved state.
    pub fn state(from: &'a mut dyn Read) -> Self {
        StateReader { from, what: "client state", failed: None }
    }

    /// Reads an entry of a journal.
    pub fn journal(from: &'a mut dyn Read) -> Self {
        StateReader { from, what: "journal", failed: None }
    }

    /// Reads the next value.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] for malformed or missing bytes; errors of the storage.
    pub fn get<T: BorshDeserialize>(&mut self) -> Result<T> {
        let value = T::deserialize_reader(self);
        value.map_err(|_| self.why())
    }

    /// Fills `out` with the next bytes.
    ///
    /// # Errors
    /// The errors of [`StateReader::get`].
    pub fn exact(&mut self, out: &mut [u8]) -> Result<()> {
        let read = self.read_exact(out);
        read.map_err(|_| self.why())
    }

    /// Appends the next `len` bytes to `list`. Reserved memory is not touched before the bytes
    /// come.
    ///
    /// # Errors
    /// The errors of [`StateReader::get`].
    pub fn append(&mut self, list: &mut Vec<u8>, len: usize) -> Result<()> {
        let end = list.len() + len;
        while list.len() < end {
            let start = list.len();
            list.resize(end.min(start + CHUNK), 0);
            self.exact(list.get_mut(start..).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Runs a reader of other formats on the remaining bytes, and explains its errors.
    ///
    /// # Errors
    /// The errors of [`StateReader::get`], and those of `read`.
    pub fn through<T>(&mut self, read: impl FnOnce(&mut dyn Read) -> Result<T>) -> Result<T> {
        let got = read(self);
        got.map_err(|error| match error {
            Error::Storage(_) => self.why(),
            error => error,
        })
    }

    /// The error for values that were read and are invalid.
    pub fn malformed(&self, why: &str) -> Error {
        PeerMisbehaved::Malformed { what: self.what, why: why.into() }.into()
    }

    /// The cause of a failed read: an error of the storage, or malformed bytes.
    fn why(&mut self) -> Error {
        match self.failed.take() {
            Some(failed) => failed.into(),
            None => self.malformed("the value is cut short or not valid"),
        }
    }
}

impl Read for StateReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.from.read(out).map_err(|error| {
            let kind = error.kind();
            // Interrupted reads are repeated, and bytes that end too early are not a failure of the
            // storage.
            if !matches!(kind, io::ErrorKind::Interrupted | io::ErrorKind::UnexpectedEof) {
                self.failed = Some(error);
            }
            kind.into()
        })
    }
}

/// Reserves space for exactly `len` elements, so that a growing list leaves no copy of a secret
/// behind.
///
/// # Errors
/// [`sotto_core::Error::Storage`] if the memory is not available.
pub fn reserve<T>(list: &mut Vec<T>, len: usize) -> Result<()> {
    Ok(list.try_reserve_exact(len).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that fails after some bytes.
    struct Failing<'a>(&'a [u8]);

    impl Read for Failing<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.0.read(out)? {
                0 => Err(io::ErrorKind::InvalidData.into()),
                some => Ok(some),
            }
        }
    }

    #[test]
    fn bytes_that_are_none_are_told_from_a_storage_that_fails() {
        let mut bytes = Vec::new();
        put(&(7u64, true), &mut bytes).unwrap();
        assert_eq!(bytes, [7, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(StateReader::state(&mut bytes.as_slice()).get::<(u64, bool)>().unwrap(), (7, true));
        for wrong in [&bytes[..8], &[&bytes[..8], &[2]].concat()] {
            let got = StateReader::state(&mut &wrong[..]).get::<(u64, bool)>();
            assert!(matches!(got, Err(Error::Peer(PeerMisbehaved::Malformed { .. }))), "{got:?}");
        }
        let got = StateReader::state(&mut Failing(&bytes[..8])).get::<(u64, bool)>();
        assert!(matches!(got, Err(Error::Storage(_))), "{got:?}");
        let got = StateReader::state(&mut Failing(&bytes[..8])).exact(&mut [0; 9]);
        assert!(matches!(got, Err(Error::Storage(_))), "{got:?}");
    }
}
