//! A small table, and lookups in it.
