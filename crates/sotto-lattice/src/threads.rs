//! How one answer is split among the threads of the current rayon pool.
//!
//! A pass over memory gets one range for each thread, since more streams at once slow the memory
//! down. A tree is halved until each thread has some eight branches. Without the feature `server`
//! all work is done on the caller's thread.

#[cfg(feature = "server")]
use rayon::prelude::*;
#[cfg(feature = "server")]
use sotto_math::tiles::Selectors;

/// Number of items in the range of each thread, where `items` are divided equally; at least 1.
#[cfg(feature = "server")]
pub fn items_per_thread(items: usize) -> usize {
    items.div_ceil(rayon::current_num_threads()).max(1)
}

#[cfg(feature = "server")]
pub use rayon::join as both;

/// Calls both functions, and returns both results.
#[cfg(not(feature = "server"))]
pub fn both<A, B>(a: impl FnOnce() -> A, b: impl FnOnce() -> B) -> (A, B) {
    (a(), b())
}

/// Whether half of the leaves of a node on level `level` are enough work for another thread, and
/// other threads do not have enough yet.
///
/// Sharing costs working memory of a few megabytes, so it stops at some eight branches per thread.
pub fn worth_sharing(level: usize, leaves: usize) -> bool {
    #[cfg(feature = "server")]
    let threads = rayon::current_num_threads();
    #[cfg(not(feature = "server"))]
    let threads = 1;
    threads > 1 && leaves >= 8 && 1usize << level < 8 * threads
}

/// Rows whose selectors are stored together: four of two polynomials are 512 contiguous bytes.
#[cfg(feature = "server")]
const TOGETHER: usize = 4;

/// Stores the selectors of all rows in the layout that a pass reads, each thread in a range of
/// blocks. `polynomials` gives those of a row.
///
/// # Panics
/// As [`Selectors::set_rows`].
#[cfg(feature = "server")]
pub fn store_rows<'a, C: Sync, I: Iterator<Item = &'a [u64]>>(
    selectors: &mut Selectors,
    rows: &'a [C],
    polynomials: impl Fn(&'a C) -> I + Sync,
) {
    let slices: Vec<_> = selectors.parts(rayon::current_num_threads()).collect();
    slices.into_par_iter().for_each(|mut slice| {
        for (i, some) in rows.chunks(TOGETHER).enumerate() {
            let polynomials: Vec<&[u64]> = some.iter().flat_map(&polynomials).collect();
            slice.set_rows(TOGETHER * i, &polynomials);
        }
    });
}
