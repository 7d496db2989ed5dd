//! Cleanup when a command is asked to end.

use std::io;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

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
