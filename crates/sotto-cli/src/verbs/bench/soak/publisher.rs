//! The publisher of the soak's table, with a key of its own, in a temporary folder.

use super::rows::{RowsAtEpoch, SoakRows};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use sotto_catalog::{Catalog, SigningKey, TableName};
use sotto_client::ClientError;
use sotto_core::SchemeEntry;
use sotto_db::ingest::{Encoding, FileOptions};
use sotto_db::progress::silent;
use sotto_db::{EncodeOptions, Retention, RowProofs, TableDir, UpdateOptions, WriteLock};
use sotto_db::{encode_table, retain, update_table};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Retention: the two epochs that a server answers for, and the deltas that it offers.
const RETENTION: Retention = Retention { images: 2, deltas: 16 };

/// A table, and what is needed to make its next epoch.
pub(super) struct Publisher {
    lock: WriteLock,
    key: SigningKey,
    entry: &'static SchemeEntry,
    name: TableName,
    verified: RowProofs,
    rows: SoakRows,
    changes: PathBuf,
    epoch: u64,
}

/// The parameters of an epoch, compared with those of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EpochParameters {
    Same,
    /// Others, so that all clients' keys have become useless.
    New,
}

impl Publisher {
    /// Encodes a table of the same shape and scheme as `catalog`, in a subfolder.
    pub(super) fn new(scratch: &Path, catalog: &Catalog) -> Result<Self> {
        let entry = sotto_registry::find(&catalog.scheme).ok_or_else(|| {
            let id = catalog.scheme.clone();
            exit_mapping::client(ClientError::UnknownScheme { id })
        })?;
        let dir = TableDir::create(&scratch.join("table")).map_err(exit_mapping::db)?;
        let mut rng = sotto_prg::system_rng().map_err(|_| exit_mapping::client(ClientError::NoEntropy))?;
        let row_bytes = usize::try_from(catalog.row_bytes).unwrap_or(usize::MAX);
        let mut publisher = Publisher {
            lock: dir.lock().map_err(exit_mapping::db)?,
            key: SigningKey::generate(&mut rng),
            entry,
            name: catalog.table.clone(),
            verified: if catalog.rows_root.path.is_some() { RowProofs::Yes } else { RowProofs::No },
            rows: SoakRows { rows: catalog.rows, row_bytes },
            changes: scratch.join("changes.csv"),
            epoch: 0,
        };
        publisher.encode()?;
        Ok(publisher)
    }

    /// The folder of the table.
    pub(super) fn dir(&self) -> &Path {
        self.lock.dir().path()
    }

    /// The contents of the table's rows.
    pub(super) fn rows(&self) -> SoakRows {
        self.rows
    }

    /// The newest epoch of the table.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Makes the next epoch, from the changes alone if the scheme can.
    pub(super) fn next(&mut self) -> Result<EpochParameters> {
        let before = self.digest()?;
        if self.entry.server.revise.is_none() {
            self.encode()?;
        } else {
            self.update()?;
        }
        retain(&self.lock, RETENTION, &silent).map_err(exit_mapping::db)?;
        Ok(if self.digest()? == before { EpochParameters::Same } else { EpochParameters::New })
    }

    fn digest(&self) -> Result<sotto_catalog::Hex32> {
        Ok(self.lock.dir().open_latest().map_err(exit_mapping::db)?.catalog().params_digest)
    }

    fn encode(&mut self) -> Result<()> {
        let options =
            EncodeOptions { verified: self.verified, ..EncodeOptions::new(self.name.clone(), &self.key) };
        let at = RowsAtEpoch { rows: self.rows, epoch: self.epoch + 1 };
        encode_table(self.entry, &at, &self.lock, &options, &silent).map_err(exit_mapping::db)?;
        self.epoch += 1;
        Ok(())
    }

    fn update(&mut self) -> Result<()> {
        let epoch = self.epoch + 1;
        self.write_changes(epoch).map_err(|error| Failure::file("writing", &self.changes, &error))?;
        let options = UpdateOptions {
            file: FileOptions { header: Some(true), ..FileOptions::default() },
            columns: None,
            delete: None,
            encoding: Some(Encoding::Hex),
            threads: Some(1),
            lifetime: None,
            key: &self.key,
        };
        update_table(self.entry, &self.lock, &self.changes, &options, &silent).map_err(exit_mapping::db)?;
        self.epoch = epoch;
        Ok(())
    }

    fn write_changes(&self, epoch: u64) -> std::io::Result<()> {
        let mut file = std::io::BufWriter::new(std::fs::File::create(&self.changes)?);
        writeln!(file, "row,value")?;
        for row in self.rows.changed(epoch) {
            writeln!(file, "{row},{}", crate::screen::units::hex(&self.rows.content(row, epoch)))?;
        }
        file.flush()
    }
}
