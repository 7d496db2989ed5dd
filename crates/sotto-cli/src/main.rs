//! The `sotto` command: private information retrieval from a terminal.
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the command line as a whole, and the exit code of a verb |
//! | [`verbs`] | one file or folder per verb |
//! | [`exit`] | the exit codes |
//! | [`failure`] | the failure of a verb: whose fault, and the fix |
//! | [`exit_mapping`] | the exit code of each library's errors |
//! | [`screen`] | output: text or JSON, tables, units, progress bars |
#![forbid(unsafe_code)]

mod cli;
mod exit;
mod exit_mapping;
mod failure;
mod screen;
mod verbs;

fn main() -> std::process::ExitCode {
    cli::run()
}
