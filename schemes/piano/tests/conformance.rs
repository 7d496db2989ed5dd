//! The contract every scheme keeps.

sotto_testkit::conformance!(piano::ENTRY);
