//! Facts of a machine, as far as the system reports them.

use crate::Options;
use serde::Serialize;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// The machine and the date of a measurement.
#[derive(Debug, Clone, Serialize)]
pub struct MachineFacts {
    /// The processor's own name.
    pub cpu: String,
    /// Processor cores this process may use.
    pub cores_count: usize,
    /// Kernels that were chosen at run time.
    pub kernels: String,
    /// Bytes of main memory, where the system reports them.
    pub memory_bytes: Option<u64>,
    /// Bytes of second-level cache per core, where the system reports them.
    pub l2_bytes: Option<u64>,
    /// Operating system and architecture.
    pub system: String,
    /// Commit the program was built from, if the caller knows it.
    pub commit: Option<String>,
    /// Version of this crate.
    pub version: &'static str,
    /// Whether the program was built with optimization; figures of an unoptimized build mean nothing.
    pub optimized: bool,
    /// Day of the measurement, UTC.
    pub date: String,
}

impl MachineFacts {
    /// The facts of this machine, now.
    pub fn of_this(options: &Options) -> Self {
        MachineFacts {
            cpu: cpu().unwrap_or_else(|| format!("unknown {}", std::env::consts::ARCH)),
            cores_count: std::thread::available_parallelism().map_or(1, usize::from),
            kernels: sotto_math::machine::backend().to_owned(),
            memory_bytes: sotto_pages::memory::total(),
            l2_bytes: l2(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            commit: options.commit.clone(),
            version: env!("CARGO_PKG_VERSION"),
            optimized: !cfg!(debug_assertions),
            date: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or_else(|_| "unknown".into(), |d| day(d.as_secs())),
        }
    }

    /// The facts in one line for people.
    pub fn line(&self) -> String {
        let memory = self
            .memory_bytes
            .map_or(String::new(), |b| format!(", {:.0} GiB", b as f64 / (1u64 << 30) as f64));
        let commit = self.commit.as_deref().map_or(String::new(), |c| format!(", commit {c}"));
        let warning = if self.optimized { "" } else { ", UNOPTIMIZED BUILD: figures are meaningless" };
        format!(
            "{}, {} cores{memory}, {} kernels, {}, sotto {}{commit}, {}{warning}",
            self.cpu, self.cores_count, self.kernels, self.system, self.version, self.date
        )
    }
}

fn cpu() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let field = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    // A guest often hides the model's name; family and model number then still tell the generation.
    let numbers = field("cpu family").zip(field("model")).map(|(f, m)| format!(" (family {f} model {m})"));
    Some(field("model name")? + &numbers.unwrap_or_default())
}

fn l2() -> Option<u64> {
    let text = fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size").ok()?;
    let (number, unit) = text.trim().split_at_checked(text.trim().len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    match unit {
        "K" => Some(number << 10),
        "M" => Some(number << 20),
        _ => None,
    }
}

/// The day of a Unix time, by Howard Hinnant's `civil_from_days`.
fn day(seconds: u64) -> String {
    let z = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days() {
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(951_782_400), "2000-02-29");
        assert_eq!(day(951_868_800), "2000-03-01");
        assert_eq!(day(1_798_761_599), "2026-12-31");
    }
}
