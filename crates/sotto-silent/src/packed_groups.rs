//! Packing of large groups: weights are written after the matrix, and one pass over them packs with
//! the keys of many queries.
//!
//! ```text
//! weights | a matrix of signed bytes: a row for each byte of the weights of each number of each group, a
//!         | column for each coefficient of the first key
//! last    | for each full group the digits of its last switch: polynomials in slots, 50 bits a word
//! masks   | for each group the slots of the packed ciphertext's mask, 50 bits a word, where ciphertexts are
//!         | computed with; where they are sent, the mask is in an artifact
//! ```

use crate::groups::{Groups, MaskLayout};
use crate::lattice::{N, Q_BITS, mask_bytes};
use crate::matrix::SectionOffset;
use crate::samples::SampleMasks;
use crate::unit_vector::MessageBits;
use crate::weight_rows::{put_rows, write_rows};
use rayon::prelude::*;
use sotto_core::{ExpectOrDefault, Result, Sink};
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::encrypt::restore;
use sotto_lattice::inspiring::{Inspiring, PackWeights};
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_math::bits;
use sotto_math::matrix::{PANEL_ROWS, PanelLayout, QueryPlanes, scan_planes};
use sotto_math::modulus_pair::round_to_bits;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers whose weights are made together: they have whole panels.
const TOGETHER: usize = PANEL_ROWS;

/// Packs large groups: the location of weights and masks, and the packing itself.
pub struct PackedGroups {
    packing: Inspiring,
    groups: Groups,
    bits: MessageBits,
    masks: MaskLayout,
}

/// The packing keys of a query, in the form that the pass takes.
#[derive(Debug, Clone)]
pub struct PackingKeys {
    /// The coefficients of the first key without their lowest bits, and the number of these bits.
    planes: QueryPlanes,
    dropped: u32,
    /// The second key in slots; empty if there is none.
    last: Vec<Vec<u64>>,
}

impl PackingKeys {
    /// A first key alone, with these coefficients, of which `dropped` low bits were dropped.
    pub fn first(words: &[u64], dropped: u32) -> Self {
        let planes = Q_BITS.saturating_sub(dropped).div_ceil(8) as usize;
        let planes = QueryPlanes::from_u64(words, planes, &PanelLayout::new(1, words.len()));
        PackingKeys { planes, dropped, last: Vec::new() }
    }

    /// The first key, in the form that any pass over weights takes.
    pub fn planes(&self) -> &QueryPlanes {
        &self.planes
    }
}

impl PackedGroups {
    /// Packing for these groups.
    ///
    /// # Errors
    /// [`sotto_core::Misuse::Rule`] for groups of a size without packing.
    pub fn new(groups: Groups, bits: MessageBits, masks: MaskLayout) -> Result<Self> {
        Ok(PackedGroups { packing: groups.digits().packing(groups.size())?, groups, bits, masks })
    }

    /// Bytes of weights, digits and masks in an image.
    pub fn bytes(&self) -> u64 {
        self.groups.bytes(self.masks)
    }

    /// The given groups, in ranges such that each thread has one.
    pub fn together(&self, groups: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
        let mut groups: Vec<usize> = groups.collect();
        groups.sort_unstable();
        groups.dedup();
        let follow = groups.chunk_by(|a, b| a + 1 == *b);
        let cut = follow.flat_map(|run| run.chunks(rayon::current_num_threads()));
        cut.filter_map(|run| Some(*run.first()?..run.last()? + 1)).collect()
    }

    /// Progress steps of writing a group, besides those of its samples.
    pub fn steps(&self) -> usize {
        self.groups.size().div_ceil(TOGETHER)
    }

    /// Writes the weights and masks of groups, from an offset on. `samples` makes the
    /// masks of a group's numbers, and `step` is called [`steps`](Self::steps) times. Memory is 70
    /// MiB for each of these groups.
    ///
    /// # Errors
    /// The errors of `samples`; [`sotto_core::Misuse::Rule`] if a weight takes more bytes than it has, which is no
    /// more likely than guessing the digits; storage errors.
    pub fn write<M: Deref<Target = [u64]>>(
        &self,
        groups: Range<usize>,
        samples: impl Fn(usize) -> Result<M> + Sync,
        step: impl Fn() + Sync,
        at: SectionOffset,
        out: &dyn Sink,
    ) -> Result<()> {
        let SectionOffset { section, start } = at;
        groups.into_par_iter().try_for_each(|group| {
            let weights = PackWeights::new(&self.packing, &samples(group)?);
            self.write_weights(group, &weights, &step, at, out)?;
            let mut packed = Vec::new();
            weights.last.iter().for_each(|digit| bits::pack_words(digit, Q_BITS, &mut packed));
            let [last, whole] = self.beyond();
            out.write_at(section, start + last + (group * packed.len()) as u64, &packed)?;
            let mut mask = weights.mask;
            let (section, start, width) = match self.masks {
                MaskLayout::Whole => (section, start + whole, Q_BITS),
                MaskLayout::Artifact { start } => {
                    self.ring().inverse(ModulusLevel::Main, &mut mask);
                    mask = rounded(self.ring(), &mask, self.bits.mask);
                    (MaskLayout::SECTION, start, self.bits.mask)
                }
            };
            packed.clear();
            bits::pack_words(&mask, width, &mut packed);
            out.write_at(section, start + (group * packed.len()) as u64, &packed)
        })
    }

    fn write_weights(
        &self,
        group: usize,
        weights: &PackWeights<'_>,
        step: &(impl Fn() + Sync),
        at: SectionOffset,
        out: &dyn Sink,
    ) -> Result<()> {
        let (first_row, numbers) = self.groups.place(group);
        let digits = self.groups.digits();
        (0..self.steps()).into_par_iter().try_for_each_init(Vec::new, |rows, piece| {
            let first = piece * TOGETHER;
            let some = first..numbers.min(first + TOGETHER);
            if !some.is_empty() {
                let height = (digits.weight_bytes * some.len()).next_multiple_of(PANEL_ROWS);
                rows.clear();
                rows.resize(height * digits.key_words(), 0);
                put_rows(weights, digits, some, rows)?;
                write_rows(self.groups.layout(), at, first_row + digits.weight_bytes * first, rows, out)?;
            }
            step();
            Ok(())
        })
    }

    /// The offsets of the digits of last switches and of the masks.
    fn beyond(&self) -> [u64; 2] {
        let weights = self.groups.layout().bytes() as u64;
        [weights, weights + self.groups.last_bytes()]
    }

    /// Decodes keys with truncated bodies: a coefficient stands for the middle of its possible
    /// values, or half less. `None` if they are malformed.
    pub fn keys(&self, keys: &[Vec<u64>]) -> Option<PackingKeys> {
        let (ring, dropped) = (self.ring(), Q_BITS.saturating_sub(self.bits.keys));
        let bodies = self.groups.digits().bodies();
        let (first, last) = keys.split_at_checked(bodies)?;
        let slots = |body: &Vec<u64>| {
            let body: Vec<u128> = body.iter().map(|word| u128::from(*word)).collect();
            restore(ring, ModulusLevel::Main, &body, self.bits.keys)
        };
        let last: Vec<Vec<u64>> = last.iter().map(slots).collect::<Option<_>>()?;
        let word = |word: &u64| if dropped == 0 { *word } else { 2 * word + 1 };
        let words: Vec<u64> = first.iter().flatten().map(word).collect();
        let full = self.packing.samples() == N;
        let complete = words.len() == bodies * N && last.len() == usize::from(full) * bodies;
        complete.then(|| PackingKeys { last, ..PackingKeys::first(&words, dropped.saturating_sub(1)) })
    }

    /// The layout of the weights, which an image begins with.
    pub(crate) fn layout(&self) -> PanelLayout {
        self.groups.layout()
    }

    /// Multiplies the weights by the keys of many queries, in one pass that is divided into ranges among
    /// the threads of the current pool.
    ///
    /// # Panics
    /// If `image` is not [`bytes`](Self::bytes) long.
    pub fn weigh(&self, image: &[u8], keys: &[&PackingKeys]) -> Vec<Vec<i64>> {
        let [last, _] = self.beyond().map(|at| at as usize);
        let planes: Vec<&QueryPlanes> = keys.iter().map(|keys| keys.planes()).collect();
        let width = planes.first().map_or(0, |planes| planes.planes());
        crate::matrix::times(image.split_at(last).0, &self.layout(), &planes, width, scan_planes)
    }

    /// Packs the products of many queries, with the sums that the [weights](Self::weigh) and their keys
    /// give. Returns for each query and group the body of the packed ciphertext, in the bits that are
    /// sent.
    ///
    /// # Panics
    /// If `image` is not [`bytes`](Self::bytes) long.
    pub fn pack(
        &self,
        image: &[u8],
        keys: &[&PackingKeys],
        sums: &[Vec<i64>],
        products: &[Vec<u64>],
    ) -> Vec<Vec<Vec<u64>>> {
        self.each_group(image, keys, sums, products, |_, body| rounded(self.ring(), &body, self.bits.body))
    }

    /// Packs the products of many queries, and returns for each query and group the ciphertext
    /// itself: for full groups whose masks are stored as [`MaskLayout::Whole`].
    ///
    /// # Panics
    /// The panics of [`pack`](Self::pack).
    pub fn ciphers(
        &self,
        image: &[u8],
        keys: &[&PackingKeys],
        sums: &[Vec<i64>],
        products: &[Vec<u64>],
    ) -> Vec<Vec<Ciphertext>> {
        let ring = self.ring();
        let [_, masks] = self.beyond().map(|at| at as usize);
        self.each_group(image, keys, sums, products, |group, mut body| {
            let (_, masks) = image.split_at(masks);
            let mut mask = words(masks, group, 1, Q_BITS).pop().unwrap_or_default();
            let q = ring.q().value();
            mask.iter_mut().for_each(|word| *word -= if *word < q { 0 } else { q });
            ring.forward(ModulusLevel::Main, &mut body);
            Ciphertext::new(ring, ModulusLevel::Main, &mask, std::iter::once(body.as_slice()))
        })
    }

    /// Packs, and maps the group and the body of each query's packed ciphertexts by `make`.
    fn each_group<T: Send>(
        &self,
        image: &[u8],
        keys: &[&PackingKeys],
        sums: &[Vec<i64>],
        products: &[Vec<u64>],
        make: impl Fn(usize, Vec<u64>) -> T + Sync,
    ) -> Vec<Vec<T>> {
        let weight_bytes = self.groups.digits().weight_bytes;
        let [last, _] = self.beyond().map(|at| at as usize);
        let (_, last) = image.split_at(last);
        let width = keys.first().map_or(0, |keys| keys.planes.planes());
        let of_query = |((keys, sums), products): ((&&PackingKeys, &Vec<i64>), &Vec<u64>)| {
            let of_group = |group: usize| {
                let (row, numbers) = self.groups.place(group);
                let rows = row * width..(row + weight_bytes * numbers) * width;
                let sums = sums.get(rows).expect_or_default("a pass sums up each row");
                let mut body = residues(self.ring(), sums, [weight_bytes, width], keys.dropped);
                body.resize(self.packing.samples(), 0);
                let add = |body: &mut Vec<u64>, more: &[u64]| {
                    body.iter_mut().zip(more).for_each(|(x, y)| *x = self.ring().q().add(*x, *y));
                };
                if !keys.last.is_empty() {
                    let digits = words(last, group * keys.last.len(), keys.last.len(), Q_BITS);
                    add(&mut body, &self.packing.last(&digits, &keys.last));
                }
                add(&mut body, products.chunks(self.packing.samples()).nth(group).unwrap_or(&[]));
                make(group, body)
            };
            (0..self.groups.count()).into_par_iter().map(of_group).collect()
        };
        keys.par_iter().zip(sums).zip(products).map(of_query).collect()
    }

    /// The ring of packed ciphertexts.
    pub fn ring(&self) -> &Ring {
        self.packing.ring()
    }

    /// The products of a record's numbers modulo q, from the sums of all planes of a query's words
    /// for each byte. At several scales these are the products of the matrix's numbers.
    pub fn products(&self, sums: &[i64], planes: usize) -> Vec<u64> {
        let (plain, dropped) = (self.groups.plain(), self.bits.dropped());
        let words = self.packing.samples() * self.groups.count();
        let mut numbers = match plain.scales() {
            1 => residues(self.packing.ring(), sums, [plain.bytes(), planes], dropped),
            scales => {
                let panel = PANEL_ROWS * planes;
                let at_scales = |panels: &[i64]| {
                    let number = |row: usize| {
                        let rows =
                            panels.chunks(panel).map(|panel| panel.chunks(planes).nth(row).unwrap_or(&[]));
                        rows.rev().fold(0, |x, sums| (x << plain.scale_bits()) + whole(sums))
                    };
                    (0..PANEL_ROWS)
                        .map(|row| residue(self.ring(), number(row) << dropped))
                        .collect::<Vec<_>>()
                };
                sums.chunks(scales * panel).flat_map(at_scales).collect()
            }
        };
        numbers.resize(words, 0);
        numbers
    }
}

/// Rounds residues to the bits that are sent.
pub fn rounded(ring: &Ring, residues: &[u64], bits: u32) -> Vec<u64> {
    let mut rounded = vec![0; residues.len()];
    round_to_bits(ring.q(), residues, bits, &mut rounded);
    rounded
}

/// Reads some polynomials of packed words, from number `first` on. The bytes of a damaged image may
/// be no words, and then no answer is right.
fn words(bytes: &[u8], first: usize, count: usize, width: u32) -> Vec<Vec<u64>> {
    let polynomials = bytes.chunks(mask_bytes(width) as usize).skip(first).take(count);
    polynomials.map(|bytes| bits::unpack_words(bytes, width, N).unwrap_or_else(|| vec![0; N])).collect()
}

/// The products, modulo q, of numbers of several signed bytes with words of several planes, of
/// which low bits were dropped: from the sums of all planes for each byte.
pub fn residues(ring: &Ring, sums: &[i64], [bytes, planes]: [usize; 2], dropped: u32) -> Vec<u64> {
    let number = |sums: &[i64]| sums.chunks(planes).rev().fold(0, |x, sums| (x << 8) + whole(sums));
    sums.chunks(bytes * planes).map(|sums| residue(ring, number(sums) << dropped)).collect()
}

/// The sum of all planes: of a byte with words.
fn whole(sums: &[i64]) -> i128 {
    sums.iter().rev().fold(0, |x, sum| (x << 8) + i128::from(*sum))
}

/// A product of numbers with words modulo q. It is below 2^118 in absolute value: 2^50 for a word, 2^48
/// for a number, and 2^20 for the records.
fn residue(ring: &Ring, product: i128) -> u64 {
    let q = ring.q();
    q.reduce_u128((product + (i128::from(q.value()) << 70)) as u128)
}

/// Writes the weights and masks of some groups of a bucket, in ranges that are processed
/// [`together`](PackedGroups::together). A matrix of this layout begins at `matrix`, and the
/// weights follow it. A table of one bucket has bucket 0.
///
/// # Errors
/// The errors of [`PackedGroups::write`].
pub fn write_packed(
    bucket: usize,
    layout: PanelLayout,
    matrix: impl Into<SectionOffset>,
    packed: &PackedGroups,
    groups: Vec<Range<usize>>,
    out: &dyn Sink,
) -> Result<()> {
    let samples = SampleMasks::of_bucket(bucket, layout, packed.groups.plain())?;
    let SectionOffset { section, start } = matrix.into();
    let size = packed.groups.size();
    let steps = size / samples.together() + packed.steps();
    let total = (groups.iter().map(Range::len).sum::<usize>() * steps) as u64;
    let done = AtomicU64::new(0);
    let step = || out.progress("weights", done.fetch_add(1, Ordering::Relaxed) + 1, total);
    out.progress("weights", 0, total);
    for groups in groups {
        let read = |at, bytes: &mut [u8]| out.read_at(section, start + at, bytes);
        let of_group = |group| samples.of_numbers(group * size..(group + 1) * size, read, step);
        let weights = SectionOffset { section, start: start + layout.bytes() as u64 };
        packed.write(groups, of_group, step, weights, out)?;
    }
    Ok(())
}
