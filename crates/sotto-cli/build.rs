//! Sets the commit that `sotto --version` names: `SOTTO_COMMIT`, or git's in optimized builds.

use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}

fn main() {
    println!("cargo:rerun-if-env-changed=SOTTO_COMMIT");
    println!("cargo:rerun-if-changed=build.rs");
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = std::env::var("SOTTO_COMMIT").ok().or_else(|| {
        // A development build is not repeated for each commit.
        let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|_| is_release)?;
        println!("cargo:rerun-if-changed={log}");
        git(&["rev-parse", "HEAD"])
    });
    println!("cargo:rustc-env=SOTTO_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}
