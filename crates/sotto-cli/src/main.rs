//! The `sotto` command: private information retrieval from a terminal.
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the command line as a whole, and the exit code of a verb |
//! | [`verbs`] | one file or folder per verb |
//! | [`apple`] | Apple's private lookups: a guest that some verbs let in |
//! | [`lab`] | the laboratory's verbs: `bench`, `demo`, `leakage`, `self-test` |
//! | [`connect_args`] | the arguments of every verb that opens a table, and what happens to its client |
//! | [`source_args`] | the arguments for a source file, a scheme and a goal |
//! | [`lookups`] | requested rows, bits and keys, and their results |
//! | [`update_args`] | the arguments of `update`, for tables of every kind |
//! | [`publication`] | what every verb that publishes needs: its arguments, and checks of its directory |
//! | [`table_summary`] | what a table promises and costs, as `encode` and `inspect` print it |
//! | [`download`] | static files of a server, each chunk verified |
//! | [`calibration`] | how fast schemes and memory kernels are on this machine, stored |
//! | [`files`] | files that verbs read up to a limit, replace, or remove when they are asked to end |
//! | [`schema`] | `sotto schema`: the shape of what each verb prints as JSON |
//! | [`failure`] | the failure of a verb: exit code, whose fault, and the fix |
//! | [`screen`] | output: text or JSON, tables, units, progress bars |
#![forbid(unsafe_code)]

mod apple;
mod calibration;
mod cards;
mod cli;
mod connect_args;
mod download;
mod failure;
mod files;
mod lab;
mod lookups;
mod publication;
mod schema;
mod screen;
mod source_args;
mod table_summary;
mod update_args;
mod verbs;

use std::time::{SystemTime, UNIX_EPOCH};

fn main() -> std::process::ExitCode {
    cli::run()
}

/// The time in seconds since 1970.
fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Whether an argument is a server's address, and not a path. The scheme of a URL may be in upper
/// case.
fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    })
}
