//! A real scheme from a real table directory.
