//! Long work in pieces: whoever lends the thread may pause it between them, and schemes know nothing of that.
//!
//! Keys of a client take milliseconds to make, and milliseconds to admit. What is done with them in the background should not be
//! felt in a lookup, and a scheduler lets a thread that has begun go on for longer than a lookup may wait.

use std::cell::RefCell;

type Between = Box<dyn FnMut()>;

thread_local! {
    static BETWEEN: RefCell<Option<Between>> = const { RefCell::new(None) };
}

/// Does `work`, and `between` wherever it says on this thread that a piece of it is done.
pub fn with_yield_hook<T>(between: impl FnMut() + 'static, work: impl FnOnce() -> T) -> T {
    /// What was there before comes back, also after a panic.
    struct RestoreHook(Option<Between>);
    impl Drop for RestoreHook {
        fn drop(&mut self) {
            BETWEEN.set(self.0.take());
        }
    }
    let _before = RestoreHook(BETWEEN.replace(Some(Box::new(between))));
    work()
}

/// Says that a piece is done: for work that is not part of a lookup, about every tenth of a millisecond. Without
/// [`with_yield_hook`] nothing happens.
pub fn yield_point() {
    // Taken out meanwhile, so that work in between has no pieces of its own.
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
        let told = Rc::new(Cell::new((0, 0)));
        let [outer, inner] = [told.clone(), told.clone()];
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
        assert_eq!(told.get(), (2, 1));
    }
}
