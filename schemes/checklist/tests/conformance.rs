//! The whole contract of a scheme.

sotto_testkit::conformance!(checklist::ENTRY);
