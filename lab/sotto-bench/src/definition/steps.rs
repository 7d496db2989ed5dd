//! The step-by-step timing of a lookup: orders, and numbers of threads.

use super::fields::{Count, MAX_THREADS};
use serde::Deserialize;

/// Orders and threads to time the steps of a lookup with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// Names of the scheme's orders; empty stands for all.
    pub orders: Vec<String>,
    /// Numbers of threads of the server, each in turn.
    pub threads: Vec<usize>,
}

/// The steps as written in a definition.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepsText {
    #[serde(default)]
    orders: Vec<String>,
    threads: Option<Vec<Threads>>,
}

/// A number of threads, or `"all"` that the machine has.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Threads {
    All(All),
    Some(Count),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum All {
    All,
}

pub(super) fn check(text: StepsText) -> Result<Steps, String> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let number = |threads: Threads| match threads {
        Threads::All(All::All) => Ok(all),
        Threads::Some(Count(n)) => usize::try_from(n)
            .ok()
            .filter(|_| n <= MAX_THREADS)
            .ok_or_else(|| format!("threads of steps is {n}, at most {MAX_THREADS} is allowed")),
    };
    let threads = text.threads.map_or(Ok(vec![1]), |threads| threads.into_iter().map(number).collect());
    let mut threads: Vec<usize> = threads?;
    // A machine of one thread has no two lines to show.
    threads.dedup();
    if threads.is_empty() {
        return Err("threads of steps is empty".to_owned());
    }
    Ok(Steps { orders: text.orders, threads })
}
