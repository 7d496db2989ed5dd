//! Parts of messages: words of fixed numbers of bits, packed without gaps, least significant bit
//! first. Unused bits of a part's last byte must be zero, so every decoded part has exactly one
//! encoding.

use crate::lattice::N;
use crate::unit_vector::{MessageBits, largest};
use sotto_math::bits;

/// Bytes of `words` words of `bits` bits each.
pub fn packed_bytes(words: u64, bits: u8) -> u64 {
    (words * u64::from(bits)).div_ceil(8)
}

/// Takes `count` words off the front: the top bits of residues, `width` of each.
pub fn take_words(bytes: &mut &[u8], width: u32, count: usize) -> Option<Vec<u64>> {
    let words = bits::unpack_words(take(bytes, width, count)?, width, count)?;
    words.iter().all(|word| *word <= largest(width)).then_some(words)
}

/// Appends polynomials of N coefficients.
pub fn put_bodies(bodies: &[Vec<u128>], width: u32, out: &mut Vec<u8>) {
    bodies.iter().for_each(|body| bits::pack(body, width, out));
}

/// Takes `count` polynomials off the front: the top bits of residues.
pub fn take_bodies(bytes: &mut &[u8], width: u32, count: usize) -> Option<Vec<Vec<u128>>> {
    let body = |_| {
        let body = bits::unpack(take(bytes, width, N)?, width, N)?;
        body.iter().all(|word| *word <= u128::from(largest(width))).then_some(body)
    };
    (0..count).map(body).collect()
}

/// Appends the masks and bodies of packed ciphertexts.
pub fn put_groups(groups: &[[Vec<u64>; 2]], widths: MessageBits, out: &mut Vec<u8>) {
    for [mask, body] in groups {
        bits::pack_words(mask, widths.mask, out);
        bits::pack_words(body, widths.body, out);
    }
}

/// Takes the masks and bodies of `count` packed ciphertexts off the front. Any words are valid.
pub fn take_groups(bytes: &mut &[u8], widths: MessageBits, count: usize) -> Option<Vec<[Vec<u64>; 2]>> {
    let mut part = |width| bits::unpack_words(take(bytes, width, N)?, width, N);
    (0..count).map(|_| Some([part(widths.mask)?, part(widths.body)?])).collect()
}

/// Takes the bytes of `count` words off the front.
fn take<'a>(bytes: &mut &'a [u8], width: u32, count: usize) -> Option<&'a [u8]> {
    let (part, rest) = bytes.split_at_checked(bits::packed_len(width, count)?)?;
    *bytes = rest;
    Some(part)
}
