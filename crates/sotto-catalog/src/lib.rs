//! What a table is: the signed catalog, artifacts by digest, and how rows lie in records.
#![forbid(unsafe_code)]
