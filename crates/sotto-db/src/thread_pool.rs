//! Thread pools of a given number of threads.

use crate::{DbError, Result};

/// Runs `work` on a thread pool of its own if a number of threads is given. Schemes use the current
/// pool.
pub fn in_pool<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T> {
    let Some(threads) = threads else { return Ok(work()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    Ok(pool.map_err(|e| DbError::Threads(e.to_string()))?.install(work))
}
