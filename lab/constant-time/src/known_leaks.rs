//! The list of known dependences on secrets, `known.txt`. It can only shrink: a dependence that is
//! not on it fails the lane, and so does an entry that is not found.

use crate::report::{LeakKind, LeakSite};
use std::collections::{BTreeMap, BTreeSet};

const LIST: &str = include_str!("../known.txt");

/// Numbers of lines of each function that branch on secrets, and that index by them.
pub(crate) type KnownLeaks = BTreeMap<LeakSite, [usize; 2]>;

/// The reported lines of each place.
pub(crate) type ReportedLeaks = BTreeMap<LeakSite, BTreeSet<(LeakKind, u32)>>;

/// Reads the list.
///
/// # Errors
/// The first line that is no entry.
pub(crate) fn list() -> Result<KnownLeaks, String> {
    parse(LIST)
}

/// Lines of `file | function | branches | indexes | why | who could see it`; comments begin with a hash.
fn parse(text: &str) -> Result<KnownLeaks, String> {
    let mut known = KnownLeaks::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let wrong = |_| format!("known.txt: not an entry: {line}");
        let parts: Vec<&str> = line.split('|').map(str::trim).filter(|part| !part.is_empty()).collect();
        let [file, function, branches, indexes, _why, who] = parts.try_into().map_err(|_| wrong(()))?;
        if !["caller", "server", "cache"].contains(&who) {
            return Err(wrong(()));
        }
        let number = |part: &str| part.parse::<usize>().map_err(|_| wrong(()));
        let place = LeakSite { file: file.into(), function: function.into() };
        if known.insert(place, [number(branches)?, number(indexes)?]).is_some() {
            return Err(format!("known.txt: listed twice: {line}"));
        }
    }
    Ok(known)
}

/// The differences in words: found and not listed, or listed and not found.
pub(crate) fn differences(known: &KnownLeaks, found: &ReportedLeaks) -> Vec<String> {
    let mut wrong = Vec::new();
    for (place, lines) in found {
        let of = |kind| {
            lines.iter().filter(|(other, _)| *other == kind).map(|(_, line)| *line).collect::<Vec<_>>()
        };
        let [branches, indexes, others] = [LeakKind::Branch, LeakKind::Index, LeakKind::Other].map(of);
        let allowed = known.get(place).copied().unwrap_or([0; 2]);
        if [branches.len(), indexes.len()] != allowed || !others.is_empty() {
            wrong.push(format!(
                "{} | {} | {} | {} | listed: {allowed:?}; branches {branches:?}, indexes {indexes:?}, others {others:?}",
                place.file,
                place.function,
                branches.len(),
                indexes.len()
            ));
        }
    }
    for LeakSite { file, function } in known.keys().filter(|place| !found.contains_key(place)) {
        wrong.push(format!("{file} | {function} | listed and no longer found: remove the line"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, lines: &[(LeakKind, u32)]) -> ReportedLeaks {
        let place = LeakSite { file: file.into(), function: "f".into() };
        ReportedLeaks::from([(place, lines.iter().copied().collect())])
    }

    #[test]
    fn the_list_can_be_read() {
        list().unwrap();
        for wrong in
            ["a.rs | f | 1 | 0 | why", "a.rs | f | x | 0 | why | cache", "a.rs | f | 1 | 0 | | cache"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse("a.rs | f | 1 | 0 | why | cache\na.rs | f | 2 | 0 | why | cache").is_err());
    }

    #[test]
    fn more_and_less_than_is_listed_is_wrong() {
        use LeakKind::{Branch, Index, Other};
        let known = parse("# of a\na.rs | f | 2 | 1 | why | cache").unwrap();
        let listed = [(Branch, 3), (Branch, 9), (Index, 3)];
        assert!(differences(&known, &found("a.rs", &listed)).is_empty());
        for more in [(Branch, 4), (Index, 9), (Other, 3)] {
            assert_eq!(differences(&known, &found("a.rs", &[&listed[..], &[more]].concat())).len(), 1);
        }
        assert_eq!(differences(&known, &found("a.rs", &listed[1..])).len(), 1);
        assert_eq!(differences(&known, &found("b.rs", &listed)).len(), 2);
        assert_eq!(differences(&known, &ReportedLeaks::new()).len(), 1);
    }
}
