//! `sotto doctor`: what is wrong with a machine, a table, a server or a client's folders, and what to
//! do about it.
//!
//! The checks of this machine and of a client's files are here.
//!
//! | module | checks |
//! |---|---|
//! | `files` | a table's folder, an image, a key |
//! | `server` | a server at an address, and any proxy in front of it |

mod files;
mod server;

use crate::connect_args;
use crate::failure::{Exit, Failure, Result};
use crate::screen::{Report, Screen, grid, units};
use crate::verbs::doctor::files::readable_by_others;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_client::state::inspect::inspect as look_at;
use sotto_core::Budget;
use std::fs;
use std::path::{Path, PathBuf};

const EXAMPLE: &str = "\
Without a target it checks this machine. A target is the folder of a table, an image, a signing key, or \
the address of a server; give the servers of one table one after the other, in the order of their roles. \
--client checks what `sotto get` stores.

Each finding says what was found and how to fix it. The exit code is 9 if there is a problem, and 0 if not.

Example:
  sotto doctor
  sotto doctor tables/people tables/people/signing.key
  sotto doctor https://lookup.example
  sotto doctor https://one.example https://other.example
  sotto doctor --client --json";

/// Arguments of `sotto doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Doctor {
    /// Directories of tables, images, signing keys, or addresses of servers
    #[arg(value_name = "DIR|IMAGE|KEY|URL")]
    targets: Vec<String>,
    /// Compare every byte of images with its digest
    #[arg(long)]
    verify: bool,
    /// Check what this user's clients store
    #[arg(long)]
    client: bool,
    /// Folder of hints, keys and known epochs [default: sotto/ in the user's cache folder]
    #[arg(long, value_name = "DIR", requires = "client")]
    cache: Option<PathBuf>,
    /// Folder of hints that queries spend [default: sotto/state/ in the user's data folder]
    #[arg(long, value_name = "DIR", requires = "client")]
    state: Option<PathBuf>,
    /// PEM file of the root certificates to trust for https, in place of the web's
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Severity {
    /// The check found nothing wrong.
    #[serde(rename = "good")]
    Ok,
    /// The finding is worth knowing; everything works.
    Note,
    /// The finding costs speed, privacy or answers until it is repaired.
    #[serde(rename = "mend")]
    Problem,
}

/// The result of one check.
#[derive(Debug, Serialize, JsonSchema)]
struct Finding {
    level: Severity,
    /// What was checked.
    about: String,
    /// What was found.
    found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// All findings, in the order of the checks.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn good(&mut self, about: impl ToString, found: impl Into<String>) {
        self.add(Severity::Ok, about, found, None);
    }

    fn note(&mut self, about: impl ToString, found: impl Into<String>, remedy: impl Into<String>) {
        self.add(Severity::Note, about, found, Some(remedy.into()));
    }

    fn problem(&mut self, about: impl ToString, found: impl Into<String>, remedy: impl Into<String>) {
        self.add(Severity::Problem, about, found, Some(remedy.into()));
    }

    /// Adds a failure of a command as a finding.
    fn failure(&mut self, about: impl ToString, failure: impl Into<Failure>) {
        let Failure { message, fix, .. } = failure.into();
        self.problem(about, message, fix.unwrap_or_else(|| "see `sotto help`".into()));
    }

    fn add(
        &mut self,
        level: Severity,
        about: impl ToString,
        found: impl Into<String>,
        remedy: Option<String>,
    ) {
        self.0.push(Finding { level, about: about.to_string(), found: found.into(), remedy });
    }
}

impl Doctor {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        let mut findings = Findings::default();
        let bars = screen.bars();
        if self.targets.is_empty() && !self.client {
            check_machine(&mut findings);
        }
        let is_address = |target: &&String| crate::is_url(target);
        for target in self.targets.iter().filter(|target| !is_address(target)) {
            files::check(Path::new(target), self.verify, &bars, &mut findings)?;
        }
        let urls: Vec<String> = self.targets.iter().filter(is_address).cloned().collect();
        if !urls.is_empty() {
            server::check(&urls, self.trust_root.as_deref(), &bars, &mut findings)?;
        }
        if self.client {
            check_client(self.cache.as_deref(), self.state.as_deref(), &mut findings)?;
        }
        bars.finish();
        let Findings(all) = findings;
        let found = match all.iter().filter(|finding| finding.level == Severity::Problem).count() {
            0 => None,
            1 => Some("1 problem found".to_owned()),
            n => Some(format!("{n} problems found")),
        };
        let problems = found.map(|found| Failure::new(Exit::Findings, found).fix("see the findings above"));
        Ok(Report::new(text(&all), &DoctorReport { findings: all }).but(problems))
    }
}

/// What was checked, and what was found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DoctorReport {
    findings: Vec<Finding>,
}

fn text(all: &[Finding]) -> String {
    let word = |level| match level {
        Severity::Ok => "good",
        Severity::Note => "note",
        Severity::Problem => "PROBLEM",
    };
    let lines = all.iter().map(|finding| {
        let remedy = finding.remedy.as_ref().map(|remedy| format!(". Fix: {remedy}")).unwrap_or_default();
        (word(finding.level), format!("{}: {}{remedy}", finding.about, finding.found))
    });
    grid::facts(lines)
}

/// Number of files that a server may need open, connections included.
const FILES: u64 = 4096;

/// Memory in bytes below which little can be served.
const LITTLE: u64 = 1 << 30;

/// A time before this build: a clock that shows less is wrong.
const BUILT: u64 = 1_795_000_000;

fn check_machine(findings: &mut Findings) {
    kernels(findings);
    match sotto_pages::memory::has_huge_pages() {
        true => findings.good("huge pages", "available"),
        false => findings.problem(
            "huge pages",
            "the system provides none: passes over a table take up to 1.5 times as long",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        ),
    }
    memory(findings);
    #[cfg(feature = "gpu")]
    cards(findings);
    files(findings);
    match crate::unix_time() {
        now @ ..BUILT => findings.problem(
            "clock",
            format!("shows {now} s since 1970, which is before this program was written"),
            "set it, and keep it synchronized (systemd-timesyncd, chrony): catalogs expire by it",
        ),
        _ => findings.good("clock", "plausible; `sotto doctor URL` compares it with a server's"),
    }
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

/// The graphics cards, each of which is opened.
#[cfg(feature = "gpu")]
fn cards(findings: &mut Findings) {
    let about = "graphics card";
    let cards = sotto_gpu::Card::find();
    if cards.is_empty() {
        let remedy = "install the card's driver with Vulkan, or serve without --gpu";
        return findings.note(about, "none with a driver is found", remedy);
    }
    for card in cards {
        match card.open() {
            Err(error) => findings.problem(
                about,
                format!("{card}: {error}"),
                "renew the driver, or serve without --gpu",
            ),
            Ok(_) if card.is_software() => {
                let found = format!("{card} is the processor, slower than without --gpu");
                findings.note(about, found, "install the card's own driver, if there is one");
            }
            Ok(gpu) => {
                let buffer = units::bytes(gpu.max_buffer_bytes());
                findings.good(about, format!("{card}, buffers of at most {buffer}"));
            }
        }
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

fn check_client(cache: Option<&Path>, states: Option<&Path>, findings: &mut Findings) -> Result<()> {
    let cache = cache.map_or_else(connect_args::default_cache, |cache| Ok(cache.to_owned()))?;
    match cache.is_dir() {
        true => {
            findings.good(
                cache.display(),
                "holds what `sotto get` fetched once, which shows the tables used and no rows",
            );
            readable_by_others(&cache, "other users can see which tables you use", findings);
        }
        false => findings.good(cache.display(), "no cache: nothing has been fetched yet"),
    }
    if let Some(key) = connect_args::default_key_file().filter(|key| key.exists()) {
        readable_by_others(&key, "other users who can read the cache get your keys", findings);
        if key.starts_with(&cache) {
            findings.problem(
                key.display(),
                "lies in the cache that it encrypts",
                "give --key-file in another folder",
            );
        }
    }
    let states: Option<PathBuf> = states.map(Path::to_owned).or_else(connect_args::default_state_dir);
    let Some(states) = states.filter(|states| states.is_dir()) else {
        findings.good("states", "none: no client here has hints that queries spend");
        return Ok(());
    };
    readable_by_others(&states, "other users can read what was looked up", findings);
    for shown in look_at(&states, sotto_registry::find)? {
        let about = format!("state of {} at {}", shown.metadata.table, shown.metadata.origin);
        match shown.budget {
            Some(Budget::Left(0)) => findings.note(&about, "no hints are left", "run `sotto prepare`"),
            Some(Budget::Left(left)) => {
                findings.good(&about, format!("{} queries are left", units::count(left)))
            }
            _ => findings.note(
                &about,
                "not prepared",
                "run `sotto prepare`; otherwise the next lookup prepares it",
            ),
        }
        if shown.unsettled > 0 {
            let found =
                format!("{} requests have no answer: their hints are spent", units::count(shown.unsettled));
            findings.note(&about, found, "none needed if the server was unreachable");
        }
    }
    Ok(())
}
