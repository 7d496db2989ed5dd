//! One file or folder per verb. Each contains the verb's arguments, its `--help`, and a `run` that
//! calls the library which does the work, and returns a report: the decisions and their reasons.
//!
//! | module | contents |
//! |---|---|
//! | [`plan`] | which scheme, and what it would cost |
//! | [`encode`] | file to table directory |
//! | [`serve`] | table directories to HTTP |
//! | [`get`] | a private lookup |
//! | [`client_state`] | hints before they are needed, and removal of what the cache knows of a table |
//! | [`update`] | changes to the next epoch |
//! | [`mod@rotate`] | another signing key |
//! | [`backup`] | files that cannot be made again, copied and restored |
//! | [`audit`] | what anyone can verify of a publisher or a server |
//! | [`inspect`] | describes a directory, an image or a server |
//! | [`doctor`] | what is wrong, and what to do about it |
//! | [`ray`] | tables in parts over many machines |
//! | [`schemes`] | the schemes of this build |
//! | [`log`] | the log of a publisher's catalogs, and witnesses |
//! | [`merkle`] | proofs from transparency logs |
//! | [`pages`] | pages of the manual, and scripts of shells |

pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod client_state;
pub(crate) mod doctor;
pub(crate) mod encode;
pub(crate) mod get;
pub(crate) mod inspect;
pub(crate) mod log;
pub(crate) mod merkle;
pub(crate) mod pages;
pub(crate) mod plan;
pub(crate) mod ray;
pub(crate) mod rotate;
pub(crate) mod schemes;
pub(crate) mod serve;
pub(crate) mod update;
