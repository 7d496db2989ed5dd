//! Masked items: a version, the encrypted item, a tag.
//!
//! ```text
//! masked   version (u64 LE) | ciphertext, as long as the item | tag, 16 bytes
//!
//! T        BLAKE3-derive-key("sotto 2026 oprf mask tag v1", output)
//! S        BLAKE3-derive-key("sotto 2026 oprf mask stream v1", output)
//! tag      the first 16 bytes of BLAKE3 keyed with T ( version | item )
//! stream   BLAKE3 keyed with S ( tag ), as many bytes as the item has; ciphertext = item xor stream
//! ```
//!
//! This is SIV, deterministic authenticated encryption (Rogaway and Shrimpton, EUROCRYPT 2006),
//! with BLAKE3 as its two pseudorandom functions. There is no nonce. Each row and version has
//! another key, so a cipher with a fixed nonce would do, as long as no epoch is ever made twice.
//! But publishers restore backups, and delete an image and make it again: then one row has two
//! contents in one epoch, and a stream cipher under a fixed nonce would reveal the difference of
//! the two to anyone who has both, without an evaluation. Here the stream depends on the item, so
//! only the equality of two items shows. The same holds for a key of a keyword table, whose output
//! stays the same over all versions.

use crate::{OprfError, OprfOutput, Result};
use std::fmt;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

const TAG_CONTEXT: &str = "sotto 2026 oprf mask tag v1";
const STREAM_CONTEXT: &str = "sotto 2026 oprf mask stream v1";

/// Bytes of a version.
pub const VERSION_BYTES: usize = 8;

/// Bytes of a tag.
pub const TAG_BYTES: usize = 16;

/// Bytes that masking adds to an item.
pub const OVERHEAD_BYTES: usize = VERSION_BYTES + TAG_BYTES;

/// The epoch in which an item was last written. It is not encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MaskVersion(pub u64);

impl MaskVersion {
    /// Reads the version of masked bytes; 0, which is no epoch, if they are too short to have one.
    pub fn of(masked: &[u8]) -> Self {
        masked.first_chunk().map_or(MaskVersion(0), |bytes| MaskVersion(u64::from_le_bytes(*bytes)))
    }
}

/// The keys that mask one item. Wiped on drop.
pub struct RowMask {
    tag: Zeroizing<[u8; 32]>,
    stream: Zeroizing<[u8; 32]>,
}

impl RowMask {
    /// Derives the mask from an output of the function.
    pub fn new(output: &OprfOutput) -> Self {
        let derive = |context| Zeroizing::new(blake3::derive_key(context, output.bytes()));
        RowMask { tag: derive(TAG_CONTEXT), stream: derive(STREAM_CONTEXT) }
    }

    /// Masks an item.
    pub fn close(&self, version: MaskVersion, item: &[u8]) -> Vec<u8> {
        let tag = self.tag_of(version, item);
        let mut masked = Vec::with_capacity(item.len() + OVERHEAD_BYTES);
        masked.extend_from_slice(&version.0.to_le_bytes());
        masked.extend_from_slice(item);
        if let Some(item) = masked.get_mut(VERSION_BYTES..) {
            self.add_stream(&tag, item);
        }
        masked.extend_from_slice(&tag);
        masked
    }

    /// Opens masked bytes, and returns the item.
    ///
    /// # Errors
    /// [`OprfError::Closed`] for anything that [`RowMask::close`] did not make.
    pub fn open(&self, masked: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        let (rest, tag) = masked.split_last_chunk::<TAG_BYTES>().ok_or(OprfError::Closed)?;
        let (version, ciphertext) = rest.split_first_chunk::<VERSION_BYTES>().ok_or(OprfError::Closed)?;
        let mut item = Zeroizing::new(ciphertext.to_vec());
        self.add_stream(tag, &mut item);
        let expected = self.tag_of(MaskVersion(u64::from_le_bytes(*version)), &item);
        match bool::from(expected.ct_eq(tag)) {
            true => Ok(item),
            false => Err(OprfError::Closed),
        }
    }

    fn tag_of(&self, version: MaskVersion, item: &[u8]) -> [u8; TAG_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.tag);
        hasher.update(&version.0.to_le_bytes()).update(item);
        let mut tag = [0; TAG_BYTES];
        hasher.finalize_xof().fill(&mut tag);
        tag
    }

    fn add_stream(&self, tag: &[u8; TAG_BYTES], bytes: &mut [u8]) {
        let mut stream = blake3::Hasher::new_keyed(&self.stream).update(tag).finalize_xof();
        let mut block = Zeroizing::new([0; 1024]);
        for bytes in bytes.chunks_mut(block.len()) {
            stream.fill(block.as_mut_slice());
            bytes.iter_mut().zip(block.iter()).for_each(|(byte, mask)| *byte ^= mask);
        }
    }
}

impl fmt::Debug for RowMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mask(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mask(of: u8) -> RowMask {
        RowMask::new(&OprfOutput(Zeroizing::new([of; 64])))
    }

    proptest! {
        #[test]
        fn only_what_was_closed_opens(
            item in prop::collection::vec(any::<u8>(), 0..3000),
            version: u64,
            at: prop::sample::Index,
            bit in 0..8u32,
        ) {
            let mut masked = mask(1).close(MaskVersion(version), &item);
            prop_assert_eq!(masked.len(), item.len() + OVERHEAD_BYTES);
            prop_assert_eq!(MaskVersion::of(&masked), MaskVersion(version));
            prop_assert_eq!(mask(1).open(&masked).unwrap().to_vec(), item.clone());
            prop_assert_eq!(mask(2).open(&masked).unwrap_err(), OprfError::Closed);
            prop_assert!(mask(1).open(&masked[1..]).is_err() && mask(1).open(&masked[..masked.len() - 1]).is_err());
            let at = at.index(masked.len());
            masked[at] ^= 1 << bit;
            prop_assert_eq!(mask(1).open(&masked).unwrap_err(), OprfError::Closed);
        }
    }

    /// Two contents of one row in one epoch, as after a backup was restored: their masked bytes do
    /// not reveal their difference.
    #[test]
    fn one_mask_for_two_items_does_not_give_their_difference() {
        let items = [[7u8; 40], [9; 40]];
        let [one, other] = items.map(|item| mask(1).close(MaskVersion(5), &item));
        let difference: Vec<u8> = one.iter().zip(&other).map(|(a, b)| a ^ b).collect();
        let equal =
            difference[VERSION_BYTES..VERSION_BYTES + 40].iter().filter(|byte| **byte == 7 ^ 9).count();
        assert!(equal < 10, "{equal} of 40 bytes");
        assert_eq!(mask(1).close(MaskVersion(5), &items[0]), one);
    }

    #[test]
    fn cut_bytes_do_not_open() {
        for length in 0..OVERHEAD_BYTES {
            assert!(mask(1).open(&vec![0; length]).is_err());
        }
        assert_eq!(MaskVersion::of(&[1; 7]), MaskVersion(0));
        assert!(mask(1).open(&[0; 100]).is_err(), "a row that was never written");
    }
}
