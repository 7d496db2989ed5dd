//! A file with a half-done preparation, with which another process can continue.
//!
//! The file contains the key of a client that has made no queries yet. It must not be used again
//! once that client has become the state's client, whose key has made queries. So the file names
//! the state and its number of clients, which changes in the same transaction that replaces the
//! client; a file that names another state or another number is refused.

use super::StateError;
use super::checksum::{HashingIo, is_sealed, write_with_digest};
use super::disk::{Disk, disk_error};
use super::metadata::{RowsVersion, Snapshot, StateMetadata};
use super::snapshot::{self, ClientReader};
use crate::session::SavedPreparation;
use sotto_catalog::Hex32;
use sotto_core::{AnyCheckpoint, AnyClient, AnyPrepare, Epoch, Error, ParamsDigest, Result};
use std::io::{self, ErrorKind, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Name of the file in the state's folder.
pub(crate) const FILE: &str = "pass";
/// Name of the file before it is complete.
const HALF: &str = "pass.new";

/// First bytes of the file.
const MAGIC: &[u8; 16] = b"sotto-pass/1\0\0\0\0";

/// The header before a preparation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreparationHeader {
    /// Id of the state, as text.
    pub id: [u8; 32],
    /// Number of clients that the state had when the preparation began.
    pub clients: u64,
    /// Epoch of the rows that it absorbs.
    pub epoch: Epoch,
    /// Digest of the parameters.
    pub params: Hex32,
    /// Digest of the rows.
    pub rows: Hex32,
}

impl PreparationHeader {
    /// Bytes of a header.
    pub const BYTES: usize = 128;

    /// Encodes the header.
    pub fn encode(&self) -> Vec<u8> {
        let numbers = [self.clients.to_le_bytes(), self.epoch.0.to_le_bytes()].concat();
        [&MAGIC[..], &self.id, &numbers, &self.params.0, &self.rows.0].concat()
    }

    /// Decodes what [`PreparationHeader::encode`] wrote; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (id, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
        let (clients, rest) = rest.split_first_chunk::<8>()?;
        let (epoch, rest) = rest.split_first_chunk::<8>()?;
        let (params, rows) = rest.split_first_chunk::<32>()?;
        Some(PreparationHeader {
            id: *id,
            clients: u64::from_le_bytes(*clients),
            epoch: Epoch(u64::from_le_bytes(*epoch)),
            params: Hex32::from(*params),
            rows: Hex32::from(<[u8; 32]>::try_from(rows).ok()?),
        })
    }
}

/// The state and the number of clients that a preparation file has to name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PreparationBinding {
    id: [u8; 32],
    clients: u64,
    params: Hex32,
}

impl PreparationBinding {
    /// The binding to a state as it is now.
    pub(crate) fn of(metadata: &StateMetadata) -> Self {
        let mut id = [0; 32];
        id.iter_mut().zip(metadata.id.bytes()).for_each(|(to, from)| *to = from);
        PreparationBinding { id, clients: metadata.clients, params: metadata.params }
    }

    /// Why a preparation is not this state's next client, if it is not.
    fn refuses(&self, header: &PreparationHeader) -> Option<String> {
        match () {
            () if header.id != self.id => Some("of another state".to_owned()),
            () if header.clients != self.clients => {
                Some(format!("begun after {} clients, expected {}", header.clients, self.clients))
            }
            () if header.params != self.params => Some("of other parameters".to_owned()),
            () => None,
        }
    }
}

/// What was found in the folder.
pub(crate) enum PreparationOnDisk {
    /// No preparation.
    Nothing,
    /// A preparation that cannot be used, and why.
    Unusable(String),
    /// A preparation to continue.
    Partial(SavedPreparation),
}

/// The files of a state's next client: a half-done preparation, and a whole client. Another thread
/// may write them, until the state is closed; then further writes do nothing.
#[derive(Clone)]
pub(crate) struct NextClientFiles {
    disk: Arc<Mutex<Option<Arc<dyn Disk>>>>,
    binding: PreparationBinding,
    /// Number of the snapshot that the next client gets.
    generation: u64,
}

impl NextClientFiles {
    pub(crate) fn new(disk: Arc<dyn Disk>, binding: PreparationBinding, generation: u64) -> Self {
        NextClientFiles { disk: Arc::new(Mutex::new(Some(disk))), binding, generation }
    }

    /// Whether both are the same files.
    pub(crate) fn is(&self, other: &NextClientFiles) -> bool {
        Arc::ptr_eq(&self.disk, &other.disk)
    }

    fn disk(&self) -> MutexGuard<'_, Option<Arc<dyn Disk>>> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops all further writes, and waits for one in progress.
    pub(crate) fn close(&self) {
        self.disk().take();
    }

    /// Writes a preparation in place of the previous one. A full disk is no error: then more is
    /// lost with the process than necessary.
    pub(crate) fn save(&self, at: RowsVersion, preparation: &dyn AnyCheckpoint) -> crate::Result<()> {
        let held = self.disk();
        let Some(disk) = held.as_ref() else { return Ok(()) };
        let PreparationBinding { id, clients, params } = self.binding;
        let header = PreparationHeader { id, clients, epoch: at.epoch, params, rows: at.rows };
        let written = disk.write(FILE, &mut |out| {
            write_with_digest(out, &header.encode(), &mut |out| preparation.save(out)).map(drop)
        });
        match written.map_err(|error| disk_error(disk.as_ref(), error)) {
            Err(crate::ClientError::State(StateError::Full { .. })) => Ok(()),
            outcome => outcome,
        }
    }

    /// Reads the preparation.
    pub(crate) fn resume(&self, reader: ClientReader<'_>) -> crate::Result<PreparationOnDisk> {
        let held = self.disk();
        let Some(disk) = held.as_ref() else { return Ok(PreparationOnDisk::Nothing) };
        read(disk.as_ref(), &self.binding, reader).map_err(|error| disk_error(disk.as_ref(), error))
    }

    /// Removes the preparation. Returns whether there was one.
    pub(crate) fn forget(&self) -> crate::Result<bool> {
        let held = self.disk();
        let Some(disk) = held.as_ref() else { return Ok(false) };
        let was_there = disk.read(FILE).and_then(|found| {
            disk.remove(FILE)?;
            Ok(found.is_some())
        });
        was_there.map_err(|error| disk_error(disk.as_ref(), Error::Storage(error)))
    }

    /// Writes a whole client, to become the state's client. Returns `None` if the state is closed.
    pub(crate) fn whole(
        &self,
        client: &mut dyn AnyClient,
        at: RowsVersion,
    ) -> crate::Result<Option<Snapshot>> {
        let held = self.disk();
        let Some(disk) = held.as_ref() else { return Ok(None) };
        let written = snapshot::write(disk.as_ref(), client, self.generation, at, self.binding.params);
        written.map(Some).map_err(|error| disk_error(disk.as_ref(), error))
    }
}

/// The lease of the files of a state's next client, revoked when it is dropped.
pub(crate) struct PreparationLease(pub(crate) NextClientFiles);

impl Drop for PreparationLease {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn read(
    disk: &dyn Disk,
    binding: &PreparationBinding,
    (entry, literal): ClientReader<'_>,
) -> Result<PreparationOnDisk> {
    let Some(mut from) = disk.read(FILE)?.map(HashingIo::new) else { return Ok(PreparationOnDisk::Nothing) };
    let Some(header) = head_of(&mut from)? else {
        return Ok(PreparationOnDisk::Unusable("no header".to_owned()));
    };
    if let Some(why) = binding.refuses(&header) {
        return Ok(PreparationOnDisk::Unusable(why));
    }
    let prepare: Box<dyn AnyPrepare> = match (entry.resume)(literal, &mut from) {
        Ok(prepare) => prepare,
        Err(Error::Storage(error)) if error.kind() != ErrorKind::UnexpectedEof => {
            return Err(Error::Storage(error));
        }
        Err(error) => return Ok(PreparationOnDisk::Unusable(format!("damaged: {error}"))),
    };
    if !is_sealed(&mut from)? {
        return Ok(PreparationOnDisk::Unusable("does not match its digest".to_owned()));
    }
    let PreparationHeader { epoch, params, rows, .. } = header;
    Ok(PreparationOnDisk::Partial(SavedPreparation { epoch, params: ParamsDigest(params.0), rows, prepare }))
}

fn head_of(from: &mut dyn Read) -> io::Result<Option<PreparationHeader>> {
    let mut bytes = Vec::new();
    from.take(PreparationHeader::BYTES as u64).read_to_end(&mut bytes)?;
    Ok(PreparationHeader::decode(&bytes))
}

/// Removes an incomplete file, and a preparation of which no state can make use. Returns the
/// reason, if there was one.
pub(crate) fn sweep(disk: &dyn Disk, binding: Option<&PreparationBinding>) -> io::Result<Option<String>> {
    disk.remove(HALF)?;
    let why = match (disk.read(FILE)?, binding) {
        (None, _) => return Ok(None),
        (Some(_), None) => "the state was deleted".to_owned(),
        (Some(mut from), Some(binding)) => match head_of(&mut from)? {
            None => "no header".to_owned(),
            Some(header) => match binding.refuses(&header) {
                None => return Ok(None),
                Some(why) => why,
            },
        },
    };
    disk.remove(FILE)?;
    Ok(Some(why))
}
