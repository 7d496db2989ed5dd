//! The streams are part of the table format: these bytes may never change.

use super::*;

fn first(label: &'static str, index: u64) -> [u8; 16] {
    let seed = PublicSeed(std::array::from_fn(|i| i as u8));
    let mut out = [0; 16];
    seed.stream(label, index).fill(&mut out);
    out
}

/// Recorded from the first run of this crate; the module's documentation has the derivation.
#[test]
fn known_answers() {
    let hex = |label, index| format!("{:032x}", u128::from_be_bytes(first(label, index)));
    assert_eq!(hex("matrix", 0), "b53138727c6bbabc33235ba74077294b");
    assert_eq!(hex("matrix", 1), "3ae8e878c04c1f6d7b1df27305c5c575");
    assert_eq!(hex("", u64::MAX), "17756a65e350dbc7232e714c6eacd6d1");
}

#[test]
fn a_stream_is_chacha20_under_the_derived_key() {
    let mut input = [9u8; 32].to_vec();
    input.extend([4, 0, 0, 0, 0, 0, 0, 0]);
    input.extend(b"mask");
    input.extend([5, 1, 0, 0, 0, 0, 0, 0]);
    let mut expected = [0; 333];
    ChaCha20Rng::from_seed(blake3::derive_key(CONTEXT, &input)).fill_bytes(&mut expected);
    let mut got = [0; 333];
    PublicSeed([9; 32]).stream("mask", 0x105).fill(&mut got);
    assert_eq!(got, expected);
}

#[test]
fn seed_label_and_index_all_matter() {
    let mut seen = std::collections::HashSet::new();
    for seed in [PublicSeed([0; 32]), PublicSeed([1; 32])] {
        for label in ["a", "b", "ab", ""] {
            for index in [0, 1, 97, u64::MAX] {
                let mut out = [0; 16];
                seed.stream(label, index).fill(&mut out);
                assert!(seen.insert(out), "{seed} {label} {index}");
            }
        }
    }
}

#[test]
fn words_are_the_bytes_in_little_endian() {
    for n in [0, 1, 63, 1023, 1024, 1025, 5000] {
        let mut bytes = vec![0; n * 4];
        let mut words = vec![0; n];
        PublicSeed([3; 32]).stream("matrix", 7).fill(&mut bytes);
        PublicSeed([3; 32]).stream("matrix", 7).fill_u32(&mut words);
        let from_bytes: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        assert_eq!(words, from_bytes, "{n} words");
    }
}

#[test]
fn fresh_seeds_differ() {
    let mut rng = crate::system_rng().unwrap();
    assert_ne!(PublicSeed::fresh(&mut rng), PublicSeed::fresh(&mut rng));
}

#[test]
fn text_and_back() {
    let seed = PublicSeed(std::array::from_fn(|i| (i * 7) as u8));
    let json = serde_json::to_string(&seed).unwrap();
    assert_eq!(json, format!("\"{seed}\""));
    assert_eq!(json.len(), 66);
    assert_eq!(serde_json::from_str::<PublicSeed>(&json).unwrap(), seed);
}

#[test]
fn only_one_text_per_seed() {
    let good = "0a".repeat(32);
    assert_eq!(good.parse(), Ok(PublicSeed([10; 32])));
    for bad in ["", "0a", &good[1..], &format!("{good}0"), &good.to_uppercase(), &good.replacen('0', "é", 1)]
    {
        assert_eq!(bad.parse::<PublicSeed>(), Err(ParseSeedError), "{bad}");
    }
}

#[test]
fn a_call_consumes_whole_words() {
    let mut stream = PublicSeed([3; 32]).stream("matrix", 7);
    let (mut three, mut next) = ([0; 3], [0; 4]);
    stream.fill(&mut three);
    stream.fill(&mut next);
    let mut whole = [0; 8];
    PublicSeed([3; 32]).stream("matrix", 7).fill(&mut whole);
    assert_eq!((&three[..], &next[..]), (&whole[..3], &whole[4..]));
}

#[test]
fn combining_is_exclusive_or_with_what_is_filled() {
    let seed = PublicSeed([5; 32]);
    let mut filled = vec![0; 10_001];
    seed.stream("combine", 3).fill(&mut filled);
    let mut combined: Vec<u8> = (0..10_001).map(|i| i as u8).collect();
    seed.stream("combine", 3).combine(&mut combined);
    assert!(combined.iter().zip(&filled).enumerate().all(|(i, (got, mask))| *got == i as u8 ^ mask));
}
