//! A client's keys as the server holds them: every row as values, and the masks made from the seed.

use crate::client::key_masks;
use crate::evaluator::EvaluationKeys;
use crate::family::{Family, Method};
use crate::message::Keys;
use crate::params::Params;
use sotto_core::{PeerMisbehaved, Result};
use sotto_lattice::bgv::expand::ExpansionRound;
use sotto_lattice::bgv::keyswitch::SwitchKey;
use sotto_lattice::bgv::{RotationKey, SlotRing};
use sotto_lattice::encrypt::MaskSource;
use std::marker::PhantomData;

/// Keys that a server of a scheme admitted. Keys of another scheme have another type, and are
/// refused.
pub struct AdmittedKeys<F> {
    pub(super) keys: EvaluationKeys,
    scheme: PhantomData<fn() -> F>,
}

impl<F: Family> AdmittedKeys<F> {
    /// Admits keys.
    ///
    /// # Errors
    /// The errors of [`EvaluationKeys::admit`].
    pub(super) fn new(params: &Params<F>, keys: &Keys) -> Result<Self> {
        Ok(AdmittedKeys { keys: EvaluationKeys::admit(params, keys)?, scheme: PhantomData })
    }
}

impl EvaluationKeys {
    /// Admits keys. Decoding has checked every word.
    ///
    /// # Errors
    /// None for keys that [`Keys`] decoded under the same parameters.
    fn admit<F: Family>(params: &Params<F>, keys: &Keys) -> Result<Self> {
        let refuse = || PeerMisbehaved::NotCanonical("keys");
        let (ring, keyring, primes) = (&params.ring, params.method.keys(), params.set.query_primes());
        let mut each = keys.bodies.chunks_exact(primes).enumerate();
        let mut next = || {
            let (key, bodies) = each.next().ok_or_else(refuse)?;
            Ok::<(&[Vec<u64>], MaskSource<'_>), PeerMisbehaved>((bodies, key_masks(&keys.seed, key, primes)))
        };
        let mut session = EvaluationKeys { rotation: None, square: None, rounds: Vec::new() };
        if let Some(by) = keyring.rotation {
            let (bodies, masks) = next()?;
            let rotation = RotationKey::assemble(ring, ring.ring().rotation(by), bodies, masks);
            session.rotation = Some(rotation.ok_or_else(refuse)?);
        }
        if keyring.square {
            let (bodies, masks) = next()?;
            session.square = Some(SwitchKey::assemble(ring, bodies, masks).ok_or_else(refuse)?);
        }
        for round in 0..keyring.rounds {
            let (bodies, masks) = next()?;
            session.rounds.push(ExpansionRound::assemble(ring, round, bodies, masks).ok_or_else(refuse)?);
        }
        Ok(session)
    }
}
