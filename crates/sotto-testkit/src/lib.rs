//! The conformance suite every scheme passes, oracles, and a scheme in the clear to test without crypto.
#![forbid(unsafe_code)]
