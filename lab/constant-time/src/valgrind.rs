//! A case in a process of its own, under memcheck.

use crate::report::{Report, read};
use std::io;
use std::process::Command;

/// Kernels that Valgrind can run: it knows no AVX-512.
pub(crate) const KERNELS: [&str; 2] = ["scalar", "avx2"];

/// The folder of the workspace when this was built: where its files are, in debug information.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// All reports of a case.
///
/// # Errors
/// In words, if the case did not end well: then its reports mean nothing.
pub(crate) fn reports(case: &str, kernels: &str) -> Result<Vec<Report>, String> {
    let words = |error: io::Error| format!("valgrind: {error}");
    let root = std::path::Path::new(ROOT).canonicalize().map_err(words)?;
    let xml = tempfile::NamedTempFile::new().map_err(words)?;
    let output = Command::new("valgrind")
        .args(["--tool=memcheck", "--leak-check=no", "--error-limit=no", "--num-callers=40", "--xml=yes"])
        // All places, however alike their stacks are.
        .arg(format!("--xml-file={}", xml.path().display()))
        .arg(std::env::current_exe().map_err(words)?)
        .args([crate::RUN, case])
        .env("SOTTO_SIMD", kernels)
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .map_err(words)?;
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let xml = std::fs::read_to_string(xml.path()).map_err(words)?;
    if !xml.contains("</valgrindoutput>") {
        return Err("the report of memcheck has no end".into());
    }
    Ok(read(&xml, &root.display().to_string()))
}
