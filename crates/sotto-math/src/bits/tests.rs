use super::*;
use proptest::prelude::*;

/// The definition: bit `i` of the stream is bit `i % width` of word `i / width`.
fn by_bits(words: &[u128], width: u32) -> Vec<u8> {
    let width = width as usize;
    let bit = |i: usize| words.get(i / width).map_or(0, |word| (word >> (i % width) & 1) as u8);
    (0..(words.len() * width).div_ceil(8)).map(|byte| (0..8).map(|i| bit(8 * byte + i) << i).sum()).collect()
}

proptest! {
    #[test]
    fn there_and_back(words in prop::collection::vec(any::<u128>(), 0..40), width in 1u32..=128) {
        let mut bytes = vec![9];
        pack(&words, width, &mut bytes);
        prop_assert_eq!(&bytes[1..], by_bits(&words, width));
        prop_assert_eq!(Some(bytes.len() - 1), packed_len(width, words.len()));
        let kept: Vec<u128> = words.iter().map(|word| word & u128::MAX >> (128 - width)).collect();
        prop_assert_eq!(unpack(&bytes[1..], width, words.len()), Some(kept.clone()));
        if width <= 64 {
            let words: Vec<u64> = words.iter().map(|&word| word as u64).collect();
            let mut same = vec![9];
            pack_words(&words, width, &mut same);
            prop_assert_eq!(&same, &bytes);
            let kept = kept.iter().map(|&word| word as u64).collect();
            prop_assert_eq!(unpack_words(&bytes[1..], width, words.len()), Some(kept));
        }
        if width <= 16 {
            let words: Vec<u16> = words.iter().map(|&word| word as u16).collect();
            let mut same = vec![9];
            pack16(&words, width, &mut same);
            prop_assert_eq!(&same, &bytes);
            let kept = kept.iter().map(|&word| word as u16).collect();
            prop_assert_eq!(unpack16(&bytes[1..], width, words.len()), Some(kept));
        }
    }

    #[test]
    fn what_is_unpacked_was_packed(bytes in prop::collection::vec(any::<u8>(), 0..40), width in 0u32..140, count in 0usize..50) {
        if let Some(words) = unpack(&bytes, width, count) {
            prop_assert_eq!(by_bits(&words, width), bytes.clone());
        }
        if let Some(words) = unpack_words(&bytes, width, count) {
            let words: Vec<u128> = words.into_iter().map(u128::from).collect();
            prop_assert_eq!(by_bits(&words, width), bytes.clone());
        }
        if let Some(words) = unpack16(&bytes, width, count) {
            let words: Vec<u128> = words.into_iter().map(u128::from).collect();
            prop_assert_eq!(by_bits(&words, width), bytes);
        }
    }
}

#[test]
fn refuses_other_lengths_and_padding() {
    for unpacks in [
        |b: &[u8], w, c| unpack(b, w, c).is_some(),
        |b: &[u8], w, c| unpack_words(b, w, c).is_some(),
        |b: &[u8], w, c| unpack16(b, w, c).is_some(),
    ] {
        assert!(unpacks(&[0xff, 0x03], 5, 2));
        assert!(!unpacks(&[0xff, 0x04], 5, 2));
        assert!(!unpacks(&[0xff, 0x83], 5, 2));
        assert!(!unpacks(&[0xff], 5, 2));
        assert!(!unpacks(&[0xff, 0, 0], 5, 2));
        assert!(!unpacks(&[0xff, 0], 0, 2));
        assert!(!unpacks(&[0xff, 0], 200, 2));
        assert!(!unpacks(&[0xff, 0], 64, usize::MAX));
        assert!(unpacks(&[], 7, 0));
        assert!(!unpacks(&[0], 7, 0));
    }
    assert!(unpack_words(&[0; 9], 65, 1).is_none());
}
