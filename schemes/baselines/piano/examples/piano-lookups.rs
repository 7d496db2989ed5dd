//! Measures the costs of hints and lookups:
//! `cargo run --release -p sotto-piano --example piano-lookups -- [ROWS [ROW_BYTES [LOOKUPS [AGE [THREADS]]]]]`.
//!
//! AGE is how many lookups the key has made before those that are timed.

use sotto_testkit::lookups::Lookups;

fn main() -> sotto_core::Result<()> {
    Lookups::of_command_line().measure(&sotto_piano::ENTRY)
}
