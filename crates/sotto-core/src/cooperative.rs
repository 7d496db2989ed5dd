//! Long work in pieces: the caller that lends the thread can pause it between pieces, and schemes
//! do not need to know.
//!
//! Making a client's keys takes milliseconds, and so does admitting them. When such work is done in
//! the background, a lookup should not notice it, but the operating system's scheduler lets a
//! running thread continue for longer than a lookup may wait.

use std::cell::RefCell;

type Between = Box<dyn FnMut()>;

thread_local! {
    static BETWEEN: RefCell<Option<Between>> = const { RefCell::new(None) };
}

/// Runs `work`, and calls `between` at every [`yield_point`] that this thread reaches meanwhile.
pub fn with_yield_hook<T>(between: impl FnMut() + 'static, work: impl FnOnce() -> T) -> T {
    /// Restores the previous hook, also after a panic.
    struct RestoreHook(Option<Between>);
    impl Drop for RestoreHook {
        fn drop(&mut self) {
            BETWEEN.set(self.0.take());
        }
    }
    let _before = RestoreHook(BETWEEN.replace(Some(Box::new(between))));
    work()
}

/// Marks the end of a piece of work, so that the hook of [`with_yield_hook`] can run. Without a
/// hook it does nothing. Work that is not part of a lookup calls it about every tenth of a
/// millisecond.
pub fn yield_point() {
    // The hook is removed while it runs, so that yield points inside the hook do nothing.
    if let Some(mut between) = BETWEEN.take() {
        between();
        BETWEEN.set(Some(between));
    }
}

#[cfg(test)]
mod tests {
    use super::{with_yield_hook, yield_point};
    use std::cell::Cell;
    use std::panic::catch_unwind;
    use std::rc::Rc;

    #[test]
    fn every_piece_of_the_innermost_work_is_told() {
        let calls = Rc::new(Cell::new((0, 0)));
        let [outer, inner] = [calls.clone(), calls.clone()];
        yield_point();
        let outer = move || {
            yield_point();
            outer.set((outer.get().0 + 1, outer.get().1));
        };
        with_yield_hook(outer, || {
            yield_point();
            with_yield_hook(move || inner.set((inner.get().0, inner.get().1 + 1)), yield_point);
            let _ = catch_unwind(|| with_yield_hook(|| panic!("in between"), yield_point));
            yield_point();
        });
        yield_point();
        assert_eq!(calls.get(), (2, 1));
    }
}
