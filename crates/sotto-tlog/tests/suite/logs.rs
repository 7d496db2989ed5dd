//! Whole logs, in temporary folders.
//!
//! | module | what it checks |
//! |---|---|
//! | [`written`] | what is written is read again, in all layouts and at lengths where tiles begin and end |
//! | [`found`] | what a folder tells: layout, checkpoint, missing tiles |
//! | [`bad`] | logs that are damaged, cut, mixed up, forked or growing: each is told apart, and the file is named |

mod append;
mod bad;
mod discovery;
pub(crate) mod sample_log;
