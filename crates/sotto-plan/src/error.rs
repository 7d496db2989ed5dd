//! Errors of planning.

use sotto_core::{Diagnose, Diagnosis, ErrorKind, Exit};

/// Why a plan cannot be made or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A value of the workload is invalid.
    #[error("{what} {why}")]
    Workload {
        /// Name of the value.
        what: &'static str,
        /// Problem of the value.
        why: String,
    },
    /// The input is not a plan.
    #[error("the plan cannot be used: {0}")]
    Damaged(String),
    /// No scheme fits a table for which none was named.
    #[error("no scheme fits the table ({0})")]
    NoScheme(String),
}

impl PlanError {
    pub(crate) fn workload(what: &'static str, why: String) -> Self {
        PlanError::Workload { what, why }
    }
}

impl Diagnose for PlanError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        match self {
            PlanError::Workload { .. } => ErrorKind::Misuse.diagnosis("plan", "see `sotto plan --help`"),
            PlanError::Damaged(_) => ErrorKind::Misuse
                .diagnosis("plan", "make the plan again with `sotto plan ... --out FILE`")
                .with_exit(Exit::Input),
            PlanError::NoScheme(_) => ErrorKind::Misuse
                .diagnosis("plan", "name a scheme, or omit what no scheme can do")
                .with_exit(Exit::Params),
        }
    }
}
