//! The list of keys that a client registers, whose order client and server share.

use crate::literal::TableForm;
use crate::params::Inner;
use sotto_lattice::ring::ModulusLevel;
use sotto_math::gadget::Gadget;

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
pub fn entries(params: &Inner) -> Vec<KeyringEntry> {
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
