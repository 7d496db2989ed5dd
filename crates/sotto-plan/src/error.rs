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
        }
    }
}
