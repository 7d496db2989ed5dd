//! Checks of this machine: what makes answers fast, and what stops a server at the wrong moment.

use super::Findings;
use crate::screen::units;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Number of files that a server may need open, connections included.
const FILES: u64 = 4096;

/// Memory in bytes below which little can be served.
const LITTLE: u64 = 1 << 30;

/// A time before this build: a clock that shows less is wrong.
const BUILT: u64 = 1_795_000_000;

pub(super) fn check(findings: &mut Findings) {
    kernels(findings);
    huge_pages(findings);
    memory(findings);
    files(findings);
    clock(findings);
}

fn kernels(findings: &mut Findings) {
    let (about, backend) = ("instructions", sotto_math::machine::backend());
    if let Ok(forced) = std::env::var("SOTTO_SIMD") {
        let found = format!("SOTTO_SIMD={forced} selects the kernels");
        return findings.note(about, found, "unset it, unless this is a test");
    }
    match backend {
        "scalar" => findings.problem(
            about,
            "the processor has no usable vector instructions: answers take several times as long",
            "use a machine with AVX2 or NEON; in a virtual machine expose them to the guest (cpu type `host`)",
        ),
        name => findings.good(about, format!("{name} kernels")),
    }
    if cfg!(debug_assertions) {
        findings.note(about, "this is a debug build, which is slow", "build with --release");
    }
}

fn huge_pages(findings: &mut Findings) {
    let about = "huge pages";
    match sotto_pages::memory::has_huge_pages() {
        true => findings.good(about, "available"),
        false => findings.problem(
            about,
            "the system provides none: passes over a table take up to 1.5 times as long",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        ),
    }
}

fn memory(findings: &mut Findings) {
    let about = "memory";
    let (Some(total), Some(available)) = (sotto_pages::memory::total(), sotto_pages::memory::available())
    else {
        return findings.note(about, "the system does not report it", "check that the tables fit");
    };
    let limit =
        fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    let free = limit.map_or(available, |limit: u64| available.min(limit));
    let found = format!(
        "{} free of {}",
        units::bytes(free),
        units::bytes(limit.map_or(total, |limit| limit.min(total)))
    );
    match free < LITTLE {
        true => findings.note(
            about,
            found,
            "use tables that fit: a larger one is read from the disk in each pass",
        ),
        false => findings.good(about, found),
    }
    let swap = fs::read_to_string("/proc/swaps").map_or(0, |text| text.lines().count().saturating_sub(1));
    if swap > 0 {
        findings.note(about, "swap is on", "encrypt swap or turn it off: keys in memory may reach the disk");
    }
}

fn files(findings: &mut Findings) {
    #[cfg(unix)]
    {
        let about = "open files";
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        match limit {
            Some(limit) if limit < FILES => findings.problem(
                about,
                format!("at most {limit}, one of them for each connection"),
                "set LimitNOFILE=65536 in the service's unit, or run `ulimit -n 65536`",
            ),
            Some(limit) => findings.good(about, format!("at most {}", units::count(limit))),
            None => findings.good(about, "no limit"),
        }
    }
}

fn clock(findings: &mut Findings) {
    let about = "clock";
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    match now < BUILT {
        true => findings.problem(
            about,
            format!("shows {now} s since 1970, which is before this program was written"),
            "set it, and keep it synchronized (systemd-timesyncd, chrony): catalogs expire by it",
        ),
        false => findings.good(about, "plausible; `sotto doctor URL` compares it with a server's"),
    }
}
