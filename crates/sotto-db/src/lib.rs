//! Tables in, images out: ingestion, encoding, mapped images, epochs.
#![deny(unsafe_code)]
