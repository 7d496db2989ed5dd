//! The first entries of a real log: its bundles of entries, the tiles of hashes that it published for
//! them, and the domain names in its certificates.

use crate::failure::{Failure, FileContext, Result};
use flate2::read::MultiGzDecoder;
use sotto_catalog::Hex32;
use sotto_layers::keyword::KeyForm;
use sotto_tlog::entries::{BundleEntries, MAX_BUNDLE_BYTES};
use sotto_tlog::layout::TILE_WIDTH;
use sotto_tlog::{LogLayout, Tile};
use sotto_tree::log::Hash;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Path of the sample in the project.
pub(crate) const DEFAULT: &str = "data/ct/navigli2025h2";

/// Maximum number of bundles that are read: enough for the demo, and few enough for its time.
const MAX_BUNDLES: u64 = 16;

/// An entry of the log.
pub(crate) struct SampleEntry {
    /// Bytes of the entry, as in its bundle.
    pub(crate) written: Vec<u8>,
    /// Leaf hash of the entry.
    pub(crate) leaf: Hash,
}

/// A log's entries, and the names in them.
pub(crate) struct Sample {
    /// Folder of the sample.
    pub(crate) path: PathBuf,
    pub(crate) entries: Vec<SampleEntry>,
    /// Each name with its first entry.
    pub(crate) names: BTreeMap<String, u64>,
    /// Expected root, from the file next to the entries.
    pub(crate) root: Hex32,
}

/// Finds the sample: at the given path, or in the project.
pub(crate) fn find(path: Option<&Path>) -> Result<PathBuf> {
    crate::lab::demo::find(path, DEFAULT, |path| path.is_dir()).ok_or_else(|| {
        Failure::missing(format!("the demo's log is missing: {DEFAULT}"))
            .fix("run the demo in a checkout of the project, or give --log DIR")
    })
}

impl Sample {
    /// Reads all bundles, and compares every entry's hash with the published one.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let root = folder.join("root");
        let text = std::fs::read_to_string(&root).doing("reading", &root)?;
        let root = text
            .trim()
            .parse()
            .map_err(|_| Failure::input(format!("{}: expected a hash in hexadecimal", root.display())))?;
        let mut sample =
            Sample { path: folder.to_owned(), entries: Vec::new(), names: BTreeMap::new(), root };
        for number in 0..MAX_BUNDLES {
            let path = folder.join(format!("{}.gz", LogLayout::StaticCt.bundle(number, TILE_WIDTH as u16)));
            if number > 0 && !path.exists() {
                break;
            }
            let tile = folder.join(LogLayout::StaticCt.tile(Tile::full(0, number)));
            let tile = std::fs::read(&tile).doing("reading", &tile)?;
            sample.take(&path, &unpacked(&path)?, tile.as_chunks().0)?;
        }
        Ok(sample)
    }

    fn take(&mut self, path: &Path, bundle: &[u8], published: &[Hash]) -> Result<()> {
        let first = self.entries.len() as u64;
        let name = path.display().to_string();
        let mut expected = published.iter();
        for (index, entry) in (first..).zip(BundleEntries::new(LogLayout::StaticCt, bundle, first, &name)) {
            let entry = entry.map_err(|error| Failure::input(error.to_string()))?;
            if expected.next() != Some(&entry.leaf) {
                let why = format!("{name}: entry {index} does not match the published hash");
                return Err(Failure::input(why).fix("use the sample of the project"));
            }
            // A wildcard stands for names that it does not contain.
            for name in names_of(entry.content).into_iter().filter(|name| !name.contains('*')) {
                if let Some(name) = canonical(name) {
                    self.names.entry(name).or_insert(index);
                }
            }
            self.entries.push(SampleEntry { written: entry.written.to_vec(), leaf: entry.leaf });
        }
        if expected.next().is_some() {
            return Err(Failure::input(format!("{name}: the log has more hashes than entries")));
        }
        Ok(())
    }

    /// The first entry that has a name, in any spelling.
    pub(crate) fn entry_of(&self, name: &str) -> Option<u64> {
        self.names.get(&canonical(name)?).copied()
    }

    /// The shortest name, as an example.
    pub(crate) fn example(&self) -> Option<&str> {
        self.names.keys().min_by_key(|name| name.len()).map(String::as_str)
    }
}

/// The canonical spelling of a domain name.
fn canonical(name: &str) -> Option<String> {
    let key = KeyForm::Domain.canonical(name.as_bytes()).ok()?;
    Some(std::str::from_utf8(&key).ok()?.to_owned())
}

/// Decompresses a bundle, up to its maximum size.
fn unpacked(path: &Path) -> Result<Vec<u8>> {
    let failed = |e| Failure::file("reading", path, &e);
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    MultiGzDecoder::new(file).take(MAX_BUNDLE_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Object identifier 2.5.29.17 (`06 03 55 1d 11`), with its tag and length.
const SUBJECT_ALT_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x11];
const BOOLEAN: u8 = 0x01;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;
/// Tag of a `GeneralName`'s choice 2.
const DNS_NAME: u8 = 0x82;

/// The names, as they are written; none if they cannot be read.
fn names_of(certificate: &[u8]) -> Vec<&str> {
    let places = certificate.windows(SUBJECT_ALT_NAME.len());
    let found = places.enumerate().find(|(_, bytes)| *bytes == SUBJECT_ALT_NAME);
    let after = found.and_then(|(at, _)| certificate.get(at + SUBJECT_ALT_NAME.len()..));
    after.and_then(general_names).unwrap_or_default()
}

fn general_names(mut rest: &[u8]) -> Option<Vec<&str>> {
    let (mut tag, mut value) = element(&mut rest)?;
    if tag == BOOLEAN {
        // The extension may be critical or not.
        (tag, value) = element(&mut rest)?;
    }
    let (inner, mut names) = element(&mut value).filter(|_| tag == OCTET_STRING)?;
    let mut found = Vec::new();
    while inner == SEQUENCE && !names.is_empty() {
        let (kind, name) = element(&mut names)?;
        if let (DNS_NAME, Ok(name)) = (kind, std::str::from_utf8(name)) {
            found.push(name);
        }
    }
    Some(found)
}

/// Splits a tag and a value from the front (X.690, 8.1): lengths have at most three bytes, which is
/// more than an entry of a log has.
fn element<'a>(rest: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (tag, after) = rest.split_first()?;
    let (first, mut after) = after.split_first()?;
    let mut length = usize::from(*first);
    if *first >= 0x80 {
        let bytes = usize::from(first & 0x7f);
        let (digits, beyond) = after.split_at_checked(bytes).filter(|_| (1..=3).contains(&bytes))?;
        length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
        after = beyond;
    }
    let (value, beyond) = after.split_at_checked(length)?;
    *rest = beyond;
    Some((*tag, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(DEFAULT)
    }

    #[test]
    fn the_sample_is_what_its_log_published() {
        let sample = Sample::read(&shipped()).unwrap();
        assert_eq!(sample.entries.len(), 1024);
        assert!(sample.names.len() > 900 && sample.names.values().all(|entry| *entry < 1024));
        assert!(sample.names.keys().all(|name| !name.contains('*')));
        let leaves: Vec<Hash> = sample.entries.iter().map(|entry| entry.leaf).collect();
        assert_eq!(Hex32::from(sotto_tree::log::subtree::root(&leaves).unwrap()), sample.root);
    }

    #[test]
    fn an_entry_of_another_log_is_noticed() {
        let mut sample = Sample::read(&shipped()).unwrap();
        let leaf = sample.entries[0].leaf;
        let written = sample.entries[0].written.clone();
        sample.entries.clear();
        sample.take(Path::new("x"), &written, &[leaf]).unwrap();
        for wrong in [vec![], vec![[7; 32]], vec![leaf, leaf]] {
            assert!(sample.take(Path::new("x"), &written, &wrong).is_err());
        }
        assert!(sample.take(Path::new("x"), &written[1..], &[leaf]).is_err());
    }

    /// A certificate with nothing but the extension.
    fn with(names: &[(u8, &str)], critical: bool) -> Vec<u8> {
        let wrap = |tag: u8, value: &[u8]| {
            [&[tag, 0x82, (value.len() >> 8) as u8, value.len() as u8], value].concat()
        };
        let list: Vec<u8> = names
            .iter()
            .flat_map(|(tag, name)| [&[*tag, name.len() as u8], name.as_bytes()].concat())
            .collect();
        let flag: &[u8] = if critical { &[BOOLEAN, 1, 0xff] } else { &[] };
        let value = wrap(OCTET_STRING, &wrap(SEQUENCE, &list));
        [b"what is before".as_slice(), &SUBJECT_ALT_NAME, flag, &value, b"what is after"].concat()
    }

    #[test]
    fn names_are_found_and_other_kinds_left_out() {
        let names = [(DNS_NAME, "a.example"), (0x81, "mail@a.example"), (DNS_NAME, "*.b.example")];
        for critical in [false, true] {
            assert_eq!(names_of(&with(&names, critical)), ["a.example", "*.b.example"]);
        }
        assert!(names_of(b"no such extension").is_empty() && names_of(&with(&[], false)).is_empty());
    }

    #[test]
    fn whatever_is_cut_or_changed_is_read_to_an_end() {
        let whole = with(&[(DNS_NAME, "a.example"), (DNS_NAME, "b.example")], true);
        for end in 0..whole.len() {
            assert!(names_of(&whole[..end]).len() <= 2);
        }
        for at in 0..whole.len() {
            for value in 0..=255 {
                let mut other = whole.clone();
                other[at] = value;
                names_of(&other);
            }
        }
        // A length of indefinite form, and one of more bytes than are read.
        for length in [&[0x80][..], &[0x84, 0, 0, 0, 1], &[0xff]] {
            assert!(
                names_of(&[&SUBJECT_ALT_NAME, &[OCTET_STRING][..], length, b"abcdef"].concat()).is_empty()
            );
        }
    }
}
