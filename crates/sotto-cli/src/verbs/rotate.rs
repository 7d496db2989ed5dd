//! `sotto rotate-key`: another key signs a table or a stack from its next epoch on, and clients that know the old one follow.

use crate::connect_args::duration;
use crate::failure::{Failure, Result};
use crate::screen::{Report, grid};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_db::key_rotation::{KeyFiles, KeyRotation, rotate};
use sotto_db::{PathKind, TableDir, publish_log};
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLE: &str = "\
The old key signs a statement that names the new one. It is stored beside the images (succession.json) and \
sent with each catalog that the new key signs. Clients that pinned or remembered the old key follow it \
within the time of --valid-for, report the change, and remember the new key; from then on they refuse the \
old one. After that time the old key is refused like any other key.

The new key replaces signing.key, and the old one is kept in retired-*.key: destroy it, now or once the \
next epoch exists. The next `sotto update` or `sotto encode` signs with the new key. If several servers \
serve the table, give all of them that epoch within a few seconds.

The tables of a stack are signed with its key, so the next epoch of the stack comes with a next epoch of \
every table.

Do not rotate a key that somebody else has: they can name a successor too. Publish the table under a new \
name instead.

Example:
  sotto rotate-key tables/people --valid-for 90d
  sotto rotate-key tables/people --signing-key /safe/old.key --new-key /safe/new.key";

/// Maximum time, longer than anyone keeps a client.
const LONGEST: Duration = Duration::from_secs(3660 * 86_400);

/// Arguments of `sotto rotate-key`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct RotateKey {
    /// Directory of the table or stack
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// How long clients follow the old key to the new one: 90d, 12h
    #[arg(long, value_name = "DURATION", default_value = "90d", value_parser = duration)]
    valid_for: Duration,
    /// File of the old key, if it is not in the directory; it is left in place
    #[arg(long, value_name = "FILE", requires = "new_key")]
    signing_key: Option<PathBuf>,
    /// File of the new key; created if missing
    #[arg(long, value_name = "FILE", requires = "signing_key")]
    new_key: Option<PathBuf>,
    /// Give the new key an ML-DSA-44 half, as it has one anyway if the old key does
    #[arg(long)]
    post_quantum: bool,
}

impl RotateKey {
    pub(crate) fn run(self) -> Result<Report> {
        if self.valid_for.is_zero() || self.valid_for > LONGEST {
            return Err(Failure::usage("--valid-for is not between one second and ten years")
                .fix("give a duration such as 90d"));
        }
        let kind = PathKind::of(&self.dir)?;
        refuse_unsigned(&kind)?;
        let dir = TableDir::open(&self.dir)?;
        if !matches!(kind, PathKind::Stack(_)) {
            // Before the lock, which a directory without a table should not get.
            dir.open_latest()?;
        }
        let lock = dir.lock()?;
        let mut rng = sotto_prg::system_rng()?;
        let files = KeyFiles { old: self.signing_key.as_deref(), new: self.new_key.as_deref() };
        let done = rotate(&lock, files, self.valid_for.as_secs(), self.post_quantum, &mut rng)?;
        let KeyRotation { from, to, until, retired } = &done;
        let mut facts = vec![
            ("old key", from.to_string()),
            ("new key", to.to_string()),
            ("valid until", httpdate::fmt_http_date(std::time::UNIX_EPOCH + Duration::from_secs(*until))),
        ];
        facts.extend(retired.iter().map(|path| ("old key file", path.display().to_string())));
        let mut text = grid::facts(facts);
        if publish_log::log_folder(&self.dir)?.is_some() {
            // A log is named by the key that signs its catalogs.
            text += "\n\nthe log here is signed by the old key: give the next update --catalog-log with a new \
                     folder, and have it cosigned";
        }
        text += "\n\nnext: sotto update or sotto encode, which signs with the new key; tell new clients to pin it";
        let (from, to) = (from.to_string(), to.to_string());
        Ok(Report::new(text, &RotationReport { from, to, until: *until, retired: retired.as_deref() }))
    }
}

/// A change of a signing key.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RotationReport<'a> {
    /// Public key that signed before.
    from: String,
    /// Public key that signs from the next epoch on.
    to: String,
    /// Time until which clients follow the change, in seconds since 1970.
    until: u64,
    /// Path of the old key, if it was moved.
    retired: Option<&'a Path>,
}

/// Refuses a table of Apple's lookups, which no key signs.
fn refuse_unsigned(kind: &PathKind) -> Result<()> {
    if !matches!(kind, PathKind::Foreign(..) | PathKind::ForeignFile) {
        return Ok(());
    }
    Err(Failure::usage("tables of Apple's lookups are not signed and have no signing key").fix(
        "renew the server's certificate, which phones trust; to change oprf.key of a symmetric table, \
         encode it into another directory",
    ))
}
