//! Measures the costs of hints and lookups with one server, or with two:
//! `cargo run --release -p sotto-s3pir --example s3pir-lookups -- [ROWS [ROW_BYTES [LOOKUPS [AGE [THREADS [two]]]]]]`.
//!
//! AGE is how many lookups the key has made before those that are timed.

use sotto_testkit::lookups::Lookups;

fn main() -> sotto_core::Result<()> {
    let entry =
        if std::env::args().any(|word| word == "two") { &sotto_s3pir::TWO } else { &sotto_s3pir::ENTRY };
    Lookups::of_command_line().measure(entry)
}
