//! Runs all cases with all kernels in parallel, each in a process of its own under memcheck, and
//! compares the reports with the list of known dependences on secrets, `known.txt`. It can only
//! shrink: a dependence that is not on it fails the lane, and so does an entry that is not found.

use crate::cases::{self, Case};
use crate::report::{Frame, LeakKind, LeakSite, Report, read};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Kernels that Valgrind can run: it knows no AVX-512.
const KERNELS: [&str; 2] = ["scalar", "avx2"];

/// The folder of the workspace when this was built: where its files are, in debug information.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The outcome of a case.
struct Outcome {
    reports: Result<Vec<Report>, String>,
    took: Duration,
}

/// Runs the cases whose names contain one of `names`, or all.
pub(crate) fn run(names: &[String]) -> ExitCode {
    if cfg!(not(feature = "valgrind")) {
        eprintln!("built without feature `valgrind`, so nothing is secret: make constant-time");
        return ExitCode::FAILURE;
    }
    let known = match list() {
        Ok(known) => known,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::FAILURE;
        }
    };
    let is_selected = |case: &Case| names.is_empty() || names.iter().any(|part| case.name.contains(part));
    let cases: Vec<Case> = cases::all().into_iter().filter(is_selected).collect();
    let jobs: Vec<(&str, &str, bool)> = KERNELS
        .iter()
        .flat_map(|kernels| cases.iter().map(move |case| (case.name.as_str(), *kernels, case.is_control())))
        .collect();

    let (mut found, mut wrong) = (ReportedLeaks::new(), Vec::new());
    for ((name, kernels, is_control), outcome) in jobs.iter().zip(all(&jobs)) {
        let reports = match outcome.reports {
            Ok(reports) => reports,
            Err(why) => {
                wrong.push(format!("{name} {kernels}: {why}"));
                continue;
            }
        };
        println!("{name:24} {kernels:6} {:4} reports {:6.1} s", reports.len(), outcome.took.as_secs_f64());
        if *is_control {
            wrong.extend(unnoticed(name, &reports));
            continue;
        }
        for report in &reports {
            let Some(Frame { place, line }) = report.stack.first() else {
                wrong.push(format!("{name} {kernels}: a report outside of the functions of this project"));
                continue;
            };
            let is_shown = !names.is_empty() || !known.contains_key(place);
            if found.entry(place.clone()).or_default().insert((report.kind, *line)) && is_shown {
                print(report);
            }
        }
    }
    if names.is_empty() {
        wrong.extend(differences(&known, &found));
    }
    let places = found.len();
    println!("{} cases, each with {}; reports from {places} functions", cases.len(), KERNELS.join(" and "));
    wrong.iter().for_each(|wrong| println!("{wrong}"));
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The fault of a control case: it must be reported as its name states, in the function of that
/// name.
fn unnoticed(name: &str, reports: &[Report]) -> Option<String> {
    let what = name.rsplit('/').next().unwrap_or(name);
    let is_it = |report: &Report| {
        report.kind.name() == what && report.stack.first().is_some_and(|frame| frame.place.function == what)
    };
    let noticed = reports.iter().any(is_it);
    (!noticed).then(|| {
        format!("{name}: this control is not reported, so the absence of other reports proves nothing")
    })
}

/// Runs jobs on all cores. Outcomes are in the order of jobs.
fn all(jobs: &[(&str, &str, bool)]) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        while let Some((at, (name, kernels, _))) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(at).map(|job| (at, job))
        } {
            let begin = Instant::now();
            let reports = reports(name, kernels);
            let outcome = Outcome { reports, took: begin.elapsed() };
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, outcome));
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

fn print(report: &Report) {
    for (i, Frame { place: LeakSite { file, function }, line }) in report.stack.iter().take(8).enumerate() {
        let kind = if i == 0 { report.kind.name() } else { "" };
        println!("  {kind:6} {file}:{line} {function}");
    }
}

/// All reports of a case.
///
/// # Errors
/// In words, if the case did not end well: then its reports mean nothing.
fn reports(case: &str, kernels: &str) -> Result<Vec<Report>, String> {
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

const LIST: &str = include_str!("../known.txt");

/// Numbers of lines of each function that branch on secrets, and that index by them.
type KnownLeaks = BTreeMap<LeakSite, [usize; 2]>;

/// The reported lines of each place.
type ReportedLeaks = BTreeMap<LeakSite, BTreeSet<(LeakKind, u32)>>;

/// Reads the list.
///
/// # Errors
/// The first line that is no entry.
fn list() -> Result<KnownLeaks, String> {
    parse(LIST)
}

/// Lines of `file | function | branches | indexes | why | who could see it`; comments begin with a hash.
fn parse(text: &str) -> Result<KnownLeaks, String> {
    let mut known = KnownLeaks::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let wrong = |_| format!("known.txt: not an entry: {line}");
        let parts: Vec<&str> = line.split('|').map(str::trim).filter(|part| !part.is_empty()).collect();
        let [file, function, branches, indexes, _why, who] = parts.try_into().map_err(|_| wrong(()))?;
        if !["caller", "server", "cache"].contains(&who) {
            return Err(wrong(()));
        }
        let number = |part: &str| part.parse::<usize>().map_err(|_| wrong(()));
        let place = LeakSite { file: file.into(), function: function.into() };
        if known.insert(place, [number(branches)?, number(indexes)?]).is_some() {
            return Err(format!("known.txt: listed twice: {line}"));
        }
    }
    Ok(known)
}

/// The differences in words: found and not listed, or listed and not found.
fn differences(known: &KnownLeaks, found: &ReportedLeaks) -> Vec<String> {
    let mut wrong = Vec::new();
    for (place, lines) in found {
        let of = |kind| {
            lines.iter().filter(|(other, _)| *other == kind).map(|(_, line)| *line).collect::<Vec<_>>()
        };
        let [branches, indexes, others] = [LeakKind::Branch, LeakKind::Index, LeakKind::Other].map(of);
        let allowed = known.get(place).copied().unwrap_or([0; 2]);
        if [branches.len(), indexes.len()] != allowed || !others.is_empty() {
            wrong.push(format!(
                "{} | {} | {} | {} | listed: {allowed:?}; branches {branches:?}, indexes {indexes:?}, others {others:?}",
                place.file,
                place.function,
                branches.len(),
                indexes.len()
            ));
        }
    }
    for LeakSite { file, function } in known.keys().filter(|place| !found.contains_key(place)) {
        wrong.push(format!("{file} | {function} | listed and no longer found: remove the line"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, lines: &[(LeakKind, u32)]) -> ReportedLeaks {
        let place = LeakSite { file: file.into(), function: "f".into() };
        ReportedLeaks::from([(place, lines.iter().copied().collect())])
    }

    #[test]
    fn the_list_can_be_read() {
        list().unwrap();
        for wrong in
            ["a.rs | f | 1 | 0 | why", "a.rs | f | x | 0 | why | cache", "a.rs | f | 1 | 0 | | cache"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse("a.rs | f | 1 | 0 | why | cache\na.rs | f | 2 | 0 | why | cache").is_err());
    }

    #[test]
    fn more_and_less_than_is_listed_is_wrong() {
        use LeakKind::{Branch, Index, Other};
        let known = parse("# of a\na.rs | f | 2 | 1 | why | cache").unwrap();
        let listed = [(Branch, 3), (Branch, 9), (Index, 3)];
        assert!(differences(&known, &found("a.rs", &listed)).is_empty());
        for more in [(Branch, 4), (Index, 9), (Other, 3)] {
            assert_eq!(differences(&known, &found("a.rs", &[&listed[..], &[more]].concat())).len(), 1);
        }
        assert_eq!(differences(&known, &found("a.rs", &listed[1..])).len(), 1);
        assert_eq!(differences(&known, &found("b.rs", &listed)).len(), 2);
        assert_eq!(differences(&known, &ReportedLeaks::new()).len(), 1);
    }
}
