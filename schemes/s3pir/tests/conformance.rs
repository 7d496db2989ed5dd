//! The contract every scheme keeps.

sotto_testkit::conformance!(s3pir::ENTRY);
