//! `sotto log add`: adds catalogs that are published and not in their log yet.

use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::verbs::publish_args::PublishArgs;
use serde_json::json;
use sotto_db::PathKind;
use sotto_db::epoch::KEY;
use std::path::PathBuf;

/// Arguments of `sotto log add`.
#[derive(Debug, clap::Args)]
pub(super) struct Add {
    /// Directory of a table or stack
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Folder of the log [default: the one that the directory was published to before]
    #[arg(long, value_name = "LOG")]
    catalog_log: Option<PathBuf>,
    /// File of the signing key [default: signing.key in the directory]
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
}

impl Add {
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        if let PathKind::Foreign(..) | PathKind::ForeignFile =
            PathKind::of(&self.dir).map_err(exit_mapping::db)?
        {
            return Err(Failure::usage("tables of Apple's lookups are not signed and have no log")
                .fix("give the directory of a table or stack"));
        }
        // A key must not be created here, since it would belong to no publisher.
        let key = self.signing_key.unwrap_or_else(|| self.dir.join(KEY));
        if !key.exists() {
            return Err(Failure::missing(format!("no such signing key: {}", key.display()))
                .fix("give the key that signed the table"));
        }
        let log = PublishArgs::with_log(self.catalog_log).write_with(&self.dir, Some(&key), screen)?;
        if log.is_null() {
            return Err(
                Failure::usage(format!("{} has no log", self.dir.display())).fix("give --catalog-log DIR")
            );
        }
        screen.report(&json!({ "log": log }))
    }
}
