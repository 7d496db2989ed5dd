use super::*;
use crate::fixture::{SIGMA, encrypted, message, noise_log2, phases, rings, rng, secret};
use rand_core::Rng;

#[test]
fn masks_are_reduced_and_follow_from_the_seed() {
    let seed = PublicSeed([5; 32]);
    for ring in rings(64) {
        let full = mask(&ring, ModulusLevel::Full, &seed, "mask", 7);
        assert_eq!(full.len(), ring.words(ModulusLevel::Full));
        assert_eq!(full[..64], mask(&ring, ModulusLevel::Main, &seed, "mask", 7));
        assert_ne!(full, mask(&ring, ModulusLevel::Full, &seed, "mask", 8));
        for (plan, limb) in ring.plans(ModulusLevel::Full).zip(full.chunks(64)) {
            let q = plan.modulus().value();
            assert!(limb.iter().all(|x| *x < q));
            let mean = limb.iter().map(|x| *x as f64 / q as f64).sum::<f64>() / 64.0;
            assert!((mean - 0.5).abs() < 0.15, "{mean}");
        }
    }
    // The first words of the stream, by hand.
    let ring = &rings(64)[2];
    let mut bytes = [0; 8 * 200];
    seed.stream("mask", 7).fill(&mut bytes);
    let words = bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b) & ((1 << 50) - 1));
    let expected: Vec<u64> = words.filter(|word| *word < ring.q().value()).take(64).collect();
    assert_eq!(mask(ring, ModulusLevel::Main, &seed, "mask", 7), expected);
}

#[test]
fn phases_are_messages_and_small_errors() {
    for ring in rings(256) {
        for level in [ModulusLevel::Full, ModulusLevel::Main] {
            let s = secret(&ring, 1);
            let (expected, slots) = message(&ring, level, 1, ring.modulus(level) / 1000);
            let c = encrypted(&ring, level, &s, &slots, 0);
            let noise = noise_log2(&ring, level, &phases(&ring, &[&s], &c)[0], &expected);
            assert!((noise - SIGMA.log2()).abs() < 0.3, "{noise}");
        }
    }
}

#[test]
fn integers_go_to_slots_and_back() {
    let mut random = rng(4);
    for ring in rings(64) {
        for level in [ModulusLevel::Full, ModulusLevel::Main] {
            let modulus = ring.modulus(level);
            let mut integers: Vec<u128> = (0..64)
                .map(|_| (u128::from(random.next_u64()) << 64 | u128::from(random.next_u64())) % modulus)
                .collect();
            integers[..4].copy_from_slice(&[0, 1, modulus / 2, modulus - 1]);
            let mut slots = ring.from_integers(level, &integers);
            assert_eq!(ring.to_integers(level, &mut slots), integers);
            // Multiplying by a constant is the same in both worlds.
            let mut slots = ring.from_integers(level, &integers);
            ring.scale(level, &mut slots, modulus - 3);
            let product = |x: &u128| (modulus - x * 3 % modulus) % modulus;
            assert_eq!(ring.to_integers(level, &mut slots), integers.iter().map(product).collect::<Vec<_>>());
        }
    }
}

#[test]
fn truncated_bodies_come_back_within_half_a_step() {
    for ring in rings(64) {
        for level in [ModulusLevel::Full, ModulusLevel::Main] {
            let (bits, modulus) = (ring.bits(level), ring.modulus(level));
            let b = mask(&ring, level, &PublicSeed([1; 32]), "body", 0);
            let exact = ring.to_integers(level, &mut b.clone());
            for kept in [1, 20, bits - 17, bits - 1, bits, 200] {
                let words = truncate(&ring, level, &b, kept);
                let mut back = restore(&ring, level, &words, kept).unwrap();
                let half = (1u128 << bits.saturating_sub(kept)) / 2;
                let back = ring.to_integers(level, &mut back);
                assert!(back.iter().zip(&exact).all(|(x, y)| x.abs_diff(*y) <= half), "{kept} of {bits}");
                if kept >= bits {
                    assert_eq!(back, exact);
                }
                // The last word some coefficient has, and the next one.
                let last = (modulus - 1) >> bits.saturating_sub(kept);
                let mut words = words;
                words[63] = last;
                assert!(restore(&ring, level, &words, kept).is_some());
                words[63] = last + 1;
                assert!(restore(&ring, level, &words, kept).is_none());
                words[63] = u128::MAX;
                assert!(restore(&ring, level, &words, kept).is_none());
                assert!(restore(&ring, level, &words[1..], kept).is_none());
            }
        }
    }
}
