//! A client's keys as the server holds them: every row transformed, and the masks made from the
//! seed.

use crate::client::KEY_MASKS;
use crate::literal::TableForm;
use crate::message::{self, KeyUse, Keys};
use crate::params::Inner;
use sotto_core::{Misuse, PeerMisbehaved, Result};
use sotto_lattice::automorphism::AutomorphismKey;
use sotto_lattice::encrypt::{MaskSource, restore};
use sotto_lattice::expand::element;
use sotto_lattice::keyswitch::SwitchKey;
use sotto_lattice::rgsw_conversion::ConversionKey;
use std::sync::Arc;

/// A client's admitted keys.
pub struct Session {
    /// Keys of the rounds of expansion towards selectors, where they differ from those towards
    /// bits.
    left: Vec<AutomorphismKey>,
    /// Keys of the rounds towards bits, from round 0 on.
    right: Vec<AutomorphismKey>,
    pub(crate) convert: Option<ConversionKey>,
    /// Keys of each position of a packed answer, which prepared queries share.
    pub(crate) pack: Arc<Vec<SwitchKey>>,
}

impl Session {
    /// Admits keys. Decoding has checked every word.
    ///
    /// # Errors
    /// None for keys that [`Keys`] decoded under the same parameters.
    pub fn admit(params: &Inner, keys: &Keys) -> Result<Self> {
        let ring = &params.ring;
        let mut session =
            Session { left: Vec::new(), right: Vec::new(), convert: None, pack: Arc::default() };
        let mut pack = Vec::new();
        let (mut square, mut rest) = (None, keys.bodies.as_slice());
        let bad = || PeerMisbehaved::NotCanonical("keys");
        for entry in message::key_entries(params) {
            let (bodies, after) = rest.split_at_checked(entry.bodies()).ok_or_else(bad)?;
            rest = after;
            let sent_bits = message::sent_bits(params, &entry).into();
            let bodies: Option<Vec<Vec<u64>>> =
                bodies.iter().map(|body| restore(ring, entry.level, body, sent_bits)).collect();
            let bodies = bodies.ok_or_else(bad)?;
            let masks = MaskSource { seed: &keys.seed, label: KEY_MASKS, first: entry.first };
            let switch = || SwitchKey::assemble(ring, entry.level, &entry.gadget, entry.rank, &bodies, masks);
            let automorphism = |round| {
                let k = element(params.n(), round);
                AutomorphismKey::assemble(ring, entry.level, &entry.gadget, k, &bodies, masks)
                    .ok_or(Misuse::Rule("every round must have an automorphism"))
            };
            match entry.usage {
                KeyUse::Left(round) => session.left.push(automorphism(round)?),
                KeyUse::Right(round) => session.right.push(automorphism(round)?),
                KeyUse::Convert => square = Some(switch()),
                KeyUse::Pack(_) => pack.push(switch()),
            }
        }
        session.pack = Arc::new(pack);
        session.convert = match (square, params.literal.form) {
            (Some(products), TableForm::Matrix) => ConversionKey::packed(products, session.pack.clone()),
            (Some(square), _) => ConversionKey::plain(square),
            (None, _) => None,
        };
        Ok(session)
    }

    /// The keys of the rounds of each tree.
    pub(crate) fn rounds(&self, params: &Inner) -> Option<[&[AutomorphismKey]; 2]> {
        let expansion = params.expansion()?;
        let range = |rounds: std::ops::Range<u32>| rounds.start as usize..rounds.end as usize;
        let [left, right] = [expansion.left_rounds(), expansion.right_rounds()].map(range);
        if message::shared(params) {
            return Some([self.right.get(left)?, self.right.get(right)?]);
        }
        Some([&self.left, &self.right])
    }
}
