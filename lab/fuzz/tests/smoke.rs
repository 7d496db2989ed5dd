//! Every target for a quarter of a second: a test each, without libFuzzer.
//!
//! | variable | meaning |
//! |---|---|
//! | `SOTTO_FUZZ_SECONDS` | seconds of each target |
//! | `SOTTO_FUZZ_SERIES` | name of a series of inputs: each has others |
//! | `SOTTO_FUZZ_COUNTS` | a folder, for a file with the number of inputs of each target |

use libtest_mimic::{Arguments, Trial};
use sotto_fuzz::{TARGETS, Target, smoke};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // A target fills a core, and inputs that take long are judged by the clock.
    arguments.test_threads =
        arguments.test_threads.or(std::thread::available_parallelism().ok().map(Into::into));
    let seconds = std::env::var("SOTTO_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let limit = Duration::from_secs_f64(seconds.unwrap_or(0.25));
    let trials = TARGETS
        .iter()
        .map(|target| Trial::test(target.name, move || judge(target, limit).map_err(Into::into)));
    // Libraries are known to panic on some damaged files. We contain that, and it should not fill the screen.
    std::panic::set_hook(Box::new(|_| ()));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn judge(target: &Target, limit: Duration) -> Result<(), String> {
    let series = std::env::var("SOTTO_FUZZ_SERIES").unwrap_or_default();
    let inputs = smoke::judge(target, limit, &series)?;
    let Some(folder) = std::env::var_os("SOTTO_FUZZ_COUNTS").map(PathBuf::from) else { return Ok(()) };
    std::fs::write(folder.join(target.name), inputs.to_string())
        .map_err(|error| format!("{}: {error}", folder.display()))
}
