//! The laboratory's verbs: they measure and demonstrate, and no other verb uses them.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@bench`] | measurements |
//! | [`demo`] | everything in one go, on real data |
//! | [`leakage`] | what a table reveals, and to whom |
//! | [`self_test`] | recorded lookups, replayed |

pub(crate) mod bench;
pub(crate) mod demo;
pub(crate) mod leakage;
pub(crate) mod self_test;
