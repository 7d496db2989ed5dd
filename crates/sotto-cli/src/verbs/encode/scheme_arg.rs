//! Arguments that name a scheme, or the goal of its parameters.

use sotto_core::{Goal, SchemeEntry};

/// A scheme that was named on the command line.
#[derive(Clone, Copy)]
pub(in crate::verbs) struct SchemeArg(&'static SchemeEntry);

impl SchemeArg {
    pub(in crate::verbs) fn entry(self) -> &'static SchemeEntry {
        self.0
    }
}

impl std::fmt::Debug for SchemeArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.id)
    }
}

/// Parses a goal.
pub(super) fn goal(name: &str) -> Result<Goal, String> {
    let known = || Goal::ALL.map(Goal::name).join(", ");
    Goal::ALL
        .into_iter()
        .find(|goal| goal.name() == name)
        .ok_or_else(|| format!("a goal is one of {}", known()))
}

/// Parses a scheme's id, or its name alone, which stands for the last of its versions in the
/// registry.
pub(in crate::verbs) fn scheme(id: &str) -> Result<SchemeArg, String> {
    let known = || sotto_registry::SCHEMES.iter().map(|entry| entry.id.0).collect::<Vec<_>>().join(", ");
    let named = |entry: &&SchemeEntry| entry.id.0.split('/').next() == Some(id);
    let last = || sotto_registry::SCHEMES.iter().copied().rfind(named);
    sotto_registry::find(id)
        .or_else(last)
        .map(SchemeArg)
        .ok_or_else(|| format!("this build has: {}", known()))
}
