//! Keys, queries and answers, and their bits on the wire.
//!
//! Masks are never sent: a seed of 32 bytes replaces all masks of a message. Of every word of a
//! body only the top bits are sent, as many as the parameters say; spec/cube.md specifies the
//! bytes.

use crate::cost::SEED_BYTES;
use crate::literal::TableForm;
use crate::params::{Inner, Params};
use sotto_core::wire::exact;
use sotto_core::{PeerMisbehaved, Result, Wire};
use sotto_lattice::ring::ModulusLevel;
use sotto_math::bits;
use sotto_math::gadget::Gadget;
use sotto_prg::PublicSeed;

/// The top bits of the coefficients of a body.
pub type Body = Vec<u128>;

/// The keys that a client registers: the bodies of all keys, in the order of [`key_entries`].
#[derive(Debug, Clone)]
pub struct Keys {
    /// Seed of the masks.
    pub seed: PublicSeed,
    /// Bodies of all keys.
    pub bodies: Vec<Body>,
}

/// One query: selectors first, then the bits of further dimensions; or one body that expands to
/// them.
#[derive(Debug, Clone)]
pub struct Query {
    /// Seed of the masks.
    pub seed: PublicSeed,
    /// Bodies of the query.
    pub bodies: Vec<Body>,
}

/// The answer for one unit: for each column of the unit its mask and its bodies, switched to few
/// bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitAnswer {
    /// Masks and bodies, column by column.
    pub polynomials: Vec<Vec<u64>>,
}

/// The answers for all units of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub Vec<UnitAnswer>);

/// The length and the valid values of each body of a message.
struct BodyWidth {
    bits: u32,
    /// The largest truncated word of a coefficient of the modulus.
    last: u128,
}

impl BodyWidth {
    fn new(params: &Inner, level: ModulusLevel, sent: u8) -> Self {
        let cut = params.ring.bits(level).saturating_sub(sent.into());
        BodyWidth { bits: sent.into(), last: (params.ring.modulus(level) - 1) >> cut }
    }

    fn bytes(&self, n: usize) -> usize {
        (n * self.bits as usize).div_ceil(8)
    }

    fn take(&self, what: &'static str, n: usize, bytes: &[u8]) -> Result<Body> {
        bits::unpack(bytes, self.bits, n)
            .filter(|words| words.iter().all(|word| *word <= self.last))
            .ok_or_else(|| PeerMisbehaved::NotCanonical(what).into())
    }
}

/// The widths of the bodies of a key message, in order.
fn key_widths(params: &Inner) -> Vec<BodyWidth> {
    let widths = |entry| {
        let entry: &KeyringEntry = entry;
        (0..entry.bodies())
            .map(|_| BodyWidth::new(params, entry.level, sent_bits(params, entry)))
            .collect::<Vec<_>>()
    };
    key_entries(params).iter().flat_map(widths).collect()
}

fn query_widths(params: &Inner) -> Vec<BodyWidth> {
    let width = |_| BodyWidth::new(params, params.query_level(), params.literal.query_bits);
    (0..params.query_polynomials()).map(width).collect()
}

fn put(params: &Inner, widths: &[BodyWidth], seed: &PublicSeed, bodies: &[Body], out: &mut Vec<u8>) {
    debug_assert!(widths.len() == bodies.len() && bodies.iter().all(|body| body.len() == params.n()));
    out.extend_from_slice(&seed.0);
    widths.iter().zip(bodies).for_each(|(width, body)| bits::pack(body, width.bits, out));
}

fn take(
    what: &'static str,
    params: &Inner,
    widths: &[BodyWidth],
    bytes: &[u8],
) -> Result<(PublicSeed, Vec<Body>)> {
    let n = params.n();
    exact(what, bytes, SEED_BYTES as usize + widths.iter().map(|width| width.bytes(n)).sum::<usize>())?;
    let too_short = || PeerMisbehaved::NotCanonical(what);
    let (seed, mut rest) = bytes.split_first_chunk::<32>().ok_or_else(too_short)?;
    let mut bodies = Vec::with_capacity(widths.len());
    for width in widths {
        let (body, after) = rest.split_at_checked(width.bytes(n)).ok_or_else(too_short)?;
        bodies.push(width.take(what, n, body)?);
        rest = after;
    }
    Ok((PublicSeed(*seed), bodies))
}

impl<F> Wire<Params<F>> for Keys {
    fn size(params: &Params<F>) -> usize {
        crate::cost::of_literal(&params.literal, params.set).keys_bytes as usize
    }

    fn put(&self, params: &Params<F>, out: &mut Vec<u8>) {
        put(params, &key_widths(params), &self.seed, &self.bodies, out);
    }

    fn take(params: &Params<F>, bytes: &[u8]) -> Result<Self> {
        let (seed, bodies) = take("keys", params, &key_widths(params), bytes)?;
        Ok(Keys { seed, bodies })
    }
}

impl<F> Wire<Params<F>> for Query {
    fn size(params: &Params<F>) -> usize {
        params.query_bytes() as usize
    }

    fn put(&self, params: &Params<F>, out: &mut Vec<u8>) {
        put(params, &query_widths(params), &self.seed, &self.bodies, out);
    }

    fn take(params: &Params<F>, bytes: &[u8]) -> Result<Self> {
        let (seed, bodies) = take("query", params, &query_widths(params), bytes)?;
        Ok(Query { seed, bodies })
    }
}

impl UnitAnswer {
    /// Bits of a word of each polynomial, in order.
    fn widths(params: &Inner) -> impl Iterator<Item = u32> + use<> {
        let [mask, body] = params.literal.answer_bits.map(u32::from);
        let side = usize::from(params.literal.n);
        let (columns, bodies) = if params.literal.form == TableForm::Plain { (1, 1) } else { (side, side) };
        (0..columns).flat_map(move |_| std::iter::once(mask).chain(std::iter::repeat_n(body, bodies)))
    }

    fn put_words(&self, params: &Inner, out: &mut Vec<u8>) {
        Self::widths(params)
            .zip(&self.polynomials)
            .for_each(|(width, words)| bits::pack_words(words, width, out));
    }

    fn take_words(params: &Inner, bytes: &[u8]) -> Result<Self> {
        let n = params.n();
        exact("answer", bytes, params.unit_answer_bytes() as usize)?;
        let bad = || PeerMisbehaved::NotCanonical("answer");
        let mut rest = bytes;
        let mut polynomials = Vec::new();
        for width in Self::widths(params) {
            let len = (n * width as usize).div_ceil(8);
            let (words, after) = rest.split_at_checked(len).ok_or_else(bad)?;
            polynomials.push(bits::unpack_words(words, width, n).ok_or_else(bad)?);
            rest = after;
        }
        Ok(UnitAnswer { polynomials })
    }
}

impl<F> Wire<Params<F>> for UnitAnswer {
    fn size(params: &Params<F>) -> usize {
        params.unit_answer_bytes() as usize
    }

    fn put(&self, params: &Params<F>, out: &mut Vec<u8>) {
        self.put_words(params, out);
    }

    fn take(params: &Params<F>, bytes: &[u8]) -> Result<Self> {
        UnitAnswer::take_words(params, bytes)
    }
}

impl<F> Wire<Params<F>> for Answer {
    fn size(params: &Params<F>) -> usize {
        (params.grid.units() * params.unit_answer_bytes()) as usize
    }

    fn put(&self, params: &Params<F>, out: &mut Vec<u8>) {
        self.0.iter().for_each(|unit| unit.put_words(params, out));
    }

    fn take(params: &Params<F>, bytes: &[u8]) -> Result<Self> {
        exact("answer", bytes, Self::size(params))?;
        let units = bytes.chunks_exact(params.unit_answer_bytes() as usize);
        Ok(Answer(units.map(|unit| UnitAnswer::take_words(params, unit)).collect::<Result<_>>()?))
    }
}

/// The purpose of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyUse {
    /// The automorphism of this round of expansion, in the tree that ends in selectors.
    Left(u32),
    /// The automorphism of this round of expansion, in the tree that ends in bits; if both trees
    /// have the same gadget, there are only these.
    Right(u32),
    /// Conversion to RGSW.
    Convert,
    /// Packing into this position, counted from 1.
    Pack(usize),
}

/// A key of the list.
#[derive(Debug, Clone)]
pub struct KeyringEntry {
    /// Purpose of the key.
    pub usage: KeyUse,
    /// Gadget of the key.
    pub gadget: Gadget,
    /// Modulus of the key's rows.
    pub level: ModulusLevel,
    /// Number of secrets that the key switches to.
    pub rank: usize,
    /// Index of the key's first mask in the stream of the keys' seed.
    pub first: u64,
}

impl KeyringEntry {
    /// Number of bodies that are sent.
    pub fn bodies(&self) -> usize {
        self.gadget.digits() as usize * self.rank
    }
}

/// Lists all keys, in the order in which they are sent.
pub fn key_entries(params: &Inner) -> Vec<KeyringEntry> {
    let mut out: Vec<KeyringEntry> = Vec::new();
    let mut next = 0;
    let mut push = |usage, gadget: &Option<Gadget>, level, rank| {
        if let Some(gadget) = gadget {
            out.push(KeyringEntry { usage, gadget: *gadget, level, rank, first: next });
            next += u64::from(gadget.digits());
        }
    };
    let gadgets = &params.gadgets;
    if let Some(expansion) = params.expansion() {
        let [left, right] = [expansion.left_rounds(), expansion.right_rounds()];
        if shared(params) {
            (0..left.end.max(right.end))
                .for_each(|round| push(KeyUse::Right(round), &gadgets.expand, ModulusLevel::Full, 1));
        } else {
            left.for_each(|round| push(KeyUse::Left(round), &gadgets.expand, ModulusLevel::Full, 1));
            right.for_each(|round| push(KeyUse::Right(round), &gadgets.expand_right, ModulusLevel::Full, 1));
        }
    }
    // Matrices are made right after expansion, and plain ciphertexts are packed at the very end.
    let side = usize::from(params.literal.n);
    let (level, rank) = match params.literal.form {
        TableForm::Matrix => (ModulusLevel::Full, side),
        TableForm::Plain | TableForm::Packed => (ModulusLevel::Main, 1),
    };
    push(KeyUse::Convert, &gadgets.convert, ModulusLevel::Full, rank);
    (1..=side).for_each(|place| push(KeyUse::Pack(place), &gadgets.pack, level, side));
    out
}

/// Whether both trees of expansion use the same keys.
pub(crate) fn shared(params: &Inner) -> bool {
    params.literal.nu2 > 0 && params.gadgets.expand == params.gadgets.expand_right
}

/// Bits of every word of a key's bodies that are sent.
pub(crate) fn sent_bits(params: &Inner, entry: &KeyringEntry) -> u8 {
    match entry.usage {
        KeyUse::Pack(_) => params.literal.pack_key_bits,
        KeyUse::Convert if params.literal.form == TableForm::Matrix => params.literal.pack_key_bits,
        _ => params.literal.key_bits,
    }
}
