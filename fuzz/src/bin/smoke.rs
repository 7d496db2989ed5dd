//! `make fuzz-smoke`: two seconds of each target. `smoke [SECONDS] [TARGET]...` chooses.
#![forbid(unsafe_code)]

use sotto_fuzz::{TARGETS, smoke};
use std::process::ExitCode;
use std::time::Duration;
use std::{env, fs};

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
    let mut harmed = false;
    for target in
        TARGETS.iter().filter(|target| names.is_empty() || names.iter().any(|name| name == target.name))
    {
        let outcome = smoke::run(target, limit);
        println!("{:18} {:9} inputs, {:9} taken", target.name, outcome.runs, outcome.taken);
        if let Some((input, how)) = outcome.harm {
            harmed = true;
            let file = format!("fuzz/artifacts/{}", target.name);
            let kept = fs::create_dir_all("fuzz/artifacts").and_then(|()| fs::write(&file, &input));
            let place = if kept.is_ok() { format!("it is in {file}") } else { format!("{input:02x?}") };
            eprintln!("smoke: {} {how} on an input of {} bytes; {place}", target.name, input.len());
        }
    }
    if harmed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
