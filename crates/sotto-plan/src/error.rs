//! Why there is no plan.

/// Why there is no plan, or none that can be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A figure of the workload makes no sense.
    #[error("{what} {why}")]
    Workload {
        /// Which.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// What was read is no plan.
    #[error("this is no plan that can be taken: {0}")]
    Damaged(String),
}

impl PlanError {
    pub(crate) fn workload(what: &'static str, why: String) -> Self {
        PlanError::Workload { what, why }
    }
}
