//! Everything that was recorded from Apple's own library and service, against what is computed here.

mod primitives;
mod recorded;
mod sessions;
mod index;
mod keyword;
