//! Benchmarks as data: definitions, a runner that checks every answer, tables, JSON and plots.
#![forbid(unsafe_code)]
