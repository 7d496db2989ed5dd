//! A client's keys as the server holds them: every row as values, with masks made from the seed.

use crate::client::masks;
use crate::message::Keys;
use crate::params::Params;
use crate::rings::Ring;
use sotto_core::{PeerMisbehaved, Result};
use sotto_lattice::bgv::keyswitch::SwitchKey;
use sotto_lattice::bgv::{M8191, Pow2, RnsRing, RotationKey, SlotRing};

/// The keys of a client in one ring.
pub struct SwitchKeys<R: SlotRing> {
    /// The key that rotates by one.
    pub(super) rotation: RotationKey<R>,
    /// The key that rotates by a stride, if there is one.
    pub(super) stride: Option<RotationKey<R>>,
    /// The key that relinearizes.
    pub(super) square: SwitchKey,
}

/// Admitted keys.
pub enum Session {
    /// Keys in the ring of a power of two.
    Pow2(SwitchKeys<Pow2>),
    /// Keys in the paper's ring.
    M8191(SwitchKeys<M8191>),
}

impl Session {
    /// Admits keys. Decoding has checked every word.
    ///
    /// # Errors
    /// None for keys that [`Keys`] decoded under the same parameters.
    pub fn admit(params: &Params, keys: &Keys) -> Result<Self> {
        let bad = || PeerMisbehaved::NotCanonical("keys");
        Ok(match &*params.ring {
            Ring::Pow2(rns) => Session::Pow2(switches(params, rns, keys).ok_or_else(bad)?),
            Ring::M8191(rns) => Session::M8191(switches(params, rns, keys).ok_or_else(bad)?),
        })
    }
}

fn switches<R: SlotRing>(params: &Params, rns: &RnsRing<R>, keys: &Keys) -> Option<SwitchKeys<R>> {
    let [rotation, square, stride] = masks(&keys.seed, params.literal.primes);
    let by = params.literal.stride as usize;
    let stride = match by {
        ..2 => None,
        _ => Some(RotationKey::assemble(rns, rns.ring().rotation(by), &keys.stride, stride)?),
    };
    Some(SwitchKeys {
        stride,
        rotation: RotationKey::assemble(rns, rns.ring().rotation(1), &keys.rotation, rotation)?,
        square: SwitchKey::assemble(rns, &keys.square, square)?,
    })
}

/// Evaluates an expression that is generic in the ring for a ring and a client's keys in it.
macro_rules! with_keys {
    ($params:expr, $session:expr, ($rns:ident, $keys:ident) => $body:expr) => {
        match (&*$params.ring, $session) {
            ($crate::rings::Ring::Pow2($rns), $crate::server::session::Session::Pow2($keys)) => $body,
            ($crate::rings::Ring::M8191($rns), $crate::server::session::Session::M8191($keys)) => $body,
            _ => Err(sotto_core::Misuse::ForeignValue("session").into()),
        }
    };
}
pub(super) use with_keys;
