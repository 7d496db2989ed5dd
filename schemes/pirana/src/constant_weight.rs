//! Words of two ones (constant-weight codes of weight 2; Mahdavi and Kerschbaum, USENIX Security 2022).

use sotto_bfv::layout::equal;

/// The least length, at least 2, that has as many words as there are rows.
pub fn length(rows: usize) -> usize {
    // The positive root of m (m - 1) / 2 = rows, and one more where floating point falls short.
    let root = ((8.0 * rows as f64 + 1.0).sqrt() + 1.0) / 2.0;
    let least = (root.floor() as usize).max(2);
    least + usize::from(words(least) < rows)
}

/// Number of words of a length.
pub fn words(length: usize) -> usize {
    length * length.saturating_sub(1) / 2
}

/// The positions of the ones of each word: 0 and 1, 0 and 2, 1 and 2, 0 and 3, ...
pub fn ones() -> impl Iterator<Item = [usize; 2]> {
    (1..).flat_map(|upper| (0..upper).map(move |lower| [lower, upper]))
}

/// Bit `place` of the word of a row among `rows`, in time that does not depend on the row.
pub fn bit(rows: usize, row: u64, place: usize) -> u64 {
    let of_words = (0..).zip(ones().take(rows));
    let mine = of_words.filter(|(_, ones)| ones.contains(&place));
    mine.fold(0, |bit, (i, _)| bit | equal(i, row)) & 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_the_papers() {
        assert_eq!([1, 2, 3, 4, 6, 7].map(length), [2, 3, 3, 4, 4, 5]);
        // The published table of bucket sizes.
        assert_eq!([409, 1368, 4543].map(length), [30, 53, 96]);
        for rows in 1..3000 {
            let length = length(rows);
            assert!(words(length) >= rows && (length == 2 || words(length - 1) < rows), "{rows}");
        }
    }

    #[test]
    fn words_differ_and_have_two_ones() {
        let words: Vec<Vec<u64>> =
            (0..45).map(|row| (0..10).map(|place| bit(45, row, place)).collect()).collect();
        for (i, word) in words.iter().enumerate() {
            assert_eq!(word.iter().sum::<u64>(), 2);
            assert!(!words[..i].contains(word));
        }
        for (word, ones) in words.iter().zip(ones()) {
            assert_eq!(ones.map(|place| word[place]), [1, 1]);
        }
    }
}
