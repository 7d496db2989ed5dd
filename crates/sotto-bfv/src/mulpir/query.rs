//! The plaintexts of a query, and an entry read from an answer. The time of all functions is
//! independent of an entry's number and bytes.

use super::context::RingContext;
use super::shape::EntryShape;
use crate::layout::equal;
use sotto_lattice::bgv::SlotRing;
use sotto_math::bits::highest;
use zeroize::Zeroizing;

/// The coefficients of each plaintext of a query for these entries: concatenated one-hot vectors of
/// both dimensions for each entry, divided by the number of selectors that a ciphertext is expanded
/// to.
pub fn query_plaintexts(
    context: &RingContext,
    shape: &EntryShape,
    entries: &[usize],
) -> Vec<Zeroizing<Vec<u64>>> {
    let [d0, d1] = shape.dimensions();
    let one_hot = |count: usize, hot: usize| (0..count as u64).map(move |i| equal(i, hot as u64) & 1);
    let all = entries.iter().flat_map(|entry| {
        let ([x0, x1], _) = shape.place(*entry);
        one_hot(d0, x0).chain(one_hot(d1, x1))
    });
    let all = Zeroizing::new(all.collect::<Vec<u64>>());
    let query = |some: &[u64]| {
        let one = inverse(context.ring().ring().plain(), some.len());
        let mut out = Zeroizing::new(vec![0; context.degree()]);
        out.iter_mut().zip(some).for_each(|(out, bit)| *out = bit * one);
        out
    };
    all.chunks(context.degree()).map(query).collect()
}

/// The inverse modulo t of the factor by which the rounds of an expansion to `outputs` selectors
/// multiply them.
fn inverse(t: u64, outputs: usize) -> u64 {
    let half = t.div_ceil(2) % t;
    (0..outputs.next_power_of_two().trailing_zeros()).fold(1, |x, _| x * half % t)
}

/// Reads the bytes of an entry from the coefficients of each chunk's plaintext.
///
/// # Panics
/// If there is not a plaintext of `n` coefficients for each chunk.
pub fn entry(
    context: &RingContext,
    shape: &EntryShape,
    entry: usize,
    plaintexts: &[Zeroizing<Vec<u64>>],
) -> Zeroizing<Vec<u8>> {
    assert_eq!(plaintexts.len(), shape.chunks(), "a plaintext for each chunk");
    let mut bytes = Zeroizing::new(Vec::new());
    for plaintext in plaintexts {
        highest::pack(plaintext.iter().copied(), context.bits(), &mut bytes);
    }
    let (_, from) = shape.place(entry);
    // Every position of an entry is read, and one of them selected.
    let mut out = Zeroizing::new(vec![0; shape.entry_bytes()]);
    for (i, candidate) in bytes.chunks_exact(shape.entry_bytes()).enumerate() {
        let keep = equal((i * shape.entry_bytes()) as u64, from as u64) as u8;
        out.iter_mut().zip(candidate).for_each(|(out, x)| *out |= x & keep);
    }
    out
}
