//! What is run, each under a name. A case looks something up and says what came of it, so that it cannot pass by doing nothing.
//!
//! | module | what lives there |
//! |---|---|
//! | [`control`] | what must be reported |
//! | [`schemes`] | every registered scheme: query and recover |
//! | [`tables`] | rows in records, bits in rows |
//! | [`layers`] | keywords, batches |
//! | [`logs`] | proofs from transparency logs |
//! | [`symmetric`] | blinding |

mod control;
mod layers;
mod logs;
mod schemes;
mod symmetric;
mod tables;

use std::process::ExitCode;

/// One case.
pub(crate) struct Case {
    /// Its name: where it belongs, and what it does.
    pub(crate) name: String,
    run: Box<dyn Fn()>,
}

impl Case {
    fn new(name: impl Into<String>, run: impl Fn() + 'static) -> Self {
        Case { name: name.into(), run: Box::new(run) }
    }

    /// Whether it is there to be reported.
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
        symmetric::cases(),
    ];
    parts.into_iter().flatten().collect()
}

/// Runs one in this process.
pub(crate) fn run(name: &str) -> ExitCode {
    let Some(case) = all().into_iter().find(|case| case.name == name) else {
        eprintln!("there is no case {name}");
        return ExitCode::FAILURE;
    };
    let (wanted, used) = (std::env::var("SOTTO_SIMD").unwrap_or_default(), sotto_math::machine::backend());
    if !wanted.is_empty() && wanted != used {
        eprintln!("kernels are {used} and not {wanted}, which this processor cannot run");
        return ExitCode::FAILURE;
    }
    (case.run)();
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::all;

    /// Without Valgrind each is a lookup, and right.
    #[test]
    fn every_case_finds_what_it_looks_up() {
        all().iter().for_each(|case| (case.run)());
    }
}
