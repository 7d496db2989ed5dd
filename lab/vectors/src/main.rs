//! Records the vectors of `spec/vectors` again: all of them, or the named ones.
//!
//! | module | contents |
//! |---|---|
//! | `cases` | the lookups to record, their tables, and seeds that anyone can compute |
//! | `record` | serving and querying the table, and writing down the messages |
//! | `secrets` | the secrets with which a client with another generator opens the answers |
//! | `write` | a vector's two files |
//!
//! All randomness has a seed, so the same sources give the same files.
#![forbid(unsafe_code)]

mod cases;
mod record;
mod secrets;
#[cfg(test)]
mod tests;
mod write;

use cases::Case;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match record_all(&env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn record_all(names: &[String]) -> Result<(), Failure> {
    let mut total = 0;
    for case in Case::all().filter(|case| names.is_empty() || names.contains(&case.name)) {
        let made = record::record(&case).map_err(|why| format!("{}: {why}", case.name))?;
        let bytes = made.text.len() + made.bytes.len();
        println!("{:16} {bytes:8} bytes", made.name);
        total += bytes;
        for (file, bytes) in made.files() {
            fs::write(folder().join(file), bytes)?;
        }
    }
    println!("{:16} {total:8} bytes", "all");
    Ok(())
}

/// The folder of the vectors.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors")
}
