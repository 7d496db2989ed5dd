//! States and journals as bytes: what is read and written is a type, and borsh lays it out.
//!
//! Its numbers are little-endian and of fixed width, its structs the bytes of their fields one after the other, so what is drawn
//! in `spec/` can be read off the types. Lists whose lengths the parameters say are read and written without a length.

use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Error, PeerMisbehaved, Result};
use std::io::{self, Read, Write};

/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;

/// Writes a value.
///
/// # Errors
/// What `out` gives.
pub fn put(value: &impl BorshSerialize, mut out: &mut dyn Write) -> Result<()> {
    Ok(value.serialize(&mut out)?)
}

/// Where a state or a journal comes from: its bytes, and what they are called in an error.
pub struct StateReader<'a> {
    from: &'a mut dyn Read,
    what: &'static str,
    /// The storage's own failure, to be told from bytes that say nothing.
    failed: Option<io::Error>,
}

impl<'a> StateReader<'a> {
    /// A state.
    pub fn state(from: &'a mut dyn Read) -> Self {
        StateReader { from, what: "client state", failed: None }
    }

    /// An entry of a journal.
    pub fn journal(from: &'a mut dyn Read) -> Self {
        StateReader { from, what: "journal", failed: None }
    }

    /// The next value.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] for bytes that are none, or too few; what the storage gives.
    pub fn get<T: BorshDeserialize>(&mut self) -> Result<T> {
        let value = T::deserialize_reader(self);
        value.map_err(|_| self.why())
    }

    /// The next bytes.
    ///
    /// # Errors
    /// As [`StateReader::get`].
    pub fn exact(&mut self, out: &mut [u8]) -> Result<()> {
        let read = self.read_exact(out);
        read.map_err(|_| self.why())
    }

    /// Appends the next `len` bytes. Memory that is reserved is not touched before they come.
    ///
    /// # Errors
    /// As [`StateReader::get`].
    pub fn append(&mut self, list: &mut Vec<u8>, len: usize) -> Result<()> {
        let end = list.len() + len;
        while list.len() < end {
            let start = list.len();
            list.resize(end.min(start + CHUNK), 0);
            self.exact(list.get_mut(start..).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Whatever else is read from here, with its error explained.
    ///
    /// # Errors
    /// As [`StateReader::get`]; what `read` gives.
    pub fn through<T>(&mut self, read: impl FnOnce(&mut dyn Read) -> Result<T>) -> Result<T> {
        let got = read(self);
        got.map_err(|error| match error {
            Error::Storage(_) => self.why(),
            error => error,
        })
    }

    /// Refuses what was read.
    pub fn malformed(&self, why: &str) -> Error {
        PeerMisbehaved::Malformed { what: self.what, why: why.into() }.into()
    }

    /// Why nothing was read: the storage's failure, or bytes that are none.
    fn why(&mut self) -> Error {
        match self.failed.take() {
            Some(failed) => failed.into(),
            None => self.malformed("cut short, or no value of its kind"),
        }
    }
}

impl Read for StateReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.from.read(out).map_err(|error| {
            let kind = error.kind();
            // What is asked again, and bytes that end too early, are no failures of the storage.
            if !matches!(kind, io::ErrorKind::Interrupted | io::ErrorKind::UnexpectedEof) {
                self.failed = Some(error);
            }
            kind.into()
        })
    }
}

/// Room for just as many as there will be, so that no secret is left behind where a list grew.
///
/// # Errors
/// [`sotto_core::Error::Storage`] if there is no memory for it.
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
