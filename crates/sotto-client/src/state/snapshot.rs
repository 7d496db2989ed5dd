//! Snapshots of whole clients in files of their own: a header, what the scheme saves, and the
//! digest of both.

use super::checksum::{FileDigest, HashingIo, is_sealed, write_with_digest};
use super::disk::{Disk, disk_error};
use super::metadata::{RowsVersion, Snapshot};
use crate::ClientError;
use sotto_catalog::Hex32;
use sotto_core::{AnyClient, Epoch, Error, Misuse, Result, StateEntry};
use std::io::Read;

/// Prefix of every snapshot's name.
pub(crate) const HINTS: &str = "hints-";

/// The file name of a snapshot.
pub(crate) fn name(generation: u64) -> String {
    format!("{HINTS}{generation}")
}

/// The header before a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotHeader {
    /// Number in the file's name.
    pub generation: u64,
    /// Epoch of the client.
    pub epoch: Epoch,
    /// Digest of the parameters.
    pub params: Hex32,
}

/// First bytes of every snapshot.
const MAGIC: &[u8; 16] = b"sotto-hints/1\0\0\0";

impl SnapshotHeader {
    /// Bytes of a header.
    pub const BYTES: usize = 64;

    /// Encodes the header.
    pub fn encode(&self) -> Vec<u8> {
        let numbers = [self.generation.to_le_bytes(), self.epoch.0.to_le_bytes()].concat();
        [&MAGIC[..], &numbers, &self.params.0].concat()
    }

    /// Decodes what [`SnapshotHeader::encode`] wrote; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (generation, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<8>()?;
        let (epoch, params) = rest.split_first_chunk::<8>()?;
        Some(SnapshotHeader {
            generation: u64::from_le_bytes(*generation),
            epoch: Epoch(u64::from_le_bytes(*epoch)),
            params: Hex32::from(<[u8; 32]>::try_from(params).ok()?),
        })
    }
}

/// How a scheme's clients are read: the scheme's entry, and the literal of its parameters.
pub(crate) type ClientReader<'a> = (&'a StateEntry, &'a [u8]);

/// Why a client was not read.
pub(crate) enum ReadError {
    /// The client's files are damaged or missing, with a description.
    Damaged(String),
    /// The disk or its scheme failed.
    Failed(ClientError),
}

impl<E: Into<ClientError>> From<E> for ReadError {
    fn from(error: E) -> Self {
        ReadError::Failed(error.into())
    }
}

/// Writes a client.
pub(crate) fn write(
    disk: &dyn Disk,
    client: &mut dyn AnyClient,
    generation: u64,
    RowsVersion { epoch, rows }: RowsVersion,
    params: Hex32,
) -> Result<Snapshot> {
    let state = client.state().ok_or(Misuse::Rule("snapshot of a client without a durable state"))?;
    let head = SnapshotHeader { generation, epoch, params };
    let mut sum = None;
    disk.write(&name(generation), &mut |out| {
        sum = Some(write_with_digest(out, &head.encode(), &mut |out| state.save(out))?);
        Ok(())
    })?;
    let FileDigest { bytes, digest } = sum.ok_or(Misuse::Rule("the disk did not write the snapshot"))?;
    Ok(Snapshot { generation, epoch, rows, bytes, digest: Hex32::from(digest) })
}

/// Reads a client.
pub(crate) fn read(
    disk: &dyn Disk,
    snapshot: &Snapshot,
    params: Hex32,
    (entry, literal): ClientReader<'_>,
) -> std::result::Result<Box<dyn AnyClient>, ReadError> {
    let file = name(snapshot.generation);
    let failed = |error: Error| disk_error(disk, error);
    let Some(mut from) = open(disk, &file).map_err(failed)? else {
        return Err(ReadError::Damaged(format!("{file} is missing")));
    };
    let head = SnapshotHeader { generation: snapshot.generation, epoch: snapshot.epoch, params };
    if head_of(&mut from).map_err(failed)? != Some(head) {
        return Err(ReadError::Damaged(format!("{file} has another header")));
    }
    let client = match (entry.load)(literal, &mut from) {
        Ok(client) => client,
        Err(Error::Storage(error)) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            return Err(failed(Error::Storage(error)).into());
        }
        Err(error) => return Err(ReadError::Damaged(format!("{file}: {error}"))),
    };
    if from.sum() != snapshot.sum() || !is_sealed(&mut from).map_err(|error| failed(error.into()))? {
        return Err(ReadError::Damaged(format!("{file} does not match its digest")));
    }
    Ok(client)
}

fn open(disk: &dyn Disk, name: &str) -> Result<Option<HashingIo<Box<dyn Read>>>> {
    Ok(disk.read(name)?.map(HashingIo::new))
}

fn head_of(from: &mut dyn Read) -> Result<Option<SnapshotHeader>> {
    let mut bytes = Vec::new();
    from.take(SnapshotHeader::BYTES as u64).read_to_end(&mut bytes)?;
    Ok(SnapshotHeader::decode(&bytes))
}
