use super::*;
use crate::matrix::mix;
use crate::simd::available;

fn words(n: usize, seed: u64, bits: u32) -> Vec<u16> {
    (0..n as u64).map(|i| (mix(i + seed) >> 7) as u16 & ((1u32 << bits) - 1) as u16).collect()
}

fn bytes(words: &[u16]) -> Vec<[u8; 2]> {
    words.iter().map(|word| word.to_le_bytes()).collect()
}

fn expected(sought: &Either<'_>, base: u32) -> Vec<u32> {
    let a = |i: usize| u16::from_le_bytes(sought.a[i]) & sought.mask;
    let hit = |i: &usize| a(*i) == sought.x || sought.b[*i] == sought.y;
    (0..sought.a.len()).filter(hit).map(|i| base.wrapping_add(i as u32)).collect()
}

/// Stands for none: no position of these tests.
const NONE: u32 = 1 << 30;

/// The first so many positions, and what stands behind the last.
fn first(found: &Found, len: usize) -> Vec<u32> {
    let mut out = vec![7; len];
    found.positions(NONE, &mut out);
    out
}

/// So many of these positions, with none behind the last.
fn padded(positions: &[u32], len: usize) -> Vec<u32> {
    positions.iter().copied().chain(std::iter::repeat(NONE)).take(len).collect()
}

#[test]
fn every_backend_finds_all_and_nothing_else() {
    for n in (0..70).chain([127, 128, 129, 1000, 4096 + 17, 2 * 4096]) {
        // From nothing but hits to hardly one, and masks that hide what would not be hits.
        for (bits, mask) in [(1, 1), (1, 0), (3, 7), (4, 3), (9, 0x1FF), (16, u16::MAX), (16, 0x3FF)] {
            let (a, b) = (bytes(&words(n, 5, bits)), words(n, 9000, bits));
            for (x, y, base) in [(0, 0, 0), (1, 1, 77), (mask, u16::MAX, u32::MAX - 40), (0x8000, 0x8000, 3)]
            {
                let sought = Either { a: &a, mask, x, b: &b, y };
                let expected = expected(&sought, base);
                for k in available() {
                    let mut found = Found::new(n);
                    either16_with(k, &sought, base, &mut found);
                    for len in [expected.len() / 2, expected.len(), expected.len() + 3] {
                        let got = first(&found, len);
                        assert_eq!(got, padded(&expected, len), "{n} words of {bits} bits by {}", k.name());
                    }
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_dropped() {
    let (a, b) = (bytes(&words(500, 1, 3)), words(500, 2, 3));
    let sought = Either { a: &a, mask: 7, x: 2, b: &b, y: 6 };
    let all = expected(&sought, 0);
    // One word of bits holds some positions each, so these are fewer than there are.
    for capacity in 0..20 {
        for k in available() {
            let mut found = Found::new(capacity);
            either16_with(k, &sought, 0, &mut found);
            let fit = |word: u32| word < capacity as u32;
            let once: Vec<u32> = all.iter().copied().filter(|at| fit(at / 64)).collect();
            assert_eq!(first(&found, all.len()), padded(&once, all.len()), "{capacity} by {}", k.name());
            // More of the same does not unseat what was there.
            either16_with(k, &sought, 1 << 20, &mut found);
            let more = all.iter().filter(|at| fit(8 + **at / 64)).map(|at| at + (1 << 20));
            let twice: Vec<u32> = once.iter().copied().chain(more).collect();
            assert_eq!(
                first(&found, 2 * all.len()),
                padded(&twice, 2 * all.len()),
                "{capacity} by {}",
                k.name()
            );
            found.clear();
            assert_eq!(first(&found, 5), [NONE; 5]);
        }
    }
}

#[test]
fn the_backend_in_use_appends() {
    let mut found = Found::new(4);
    either16(&bytes(&[0x1234, 5, 6]), 0x00FF, 0x34, &[9, 9, 7], 7, 10, &mut found);
    either16(&bytes(&[1]), u16::MAX, 1, &[2], 2, 99, &mut found);
    assert_eq!(first(&found, 4), [10, 12, 99, NONE]);
    assert!(!format!("{found:?}").contains("10"));
}

#[test]
#[should_panic = "as many words in both lists"]
fn lists_of_two_lengths_are_refused() {
    either16(&[[1, 0]], 1, 1, &[], 1, 0, &mut Found::new(1));
}
