//! Runs all cases with all kernels in parallel, and compares the reports with the list.

use crate::cases::{self, Case};
use crate::known_leaks::{self, ReportedLeaks};
use crate::report::{Frame, LeakSite, Report};
use crate::valgrind::{self, KERNELS};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

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
    let known = match known_leaks::list() {
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
        wrong.extend(known_leaks::differences(&known, &found));
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
            let reports = valgrind::reports(name, kernels);
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
