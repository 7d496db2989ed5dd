//! The contract every scheme keeps.

sotto_testkit::conformance!(dpf::ENTRY);
