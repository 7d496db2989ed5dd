//! A file that is being written: under another name in the same folder, until it is complete.
//!
//! An interrupted call removes it. A call that is killed cannot, and the next call for the same
//! file does. A partial file is locked as long as its call runs, so no other call removes it.

use crate::verbs::cleanup_on_signal;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

/// Suffix of a partial file's name.
const END: &str = ".sotto-part";

/// Creates a partial file for `file`, and removes those that killed calls have left.
pub(super) fn begin(file: &Path) -> io::Result<NamedTempFile> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(".".as_ref());
    let mut start = OsString::from(".");
    start.push(file.file_name().unwrap_or_default());
    start.push(".");
    sweep(folder, &start);
    let part = tempfile::Builder::new().prefix(&start).suffix(END).tempfile_in(folder)?;
    part.as_file().lock()?;
    let path = part.path().to_owned();
    cleanup_on_signal::on_end(move || fs::remove_file(&path))?;
    Ok(part)
}

/// Removes partial files that no call writes any more. Files that cannot be removed do no harm.
fn sweep(folder: &Path, start: &OsString) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let (name, start) = (name.as_encoded_bytes(), start.as_encoded_bytes());
        if name.starts_with(start)
            && name.ends_with(END.as_bytes())
            && File::options().append(true).open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_call_left_goes_and_what_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("film");
        let left = folder.path().join(".film.abc.sotto-part");
        let others =
            [".films.abc.sotto-part", ".film.abc", "film.sotto-part"].map(|name| folder.path().join(name));
        for path in others.iter().chain([&left]) {
            fs::write(path, "left").unwrap();
        }
        let first = begin(&file).unwrap();
        assert!(!left.exists() && others.iter().all(|path| path.exists()));
        let second = begin(&file).unwrap();
        assert!(first.path().exists() && second.path().exists());
    }
}
