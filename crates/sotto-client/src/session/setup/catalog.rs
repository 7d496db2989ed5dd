//! Whether a catalog is accepted, and the step that follows: the tree that rows are verified with,
//! then the client.

use super::super::verified_table::VerifiedTable;
use super::super::witness::LogCheck;
use super::{SessionSetup, SetupStage};
use crate::{ClientError, Result};
use sotto_core::CryptoRng;
use sotto_tlog::LogEntry;
use sotto_tlog::catalogs::EntryKind;

impl SessionSetup {
    /// Refuses a catalog that has expired, or is of another snapshot than the caller's, and returns
    /// the check of its publisher's log, if one is required.
    pub(super) fn check_freshness(&self, table: &VerifiedTable) -> Result<Option<LogCheck>> {
        let catalog = &table.catalog;
        if let Some(wanted) = self.config.snapshot {
            let found = catalog.digest()?;
            if found != wanted {
                return Err(match &self.resuming {
                    // The snapshot may be the newest one: the half-done preparation is useless to
                    // this caller.
                    Some(saved) => ClientError::EpochChanged { asked: saved.epoch, newest: None },
                    None => ClientError::other_snapshot(&catalog.table, catalog.epoch, found, wanted),
                });
            }
        }
        if let (Some(expires), Some(now)) = (catalog.expires, self.now)
            && expires <= now
        {
            return Err(match &self.resuming {
                // There may be a newer one: the half-done preparation is useless.
                Some(saved) => ClientError::EpochChanged { asked: saved.epoch, newest: None },
                None => ClientError::Expired { epoch: catalog.epoch, ago: now - expires },
            });
        }
        if let (Some(change), Some(now)) = (table.change, self.now) {
            change.check_time(now)?;
        }
        let Some(witnesses) = &self.config.witnesses else { return Ok(None) };
        let (name, digest) = (catalog.table.clone(), catalog.digest()?);
        let entry = LogEntry::new(EntryKind::Catalog, name, catalog.epoch, digest, table.key);
        LogCheck::new(entry, witnesses, &self.config.logs, self.now)
    }

    /// Continues with an accepted catalog.
    pub(super) fn accept_catalog(&mut self, table: VerifiedTable, rng: &mut dyn CryptoRng) -> Result<()> {
        self.tree = table.nodes()?.map(Box::new);
        if self.reusable == Some(table.pin(0).digest) {
            self.stage = SetupStage::Reused;
            self.table = Some(table);
            return Ok(());
        }
        self.table = Some(table);
        let begun = match self.config.registered.clone().map(|keys| self.reuse(&keys)) {
            Some(Ok(true)) => Ok(()),
            Some(Err(error)) => Err(error),
            Some(Ok(false)) | None => self.begin(rng),
        };
        if begun.is_err() {
            (self.table, self.tree) = (None, None);
        }
        begun
    }

    /// Whether the tree that rows are verified with is still missing.
    pub fn wants_tree(&self) -> bool {
        self.tree.is_some()
    }

    /// Installs the tree once it is complete. A tree with another root than the rows' ends the
    /// setup.
    pub(super) fn install_tree(&mut self) -> Result<()> {
        let Some(tree) = &mut self.tree else { return Ok(()) };
        self.patched = tree.patched.take().or(self.patched.take());
        if !tree.is_done() {
            return Ok(());
        }
        let nodes = self.tree.take().map(|tree| tree.into_consumer());
        let kept = nodes.zip(self.table.as_mut()).map_or(Ok(()), |(nodes, table)| table.keep(nodes));
        if kept.is_err() {
            (self.stage, self.table) = (SetupStage::default(), None);
        }
        kept
    }
}
