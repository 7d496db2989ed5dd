//! `sotto audit rows`: whether a table's rows are those that its catalog commits to.

use crate::exit::Exit;
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::screen::progress::ProgressLine;
use crate::verbs::download;
use serde_json::{Value, json};
use sotto_catalog::{Catalog, CatalogError, PublicKey, SignedCatalog, TableName};
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_core::{Artifact, Epoch, SchemeEntry};
use sotto_db::{ImageFile, PathKind, TableDir, audit};
use sotto_wire::routes;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Arguments of `sotto audit rows`.
#[derive(Debug, clap::Args)]
pub(super) struct AuditRows {
    /// Directory of a table or stack, or address of a server
    #[arg(value_name = "DIR|URL")]
    target: String,
    /// Table of a server or stack [default: all of a stack]
    #[arg(long, value_name = "NAME")]
    table: Option<TableName>,
    /// Epoch of a table's directory [default: the newest]
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
    /// Accept only a table signed by this key
    #[arg(long, value_name = "sotto-pk:...")]
    pin: Option<PublicKey>,
}

impl AuditRows {
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        let bars = screen.bars();
        let audited = match crate::verbs::is_url(&self.target) {
            true => vec![self.remote(&bars)?],
            false => self.local(&bars)?,
        };
        bars.finish();
        for (catalog, _) in &audited {
            screen.say(format!(
                "table {}, epoch {}: all {} rows match the signed root {}",
                catalog.table, catalog.epoch, catalog.rows, catalog.rows_root.root
            ))?;
        }
        let tables: Vec<Value> = audited.iter().map(|(catalog, key)| report(catalog, key)).collect();
        screen.report(&json!({ "audited": tables }))
    }

    fn local(&self, bars: &ProgressLine) -> Result<Vec<(Catalog, PublicKey)>> {
        let target = Path::new(&self.target);
        let stack = match PathKind::of(target).map_err(exit_mapping::db)? {
            PathKind::Stack(stack) => Some(stack),
            PathKind::Foreign(..) | PathKind::ForeignFile => {
                return Err(Failure::usage("tables of Apple's lookups are not signed and have no root")
                    .fix("compare every byte with the file's digests: `sotto inspect --verify`"));
            }
            _ => None,
        };
        let dirs = match (stack, &self.table) {
            (Some(stack), Some(name)) => vec![stack.table(name)],
            (Some(stack), None) => {
                let (_, document) = stack.read().map_err(exit_mapping::db)?;
                document.shards.iter().map(|shard| stack.table(&shard.table)).collect()
            }
            (None, Some(_)) => {
                let text = "--table does not apply to the directory of a table";
                return Err(Failure::usage(text).fix("omit --table"));
            }
            (None, None) => vec![target.to_owned()],
        };
        dirs.iter().map(|dir| self.image(dir, bars)).collect()
    }

    fn image(&self, dir: &Path, bars: &ProgressLine) -> Result<(Catalog, PublicKey)> {
        let dir = TableDir::open(dir).map_err(exit_mapping::db)?;
        let image: Arc<ImageFile> = match self.epoch {
            Some(epoch) => dir.open_epoch(Epoch(epoch)),
            None => dir.open_latest(),
        }
        .map_err(exit_mapping::db)?;
        let (catalog, key) = (image.catalog(), image.signed_catalog().public_key());
        self.check_key(key)?;
        audit::audit(scheme(catalog)?, &image, &|at| bars.watch(None, at), &|| true)
            .map_err(exit_mapping::db)?;
        Ok((catalog.clone(), key))
    }

    /// Audits a server, of which only public rows can be read.
    fn remote(&self, bars: &ProgressLine) -> Result<(Catalog, PublicKey)> {
        let refuse = |error: CatalogError| exit_mapping::client(error.into());
        let Some(name) = &self.table else {
            return Err(Failure::usage("no table of the server is given").fix("give --table NAME"));
        };
        let mut server = HttpTransport::new(&self.target, &HttpSettings::default())
            .map_err(|e| exit_mapping::client(e.into()))?;
        let body = download::catalog(&mut server, &routes::table(name.as_str(), self.epoch.map(Epoch)))?;
        let signed = SignedCatalog::parse(&body).map_err(refuse)?;
        let catalog = signed.verify(self.pin.as_ref()).map_err(refuse)?;
        let Some(rows) = catalog.artifacts.iter().find(|entry| entry.artifact == Artifact::Rows) else {
            let text = format!("rows of table {name} are not public");
            return Err(Failure::usage(text)
                .fix("run this on the directory of the table, or look rows up with --require-row-proofs"));
        };
        let entry = scheme(&catalog)?;
        let path = std::env::temp_dir();
        let mut file =
            tempfile::tempfile().map_err(|error| Failure::file("making a file in", &path, &error))?;
        download::whole(&mut server, rows, bars, &mut |chunk| {
            file.write_all(chunk).map_err(|error| Failure::file("writing into", &path, &error))
        })?;
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        match audit::is_committed(entry, &catalog, &file, &path, &watch).map_err(exit_mapping::db)? {
            true => Ok((catalog, signed.public_key())),
            false => Err(Failure::new(
                Exit::Peer,
                format!("the rows that {} serves for table {name} do not match the signed root", self.target),
            )
            .fix("do not use this server, and tell the publisher")),
        }
    }

    fn check_key(&self, found: PublicKey) -> Result<()> {
        match self.pin.filter(|pinned| *pinned != found) {
            Some(pinned) => Err(exit_mapping::client(CatalogError::WrongKey { pinned, found }.into())),
            None => Ok(()),
        }
    }
}

fn scheme(catalog: &Catalog) -> Result<&'static SchemeEntry> {
    sotto_registry::find(&catalog.scheme)
        .ok_or_else(|| Failure::usage(format!("scheme {:?} is not in this build", catalog.scheme)))
}

fn report(catalog: &Catalog, key: &PublicKey) -> Value {
    json!({
        "table": catalog.table, "epoch": catalog.epoch, "rows": catalog.rows, "rows_root": catalog.rows_root,
        "public_key": key.to_string(),
    })
}
