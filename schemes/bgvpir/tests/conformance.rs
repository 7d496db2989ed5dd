//! The contract every scheme keeps.

sotto_testkit::conformance!(bgvpir::ENTRY);
