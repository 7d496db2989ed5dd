//! Synthetic logs in temporary folders.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use sotto_tlog::{Checkpoint, DirectorySource, LogKey, LogLayout, Result, VerifiedLog, generate};
use sotto_tree::log::{Hash, Peaks};
use std::path::{Path, PathBuf};

/// A log in a folder that is removed on drop.
pub(crate) struct SampleLog {
    _dir: tempfile::TempDir,
    pub(crate) folder: PathBuf,
    pub(crate) layout: LogLayout,
    pub(crate) key: LogKey,
}

impl SampleLog {
    pub(crate) fn new(layout: LogLayout, name: &str, entries: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("log");
        let mut rng = ChaCha20Rng::seed_from_u64(name.len() as u64);
        let key = generate::create(&folder, layout, name, entries, &mut rng).unwrap();
        SampleLog { _dir: dir, folder, layout, key }
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        let bytes = std::fs::read(self.path(self.layout.checkpoint())).unwrap();
        Checkpoint::open(&bytes, &self.key).unwrap()
    }

    pub(crate) fn open_at(&self, checkpoint: &Checkpoint) -> Result<VerifiedLog<DirectorySource>> {
        VerifiedLog::open(DirectorySource(self.folder.clone()), self.layout, checkpoint)
    }

    pub(crate) fn open(&self) -> Result<VerifiedLog<DirectorySource>> {
        self.open_at(&self.checkpoint())
    }

    /// Reads the whole log: hashes, or entries with their hashes.
    pub(crate) fn read(&self, entries: bool) -> Result<Vec<Hash>> {
        let mut log = self.open()?;
        let mut leaves = Vec::new();
        for index in 0..log.tiles() {
            if entries {
                log.entries(index, |at, entry| {
                    assert_eq!(at, leaves.len() as u64);
                    leaves.push(entry.leaf);
                    Ok(())
                })?;
            } else {
                leaves.extend_from_slice(log.leaves(index)?);
            }
        }
        Ok(leaves)
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// Changes a file.
    pub(crate) fn change(&self, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(self.path(path)).unwrap();
        change(&mut bytes);
        std::fs::write(self.path(path), bytes).unwrap();
    }
}

/// Peaks over these leaves, added one by one.
pub(crate) fn peaks(leaves: &[Hash]) -> Peaks {
    let mut peaks = Peaks::new();
    leaves.iter().for_each(|leaf| peaks.append(*leaf, |_| {}));
    peaks
}

/// Files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|below| format!("{name}/{below}")));
        } else {
            found.push(name);
        }
    }
    found.sort();
    found
}
