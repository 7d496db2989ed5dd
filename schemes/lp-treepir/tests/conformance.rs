//! The whole contract of a scheme.

sotto_testkit::conformance!(lp_treepir::ENTRY);
