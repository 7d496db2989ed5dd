//! The first entries of a real log: its bundles of entries, and the tiles of hashes that it
//! published for them.

use super::names;
use crate::failure::{Failure, Result};
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
pub(super) const DEFAULT: &str = "data/ct/navigli2025h2";

/// Maximum number of bundles that are read: enough for the demo, and few enough for its time.
const MAX_BUNDLES: u64 = 16;

/// An entry of the log.
pub(super) struct SampleEntry {
    /// Bytes of the entry, as in its bundle.
    pub(super) written: Vec<u8>,
    /// Leaf hash of the entry.
    pub(super) leaf: Hash,
}

/// A log's entries, and the names in them.
pub(in crate::verbs::demo) struct Sample {
    /// Folder of the sample.
    pub(super) path: PathBuf,
    pub(super) entries: Vec<SampleEntry>,
    /// Each name with its first entry.
    pub(super) names: BTreeMap<String, u64>,
    /// Expected root, from the file next to the entries.
    pub(super) root: Hex32,
}

/// Finds the sample: at the given path, or in the project.
pub(super) fn find(path: Option<&Path>) -> Result<PathBuf> {
    crate::verbs::demo::find(path, DEFAULT, |path| path.is_dir()).ok_or_else(|| {
        Failure::missing(format!("the demo's log is missing: {DEFAULT}"))
            .fix("run the demo in a checkout of the project, or give --log DIR")
    })
}

impl Sample {
    /// Reads all bundles, and compares every entry's hash with the published one.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let root = folder.join("root");
        let text = std::fs::read_to_string(&root).map_err(|e| Failure::file("reading", &root, &e))?;
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
            let tile = std::fs::read(&tile).map_err(|e| Failure::file("reading", &tile, &e))?;
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
            for name in names::of(entry.content).into_iter().filter(|name| !name.contains('*')) {
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
    pub(super) fn entry_of(&self, name: &str) -> Option<u64> {
        self.names.get(&canonical(name)?).copied()
    }

    /// The shortest name, as an example.
    pub(super) fn example(&self) -> Option<&str> {
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
}
