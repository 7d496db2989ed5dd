//! Runs the client's half under Valgrind's memcheck, with its secrets marked as undefined memory:
//! every branch on them, and every index by them, is reported (the method of ctgrind, Langley 2010).
//! README.md has the cases and the findings.
//!
//! | module | contents |
//! |---|---|
//! | [`secret`] | marking secrets, a generator of secret bytes, and a case with other secrets, timed |
//! | [`cases`] | the cases |
//! | [`report`] | the reports of memcheck |
//! | [`lane`] | all cases with all kernels under memcheck, compared with the list of known dependences on secrets |
//! | [`clock`] | timing all cases (dudect), for kernels that Valgrind cannot run: whether times of two classes have one mean |
//!
//! Without arguments all cases run under Valgrind; with names, or parts of names, these cases, and
//! every report is shown with its stack.
#![forbid(unsafe_code)]

#[allow(clippy::expect_used, reason = "a case that fails says so to the lane")]
mod cases;
mod clock;
mod lane;
mod report;
mod secret;

use std::process::ExitCode;

/// The first argument of the program that Valgrind runs; the case's name is the second.
const RUN: &str = "--run";

/// The first argument for the clock; seconds in all are the second, and names may follow.
const CLOCK: &str = "--clock";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [run, name] if run == RUN => cases::run(name),
        [clock, seconds, names @ ..] if clock == CLOCK => match seconds.parse() {
            Ok(seconds) => clock::run(seconds, names),
            Err(_) => {
                eprintln!("{CLOCK} needs a number of seconds, such as {CLOCK} 240");
                ExitCode::FAILURE
            }
        },
        names => lane::run(names),
    }
}
