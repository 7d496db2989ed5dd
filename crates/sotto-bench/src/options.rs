//! What a caller may decide, and what it is told meanwhile.

use std::fmt;
use std::path::PathBuf;

/// How to run definitions.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Threads of the server, instead of what the definitions say.
    pub threads: Option<usize>,
    /// Fewer repetitions and smaller read passes; figures get noisier.
    pub quick: bool,
    /// Runs the cases marked `full` too: minutes and many gigabytes each.
    pub full: bool,
    /// The commit the program was built from, for the report.
    pub commit: Option<String>,
    /// Where images are written; the system's folder for temporary files if not given.
    pub scratch: Option<PathBuf>,
}

/// Where a run is.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Which case, in words.
    pub case: &'a str,
    /// What is being done.
    pub step: &'a str,
    /// How much of it is done.
    pub done: u64,
    /// Of how much; 0 if that is not known.
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

/// Is told where a run is; from several threads, so it takes `&self`.
pub(crate) type Watcher<'a> = &'a (dyn Fn(Progress<'_>) + Sync);
