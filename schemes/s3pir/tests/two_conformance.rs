//! The contract every scheme keeps, by the one with two servers.

sotto_testkit::conformance!(s3pir::TWO);
