//! Counts the instructions that each kernel retires on a 64-bit ARM processor, emulated by
//! `qemu-aarch64`.
//!
//! ```text
//! make neon-count
//! ```
//!
//! QEMU runs one instruction at a time and logs each (`-singlestep -d exec,nochain`); they are
//! counted between two lines that this program prints around one call of a kernel, and the cost of
//! the lines themselves, printed around nothing, is subtracted. Every count is exact. It is not a
//! time: an emulator has none, and instructions are not equally fast.

mod cases;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const BEGIN: &str = "begin";
const END: &str = "end";

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [run, name] if run == "run" => run_once(name),
        [program, names @ ..] => table(program, names),
        _ => {
            println!("usage: instructions PROGRAM [CASE]..., where PROGRAM is this one, built for aarch64");
            Ok(())
        }
    }
}

/// Runs the emulated half: one call as a warm-up, and one that counts.
fn run_once(name: &str) -> std::io::Result<()> {
    let Some(case) = cases::ALL.iter().find(|case| case.name == name) else { return Ok(()) };
    let Some(mut kernel) = (case.ready)() else { return Ok(()) };
    kernel();
    let mut out = std::io::stdout();
    writeln!(out, "{BEGIN}")?;
    kernel();
    writeln!(out, "{END}")
}

/// Prints a table of all cases, or of the requested ones.
fn table(program: &str, names: &[String]) -> std::io::Result<()> {
    println!("| kernel | what is counted | scalar | NEON | over scalar |\n|---|---|---|---|---|");
    let nothing = retired(program, "nothing", "scalar")?;
    let cases =
        cases::ALL.iter().filter(|case| names.is_empty() || names.iter().any(|name| name == case.name));
    for case in cases.filter(|case| !case.what.is_empty()) {
        let scalar = retired(program, case.name, "scalar")?.saturating_sub(nothing);
        let backends: &[&str] =
            if case.name.starts_with("scan") { &["neondot", "neon"] } else { &["neondot"] };
        for backend in backends {
            let neon = retired(program, case.name, backend)?.saturating_sub(nothing);
            let without = if *backend == "neon" { ", without the products of bytes" } else { "" };
            let ratio = neon as f64 / scalar.max(1) as f64;
            println!("| `{}` | {}{without} | {scalar} | {neon} | {ratio:.2} |", case.name, case.what);
        }
    }
    Ok(())
}

/// Counts the instructions of the second call of a case.
fn retired(program: &str, name: &str, backend: &str) -> std::io::Result<u64> {
    let mut qemu = Command::new("qemu-aarch64")
        .args(["-L", "/usr/aarch64-linux-gnu", "-singlestep", "-d", "exec,nochain", "-D", "/dev/stdout"])
        .args([program, "run", name])
        .env("SOTTO_SIMD", backend)
        .stdout(Stdio::piped())
        .spawn()?;
    let (mut count, mut counting, mut whole) = (0, false, false);
    let mut line = Vec::new();
    if let Some(out) = qemu.stdout.take() {
        let mut out = BufReader::with_capacity(1 << 20, out);
        while out.read_until(b'\n', &mut line)? > 0 {
            match line.trim_ascii_end() {
                line if line == BEGIN.as_bytes() => counting = true,
                line if line == END.as_bytes() => (counting, whole) = (false, true),
                line if line.starts_with(b"Trace ") => count += u64::from(counting),
                _ => {}
            }
            line.clear();
        }
    }
    if qemu.wait()?.success() && whole {
        Ok(count)
    } else {
        Err(std::io::Error::other(format!("no count of {name}")))
    }
}
