//! Options of a run, and its progress reports.

use std::fmt;
use std::io;
use std::path::PathBuf;
use tempfile::TempDir;

/// Options of a run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Threads of the server, instead of those of the definitions.
    pub threads: Option<usize>,
    /// Fewer repetitions and smaller read passes; figures get noisier.
    pub quick: bool,
    /// Runs the cases marked `full` too: minutes and many gigabytes each.
    pub full: bool,
    /// The commit the program was built from, for the report.
    pub commit: Option<String>,
    /// The folder of images; by default the system's folder for temporary files.
    pub scratch: Option<PathBuf>,
}

impl Options {
    /// A folder for images, which is removed when it is dropped.
    pub(crate) fn folder(&self) -> io::Result<TempDir> {
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("sotto-bench-");
        self.scratch.as_ref().map_or_else(|| folder.tempdir(), |parent| folder.tempdir_in(parent))
    }
}

/// The progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Title of the case.
    pub case: &'a str,
    /// Name of the step.
    pub step: &'a str,
    /// Completed work of the step.
    pub done: u64,
    /// Total work of the step; 0 if unknown.
    pub total: u64,
}

impl fmt::Display for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.case, self.step)?;
        match (self.done.min(self.total) * 100).checked_div(self.total) {
            Some(percent) => write!(f, " {percent} %"),
            None => Ok(()),
        }
    }
}

/// A callback for progress, called from several threads, so it takes `&self`.
pub(crate) type Watcher<'a> = &'a (dyn Fn(Progress<'_>) + Sync);
