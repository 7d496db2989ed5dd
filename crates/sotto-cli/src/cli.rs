//! The command line as a whole, and the exit code of a verb.

#[cfg(test)]
mod ledger;

use crate::failure::{EXIT_CODES, ExitCodes, Failure, Result};
use crate::lab::SelfTest;
use crate::lab::bench::Bench;
use crate::lab::demo::Demo;
use crate::lab::leakage::Leakage;
use crate::schema::Schema;
use crate::screen::{Report, Screen};
use crate::update_args::Update;
use crate::verbs::audit::Audit;
use crate::verbs::backup::{Backup, Restore};
use crate::verbs::client_state::{Forget, Prepare};
use crate::verbs::doctor::Doctor;
use crate::verbs::encode::Encode;
use crate::verbs::get::Get;
use crate::verbs::inspect::Inspect;
use crate::verbs::log::Log;
use crate::verbs::merkle::Merkle;
use crate::verbs::pages::{Completions, Man};
use crate::verbs::plan::Plan;
use crate::verbs::ray::Ray;
use crate::verbs::rotate::RotateKey;
use crate::verbs::schemes::Schemes;
use crate::verbs::serve::Serve;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;
use std::sync::LazyLock;

const ABOUT: &str = "\
Private information retrieval (PIR): look up rows of a table without revealing to its server which ones.

`plan` computes what a table would cost, `encode` makes it servable, `serve` answers queries, `get` looks \
rows up, `prepare` makes hints in advance for schemes whose queries spend them, `update` makes the next \
epoch, `inspect` shows the contents of a file or a server, and `bench` measures. `demo` runs all of it on \
real data.";

const EXAMPLE: &str = "\
Example:
  sotto encode people.csv --value phone --out tables/people
  sotto serve tables/people &
  sotto get --server http://127.0.0.1:8080 --table people --row 7";

/// Text of `sotto --version`, which bug reports should contain.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let features = [
        ("gpu", cfg!(feature = "gpu")),
        ("ohttp", cfg!(feature = "ohttp")),
        ("opentelemetry", cfg!(feature = "opentelemetry")),
        ("parquet", cfg!(feature = "parquet")),
        ("schemes", cfg!(feature = "schemes")),
        ("zstd", cfg!(feature = "zstd")),
    ];
    let features: Vec<_> = features.into_iter().filter_map(|(name, is_on)| is_on.then_some(name)).collect();
    format!(
        "{}\ncommit    {}\nfeatures  {}\nkernels   {}",
        env!("CARGO_PKG_VERSION"),
        env!("SOTTO_COMMIT"),
        features.join(" "),
        sotto_math::machine::backend()
    )
});

/// Private information retrieval.
#[derive(Debug, Parser)]
#[command(name = "sotto", version, long_version = LONG_VERSION.as_str())]
#[command(about = "Private information retrieval", long_about = ABOUT, after_help = EXAMPLE)]
struct Cli {
    /// Print results as JSON, one object per line, and errors as JSON on stderr
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Choose a scheme and layout for a table, and show what each costs
    Plan(Box<Plan>),
    /// List the schemes of this build, or what one rests on and its parameter sets
    Schemes(Schemes),
    /// Turn a file into a table that can be served
    Encode(Box<Encode>),
    /// Serve encoded tables over HTTP
    Serve(Serve),
    /// Look rows up privately
    Get(Box<Get>),
    /// Make hints in advance, for schemes whose queries spend them
    Prepare(Prepare),
    /// Apply changed rows: make the next epoch of a table
    Update(Update),
    /// Change the signing key of a table from its next epoch on
    RotateKey(RotateKey),
    /// Remove the known keys and the newest epoch of a table from the cache
    Forget(Forget),
    /// Back up a running server's state and the keys of tables
    Backup(Backup),
    /// Restore a backup
    Restore(Restore),
    /// Show the contents of a table, an image or a server
    Inspect(Inspect),
    /// Check a machine, a table, a server or a client, and say how to fix what is wrong
    Doctor(Doctor),
    /// Report what a table reveals and to whom, and measure it
    Leakage(Leakage),
    /// Verify the rows that a publisher signed, or export evidence against it
    Audit(Audit),
    /// Fetch inclusion proofs of transparency logs privately
    Merkle(Merkle),
    /// Maintain the log of a publisher's catalogs, and cosign it
    Log(Log),
    /// Serve a table in parts on many machines with Ray
    Ray(Ray),
    /// Replay recorded lookups to check this build on this machine
    SelfTest(SelfTest),
    /// Measure schemes, or this machine
    Bench(Bench),
    /// Serve a real table and look addresses up in it privately, end to end
    Demo(Demo),
    /// Print the script by which a shell completes this command's arguments
    Completions(Completions),
    /// Write the pages of the manual
    Man(Man),
    /// Print the JSON Schema of what a verb prints with --json
    Schema(Schema),
    /// Print what each exit code means
    #[command(long_about = EXIT_CODES.as_str())]
    ExitCodes,
}

/// The command line. With `--apple`, `get` uses another protocol's server, and so renames its
/// argument.
fn command() -> clap::Command {
    Cli::command().mut_subcommand("get", |get| {
        let unless = |arg: clap::Arg| arg.required(false).required_unless_present("apple");
        get.mut_arg("servers", unless).mut_arg("table", unless)
    })
}

/// Runs the command that this process was started as.
pub(crate) fn run() -> ExitCode {
    let parsed = command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        // Nothing was parsed, so `--json` is searched for by hand. Help and version are no errors.
        Err(error) if error.use_stderr() && std::env::args_os().any(|arg| arg == "--json") => {
            let text = error.to_string();
            let failure = Failure::usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
            eprintln!("{}", failure.render(true));
            return ExitCode::from(failure.exit as u8);
        }
        Err(error) => error.exit(),
    };
    let screen = Screen::new(cli.json);
    code(cli.verb.run(screen).and_then(|report| screen.print(report)), cli.json)
}

/// The exit code of a result; a failure is printed.
fn code(result: Result<()>, json: bool) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.unread => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{}", failure.render(json));
            ExitCode::from(failure.exit as u8)
        }
    }
}

impl Verb {
    fn run(self, screen: Screen) -> Result<Report> {
        match self {
            Verb::Plan(verb) => verb.run(screen),
            Verb::Schemes(verb) => verb.run(),
            Verb::Encode(verb) => verb.run(screen),
            Verb::Serve(verb) => verb.run(screen),
            Verb::Get(verb) => verb.run(screen),
            Verb::Prepare(verb) => verb.run(screen),
            Verb::Update(verb) => verb.run(screen),
            Verb::RotateKey(verb) => verb.run(),
            Verb::Forget(verb) => verb.run(),
            Verb::Backup(verb) => verb.run(),
            Verb::Restore(verb) => verb.run(),
            Verb::Inspect(verb) => verb.run(screen),
            Verb::Doctor(verb) => verb.run(screen),
            Verb::Leakage(verb) => verb.run(screen),
            Verb::Merkle(verb) => verb.run(screen),
            Verb::Log(verb) => verb.run(screen),
            Verb::Audit(verb) => verb.run(screen),
            Verb::Ray(verb) => verb.run(),
            Verb::SelfTest(verb) => verb.run(screen),
            Verb::Bench(verb) => verb.run(screen),
            Verb::Demo(verb) => verb.run(screen),
            Verb::Completions(verb) => Ok(verb.run(command())),
            Verb::Man(verb) => verb.run(command()),
            Verb::Schema(verb) => verb.run(),
            Verb::ExitCodes => Ok(Report::new(EXIT_CODES.as_str(), &ExitCodes::all())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    /// The heading of a group of arguments applies to all arguments after the group, unless the
    /// group is last.
    #[test]
    fn no_heading_of_the_help_leaks() {
        let headed = |verb: &str, argument: &str| {
            let command = command();
            let verb = command.find_subcommand(verb).unwrap();
            let argument = verb.get_arguments().find(|found| found.get_id() == argument).unwrap();
            argument.get_help_heading().map(str::to_owned)
        };
        for argument in ["servers", "table", "pin", "rows", "keys", "keys_file", "bits", "stream", "output"] {
            assert_eq!(headed("get", argument), None, "{argument}");
        }
        for argument in ["out", "threads", "signing_key", "replace"] {
            assert_eq!(headed("encode", argument), None, "{argument}");
        }
        assert_eq!(headed("get", "user_token").as_deref(), Some("Apple's lookups"));
        assert_eq!(headed("get", "witness_age").as_deref(), Some("Trust"));
    }

    /// The names of all verbs, those of a verb below another as in `log-show`.
    fn verb_names(command: &clap::Command, prefix: &str) -> Vec<String> {
        let below = |verb: &clap::Command| {
            let name = format!("{prefix}{}", verb.get_name());
            let more = verb_names(verb, &format!("{name}-"));
            std::iter::once(name).chain(more).collect::<Vec<_>>()
        };
        command.get_subcommands().flat_map(below).collect()
    }

    #[test]
    fn the_manual_has_a_page_of_every_verb() {
        let dir = tempfile::tempdir().unwrap();
        let parsed = Cli::try_parse_from(["sotto", "man", "--out", dir.path().to_str().unwrap()]).unwrap();
        parsed.verb.run(Screen::new(true)).unwrap();
        let verbs = verb_names(&command(), "");
        assert!(verbs.iter().any(|name| name == "log-show"), "{verbs:?}");
        for name in verbs {
            let page = std::fs::read_to_string(dir.path().join(format!("sotto-{name}.1"))).unwrap();
            assert!(page.contains(".SH SYNOPSIS"), "{name}");
        }
        assert!(dir.path().join("sotto.1").is_file());
    }

    #[test]
    fn a_script_for_each_shell_completes_every_verb() {
        for shell in <clap_complete::Shell as clap::ValueEnum>::value_variants() {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut command(), "sotto", &mut script);
            let script = String::from_utf8(script).unwrap();
            for verb in command().get_subcommands() {
                assert!(script.contains(verb.get_name()), "{shell}: {}", verb.get_name());
            }
        }
    }

    #[test]
    fn every_verb_teaches_by_an_example() {
        for verb in Cli::command().get_subcommands() {
            if verb.get_name() == "exit-codes" {
                continue;
            }
            let after = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(
                after.contains("Example") && after.contains("sotto "),
                "{} has no example",
                verb.get_name()
            );
            assert!(verb.get_about().is_some(), "{} has no line of its own", verb.get_name());
        }
    }
}
