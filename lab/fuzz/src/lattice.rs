//! Polynomials of ring-LWE ciphertexts, before any scheme makes something of them.

use sotto_lattice::bgv::wire::{body_bytes, put_body, take_body};
use sotto_lattice::bgv::{Answer, AnswerBits, Pow2, RnsRing};
use sotto_math::modulus::Modulus;
use sotto_prg::PublicSeed;
use std::sync::OnceLock;

/// A small ring with two primes and a special one, whose limbs leave no bit unused but whose words have values to spare.
fn ring() -> &'static RnsRing<Pow2> {
    static RING: OnceLock<RnsRing<Pow2>> = OnceLock::new();
    RING.get_or_init(|| {
        let prime = |q| Modulus::new(q).expect("a prime below 2^50");
        let primes: Vec<Modulus> = Pow2::PRIMES.into_iter().take(3).map(prime).collect();
        let ring = Pow2::new(64, prime(65537), &primes).expect("primes that are 1 modulo 2n");
        RnsRing::new(ring).expect("primes that are 1 modulo t")
    })
}

/// A body of BGV, at the level of keys or at one of ciphertexts. What is taken is reduced, and written again it is the same.
pub(crate) fn bgv_body(data: &[u8]) -> bool {
    let rns = ring();
    let levels = [Some(rns.full()), Some(rns.top()), rns.level(1)];
    let taken = levels.into_iter().flatten().filter(|level| {
        let Some(body) = take_body(rns, *level, data) else { return false };
        for (plan, limb) in rns.plans(*level).zip(body.chunks_exact(64)) {
            assert!(limb.iter().all(|word| *word < plan.modulus().value()));
        }
        let mut bytes = Vec::new();
        put_body(rns, *level, &body, &mut bytes);
        assert!(bytes == data && bytes.len() == body_bytes(rns, *level));
        true
    });
    taken.count() > 0
}

/// Bodies of every level.
pub(crate) fn bgv_bodies() -> Vec<Vec<u8>> {
    let rns = ring();
    let body = |level| {
        let mut bytes = Vec::new();
        put_body(rns, level, &rns.mask(level, &PublicSeed([1; 32]), "body", 0), &mut bytes);
        bytes
    };
    [Some(rns.full()), Some(rns.top()), rns.level(1)].into_iter().flatten().map(body).collect()
}

/// An answer of BGV. What is taken is the same when written again.
pub(crate) fn bgv_answer(data: &[u8]) -> bool {
    let (rns, bits) = (ring(), answer_bits());
    let Some(answer) = Answer::take(rns, bits, data) else { return false };
    let mut bytes = Vec::new();
    answer.put(bits, &mut bytes);
    assert!(bytes == data && bytes.len() == bits.bytes(rns));
    true
}

/// The least and the greatest one.
pub(crate) fn bgv_answers() -> Vec<Vec<u8>> {
    let bytes = answer_bits().bytes(ring());
    vec![vec![0; bytes], vec![0xFF; bytes]]
}

fn answer_bits() -> AnswerBits {
    AnswerBits::new(ring(), 19, 26).expect("widths that fit")
}
