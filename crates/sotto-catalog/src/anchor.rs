//! The anchor of an epoch: the state of another system that it was made from.

use crate::text::checked_text;

checked_text! {
    /// State of another system that an epoch was made from, such as the block of a chain: 1 to 128
    /// visible ASCII characters. Two anchors are equal if their texts are.
    ///
    /// The publisher signs it with the epoch. A client that knows the state from that system itself
    /// accepts no other, and so cannot be shown a table of another chain, or of another time.
    Anchor,
    /// Error for text that cannot be an anchor.
    AnchorError = "expected an anchor of 1 to 128 visible ASCII characters",
    "anchor",
    |text| (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_is_visible_text_of_a_bounded_length() {
        let longest = "x".repeat(128);
        for text in ["mainnet:2500000:00000000a1", "~", longest.as_str()] {
            assert_eq!(text.parse::<Anchor>().map(String::from), Ok(text.to_owned()));
        }
        let longer = "x".repeat(129);
        for text in ["", " ", "a b", "a\n", "é", "\u{7f}", longer.as_str()] {
            assert_eq!(text.parse::<Anchor>(), Err(AnchorError), "{text:?}");
        }
        assert!(serde_json::from_str::<Anchor>("\"a b\"").is_err());
    }
}
