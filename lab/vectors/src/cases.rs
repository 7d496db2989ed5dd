//! The lookups to record: one for each scheme of the registry; a case's encoded table, with a catalog
//! that is signed again without the time of day; and seeds that anyone can compute.

use crate::Failure;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_catalog::{Catalog, Hex32, PublicKey, SignedCatalog, SigningKey};
use sotto_core::{Epoch, Goal, SchemeEntry};
use sotto_db::progress::silent;
use sotto_db::table::RawFile;
use sotto_db::{EncodeOptions, ImageFile, TableDir, encode_table};
use sotto_server::table_epoch::TableEpochParts;
use sotto_server::{EpochSource, SourceError, TableEpoch};
use std::fs;
use std::sync::Arc;

/// A table, and the row to request.
pub(crate) struct Case {
    /// Name of the table and of the files.
    pub(crate) name: String,
    pub(crate) entry: &'static SchemeEntry,
    pub(crate) rows: u64,
    pub(crate) row_bytes: usize,
    pub(crate) row: u64,
    pub(crate) goal: Goal,
}

/// Rows, bytes of a row, and the goal of parameters. Small, so that hints and answers are small;
/// with more than one level where that takes little.
fn shape(id: &str) -> (u64, usize, Goal) {
    match id {
        "dpf/1" | "dpf/2" => (1500, 8, Goal::ServerTime),
        // Its hint has 12 MiB, and so few different rows where the table has one block.
        "doublepir/1" => (2, 1, Goal::TotalBytes),
        "checklist/1" => (300, 8, Goal::ServerTime),
        _ => (200, 16, Goal::TotalBytes),
    }
}

impl Case {
    /// All cases.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        sotto_registry::SCHEMES.iter().map(|entry| Case::of(entry))
    }

    fn of(entry: &'static SchemeEntry) -> Self {
        let (rows, row_bytes, goal) = shape(entry.id.0);
        Case { name: entry.id.0.replace('/', "-"), entry, rows, row_bytes, row: rows * 7 / 10, goal }
    }

    /// A description of the case in a line.
    pub(crate) fn about(&self) -> String {
        format!("row {} of a table of {} rows of {} bytes", self.row, self.rows, self.row_bytes)
    }

    /// The rows, one after the other: byte i is the top byte of i times 2654435761 modulo 2^32.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let bytes = self.rows as usize * self.row_bytes;
        (0..bytes as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    }

    /// The bytes of the requested row.
    pub(crate) fn value(&self) -> Vec<u8> {
        self.bytes().into_iter().skip(self.row as usize * self.row_bytes).take(self.row_bytes).collect()
    }
}

/// The seed of something that vectors need, for the vector of this name.
pub(crate) fn derived(what: &str, name: &str) -> Hex32 {
    blake3::hash(format!("sotto vectors: {what} {name}").trim_end().as_bytes()).into()
}

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
