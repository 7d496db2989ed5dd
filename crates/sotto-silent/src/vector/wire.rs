//! Encrypted unit vectors on the wire: words, then the bodies of the keys. Each part is packed without gaps, least significant
//! bit first; bits that fill up its last byte are zero.

use super::{Bits, Encrypted, KEY_BODIES, largest};
use crate::lattice::N;
use sotto_math::bits;

impl Encrypted {
    /// Bytes of a vector of so many words.
    pub fn bytes(words: u64, widths: Bits) -> u64 {
        let packed = |words: u64, width: u32| (words * u64::from(width)).div_ceil(8);
        packed(words, widths.query) + KEY_BODIES as u64 * packed(N as u64, widths.keys)
    }

    /// Appends it.
    pub fn put(&self, widths: Bits, out: &mut Vec<u8>) {
        bits::pack_words(&self.words, widths.query, out);
        self.keys.iter().for_each(|body| bits::pack(body, widths.keys, out));
    }

    /// The reverse; `None` for bytes of another length, or words that no client sends.
    pub fn take(bytes: &[u8], words: usize, widths: Bits) -> Option<Self> {
        let (vector, keys) = bytes.split_at_checked(bits::packed_len(widths.query, words)?)?;
        let words = bits::unpack_words(vector, widths.query, words)?;
        let body = bits::packed_len(widths.keys, N)?;
        if keys.len() != KEY_BODIES * body || words.iter().any(|word| *word > largest(widths.query)) {
            return None;
        }
        let reduced = |body: &Vec<u128>| body.iter().all(|word| *word <= u128::from(largest(widths.keys)));
        let keys = keys.chunks(body).map(|body| bits::unpack(body, widths.keys, N).filter(reduced));
        Some(Encrypted { words, keys: keys.collect::<Option<_>>()? })
    }
}
