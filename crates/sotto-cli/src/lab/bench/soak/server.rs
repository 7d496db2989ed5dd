//! The server of a soak: `sotto serve` as a process of its own, so that its memory and its open
//! files are separate from the clients'; and its resources, sampled at many moments.

use crate::failure::{Failure, FileContext, Result};
use crate::lab::bench::load::http;
use rustix::process::{Pid, Signal, kill_process};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::{SignedCatalog, TableName};
use sotto_client::transport::{Request, Transport};
use sotto_wire::routes;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Maximum number of sessions of one address, which all clients have. It is small, so that sessions
/// of clients that are gone are evicted soon.
pub(super) const SESSIONS: usize = 24;

/// Maximum time of any wait.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// The resources of the process at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessUsage {
    /// Bytes of memory, with mapped files and without.
    pub(crate) resident: u64,
    pub(crate) anonymous: u64,
    /// Number of open files, connections included.
    pub(crate) descriptors: usize,
}

/// A running server process.
pub(crate) struct ServerProcess {
    child: Child,
    /// Output of the process, open as long as it runs, since it may print.
    _stdout: BufReader<ChildStdout>,
    pub(crate) url: String,
    state: PathBuf,
    log: PathBuf,
}

impl ServerProcess {
    /// Serves a table, with its state in a folder.
    pub(crate) fn start(scratch: &Path, table: &Path, threads: usize) -> Result<Self> {
        let (config, log) = (scratch.join("sotto.toml"), scratch.join("log"));
        let state = scratch.join("state");
        let failed = |error| Failure::file("writing", &config, &error);
        std::fs::write(&config, settings(table, &state, threads)).map_err(failed)?;
        let to = File::create(&log).doing("writing", &log)?;
        let cannot = |error| Failure::internal(format!("the server does not start: {error}"));
        let mut child = Command::new(std::env::current_exe().map_err(cannot)?)
            .args(["serve", "--json", "--log", "warn", "--config"])
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(to)
            .spawn()
            .map_err(cannot)?;
        let mut first = String::new();
        let stdout = child.stdout.take().ok_or_else(|| Failure::internal("the server prints nothing"))?;
        let mut stdout = BufReader::new(stdout);
        let read = stdout.read_line(&mut first);
        let hello: serde_json::Value = serde_json::from_str(&first).unwrap_or_default();
        let Some(url) = hello.get("public").and_then(|url| url.as_str()).filter(|_| read.is_ok()) else {
            let _ = child.kill();
            let _ = child.wait();
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            return Err(Failure::internal(format!("the server does not start: {first}{log}")));
        };
        Ok(ServerProcess { url: url.to_owned(), child, _stdout: stdout, state, log })
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The current resources; zero if the process is gone.
    pub(crate) fn usage(&self) -> ProcessUsage {
        let folder = Path::new("/proc").join(self.id().to_string());
        let status = std::fs::read_to_string(folder.join("status")).unwrap_or_default();
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            let kib: u64 = line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0);
            kib.saturating_mul(1024)
        };
        ProcessUsage {
            resident: of("VmRSS:"),
            anonymous: of("RssAnon:"),
            descriptors: std::fs::read_dir(folder.join("fd")).map(Iterator::count).unwrap_or(0),
        }
    }

    /// The open files, by the system's names.
    pub(crate) fn open_files(&self) -> Vec<String> {
        let folder = Path::new("/proc").join(self.id().to_string()).join("fd");
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let names = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        let mut names: Vec<_> = names.map(|name| name.display().to_string()).collect();
        names.sort();
        names
    }

    /// Bytes of the state that outlives a restart.
    pub(crate) fn state_bytes(&self) -> u64 {
        let files = std::fs::read_dir(&self.state).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    }

    /// Waits until the server serves an epoch.
    pub(crate) fn serves(&self, table: &TableName, epoch: u64) -> Result<()> {
        let (mut http, began) = (http(&self.url)?, Instant::now());
        let request = Request::get(routes::table(table.as_str(), None), SignedCatalog::MAX_BYTES as u64);
        loop {
            let catalog = http.call(&request).ok().filter(|response| response.is_success());
            let catalog = catalog.and_then(|response| SignedCatalog::parse(&response.body).ok());
            match catalog.and_then(|signed| signed.verify(None).ok()) {
                Some(catalog) if catalog.epoch.0 >= epoch => return Ok(()),
                _ if began.elapsed() > MAX_WAIT => {
                    return Err(Failure::internal(format!("epoch {epoch} is not served: {}", self.log())));
                }
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Lines of its log about faults: it logs warnings and errors.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Ends the process as a supervisor does. Returns whether it ended, and without an error.
    pub(crate) fn end(mut self) -> bool {
        let sent = stop(self.id());
        let began = Instant::now();
        while sent && began.elapsed() < MAX_WAIT {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.success();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

/// Sends a process the signal to end, as a supervisor does. Returns whether there is such a process.
pub(crate) fn stop(id: u32) -> bool {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok())
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The configuration of a typical server, with short timeouts, and limits for clients that all have
/// one address.
fn settings(table: &Path, state: &Path, threads: usize) -> String {
    // A path as a JSON string is a TOML string too.
    let text = |path: &Path| serde_json::Value::from(path.to_string_lossy()).to_string();
    format!(
        "listen = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"\nstate = {}\ntables = [{{ dir = {} }}]\n\
         threads = {threads}\nreload_seconds = 1\nread_timeout_ms = 2000\nidle_timeout_ms = 8000\n\
         connections_per_client = 0\nhint_seconds_per_client = 0\nhint_requests_per_client = 0\n\
         [sessions]\nsessions_per_client = {SESSIONS}\nregistrations_per_minute = 0\n",
        text(state),
        text(table)
    )
}

/// The resources of the server at one moment.
pub(crate) struct UsageSample {
    pub(crate) at: Duration,
    pub(crate) usage: ProcessUsage,
}

/// The resources of the server over a soak.
pub(crate) struct ResourceUse {
    /// The first level of a warm server; zero if it never was.
    pub(crate) warm: ProcessUsage,
    /// The last level.
    pub(crate) last: ProcessUsage,
    pub(crate) peak: ProcessUsage,
    /// A selection of samples, for plots.
    pub(crate) points: Vec<UsagePoint>,
}

/// A sample, as it is reported.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct UsagePoint {
    seconds: f64,
    memory_mib: f64,
    descriptors: usize,
}

impl ResourceUse {
    /// Computes the levels of memory and files of a soak whose server was warm from `warm_at` on: the
    /// ends of the line of least squares through all samples since then.
    ///
    /// What requests need is added for minutes, as long as the allocator keeps it for the next ones. So
    /// parts of a soak differ, while the line shows what is added and never given back.
    pub(crate) fn of(samples: &[UsageSample], warm_at: Option<Duration>) -> Self {
        let warm = warm_at.map_or(&[][..], |warm_at| {
            samples.get(samples.partition_point(|sample| sample.at < warm_at)..).unwrap_or_default()
        });
        let fields: [fn(&ProcessUsage) -> u64; 3] =
            [|usage| usage.resident, |usage| usage.anonymous, |usage| usage.descriptors as u64];
        let [resident, anonymous, descriptors] = fields.map(|field| levels(warm, field));
        let level = |end: fn([u64; 2]) -> u64| ProcessUsage {
            resident: end(resident),
            anonymous: end(anonymous),
            descriptors: usize::try_from(end(descriptors)).unwrap_or(usize::MAX),
        };
        let max = |field: fn(&ProcessUsage) -> u64| {
            samples.iter().map(|sample| field(&sample.usage)).max().unwrap_or(0)
        };
        let step = samples.len().div_ceil(60).max(1);
        let points = samples.iter().step_by(step).map(|sample| UsagePoint {
            seconds: sample.at.as_secs_f64(),
            memory_mib: mib(sample.usage.resident),
            descriptors: sample.usage.descriptors,
        });
        ResourceUse {
            warm: level(|[first, _]| first),
            last: level(|[_, last]| last),
            peak: ProcessUsage {
                resident: max(|usage| usage.resident),
                anonymous: max(|usage| usage.anonymous),
                descriptors: usize::try_from(max(|usage| usage.descriptors as u64)).unwrap_or(usize::MAX),
            },
            points: points.collect(),
        }
    }
}

/// The ends of the line of least squares through the values of samples over time; zeros without any.
fn levels(samples: &[UsageSample], field: fn(&ProcessUsage) -> u64) -> [u64; 2] {
    let of = |sample: &UsageSample| (sample.at.as_secs_f64(), field(&sample.usage) as f64);
    let count = samples.len().max(1) as f64;
    let sum = |value: &dyn Fn(f64, f64) -> f64| -> f64 {
        samples.iter().map(of).map(|(at, usage)| value(at, usage)).sum::<f64>() / count
    };
    let (mean_at, mean) = (sum(&|at, _| at), sum(&|_, usage| usage));
    let spread = sum(&|at, _| (at - mean_at) * (at - mean_at));
    let slope = match spread > 0.0 {
        true => sum(&|at, usage| (at - mean_at) * (usage - mean)) / spread,
        false => 0.0,
    };
    let level = |sample: Option<&UsageSample>| {
        sample.map_or(0, |sample| (mean + slope * (of(sample).0 - mean_at)).round().max(0.0) as u64)
    };
    [level(samples.first()), level(samples.last())]
}

/// Converts bytes to MiB.
pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_no_level_and_growth_is() {
        let of = |memory: fn(u64) -> u64| {
            let sample = |at| {
                let (resident, descriptors) = (memory(at), at as usize);
                UsageSample {
                    at: Duration::from_secs(at),
                    usage: ProcessUsage { resident, anonymous: 0, descriptors },
                }
            };
            ResourceUse::of(&(0..600).map(sample).collect::<Vec<_>>(), Some(Duration::from_secs(100)))
        };
        let spiky = of(|at| if at % 60 == 0 { 1500 } else { 1000 });
        let growth = spiky.last.resident as f64 / spiky.warm.resident as f64;
        assert!((growth - 1.0).abs() < 0.01 && spiky.peak.resident == 1500, "{growth}");
        assert_eq!((spiky.warm.descriptors, spiky.last.descriptors), (100, 599));
        assert_eq!(spiky.points.len(), 60);
        let leaky = of(|at| 1000 + at);
        assert_eq!((leaky.warm.resident, leaky.last.resident), (1100, 1599));
        let never = ResourceUse::of(&[], None);
        assert_eq!((never.warm.resident, never.last.resident), (0, 0));
    }
}
