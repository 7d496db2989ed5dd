//! A demo that is interrupted takes its temporary directory along.

use std::io;
use std::path::PathBuf;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Removes `folder` when the process is asked to end, and then ends it.
pub(super) fn on_signal(folder: PathBuf) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let context = runtime.enter();
    // Listened for from here on, whenever the thread starts.
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
        // The encoder may just be making a file in it.
        for _ in 0..100 {
            match std::fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                _ => break,
            }
        }
        // As shells report a process that a signal ended.
        std::process::exit(128 + kind.as_raw_value());
    });
    Ok(())
}
