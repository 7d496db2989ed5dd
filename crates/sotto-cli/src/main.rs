//! The `sotto` command: private information retrieval from a terminal.
//!
//! | module | what lives there |
//! |---|---|
//! | [`cli`] | the command line as a whole, and the way from a verb to an exit code |
//! | [`verbs`] | one file (or folder) per verb |
//! | [`exit`] | what each exit code means |
//! | [`failure`] | an error as a person and a script see it: whose fault, and the fix |
//! | [`blame`] | which exit code each library's error gets |
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
