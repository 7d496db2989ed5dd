//! Values that are present by construction, although their type does not say so.

/// Unwraps a value that cannot be missing, whatever a peer or a file contains.
///
/// Debug builds panic if the value is missing, and with them every test and fuzz target; release
/// builds continue with the default, since they must not panic. Where bytes of others can make a
/// value missing, return an error instead.
pub trait ExpectOrDefault {
    /// The type of the value.
    type Value: Default;

    /// Returns the value, or the default. `why` says what makes the value certain to be present.
    fn expect_or_default(self, why: &'static str) -> Self::Value;
}

impl<T: Default> ExpectOrDefault for Option<T> {
    type Value = T;

    #[track_caller]
    fn expect_or_default(self, why: &'static str) -> T {
        debug_assert!(self.is_some(), "{why}");
        self.unwrap_or_default()
    }
}

impl<T: Default, E> ExpectOrDefault for Result<T, E> {
    type Value = T;

    #[track_caller]
    fn expect_or_default(self, why: &'static str) -> T {
        self.ok().expect_or_default(why)
    }
}

#[cfg(test)]
mod tests {
    use super::ExpectOrDefault;

    #[test]
    fn what_is_there_is_given() {
        assert_eq!(
            (Some(7).expect_or_default("a number"), Ok::<_, ()>(7).expect_or_default("a number")),
            (7, 7)
        );
    }

    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "a number is there")]
    fn what_is_missing_is_noticed() {
        Err::<u8, _>("none").expect_or_default("a number is there");
    }
}
