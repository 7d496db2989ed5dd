//! Cleanup after an encoding that failed: removes the files that it created, and nothing else.

use sotto_db::WriteLock;
use sotto_db::epoch::{KEY, LOCK, OPRF_KEY};
use std::fs;
use std::path::{Path, PathBuf};

/// Paths that did not exist before the command.
pub(super) struct CreatedFiles {
    files: Vec<PathBuf>,
    /// Folders, the innermost first.
    folders: Vec<PathBuf>,
}

impl CreatedFiles {
    /// Records which paths exist.
    pub(super) fn before(out: &Path) -> Self {
        let above = out.ancestors().filter(|folder| !folder.as_os_str().is_empty());
        let folders = above.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
        let lock = out.join(LOCK);
        CreatedFiles { files: if lock.exists() { Vec::new() } else { vec![lock] }, folders }
    }

    /// Checks for the keys again once no other process can make them.
    pub(super) fn locked(mut self, lock: &WriteLock) -> Self {
        let keys = [KEY, OPRF_KEY].map(|key| lock.dir().path().join(key));
        self.files.extend(keys.into_iter().filter(|key| !key.exists()));
        self
    }

    /// Removes what was created since. A key stays as soon as an image may be signed or masked with
    /// it, and one in another place (`--key`) stays in any case: others may use it by now.
    pub(super) fn remove(self, lock: &WriteLock) {
        if !lock.dir().epochs().is_ok_and(|epochs| epochs.is_empty()) {
            return;
        }
        // The first error is the one to report, not a failed cleanup.
        for file in self.files {
            let _ = fs::remove_file(file);
        }
        for folder in self.folders {
            // Only empty folders are removed.
            let _ = fs::remove_dir(folder);
        }
    }
}
