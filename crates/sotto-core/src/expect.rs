//! What is there by construction, where no type says so.

/// A value that cannot be missing, whatever a peer or a file says.
///
/// Debug builds panic if it is, and with them every test and fuzz target; a release goes on with the default, as it must not
/// panic. Where bytes of others can make a value missing, this is the wrong thing: that is an error.
pub trait ExpectOrDefault {
    /// What is there.
    type Value: Default;

    /// The value. `why` says what makes it certain.
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
