//! Runs the client's half under Valgrind's memcheck, with its secrets marked as undefined memory: whatever branches on them,
//! or indexes by them, is reported (the method of ctgrind, Langley 2010). README.md has the cases and what was found.
//!
//! | module | what lives there |
//! |---|---|
//! | [`secret`] | what is marked, and a generator whose bytes are |
//! | [`cases`] | what is run |
//! | [`valgrind`] | a case in a process of its own, and what memcheck says of it |
//! | [`known`] | the list of what is known to depend on secrets, and why |
//! | [`lane`] | all cases with all kernels, compared with the list |
//!
//! | [`trial`] | a case with other secrets, timed |
//! | [`welch`] | whether times of two classes have one mean |
//! | [`clock`] | all cases by the clock (dudect), for kernels that Valgrind cannot run |
//!
//! Without arguments all of it under Valgrind; with names, or parts of names, these cases, and every report with its stack.
#![forbid(unsafe_code)]

#[allow(clippy::expect_used, reason = "a case that fails says so to the lane")]
mod cases;
mod clock;
mod known_leaks;
mod lane;
mod report;
mod secret;
mod trial;
mod valgrind;
mod welch;

use std::process::ExitCode;

/// The first argument of the program that Valgrind runs; the case's name is the second.
const RUN: &str = "--run";

/// The first argument for the clock; seconds in all are the second, and names may follow.
const CLOCK: &str = "--clock";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [run, name] if run == RUN => cases::run(name),
        [clock, seconds, wanted @ ..] if clock == CLOCK => match seconds.parse() {
            Ok(seconds) => clock::run(seconds, wanted),
            Err(_) => {
                eprintln!("{CLOCK} wants seconds: {CLOCK} 240");
                ExitCode::FAILURE
            }
        },
        wanted => lane::run(wanted),
    }
}
