//! The contract that every scheme satisfies: the registered ones, and those in the clear, which
//! show that the suite passes on schemes of every kind.
//! `cargo test -p sotto-testkit --test conformance -- spiral/1::` runs it for one scheme.

use libtest_mimic::Arguments;
use sotto_core::SchemeEntry;
use sotto_registry::SCHEMES;
use sotto_testkit::conformance::{Subject, trials};
use sotto_testkit::{
    CLEAR, CLEAR_BATCH, CLEAR_HELPED, CLEAR_KEYED, CLEAR_ROWS, CLEAR_STATE, CLEAR_STREAM, CLEAR_TWO,
};
use std::process::ExitCode;

/// Schemes whose queries reveal the request.
const IN_THE_CLEAR: [&SchemeEntry; 5] = [&CLEAR, &CLEAR_BATCH, &CLEAR_KEYED, &CLEAR_ROWS, &CLEAR_STREAM];
/// Test schemes that hide the index, with whose states the layers above are tested.
const PRIVATE: [&SchemeEntry; 3] = [&CLEAR_HELPED, &CLEAR_STATE, &CLEAR_TWO];

fn main() -> ExitCode {
    let private = SCHEMES.iter().map(|entry| Subject::private(entry));
    let subjects =
        private.chain(PRIVATE.map(Subject::but_for_states)).chain(IN_THE_CLEAR.map(Subject::in_the_clear));
    let trials = subjects.flat_map(|subject| trials(Box::leak(Box::new(subject)))).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
