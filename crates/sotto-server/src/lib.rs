//! The server: admission, epochs, cross-client batching, metrics.
#![forbid(unsafe_code)]
