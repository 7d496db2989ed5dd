//! The client: a session without I/O, transports, and what is kept on disk.
#![forbid(unsafe_code)]
