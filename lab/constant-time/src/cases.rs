//! The cases, each with a name. A case looks something up and reports the result, so that it cannot
//! pass by doing nothing.
//!
//! | module | contents |
//! |---|---|
//! | [`control`] | what must be reported |
//! | [`schemes`] | every registered scheme: query and recover |
//! | [`tables`] | rows in records, bits in rows; both through the blocking client |
//! | [`layers`] | keywords, batches |
//! | [`logs`] | proofs from transparency logs |
//! | [`blinding`] | inputs of symmetric tables, tokens, and requests that are sealed for a gateway |
//! | [`apple`] | lookups of Apple's protocol |

mod apple;
mod blinding;
mod control;
mod layers;
mod logs;
mod schemes;
#[path = "../../../crates/sotto-client/tests/suite/common.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    reason = "the server of the client's tests, of which this uses a part"
)]
mod server;
mod tables;

use std::process::ExitCode;

/// One case.
pub(crate) struct Case {
    /// Name of the case: where it belongs, and what it does.
    pub(crate) name: String,
    /// Number of rounds.
    rounds: usize,
    make: Box<dyn Fn() -> Round>,
}

/// One round of a case, by its number: with the secrets written there, or other secrets of the same
/// kind.
pub(crate) type Round = Box<dyn FnMut(usize)>;

impl Case {
    /// A case that makes the public data of all its rounds, and then runs them.
    fn new<R: FnMut(usize) + 'static>(
        name: impl Into<String>,
        rounds: usize,
        make: impl Fn() -> R + 'static,
    ) -> Self {
        Case { name: name.into(), rounds, make: Box::new(move || Box::new(make())) }
    }

    /// Makes the public data of all rounds.
    pub(crate) fn made(&self) -> Round {
        (self.make)()
    }

    fn run(&self) {
        (0..self.rounds).for_each(self.made());
    }

    /// Whether the case is a control, which must be reported.
    pub(crate) fn is_control(&self) -> bool {
        self.name.starts_with(control::PREFIX)
    }
}

/// Every case, in the order in which they are run.
pub(crate) fn all() -> Vec<Case> {
    let parts = [
        control::cases(),
        schemes::cases(),
        tables::cases(),
        layers::cases(),
        logs::cases(),
        blinding::cases(),
        apple::cases(),
    ];
    parts.into_iter().flatten().collect()
}

/// The cases to time: every case, with controls of its own.
pub(crate) fn for_the_clock() -> Vec<Case> {
    let cases = all().into_iter().filter(|case| !case.is_control());
    control::for_the_clock().into_iter().chain(cases).collect()
}

/// Whether a control for timing is the one that depends on its secret.
pub(crate) fn leaks(case: &Case) -> bool {
    case.name == control::LEAKS
}

/// Runs one case in this process.
pub(crate) fn run(name: &str) -> ExitCode {
    let Some(case) = all().into_iter().find(|case| case.name == name) else {
        eprintln!("there is no case {name}");
        return ExitCode::FAILURE;
    };
    let (forced, used) = (std::env::var("SOTTO_SIMD").unwrap_or_default(), sotto_math::machine::backend());
    if !forced.is_empty() && forced != used {
        eprintln!("this processor runs the kernels {used}, not {forced}");
        return ExitCode::FAILURE;
    }
    case.run();
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::{Case, all, for_the_clock};
    use crate::secret::{Class, run_trial};
    use sotto_testkit::rng::seeded;

    /// Every case without Valgrind is a lookup, with the right result.
    #[test]
    fn every_case_finds_what_it_looks_up() {
        all().iter().for_each(Case::run);
    }

    /// Every case has the right result with random secrets too.
    #[test]
    fn every_case_finds_random_things() {
        for case in for_the_clock() {
            let mut round = case.made();
            for class in [Class::Random, Class::Fixed, Class::Random] {
                run_trial(class, seeded("any"), || round(0));
            }
        }
    }
}
