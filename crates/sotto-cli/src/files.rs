//! Files that verbs read whole, up to a limit, replace, or remove when they are asked to end.

use crate::failure::{FileContext, Result};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Reads a file, but not far past `max_bytes`: a file of more is longer than that when it is parsed.
pub(crate) fn read(doing: &str, path: &Path, max_bytes: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(max_bytes + 1).read_to_end(&mut bytes));
    read.doing(doing, path).map(|_| bytes)
}

/// Replaces a file durably, as a whole or not at all.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut part = tempfile::NamedTempFile::new_in(folder)?;
    part.write_all(bytes)?;
    part.as_file().sync_all()?;
    part.persist(path)?;
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Runs `tidy` when the process is asked to end, until it finds nothing more, and then ends the
/// process.
pub(crate) fn on_end(tidy: impl Fn() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let context = runtime.enter();
    // Signals are received from here on, whenever the thread starts.
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    drop(context);
    std::thread::spawn(move || {
        let kind = runtime.block_on(async {
            tokio::select! {
                _ = interrupted.recv() => SignalKind::interrupt(),
                _ = terminated.recv() => SignalKind::terminate(),
            }
        });
        // Another thread may just be creating a file there, or the folder again.
        for _ in 0..100 {
            match tidy() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        // The exit code with which shells report a process that a signal ended.
        std::process::exit(128 + kind.as_raw_value());
    });
    Ok(())
}
