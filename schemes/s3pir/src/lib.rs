//! S3PIR (Ren, Mughees, Sun; "Simple and Practical Amortized Sublinear PIR using Dummy Subsets", CCS 2024), one server.
//!
//! A client streams the whole table once and keeps parities of pseudo-random sets of rows, its hints. To fetch a row it
//! takes a hint that contains it, leaves the row out, and sends the rest next to a dummy set of the same form; the server
//! adds up both, one row of each partition, and the difference to the hint is the row. The hint is then spent, and half
//! of a backup pair takes its place. README.md has the symbol table, the proofs and the deviations from the paper.
//!
//! | module | what lives there |
//! |---|---|
//! | [`params`] | the literal, its check, its report |
//! | [`select`] | choosing partitions, hints and pairs for a table |
//! | [`bound`] | how often a lookup fails |
//! | [`prf`] | hints as a function of a key and an id |
//! | [`offline`] | the one pass over the table, from which all parities come |
#![forbid(unsafe_code)]

pub mod bound;
pub mod offline;
pub mod params;
pub mod prf;
pub mod select;
