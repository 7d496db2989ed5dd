use super::*;
use crate::encrypt::phase;
use crate::fixture::{
    SIGMA, approximate, digits, encrypted, exact, masks, message, noise_log2, norm, phases, rings, samples,
    secret, with_errors,
};
use crate::noise::steps;

/// The gadgets of all levels, which alternate.
fn gadgets(ring: &Ring, turns: &[Gadget]) -> Vec<Gadget> {
    turns.iter().copied().cycle().take(ring.n().trailing_zeros() as usize).collect()
}

/// The messages decrypt with the noise of the formula, and both methods make the same ciphertext,
/// bit for bit.
#[test]
fn both_ways_make_one_ciphertext() {
    for n in [256, 1024] {
        let ring = &rings(n)[2];
        let [four, five] = [4, 5].map(|digits| exact(ring, ModulusLevel::Main, digits));
        for turns in [&[four][..], &[five, four], &[approximate(ring, ModulusLevel::Main, 3)]] {
            let gadgets = gadgets(ring, turns);
            let secret = secret(ring, 1);
            let keys = with_errors(5, |errors| generate(ring, &gadgets, &secret, masks(7), errors));
            let (a, bodies, messages) = samples(ring, &secret, 0, ring.n(), 1 << 46);
            let whole = |b: u64| vec![b; n];
            let ciphers = a.chunks_exact(n).zip(&bodies);
            let ciphers = ciphers.map(|(a, b)| {
                Ciphertext::new(ring, ModulusLevel::Main, a, [whole(*b)].iter().map(Vec::as_slice))
            });
            let assembled = assemble(ring, &gadgets, &keys, masks(7)).unwrap();
            let merged = pack(ring, &assembled, ciphers.collect(), &mut Scratch::new(ring));

            let packing = Cdks::new(ring, &gadgets, masks(7)).unwrap();
            let known = packing.known(&a);
            let mut body = packing.body(&known, &keys, &bodies);
            ring.forward(ModulusLevel::Main, &mut body);
            assert_eq!((merged.comp(0), merged.comp(1)), (&known.mask[..], &body[..]));

            let phase = phase(ring, ModulusLevel::Main, &secret, &known.mask, &body);
            let noise = noise_log2(ring, ModulusLevel::Main, &phase, &messages);
            let switch = |gadget: &Gadget| {
                steps::key_switch(n, &digits(gadget), ring.log2_q(ModulusLevel::Main), SIGMA * SIGMA, norm(n))
            };
            let predicted = steps::cdks(gadgets.iter().map(switch)).log2() / 2.0;
            assert!((noise - predicted).abs() < 0.3, "{n}: {noise} {predicted}");
        }
    }
}

/// Packs eight ciphertexts of polynomials, also under the composite modulus.
#[test]
fn whole_ciphertexts_are_packed_by_the_last_levels() {
    let (n, count) = (256, 8);
    for ring in &rings(n)[2..] {
        let secret = secret(ring, 1);
        let gadgets = [exact(ring, ModulusLevel::Main, 4); 3];
        let keys = with_errors(5, |errors| generate(ring, &gadgets, &secret, masks(7), errors));
        let assembled = assemble(ring, &gadgets, &keys, masks(7)).unwrap();
        let made: Vec<_> = (0..count).map(|k| message(ring, ModulusLevel::Main, k, 1 << 40)).collect();
        let cipher = |(k, (_, slots)): (u64, &(Vec<i128>, Vec<u64>))| {
            encrypted(ring, ModulusLevel::Main, &secret, slots, k)
        };
        let ciphers = (0..).zip(&made).map(cipher).collect();
        let packed = pack(ring, &assembled, ciphers, &mut Scratch::new(ring));
        let expected: Vec<i128> = (0..n).map(|i| made[i % count].0[i - i % count]).collect();
        let noise = noise_log2(ring, ModulusLevel::Main, &phases(ring, &[&secret], &packed)[0], &expected);
        let switch = |gadget: &Gadget| {
            steps::key_switch(n, &digits(gadget), ring.log2_q(ModulusLevel::Main), SIGMA * SIGMA, norm(n))
        };
        let predicted = (SIGMA * SIGMA + steps::cdks(gadgets.iter().map(switch))).log2() / 2.0;
        assert!((noise - predicted).abs() < 0.3, "{noise} {predicted}");
    }
}

#[test]
fn what_is_missing_or_falls_short_is_refused() {
    let ring = &rings(64)[2];
    let whole = gadgets(ring, &[exact(ring, ModulusLevel::Main, 4)]);
    let short = gadgets(ring, &[Gadget::new(2, 10, 10).unwrap()]);
    assert!(Cdks::new(ring, &whole, masks(0)).is_some());
    assert!(Cdks::new(ring, &whole[1..], masks(0)).is_none());
    assert!(Cdks::new(ring, &short, masks(0)).is_none());
    assert!(assemble(ring, &whole, &vec![vec![0; 64]; 23], masks(0)).is_none());
}
