//! The publisher of the soak's table, with a key of its own, in a temporary folder; and its synthetic
//! rows: the content of each row, at each epoch, is computed and stored nowhere.
//!
//! So an answer is compared with what the publisher wrote, and not with what another part of the
//! program read from an image.

use crate::failure::{Failure, FileContext, Result};
use sotto_catalog::{Catalog, SigningKey, TableName};
use sotto_client::ClientError;
use sotto_core::{Misuse, SchemeEntry};
use sotto_db::ingest::{Encoding, FileOptions};
use sotto_db::progress::silent;
use sotto_db::{
    ChangeFile, EncodeOptions, Retention, RowProofs, TableDir, TableSource, UpdateOptions, WriteLock,
    encode_table, retain, update_table,
};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Retention: the two epochs that a server answers for, and the deltas that it offers.
const RETENTION: Retention = Retention { images: 2, deltas: 16 };

/// A table, and what is needed to make its next epoch.
pub(crate) struct Publisher {
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
pub(crate) enum EpochParameters {
    Same,
    /// Others, so that all clients' keys have become useless.
    New,
}

impl Publisher {
    /// Encodes a table of the same shape and scheme as `catalog`, in a subfolder.
    pub(crate) fn new(scratch: &Path, catalog: &Catalog) -> Result<Self> {
        let entry = sotto_registry::find(&catalog.scheme).ok_or_else(|| {
            let id = catalog.scheme.clone();
            Failure::from(ClientError::UnknownScheme { id })
        })?;
        let dir = TableDir::create(&scratch.join("table"))?;
        let mut rng = sotto_prg::system_rng()?;
        let row_bytes = usize::try_from(catalog.row_bytes).unwrap_or(usize::MAX);
        let mut publisher = Publisher {
            lock: dir.lock()?,
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
    pub(crate) fn dir(&self) -> &Path {
        self.lock.dir().path()
    }

    /// The contents of the table's rows.
    pub(crate) fn rows(&self) -> SoakRows {
        self.rows
    }

    /// The newest epoch of the table.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Makes the next epoch, from the changes alone if the scheme can.
    pub(crate) fn next(&mut self) -> Result<EpochParameters> {
        let before = self.digest()?;
        if self.entry.server.revise.is_none() {
            self.encode()?;
        } else {
            self.update()?;
        }
        retain(&self.lock, RETENTION, &silent)?;
        Ok(if self.digest()? == before { EpochParameters::Same } else { EpochParameters::New })
    }

    fn digest(&self) -> Result<sotto_catalog::Hex32> {
        Ok(self.lock.dir().open_latest()?.catalog().params_digest)
    }

    fn encode(&mut self) -> Result<()> {
        let options =
            EncodeOptions { verified: self.verified, ..EncodeOptions::new(self.name.clone(), &self.key) };
        let at = RowsAtEpoch { rows: self.rows, epoch: self.epoch + 1 };
        encode_table(self.entry, &at, &self.lock, &options, &silent)?;
        self.epoch += 1;
        Ok(())
    }

    fn update(&mut self) -> Result<()> {
        let epoch = self.epoch + 1;
        self.write_changes(epoch).doing("writing", &self.changes)?;
        let file = FileOptions { header: Some(true), ..FileOptions::default() };
        let changes = ChangeFile { file, encoding: Some(Encoding::Hex), ..ChangeFile::default() };
        let options = UpdateOptions { changes, threads: Some(1), ..UpdateOptions::new(&self.key) };
        update_table(self.entry, &self.lock, &self.changes, &options, &silent)?;
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

/// Context of the hash that generates rows.
const CONTENT: &str = "sotto 2026 soak rows v1";

/// One row in this many changes with an epoch.
const CHANGES: u64 = 1000;

/// A table of which some rows change with each epoch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SoakRows {
    pub(crate) rows: u64,
    pub(crate) row_bytes: usize,
}

impl SoakRows {
    /// Whether a row has changed with this epoch.
    fn changes(row: u64, epoch: u64) -> bool {
        // The first row changes each time, so that no epoch is without changes.
        epoch > 1 && (row == 0 || mixed(row ^ mixed(epoch)).is_multiple_of(CHANGES))
    }

    /// The rows that an epoch changes.
    pub(crate) fn changed(&self, epoch: u64) -> impl Iterator<Item = u64> {
        (0..self.rows).filter(move |row| SoakRows::changes(*row, epoch))
    }

    /// The content of a row at an epoch.
    pub(crate) fn content(&self, row: u64, epoch: u64) -> Vec<u8> {
        let written = (2..=epoch).rev().find(|at| SoakRows::changes(row, *at)).unwrap_or(1);
        let mut hasher = blake3::Hasher::new_derive_key(CONTENT);
        hasher.update(&row.to_le_bytes()).update(&written.to_le_bytes());
        let mut bytes = vec![0; self.row_bytes];
        hasher.finalize_xof().fill(&mut bytes);
        bytes
    }
}

/// The finalizer of SplitMix64, which spreads consecutive numbers.
pub(crate) fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The rows of one epoch, as an encoder reads them.
pub(crate) struct RowsAtEpoch {
    pub(crate) rows: SoakRows,
    pub(crate) epoch: u64,
}

impl TableSource for RowsAtEpoch {
    fn rows(&self) -> u64 {
        self.rows.rows
    }

    fn row_bytes(&self) -> usize {
        self.rows.row_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let (rows, width) = (self.rows, self.rows.row_bytes.max(1));
        let end = first.saturating_add((out.len() / width) as u64);
        if end > rows.rows {
            return Err(Misuse::IndexPastEnd { index: end, len: rows.rows }.into());
        }
        let out = out.chunks_exact_mut(width);
        (first..end).zip(out).for_each(|(row, out)| out.copy_from_slice(&rows.content(row, self.epoch)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_rows_change_and_what_is_in_them_stays_until_then() {
        let rows = SoakRows { rows: 20_000, row_bytes: 24 };
        for epoch in 2..5 {
            let changed: Vec<_> = rows.changed(epoch).collect();
            assert!((5..50).contains(&changed.len()), "{} rows", changed.len());
            for row in 0..rows.rows {
                let same = rows.content(row, epoch) == rows.content(row, epoch - 1);
                assert_eq!(same, changed.binary_search(&row).is_err(), "row {row} at epoch {epoch}");
            }
        }
        let mut whole = vec![0; 24 * 10];
        let at = RowsAtEpoch { rows, epoch: 3 };
        at.read(90, &mut whole).unwrap();
        assert_eq!(whole[24..48], rows.content(91, 3));
        assert!(at.read(19_999, &mut whole).is_err(), "past the end");
    }
}
