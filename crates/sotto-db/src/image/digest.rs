//! BLAKE3 over a section, and over its chunks.
//!
//! Read with `pread` rather than mapped: the file is still being written, and blocks of this size leave
//! enough work for several threads.

use crate::progress::Stage;
use sotto_catalog::{ArtifactEntry, Hex32, entry::chunk_bytes_for};
use sotto_core::{Artifact, Epoch};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const BLOCK: u64 = 8 << 20;

/// The digest of `bytes` bytes from `offset` on.
pub(crate) fn of_file(file: &File, offset: u64, bytes: u64, stage: &Stage<'_>) -> io::Result<[u8; 32]> {
    let mut whole = blake3::Hasher::new();
    blocks(file, offset, bytes, BLOCK, |block| {
        whole.update_rayon(block);
        stage.add(block.len() as u64);
    })?;
    Ok(*whole.finalize().as_bytes())
}

/// The entry of the artifact that lies there.
pub(crate) fn of_artifact(
    file: &File,
    (offset, bytes): (u64, u64),
    artifact: Artifact,
    from_epoch: Option<Epoch>,
    stage: &Stage<'_>,
) -> io::Result<ArtifactEntry> {
    let chunk_bytes = chunk_bytes_for(bytes);
    let (mut whole, mut chunk) = (blake3::Hasher::new(), blake3::Hasher::new());
    let (mut chunks, mut in_chunk) = (Vec::new(), 0);
    // Both are powers of two, so a block never reaches across the end of a chunk.
    blocks(file, offset, bytes, BLOCK.min(chunk_bytes), |block| {
        whole.update_rayon(block);
        chunk.update_rayon(block);
        in_chunk += block.len() as u64;
        if in_chunk == chunk_bytes {
            chunks.push(Hex32::from(chunk.finalize()));
            chunk.reset();
            in_chunk = 0;
        }
        stage.add(block.len() as u64);
    })?;
    if in_chunk > 0 {
        chunks.push(chunk.finalize().into());
    }
    Ok(ArtifactEntry { artifact, bytes, digest: whole.finalize().into(), chunk_bytes, chunks, from_epoch })
}

fn blocks(file: &File, offset: u64, bytes: u64, block: u64, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; block.min(bytes) as usize];
    let mut at = 0;
    while at < bytes {
        let want = block.min(bytes - at) as usize;
        let buffer = buffer.get_mut(..want).ok_or(io::ErrorKind::InvalidInput)?;
        file.read_exact_at(buffer, offset + at)?;
        each(buffer);
        at += want as u64;
    }
    Ok(())
}
