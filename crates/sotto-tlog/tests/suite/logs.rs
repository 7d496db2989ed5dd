//! Tests of whole logs in temporary folders.
//!
//! | module | contents |
//! |---|---|
//! | [`append`] | written logs can be read, in all layouts and at lengths where tiles begin and end |
//! | [`discovery`] | layout, checkpoint and missing tiles of a folder |
//! | [`bad`] | logs that are damaged, cut, mixed up, forked or growing: each is distinguished, and the file is named |

mod append;
mod bad;
mod discovery;
pub(crate) mod sample_log;
