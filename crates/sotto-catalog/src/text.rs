//! Types of text that is checked once, when it is parsed.

/// Defines a type of checked text, with its error and its conversions.
macro_rules! checked_text {
    (
        $(#[doc = $doc:literal])+ $name:ident,
        $(#[doc = $error_doc:literal])+ $error:ident = $message:literal,
        $field:literal,
        $check:expr
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        $(#[doc = $error_doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
        #[error($message)]
        pub struct $error;

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;
            fn from_str(text: &str) -> std::result::Result<Self, $error> {
                let is_valid: fn(&str) -> bool = $check;
                if is_valid(text) { Ok($name(text.to_owned())) } else { Err($error) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = $error;
            fn try_from(text: String) -> std::result::Result<Self, $error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> String {
                text.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<$error> for crate::CatalogError {
            fn from(error: $error) -> Self {
                crate::CatalogError::invalid($field, error.to_string())
            }
        }
    };
}

pub(crate) use checked_text;
