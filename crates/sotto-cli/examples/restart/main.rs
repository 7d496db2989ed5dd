//! Measures how long a server takes to restart with the keys of many clients, and how much memory.
//!
//! ```text
//! cargo run -p sotto-cli --example restart -- fill FOLDER USERS small|usual|SCHEME
//! cargo run -p sotto-cli --example restart -- start FOLDER
//! ```
//!
//! `fill` encodes a table, starts a server for it, and sends it the keys of many clients over HTTP.
//! `usual` keys are those of Apple's lookups in a table of 100,000 rows; `small` ones are as small
//! as they can be, for disks that do not hold so many others; a scheme's name stands for a table of
//! sotto. It continues if the folder has some. `start` starts the server again in a new process,
//! and looks a row up for an early client, a late one and one in between, whose keys are loaded
//! from the disk.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a measurement may stop")]

mod apple;
mod ours;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Number of clients that send keys at the same time.
const THREADS: usize = 4;
/// Bytes of keys in memory, a limit that does not depend on the bytes on disk.
const IN_MEMORY: u64 = 256 << 20;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["fill", folder, users, kind @ ("small" | "usual")] => {
            apple::fill(Path::new(folder), users.parse().unwrap(), kind == "usual");
        }
        ["fill", folder, users, scheme] => ours::fill(Path::new(folder), users.parse().unwrap(), scheme),
        ["start", folder] if Path::new(folder).join("ids").exists() => ours::start(Path::new(folder)),
        ["start", folder] => apple::start(Path::new(folder)),
        _ => panic!("fill FOLDER USERS small|usual|SCHEME, or start FOLDER"),
    }
}

/// Registers clients until there are `users` of them.
fn register(folder: &Path, users: usize, keys_bytes: usize, one: impl Fn(usize) + Sync) {
    let before = fs::read_to_string(folder.join("users")).map_or(0, |text| text.parse().unwrap());
    let (next, began) = (AtomicUsize::new(before), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= users {
                        break;
                    }
                    one(i);
                    if i % 5000 == 0 {
                        println!("{i} clients after {:.0} s", began.elapsed().as_secs_f64());
                    }
                }
            });
        }
    });
    fs::write(folder.join("users"), users.to_string()).unwrap();
    let each = began.elapsed().as_secs_f64() * 1e3 / users.saturating_sub(before).max(1) as f64;
    println!("{users} clients, each {keys_bytes} bytes of keys; {each:.1} ms for one; {}", memory());
}

/// The number of registered clients; prints the size of the file of their keys.
fn registered(folder: &Path, file: &str) -> usize {
    let users: usize = fs::read_to_string(folder.join("users")).unwrap().parse().unwrap();
    let bytes = fs::metadata(folder.join("state").join(file)).unwrap().len();
    println!("{users} clients, {:.2} GB of keys", bytes as f64 / 1e9);
    users
}

/// Current and peak memory of this process.
fn memory() -> String {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).unwrap_or_default() / 1024.0
    };
    format!("{:.0} MiB in memory, {:.0} at most", of("VmRSS:"), of("VmHWM:"))
}
