//! A case's encoded table, with a catalog that is signed again without the time of day.

use crate::Failure;
use crate::cases::Case;
use crate::seeds::derived;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_catalog::{Catalog, PublicKey, SignedCatalog, SigningKey};
use sotto_core::{Epoch, SchemeEntry};
use sotto_db::progress::silent;
use sotto_db::table::RawFile;
use sotto_db::{EncodeOptions, ImageFile, TableDir, encode_table};
use sotto_server::table_epoch::TableEpochParts;
use sotto_server::{EpochSource, SourceError, TableEpoch};
use std::fs;
use std::sync::Arc;

/// The time at which every table of the vectors was made: the first of January 2026.
const CREATED: u64 = 1_767_225_600;

/// An encoded table.
#[derive(Clone)]
pub(crate) struct EncodedTable {
    pub(crate) entry: &'static SchemeEntry,
    pub(crate) catalog: Catalog,
    signed: SignedCatalog,
    image: Arc<ImageFile>,
    role: u8,
    _folder: Arc<tempfile::TempDir>,
}

impl EncodedTable {
    pub(crate) fn encode(case: &Case) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let rows = folder.path().join("rows");
        fs::write(&rows, case.bytes())?;
        let table = RawFile::new(fs::File::open(&rows)?, &rows, case.rows, case.row_bytes)?;
        // One publisher for all: a vector pins it.
        let key = SigningKey::generate(&mut ChaCha20Rng::from_seed(derived("publisher", "").0));
        let lock = TableDir::create(&folder.path().join("table"))?.lock()?;
        let options = EncodeOptions {
            goal: case.goal,
            threads: Some(1),
            ..EncodeOptions::new(case.name.parse()?, &key)
        };
        encode_table(case.entry, &table, &lock, &options, &silent)?;
        let image = lock.dir().open_latest()?;
        let catalog = Catalog { created: CREATED, ..image.catalog().clone() };
        let signed = SignedCatalog::sign(&catalog, &key)?;
        Ok(EncodedTable { entry: case.entry, catalog, signed, image, role: 0, _folder: Arc::new(folder) })
    }

    /// The table for the server with this role.
    pub(crate) fn at(&self, role: u8) -> Self {
        EncodedTable { role, ..self.clone() }
    }

    pub(crate) fn key(&self) -> PublicKey {
        self.signed.public_key()
    }

    /// The parameters in the form that the scheme takes.
    pub(crate) fn params(&self) -> Vec<u8> {
        self.catalog.params.to_string().into_bytes()
    }
}

impl EpochSource for EncodedTable {
    fn name(&self) -> String {
        self.catalog.table.to_string()
    }

    fn epochs(&self) -> Result<Vec<Epoch>, SourceError> {
        Ok(vec![self.catalog.epoch])
    }

    fn open(&self, _: Epoch) -> Result<TableEpoch, SourceError> {
        let terms = self.catalog.terms(self.entry)?;
        let parts = TableEpochParts {
            scheme: self.entry,
            signed: self.signed.clone(),
            catalog: self.catalog.clone(),
            report: terms.report,
            packing: terms.packing,
            server: (self.entry.server.open)(&self.params(), self.image.clone())?,
            image: self.image.clone(),
        };
        TableEpoch::new(parts, self.role)
    }
}
