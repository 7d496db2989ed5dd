//! The list of what is known to depend on secrets, `known.txt`. It can only shrink: what is not on it fails the lane, and so
//! does an entry that nothing matches any more.

use crate::report::{Kind, Place};
use std::collections::{BTreeMap, BTreeSet};

const LIST: &str = include_str!("../known.txt");

/// Lines of a function that may be reported.
pub(crate) type Known = BTreeMap<Place, usize>;

/// What was reported: the lines of each place.
pub(crate) type Found = BTreeMap<Place, BTreeSet<u32>>;

/// The list.
///
/// # Errors
/// The first line that is none.
pub(crate) fn list() -> Result<Known, String> {
    parse(LIST)
}

/// Lines of `kind | file | function | how many of its lines | why, and who could see it`; comments begin with a hash.
fn parse(text: &str) -> Result<Known, String> {
    let mut known = Known::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let wrong = || format!("known.txt: not an entry: {line}");
        let mut parts = line.splitn(5, '|').map(str::trim);
        let mut part = || parts.next().filter(|part| !part.is_empty()).ok_or_else(wrong);
        let (kind, file, function, lines, _why) = (part()?, part()?, part()?, part()?, part()?);
        let place = Place {
            kind: Kind::parse(kind).ok_or_else(wrong)?,
            file: file.into(),
            function: function.into(),
        };
        if known.insert(place, lines.parse().map_err(|_| wrong())?).is_some() {
            return Err(format!("known.txt: listed twice: {line}"));
        }
    }
    Ok(known)
}

/// What is found and not listed, and what is listed and not found, in words.
pub(crate) fn differences(known: &Known, found: &Found) -> Vec<String> {
    let mut wrong = Vec::new();
    for (place, lines) in found {
        let Place { kind, file, function } = place;
        let (kind, allowed) = (kind.name(), known.get(place).copied().unwrap_or(0));
        if lines.len() != allowed {
            let numbers: Vec<String> = lines.iter().map(u32::to_string).collect();
            let numbers = numbers.join(", ");
            wrong.push(format!(
                "{kind} | {file} | {function} | {}: lines {numbers}; listed: {allowed}",
                lines.len()
            ));
        }
    }
    for (Place { kind, file, function }, _) in known.iter().filter(|(place, _)| !found.contains_key(place)) {
        wrong.push(format!(
            "{} | {file} | {function}: listed, and not found any more: take it out",
            kind.name()
        ));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, lines: &[u32]) -> Found {
        let place = Place { kind: Kind::Branch, file: file.into(), function: "f".into() };
        Found::from([(place, lines.iter().copied().collect())])
    }

    #[test]
    fn the_list_can_be_read() {
        list().unwrap();
        for wrong in ["branch | a.rs | f | 1", "branch | a.rs | f | x | why", "jump | a.rs | f | 1 | why"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse("branch | a.rs | f | 1 | why\nbranch | a.rs | f | 2 | why").is_err());
    }

    #[test]
    fn more_and_less_than_is_listed_is_wrong() {
        let known = parse("# of a\nbranch | a.rs | f | 2 | why").unwrap();
        assert!(differences(&known, &found("a.rs", &[3, 9])).is_empty());
        assert_eq!(differences(&known, &found("a.rs", &[3, 9, 11])).len(), 1);
        assert_eq!(differences(&known, &found("a.rs", &[3])).len(), 1);
        assert_eq!(differences(&known, &found("b.rs", &[3, 9])).len(), 2);
        assert_eq!(differences(&known, &Found::new()).len(), 1);
    }
}
