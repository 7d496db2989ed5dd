//! BLAKE3 digests of a section and of its chunks.
//!
//! Sections are read with `pread` rather than mapped: the file is still being written, and blocks
//! of this size leave enough work for several threads.

use crate::progress::ByteProgress;
use rayon::prelude::*;
use sotto_catalog::{ArtifactEntry, Hex32, table::chunk_bytes_for};
use sotto_core::{Artifact, Epoch};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

const BLOCK: u64 = 8 << 20;

/// The digest of `bytes` bytes from `offset` on.
pub(crate) fn of_file(
    file: &File,
    offset: u64,
    bytes: u64,
    stage: &ByteProgress<'_>,
) -> io::Result<[u8; 32]> {
    let mut whole = blake3::Hasher::new();
    blocks(file, offset, bytes, BLOCK, |block| {
        whole.update_rayon(block);
        stage.add(block.len() as u64);
    })?;
    Ok(*whole.finalize().as_bytes())
}

/// Catalog entry of the artifact in a range of the file.
pub(crate) fn of_artifact(
    file: &File,
    place: Range<u64>,
    artifact: Artifact,
    from_epoch: Option<Epoch>,
    stage: &ByteProgress<'_>,
) -> io::Result<ArtifactEntry> {
    let bytes = place.end - place.start;
    let chunk_bytes = chunk_bytes_for(bytes);
    let (digest, chunks) = with_chunks(file, place, chunk_bytes, BLOCK, stage)?;
    Ok(ArtifactEntry { artifact, bytes, digest, chunk_bytes, chunks, from_epoch, from_digest: None })
}

/// Digests of a range of the file, and of each chunk of it. `chunk_bytes` and `block_bytes` are
/// powers of two, so that a block consists of whole chunks or is within one.
///
/// BLAKE3 mixes in the offset of each byte, so the digest of a chunk is not an intermediate value
/// of the whole digest. Each byte is hashed twice, but read once.
fn with_chunks(
    file: &File,
    place: Range<u64>,
    chunk_bytes: u64,
    block_bytes: u64,
    stage: &ByteProgress<'_>,
) -> io::Result<(Hex32, Vec<Hex32>)> {
    let (mut whole, mut chunk) = (blake3::Hasher::new(), blake3::Hasher::new());
    let (mut chunks, mut in_chunk) = (Vec::new(), 0);
    blocks(file, place.start, place.end - place.start, block_bytes, |block| {
        let all = || {
            whole.update_rayon(block);
        };
        if chunk_bytes <= block_bytes {
            let each = || block.par_chunks(chunk_bytes as usize).map(blake3::hash).collect::<Vec<_>>();
            let ((), made) = rayon::join(all, each);
            chunks.extend(made.into_iter().map(Hex32::from));
        } else {
            let part = || {
                chunk.update_rayon(block);
            };
            rayon::join(all, part);
            in_chunk += block.len() as u64;
            if in_chunk == chunk_bytes {
                chunks.push(chunk.finalize().into());
                chunk.reset();
                in_chunk = 0;
            }
        }
        stage.add(block.len() as u64);
    })?;
    if in_chunk > 0 {
        chunks.push(chunk.finalize().into());
    }
    Ok((whole.finalize().into(), chunks))
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::progress::silent;
    use std::io::Write;

    #[test]
    fn chunks_are_the_same_in_blocks_of_any_size() {
        let bytes: Vec<u8> = (0..100_000u32).map(|i| (i / 3) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        for chunk in [1024, 4096, 16_384, 131_072] {
            for block in [1024, 4096, 32_768, 262_144] {
                let stage = ByteProgress::new(&silent, "test", 0);
                let part = bytes.get(10..99_000).unwrap();
                let (whole, chunks) = with_chunks(&file, 10..99_000, chunk, block, &stage).unwrap();
                assert!(whole == blake3::hash(part).into());
                let want: Vec<Hex32> =
                    part.chunks(chunk as usize).map(|chunk| blake3::hash(chunk).into()).collect();
                assert!(chunks == want, "chunks of {chunk} in blocks of {block}");
            }
        }
    }
}
