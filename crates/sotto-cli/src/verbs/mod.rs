//! One file or folder per verb. Each contains the verb's arguments, its `--help`, and a `run` that
//! calls the library which does the work, and prints the decisions and their reasons.
//!
//! | module | contents |
//! |---|---|
//! | [`plan`] | which scheme, and what it would cost |
//! | [`encode`] | file to table directory |
//! | [`serve`] | table directories to HTTP |
//! | [`get`] | a private lookup |
//! | [`prepare`] | hints before they are needed |
//! | [`update`] | changes to the next epoch |
//! | [`mod@rotate`] | another signing key |
//! | [`backup`] | files that cannot be made again, copied and restored |
//! | [`audit`] | what anyone can verify of a publisher or a server |
//! | [`forget`] | removes what the cache knows of a table |
//! | [`inspect`] | describes a directory, an image or a server |
//! | [`doctor`] | what is wrong, and what to do about it |
//! | [`ray`] | tables in parts over many machines |
//! | [`schemes`] | the schemes of this build |
//! | [`self_test`] | recorded lookups, replayed |
//! | [`leakage`] | what a table reveals, and to whom |
//! | [`mod@bench`] | measurements |
//! | [`log`] | the log of a publisher's catalogs, and witnesses |
//! | [`merkle`] | proofs from transparency logs |
//! | [`demo`] | everything in one go, on real data |
//! | `apple_summary` | the summary of a table of Apple's lookups |
//! | `download` | static files of a server, each chunk verified |
//! | `calibration` | how fast schemes and memory kernels are on this machine, stored |
//! | `publish_args` | the arguments of every verb that publishes: a log, and a lifetime |
//! | `connect_args` | the arguments of every verb that opens a table |
//! | `cleanup_on_signal` | cleanup when a command is asked to end |
//! | `client_events` | the events and the state of a client |
//! | [`server_counters`] | counters of a server's passes, from its admin port |
//! | [`table_summary`] | what a table promises and costs, as `encode` and `inspect` print it |

mod apple_summary;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod bench;
mod calibration;
mod cleanup_on_signal;
mod client_events;
mod connect_args;
pub(crate) mod demo;
pub(crate) mod doctor;
mod download;
pub(crate) mod encode;
pub(crate) mod forget;
pub(crate) mod get;
pub(crate) mod inspect;
pub(crate) mod leakage;
pub(crate) mod log;
pub(crate) mod merkle;
pub(crate) mod plan;
pub(crate) mod prepare;
mod publish_args;
pub(crate) mod ray;
pub(crate) mod rotate;
pub(crate) mod schemes;
pub(crate) mod self_test;
pub(crate) mod serve;
mod server_counters;
mod table_summary;
pub(crate) mod update;

/// Whether an argument is a server's address, and not a path. The scheme of a URL may be in upper
/// case.
fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    })
}
