//! The list of schemes: the only crate that names every scheme.
//!
//! ```
//! let scheme = sotto_registry::find("simplepir/1").ok_or("left out of this build")?;
//! assert_eq!((scheme.id.0, scheme.servers), ("simplepir/1", 1));
//! assert!(sotto_registry::find("simplepir/999").is_none());
//! # Ok::<(), &str>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`schemes`] | the list: one line per scheme, each a cargo feature |
//!
//! Dependent crates iterate over the list or look up a scheme by the id in a catalog, so that
//! adding a scheme edits nothing else. Feature `server` enables the server halves of all schemes.
#![forbid(unsafe_code)]

pub mod schemes;

pub use schemes::{SCHEMES, find, find_by_name};
