//! Every target for a quarter of a second: a test each, without libFuzzer. `SOTTO_FUZZ_SECONDS` gives
//! them more.

use libtest_mimic::{Arguments, Trial};
use sotto_fuzz::{TARGETS, smoke};
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
        .map(|target| Trial::test(target.name, move || smoke::judge(target, limit).map_err(Into::into)));
    // Libraries are known to panic on some damaged files. We contain that, and it should not fill the screen.
    std::panic::set_hook(Box::new(|_| ()));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
