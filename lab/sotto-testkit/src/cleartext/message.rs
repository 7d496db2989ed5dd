//! The messages of schemes in the clear, and sums of records, eight bytes each.
//!
//! ```text
//! keys:     u64 mask | 40 bytes that prove that keys were not damaged on the way; nothing where there are none
//! query:    u64 index plus the mask, modulo the number of records
//!           with slots:    u64 key | u64 slot | u64 index | u64 coin
//!           with buckets:  for each of them u64 place
//!           with hints:    u64 index | u64 slot: the client in the upper half, the number of its queries before in the lower
//!           to two:        one bit per record, lowest bit first
//! answer:   the record, or a record of each bucket, or for each unit: 8 bytes of checksum | unit
//! hint request:   u64 number: the client in the upper half, the number of its hints before in the lower
//! hint response:  u64 number of its request | u64 sum of the table's words
//! ```

use super::SchemeKind;
use super::params::{ClearParams, KEY_BYTES, UNIT_SUM};
use sotto_core::wire::exact;
use sotto_core::{Artifact, CryptoRng, Error, PeerMisbehaved, Result, Wire};
use std::marker::PhantomData;

/// The mask of a session; zero without keys.
pub(super) struct Keys<K> {
    pub(super) mask: u64,
    kind: PhantomData<fn() -> K>,
}

impl<K> Keys<K> {
    pub(super) fn new(mask: u64) -> Self {
        Keys { mask, kind: PhantomData }
    }
}

fn proof(mask: u64) -> [u8; KEY_BYTES - 8] {
    let mut proof = [0; KEY_BYTES - 8];
    blake3::Hasher::new().update(&mask.to_le_bytes()).finalize_xof().fill(&mut proof);
    proof
}

impl<K: SchemeKind> Wire<ClearParams<K>> for Keys<K> {
    fn size(_: &ClearParams<K>) -> usize {
        if K::KEYED { KEY_BYTES } else { 0 }
    }
    fn put(&self, _: &ClearParams<K>, out: &mut Vec<u8>) {
        if K::KEYED {
            out.extend(self.mask.to_le_bytes());
            out.extend(proof(self.mask));
        }
    }
    fn take(params: &ClearParams<K>, bytes: &[u8]) -> Result<Self> {
        exact("keys", bytes, Self::size(params))?;
        match bytes.split_first_chunk::<8>() {
            None => Ok(Keys::new(0)),
            Some((mask, rest)) if rest == proof(u64::from_le_bytes(*mask)) => {
                Ok(Keys::new(u64::from_le_bytes(*mask)))
            }
            Some(_) => Err(PeerMisbehaved::NotCanonical("keys").into()),
        }
    }
}

/// A message of a size that parameters fix, decoded lazily.
pub(super) struct Message<F> {
    pub(super) bytes: Vec<u8>,
    form: PhantomData<fn() -> F>,
}

impl<F> Message<F> {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Message { bytes, form: PhantomData }
    }

    /// A message of these words.
    pub(super) fn of(words: &[u64]) -> Self {
        Message::new(words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }

    /// A word of the message, which has all of its words after decoding.
    pub(super) fn word(&self, at: usize) -> u64 {
        word(&self.bytes, at).unwrap_or(u64::MAX)
    }
}

/// A word of a message.
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.as_chunks().0.get(at).map(|word| u64::from_le_bytes(*word))
}

/// The differences between one message and another.
pub(super) trait Form: Sized {
    const WHAT: &'static str;
    fn size<K: SchemeKind>(params: &ClearParams<K>) -> usize;
    fn is_valid<K: SchemeKind>(_: &ClearParams<K>, _: &Message<Self>) -> bool {
        true
    }
}

impl<K: SchemeKind, F: Form> Wire<ClearParams<K>> for Message<F> {
    fn size(params: &ClearParams<K>) -> usize {
        F::size(params)
    }
    fn put(&self, _: &ClearParams<K>, out: &mut Vec<u8>) {
        out.extend(&self.bytes);
    }
    fn take(params: &ClearParams<K>, bytes: &[u8]) -> Result<Self> {
        exact(F::WHAT, bytes, F::size(params))?;
        let message = Message::new(bytes.to_vec());
        match F::is_valid(params, &message) {
            true => Ok(message),
            false => Err(PeerMisbehaved::NotCanonical(F::WHAT).into()),
        }
    }
}

pub(super) type Query = Message<QueryForm>;
pub(super) type Answer = Message<AnswerForm>;
pub(super) type UnitAnswer = Message<UnitForm>;
pub(super) type HintRequest = Message<HintRequestForm>;
pub(super) type HintResponse = Message<HintResponseForm>;

pub(super) struct QueryForm;

/// The number of the word of a query that is the index.
pub(super) fn index_at<K: SchemeKind>() -> usize {
    if K::SLOTS { 2 } else { 0 }
}

impl Form for QueryForm {
    const WHAT: &'static str = "query";
    fn size<K: SchemeKind>(params: &ClearParams<K>) -> usize {
        params.query_bytes()
    }
    fn is_valid<K: SchemeKind>(params: &ClearParams<K>, query: &Query) -> bool {
        if K::SHARES {
            return query.bytes.last().is_none_or(|last| last & padding(params) == 0);
        }
        if K::BUCKETS {
            let each = params.bucket_records();
            return (0..params.buckets() as usize).all(|bucket| query.word(bucket) < each);
        }
        let has_slot = !K::SLOTS || params.most_queries(0).is_some_and(|slots| query.word(1) < slots);
        query.word(index_at::<K>()) < params.records() && has_slot
    }
}

/// The bits of the last byte that belong to no record.
fn padding<K: SchemeKind>(params: &ClearParams<K>) -> u8 {
    match params.records() % 8 {
        0 => 0,
        used => 0xFF << used,
    }
}

/// Random bits, and a copy with the bit of `index` flipped.
pub(super) fn shares<K: SchemeKind>(
    params: &ClearParams<K>,
    index: u64,
    rng: &mut dyn CryptoRng,
) -> Vec<Query> {
    let mut first = vec![0; Query::size(params)];
    rng.fill_bytes(&mut first);
    if let Some(last) = first.last_mut() {
        *last &= !padding(params);
    }
    let mut second = first.clone();
    if let Some(byte) = second.get_mut((index / 8) as usize) {
        *byte ^= 1 << (index % 8);
    }
    vec![Query::new(first), Query::new(second)]
}

/// The places of a query for one record: place 0 in the other buckets.
pub(super) fn places<K: SchemeKind>(params: &ClearParams<K>, index: u64) -> Vec<u64> {
    let each = params.bucket_records();
    (0..params.buckets()).map(|bucket| if index / each == bucket { index % each } else { 0 }).collect()
}

/// A number that names a client's slot: 31 bits of its key, and the client's own number.
pub(super) fn slot_name(key: u64, number: u64) -> u64 {
    key >> 33 << 32 | number
}

pub(super) struct AnswerForm;

impl Form for AnswerForm {
    const WHAT: &'static str = "answer";
    fn size<K: SchemeKind>(params: &ClearParams<K>) -> usize {
        params.answer_bytes()
    }
}

/// A unit's bytes, after a checksum of them and of the unit's number.
pub(super) struct UnitForm;

impl Form for UnitForm {
    const WHAT: &'static str = "answer of a unit";
    fn size<K: SchemeKind>(params: &ClearParams<K>) -> usize {
        params.unit_answer_bytes()
    }
}

/// An answer about a unit; the plain bytes where a kind has no units.
pub(super) fn seal<K: SchemeKind>(unit: u64, bytes: &[u8]) -> Vec<u8> {
    if K::UNITS { [&unit_sum(unit, bytes)[..], bytes].concat() } else { bytes.to_vec() }
}

/// The bytes of a unit, if the answer belongs to it.
pub(super) fn unseal<K: SchemeKind>(unit: u64, answer: &[u8]) -> Result<&[u8]> {
    match answer.split_first_chunk::<UNIT_SUM>() {
        _ if !K::UNITS => Ok(answer),
        Some((found, bytes)) if *found == unit_sum(unit, bytes) => Ok(bytes),
        _ => Err(Error::Unreadable),
    }
}

fn unit_sum(unit: u64, bytes: &[u8]) -> [u8; UNIT_SUM] {
    let mut sum = [0; UNIT_SUM];
    blake3::Hasher::new().update(&unit.to_le_bytes()).update(bytes).finalize_xof().fill(&mut sum);
    sum
}

pub(super) struct HintRequestForm;

impl Form for HintRequestForm {
    const WHAT: &'static str = "hint request";
    fn size<K: SchemeKind>(_: &ClearParams<K>) -> usize {
        8
    }
    fn is_valid<K: SchemeKind>(_: &ClearParams<K>, order: &HintRequest) -> bool {
        order.word(0) != u64::MAX
    }
}

pub(super) struct HintResponseForm;

impl Form for HintResponseForm {
    const WHAT: &'static str = "hint response";
    fn size<K: SchemeKind>(_: &ClearParams<K>) -> usize {
        16
    }
}

/// The exclusive or of a record's words: what changes in a record changes its fold by the fold of the change.
pub(super) fn fold(record: &[u8]) -> u64 {
    let words = record.chunks(8).map(|word| {
        let mut padded = [0; 8];
        padded.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(padded)
    });
    words.fold(0, |sum, word| sum ^ word)
}

/// The sum of a record that a client stores: a checksum where a hint has it, the fold where changes
/// are followed.
pub(super) fn sum<K: SchemeKind>(record: &[u8]) -> u64 {
    if K::ARTIFACT != Some(Artifact::Hint) {
        return fold(record);
    }
    let mut sum = [0; 8];
    blake3::Hasher::new().update(record).finalize_xof().fill(&mut sum);
    u64::from_le_bytes(sum)
}

/// Adds bytes to a record.
pub(super) fn add(record: &mut [u8], bytes: impl IntoIterator<Item = u8>) {
    record.iter_mut().zip(bytes).for_each(|(to, from)| *to ^= from);
}
