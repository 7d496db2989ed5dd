use super::*;
use crate::matrix::mix;
use crate::simd::available;

fn words(n: usize, seed: u64, bits: u32) -> Vec<u16> {
    (0..n as u64).map(|i| (mix(i + seed) >> 7) as u16 & ((1u32 << bits) - 1) as u16).collect()
}

fn expected(sought: &Either<'_>, base: u32) -> Vec<u32> {
    let hit = |i: &usize| sought.a[*i] & sought.mask == sought.x || sought.b[*i] == sought.y;
    (0..sought.a.len()).filter(hit).map(|i| base.wrapping_add(i as u32)).collect()
}

#[test]
fn every_backend_finds_all_and_nothing_else() {
    for n in (0..70).chain([127, 128, 1000, 4096 + 17]) {
        // From nothing but hits to hardly one, and masks that hide what would not be hits.
        for (bits, mask) in [(1, 1), (1, 0), (3, 7), (4, 3), (9, 0x1FF), (16, u16::MAX), (16, 0x3FF)] {
            let (a, b) = (words(n, 5, bits), words(n, 9000, bits));
            for (x, y, base) in [(0, 0, 0), (1, 1, 77), (mask, u16::MAX, u32::MAX - 40), (0x8000, 0x8000, 3)]
            {
                let sought = Either { a: &a, mask, x, b: &b, y };
                let expected = expected(&sought, base);
                for k in available() {
                    let mut found = Found::new(n);
                    either16_with(k, &sought, base, &mut found);
                    assert_eq!(found.as_slice(), expected, "{n} words of {bits} bits by {}", k.name());
                    assert_eq!((found.len(), found.is_empty()), (expected.len(), expected.is_empty()));
                    assert!(!found.overflowed());
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_counted_and_dropped() {
    let (a, b) = (words(500, 1, 3), words(500, 2, 3));
    let sought = Either { a: &a, mask: 7, x: 2, b: &b, y: 6 };
    let all = expected(&sought, 0);
    assert!(all.len() > 40);
    for capacity in [0, 1, 15, 16, 17, all.len() - 1, all.len(), all.len() + 1] {
        for k in available() {
            let mut found = Found::new(capacity);
            either16_with(k, &sought, 0, &mut found);
            assert_eq!(found.as_slice(), &all[..capacity.min(all.len())], "{capacity} by {}", k.name());
            assert_eq!(found.overflowed(), capacity < all.len(), "{capacity} by {}", k.name());
            // More of the same stays dropped, and does not unseat what was there.
            either16_with(k, &sought, 1 << 20, &mut found);
            let twice: Vec<u32> = all.iter().copied().chain(all.iter().map(|p| p + (1 << 20))).collect();
            assert_eq!(found.as_slice(), &twice[..capacity.min(twice.len())], "{capacity} by {}", k.name());
            found.clear();
            assert!(found.is_empty() && !found.overflowed());
        }
    }
}

#[test]
fn the_backend_in_use_appends() {
    let mut found = Found::new(4);
    either16(&[0x1234, 5, 6], 0x00FF, 0x34, &[9, 9, 7], 7, 10, &mut found);
    either16(&[1], u16::MAX, 1, &[2], 2, 99, &mut found);
    assert_eq!(found.as_slice(), [10, 12, 99]);
    assert!(!format!("{found:?}").contains("10"));
}

#[test]
#[should_panic = "as many words in both lists"]
fn lists_of_two_lengths_are_refused() {
    either16(&[1], 1, 1, &[], 1, 0, &mut Found::new(1));
}
