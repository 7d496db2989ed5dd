//! HTTP routes, frames, limits and refusal codes; shared by both ends.
#![forbid(unsafe_code)]
