//! Rings, keys and ciphertexts for the tests of this folder.

use super::encrypt::{Ciphertext, SecretKey, decrypt, encrypt};
use super::keyswitch::SwitchKey;
use super::m8191::M8191;
use super::pow2::Pow2;
use super::ring::{Level, SlotRing};
use super::rns::RnsRing;
use super::rotate::RotationKey;
use crate::encrypt::MaskSource;
use crate::fixture::{rng, with_errors};
use sotto_math::modulus::Modulus;
use sotto_prg::PublicSeed;
use std::sync::LazyLock;

pub(super) const SEED: PublicSeed = PublicSeed([6; 32]);

/// Runs each of the given generic functions as a test on every kind of ring.
macro_rules! on_every_ring {
    ($($test:ident),* $(,)?) => {
        mod pow2 {
            $(
                #[test]
                fn $test() {
                    super::$test(&crate::bgv::fixture::pow2());
                }
            )*
        }
        mod m8191 {
            $(
                #[test]
                fn $test() {
                    super::$test(&crate::bgv::fixture::m8191());
                }
            )*
        }
    };
}
pub(super) use on_every_ring;

/// A small ring with three primes and a special one.
pub(super) fn pow2() -> RnsRing<Pow2> {
    let primes = Pow2::PRIMES.map(|q| Modulus::new(q).unwrap());
    RnsRing::new(Pow2::new(256, Modulus::new(65537).unwrap(), &primes).unwrap()).unwrap()
}

/// The ring of 8191, with three primes and a special one.
pub(super) fn m8191() -> RnsRing<M8191> {
    static RING: LazyLock<RnsRing<M8191>> =
        LazyLock::new(|| RnsRing::new(M8191::standard(4).unwrap()).unwrap());
    RING.clone()
}

pub(super) fn masks(label: &'static str) -> MaskSource<'static> {
    MaskSource { seed: &SEED, label, first: 0 }
}

/// All levels, the highest first.
pub(super) fn levels<R: SlotRing>(rns: &RnsRing<R>) -> impl Iterator<Item = Level> + use<R> {
    std::iter::successors(Some(rns.top()), |level| level.below())
}

pub(super) fn secret<R: SlotRing>(rns: &RnsRing<R>) -> SecretKey {
    SecretKey::sample(rns, &mut rng(1))
}

/// Plaintexts: irregular ones, and those with extreme coefficients.
pub(super) fn plaintexts<R: SlotRing>(rns: &RnsRing<R>) -> Vec<Vec<u64>> {
    let t = rns.ring().plain();
    let mix = |i: u64| {
        (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    };
    let all = |f: &dyn Fn(u64) -> u64| {
        let mut x = vec![0; rns.ring().words()];
        (0..).zip(&mut x[..rns.ring().degree()]).for_each(|(i, x)| *x = f(i) % t);
        x
    };
    vec![
        all(&|i| mix(i) >> 20),
        all(&|i| mix(i + 99999) >> 20),
        all(&|_| 0),
        all(&|_| t - 1),
        all(&|_| t / 2),
        all(&|_| t / 2 + 1),
        all(&|i| u64::from(i == 0)),
    ]
}

pub(super) fn slots<R: SlotRing>(rns: &RnsRing<R>, coefficients: &[u64]) -> Vec<u64> {
    let mut out = vec![0; rns.ring().cycles() * rns.ring().slots()];
    rns.ring().decode(coefficients, &mut out);
    out
}

pub(super) fn encrypted<R: SlotRing>(
    rns: &RnsRing<R>,
    level: Level,
    secret: &SecretKey,
    plaintext: &[u64],
    index: u64,
) -> Ciphertext {
    let mask = rns.mask(level, &SEED, "ciphertext", index);
    let body = with_errors(50 + index as u8, |errors| encrypt(rns, level, secret, &mask, plaintext, errors));
    Ciphertext::new(rns, level, &[&body, &mask])
}

/// The slots of a decrypted ciphertext.
pub(super) fn opened<R: SlotRing>(rns: &RnsRing<R>, secret: &SecretKey, c: &Ciphertext) -> Vec<u64> {
    slots(rns, &decrypt(rns, secret, c))
}

/// Slots of sums (0) or products (1).
pub(super) fn slotwise<R: SlotRing>(rns: &RnsRing<R>, which: usize, a: &[u64], b: &[u64]) -> Vec<u64> {
    a.iter().zip(b).map(|(a, b)| rns.ring().slot_arithmetic(*a, *b)[which]).collect()
}

pub(super) fn square_key<R: SlotRing>(rns: &RnsRing<R>, secret: &SecretKey) -> SwitchKey {
    let bodies = with_errors(2, |errors| SwitchKey::generate_square(rns, secret, masks("square"), errors));
    SwitchKey::assemble(rns, &bodies, masks("square")).unwrap()
}

pub(super) fn rotation_key<R: SlotRing>(rns: &RnsRing<R>, by: usize, secret: &SecretKey) -> RotationKey<R> {
    let masks = MaskSource { seed: &SEED, label: "rotation", first: 100 * by as u64 };
    let bodies = with_errors(3, |errors| RotationKey::generate(rns, by, secret, masks, errors));
    RotationKey::assemble(rns, rns.ring().rotation(by), &bodies, masks).unwrap()
}

/// A checksum of bytes (FNV-1a).
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |sum, b| (sum ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01B3))
}
