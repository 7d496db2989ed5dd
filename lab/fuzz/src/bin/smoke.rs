//! `make fuzz-smoke`: every target for some seconds, a target to a core. `smoke [SECONDS] [TARGET]...` chooses.
#![forbid(unsafe_code)]

use sotto_fuzz::{TARGETS, Target, smoke};
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use std::{env, thread};

fn main() -> ExitCode {
    let mut names: Vec<String> = env::args().skip(1).collect();
    let seconds = names.first().and_then(|first| first.parse().ok());
    if seconds.is_some() {
        names.remove(0);
    }
    if let Some(unknown) = names.iter().find(|name| TARGETS.iter().all(|target| target.name != name.as_str()))
    {
        let known: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("smoke: no target {unknown}; there are {}", known.join(", "));
        return ExitCode::from(2);
    }
    let limit = Duration::from_secs_f64(seconds.unwrap_or(2.0));
    // A panic that escapes is reported with its input; one that a library is known to make on damaged
    // files, and that we contain, should not fill the screen.
    std::panic::set_hook(Box::new(|_| ()));
    let wanted = |target: &&Target| names.is_empty() || names.iter().any(|name| name == target.name);
    let targets: Vec<&Target> = TARGETS.iter().filter(wanted).collect();
    let (next, harmed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let run = || {
        while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            harmed.fetch_or(harms(target, limit), Ordering::Relaxed);
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(run))));
    if harmed.into_inner() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Runs one target; says what came of it, and gives whether an input did harm.
fn harms(target: &Target, limit: Duration) -> bool {
    match smoke::judge(target, limit) {
        Ok(outcome) => println!("{:18} {:9} inputs, {:9} taken", target.name, outcome.runs, outcome.taken),
        Err(harm) => {
            eprintln!("smoke: {harm}");
            return true;
        }
    }
    false
}
