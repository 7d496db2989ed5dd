//! `sotto bench`: runs benchmark definitions, and measures this machine, the predictions of `sotto
//! plan`, regressions, and a server.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@load`] | servers on loopback, requests whose answers are known, and a server's counters |
//! | `server` | how many lookups per second a server answers, and what it does under more than that |
//! | `soak` | a server over a long time, with everything that happens meanwhile |

pub(crate) mod load;
pub(crate) mod server;
pub(crate) mod soak;

use crate::calibration;
use crate::failure::{Failure, FileContext, Result};
use crate::screen::progress::StageUnit;
use crate::screen::{Report, Screen};
use crate::source_args::{SchemeArg, scheme};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_bench::calibrate::{calibrate as measure, predict};
use sotto_bench::regression::{GuardReport, guard};
use sotto_bench::report::DefinitionInfo;
use sotto_bench::{Options, Progress, load, machine, shipped};
use sotto_plan::Calibration;
use std::path::{Path, PathBuf};

const EXAMPLE: &str = "\
A definition is a TOML file under lab/sotto-bench/definitions, or one of the names that ship with sotto (`sotto \
bench --list`). Every answer is checked, and a wrong answer ends the run without figures. Every case is \
compared with two baselines: downloading the table, and plaintext queries.

Example:
  sotto bench quick --svg quick.svg
  sotto bench rows-256b rows-64b --threads 1 --json > rows.json
  sotto bench all-schemes --svg schemes.svg
  sotto bench machine
  sotto bench plan
  sotto bench plan simplepir fspiral
  sotto bench regression
  sotto bench server tables/people --clients 8
  sotto bench overload tables/people --load-factor 10 --seconds 60
  sotto bench soak tables/people --seconds 3600";

/// Arguments of `sotto bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Bench {
    /// What to measure: definitions (files or shipped names); `machine`, which measures memory and
    /// calibrates `sotto plan`; `plan`, predicted against measured times, of all schemes or of those
    /// named after it; `regression`, ratios of times that fall if something became slower; `server
    /// DIR`, lookups per second of a server of that table on loopback; `overload DIR`, that server
    /// under more load than its capacity; or `soak DIR`, whether it is unchanged after a long time at
    /// half load, with updates, keys and clients that disconnect
    #[arg(value_name = "DEFS", default_value = "quick")]
    definitions: Vec<String>,
    /// List the definitions that ship with sotto
    #[arg(long)]
    list: bool,
    /// Threads of the server [default: as the definitions say]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Number of clients of `bench server`, which query without a pause
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u16).range(1..=256))]
    clients: u16,
    /// Have a graphics card make the passes of `bench server`; needs a build with --features gpu
    #[arg(long)]
    gpu: bool,
    /// Load of `bench overload` and `bench soak`, as a multiple of the server's capacity [default:
    /// 10, and 0.5]
    #[arg(long, value_name = "X", value_parser = parse_load_factor)]
    load_factor: Option<f64>,
    /// Duration of `bench overload` and `bench soak`, in seconds; a soak takes longer if its server is not
    /// warm after a sixth of that time
    #[arg(long, value_name = "N", default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Maximum growth of a warm server's memory in `bench soak`, in percent
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = parse_percent)]
    max_growth: f64,
    /// Fewer repetitions: faster, noisier
    #[arg(long)]
    quick: bool,
    /// Include the cases marked `full`, which take minutes and many gigabytes each
    #[arg(long)]
    full: bool,
    /// SVG file to draw the figures to
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// File to write the figures to as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Folder for images while measuring [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Commit that this program was built from, for the report
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
}

fn parse_load_factor(text: &str) -> std::result::Result<f64, String> {
    let times = text.parse::<f64>().map_err(|_| "expected a number, such as 10 or 0.5")?;
    if (0.01..=100.0).contains(&times) { Ok(times) } else { Err("expected a factor from 0.01 to 100".into()) }
}

fn parse_percent(text: &str) -> std::result::Result<f64, String> {
    let percent = text.parse::<f64>().map_err(|_| "expected a number, such as 2")?;
    if (0.0..=1000.0).contains(&percent) {
        Ok(percent)
    } else {
        Err("expected a percentage from 0 to 1000".into())
    }
}

impl Bench {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        if self.list {
            return list();
        }
        let options = Options {
            threads: self.threads,
            quick: self.quick,
            full: self.full,
            commit: self.commit.clone(),
            scratch: self.scratch.clone(),
        };
        if self.definitions == ["machine"] {
            if self.svg.is_some() {
                return Err(Failure::usage("--svg does not apply to `bench machine`").fix("omit --svg"));
            }
            let report = machine::probe(&options)?;
            calibration::store_kernel_shapes(&report.shapes);
            screen.print(self.report(&report.table(), &report)?)?;
            return calibrate(&options, screen);
        }
        if self.definitions == ["regression"] {
            return self.run_regression(&options, screen);
        }
        calibration::use_kernel_shapes();
        if let Some((first, schemes)) = self.definitions.split_first()
            && first == "plan"
        {
            return self.run_plan(schemes, &options, screen);
        }
        let (load, seconds) = (self.load_factor, self.seconds);
        if let [first, dir] = self.definitions.as_slice() {
            let dir = Path::new(dir);
            match first.as_str() {
                "server" => {
                    let report =
                        server::throughput(dir, usize::from(self.clients), self.gpu, &options, screen)?;
                    return self.report(&report.table(), &report);
                }
                "overload" => {
                    let report = server::overload(dir, load.unwrap_or(10.0), seconds, &options, screen)?;
                    return self.report(&report.table(), &report);
                }
                "soak" => {
                    let max_growth = self.max_growth;
                    let soak = soak::Soak { load_factor: load.unwrap_or(0.5), seconds, max_growth };
                    let report = soak::run(dir, &soak, &options, screen)?;
                    return Ok(self.report(&report.table(), &report)?.but(report.judge()));
                }
                _ => {}
            }
        }
        let report = self.measure(screen, &options)?;
        let shown = self.report(&report.table(), &report)?;
        // Figures that took long are shown, whether or not they can be drawn.
        let drawn = self.svg.as_deref().map(|path| write(path, &report.svg().map_err(Failure::from)?));
        Ok(shown.but(drawn.and_then(Result::err)))
    }

    fn measure(&self, screen: Screen, options: &Options) -> Result<sotto_bench::Report> {
        // Every definition is read before the first is run: a typo should not cost half an hour.
        let definitions: Vec<_> =
            self.definitions.iter().map(|name| load(name).map_err(Failure::from)).collect::<Result<_>>()?;
        let mut whole: Option<sotto_bench::Report> = None;
        for definition in &definitions {
            let report = watched(screen, |progress| sotto_bench::run(definition, options, progress))?;
            match &mut whole {
                Some(whole) => whole.append(report),
                None => whole = Some(report),
            }
        }
        whole.ok_or_else(|| Failure::usage("no definition is given").fix("see `sotto bench --list`"))
    }

    /// Compares predictions with measurements, of the named schemes or of all.
    fn run_plan(&self, schemes: &[String], options: &Options, screen: Screen) -> Result<Report> {
        if self.svg.is_some() {
            return Err(Failure::usage("--svg does not apply to `bench plan`").fix("omit --svg"));
        }
        let find = |name: &String| {
            let named = scheme(name).map(SchemeArg::entry);
            named.map_err(|why| Failure::usage(format!("no scheme is called {name:?}")).fix(why))
        };
        let named = schemes.iter().map(find).collect::<Result<Vec<_>>>()?;
        let schemes = if named.is_empty() { sotto_registry::SCHEMES } else { named.as_slice() };
        let calibration = match calibration::recall().0 {
            Some(known) => known,
            None => first(options, screen)?,
        };
        let report = counted(screen, "tables", |progress| predict(&calibration, schemes, options, progress))?;
        self.report(&report.table(), &report)
    }

    /// Measures and prints all ratios. If one has fallen, that is an error of sotto.
    fn run_regression(&self, options: &Options, screen: Screen) -> Result<Report> {
        if self.svg.is_some() || options.threads.is_some() {
            let reason = "--svg and --threads do not apply to `bench regression`";
            return Err(Failure::usage(reason).fix("omit them"));
        }
        let report = watched(screen, |progress| guard(options, progress))?;
        Ok(self.report(&report.table(), &report)?.but(verdict(&report)))
    }

    /// Writes the figures to the file that was given, and reports them.
    fn report(&self, table: &str, figures: &(impl Serialize + JsonSchema)) -> Result<Report> {
        if let Some(path) = &self.out {
            let json = serde_json::to_string_pretty(figures);
            write(path, &json.map_err(|error| Failure::internal(error.to_string()))?)?;
        }
        Ok(Report::new(table.trim_end(), figures))
    }
}

fn list() -> Result<Report> {
    let (mut lines, mut names) = (Vec::new(), Vec::new());
    for definition in shipped() {
        let definition = load(definition.name)?;
        lines.push(format!("  {:<15} {}", definition.name, definition.about));
        names.push(DefinitionInfo { name: definition.name, about: definition.about });
    }
    Ok(Report::new(lines.join("\n"), &DefinitionsReport { definitions: names }))
}

/// The definitions that ship with sotto.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DefinitionsReport {
    definitions: Vec<DefinitionInfo>,
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).doing("writing", path)
}

/// Measures how fast schemes are on this machine, and stores the result, unless it was measured in
/// a hurry.
fn calibrate(options: &Options, screen: Screen) -> Result<Report> {
    if options.quick {
        screen.print_text("\nschemes were not measured for `sotto plan`, which --quick skips")?;
        return Ok(Report::default());
    }
    let calibration = counted(screen, "schemes", |progress| measure(options, progress))?;
    let place = calibration::store(&calibration)?;
    let (samples, took) = (calibration.samples.len(), calibration.took_s);
    screen.print_text(format!("\n{samples} measurements of schemes in {took:.0} s, {place}"))?;
    Ok(Report::default())
}

fn first(options: &Options, screen: Screen) -> Result<Calibration> {
    let calibration = counted(screen, "schemes", |progress| measure(options, progress))?;
    if !options.quick {
        calibration::store(&calibration)?;
    }
    Ok(calibration)
}

/// Runs work that reports its progress, each step as a stage of its own.
fn watched<T>(
    screen: Screen,
    work: impl FnOnce(&(dyn Fn(Progress<'_>) + Sync)) -> std::result::Result<T, sotto_bench::BenchError>,
) -> Result<T> {
    let bars = screen.bars();
    let done = work(&|at| bars.at(&format!("{}: {}", at.case, at.step), at.done, at.total, StageUnit::Share));
    bars.finish();
    done.map_err(Failure::from)
}

/// Runs work on things of one kind, whose steps are all one stage, so that its rest is estimated.
fn counted<T>(
    screen: Screen,
    things: &'static str,
    work: impl FnOnce(&(dyn Fn(Progress<'_>) + Sync)) -> std::result::Result<T, sotto_bench::BenchError>,
) -> Result<T> {
    let bars = screen.bars();
    let done = work(&|at| bars.at(at.case, at.done, at.total, StageUnit::Count(things)));
    bars.finish();
    done.map_err(Failure::from)
}

fn verdict(report: &GuardReport) -> Option<Failure> {
    let fallen = report.fallen().map(|ratio| {
        let figure = |ratio: Option<f64>| ratio.unwrap_or(f64::NAN);
        let (measured, min) = (figure(ratio.measured_ratio), figure(ratio.least_ratio));
        format!("{} is {measured:.3} times {}, expected at least {min:.3}", ratio.name, ratio.against)
    });
    let fallen: Vec<String> = fallen.collect();
    (!fallen.is_empty()).then(|| {
        Failure::internal(format!("ratios fell: {}", fallen.join("; "))).fix(
        "check the memory of this machine with `sotto bench machine`, and try again when it is idle; then \
         find the commit with `git bisect run make bench-regression`",
    )
    })
}
