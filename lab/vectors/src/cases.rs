//! The lookups to record: one for each scheme of the registry, and one for each layer, of tables that
//! are asked by key, symmetric, or asked for several rows at once, in as many tables as there are
//! buckets and in one of all buckets; one of a publisher with two keys; a
//! case's encoded tables, with catalogs that are signed again without the time of day; and seeds that
//! anyone can compute.

use crate::Failure;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_binding::vector::VectorLookup;
use sotto_catalog::stack::Shard;
use sotto_catalog::{
    Catalog, Hex32, PublicKey, SignedCatalog, SignedStack, SigningKey, SymmetricLayer, ValueKind,
};
use sotto_core::{Epoch, Goal, SchemeEntry};
use sotto_db::batch::{BatchOptions, encode_batch};
use sotto_db::ingest::{FileOptions, IngestOptions, KeywordOptions, SourceLayout, ingest};
use sotto_db::mask::RowMasker;
use sotto_db::progress::silent;
use sotto_db::{EncodeOptions, ImageFile, StackDir, TableDir, encode_table};
use sotto_layers::keyword::KeyForm;
use sotto_oprf::SecretKey;
use sotto_prg::PublicSeed;
use sotto_server::table_epoch::TableEpochParts;
use sotto_server::{EpochSource, SourceError, TableEpoch};
use sotto_wire::MessageSizes;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A table, and what to request of it.
pub(crate) struct Case {
    /// Name of the table or stack, and of the files.
    pub(crate) name: String,
    pub(crate) entry: &'static SchemeEntry,
    /// Number of rows, or of keys.
    pub(crate) rows: u64,
    pub(crate) row_bytes: usize,
    pub(crate) lookup: VectorLookup,
    pub(crate) goal: Goal,
    is_symmetric: bool,
    /// Whether the publisher has an ML-DSA-44 key too.
    is_hybrid: bool,
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

/// Rows that the case of a batch code requests at once, of which there may be [`AT_ONCE`].
const ROWS: [u64; 5] = [0, 7, 101, 298, 299];
const AT_ONCE: usize = 12;

impl Case {
    /// All cases.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        // Answers of this scheme are opened without any secret of the client's.
        let layers = sotto_registry::SCHEMES.iter().filter(|entry| entry.id.0 == "dpf/1").flat_map(|entry| {
            let case = |name: &str, rows, row_bytes, lookup, is_symmetric| Case {
                name: name.to_owned(),
                entry,
                rows,
                row_bytes,
                lookup,
                goal: Goal::TotalBytes,
                is_symmetric,
                is_hybrid: name == "ml-dsa-44",
            };
            [
                case("keyword-1", 100, 0, VectorLookup::Key("key 42".to_owned()), false),
                case("oprf-1", 100, 16, VectorLookup::Row(42), true),
                case("pbc-1", 300, 8, VectorLookup::Rows(ROWS.to_vec()), false),
                case("ml-dsa-44", 100, 16, VectorLookup::Row(42), false),
            ]
        });
        let ypir_sp = sotto_registry::SCHEMES.iter().filter(|entry| entry.id.0 == "ypir-sp/2");
        let columns =
            |entry| Case { rows: 3000, row_bytes: 1024, lookup: VectorLookup::Row(2500), ..Case::of(entry) };
        let shapes = ypir_sp.flat_map(move |entry| {
            // A table of several buckets; one of few records, whose query has short blocks; and two
            // with several records in a column, of bytes, and of numbers of four bits.
            [
                Case {
                    name: "pbc-1-ypir-sp".to_owned(),
                    row_bytes: 40,
                    rows: 300,
                    lookup: VectorLookup::Rows(ROWS.to_vec()),
                    ..Case::of(entry)
                },
                Case {
                    name: "ypir-sp-2-short".to_owned(),
                    rows: 20,
                    row_bytes: 3000,
                    lookup: VectorLookup::Row(13),
                    ..Case::of(entry)
                },
                Case { name: "ypir-sp-2-scales".to_owned(), goal: Goal::ServerTime, ..columns(entry) },
                Case { name: "ypir-sp-2-nibbles".to_owned(), ..columns(entry) },
            ]
        });
        sotto_registry::SCHEMES.iter().map(|entry| Case::of(entry)).chain(layers).chain(shapes)
    }

    fn of(entry: &'static SchemeEntry) -> Self {
        let (rows, row_bytes, goal) = shape(entry.id.0);
        let lookup = VectorLookup::Row(rows * 7 / 10);
        let name = entry.id.0.replace('/', "-");
        Case { name, entry, rows, row_bytes, lookup, goal, is_symmetric: false, is_hybrid: false }
    }

    /// A description of the case in a line.
    pub(crate) fn about(&self) -> String {
        let (rows, bytes) = (self.rows, self.row_bytes);
        match &self.lookup {
            VectorLookup::Key(key) => format!("key {key:?} of a table of {rows} keys"),
            VectorLookup::Row(row) if self.is_symmetric => {
                format!("row {row} of a symmetric table of {rows} rows of {bytes} bytes")
            }
            VectorLookup::Row(row) if self.is_hybrid => {
                format!("row {row} of a table of {rows} rows of {bytes} bytes, signed with both algorithms")
            }
            VectorLookup::Row(row) => format!("row {row} of a table of {rows} rows of {bytes} bytes"),
            VectorLookup::Rows(wanted) => {
                format!(
                    "rows {wanted:?} at once, of {rows} rows of {bytes} bytes in the buckets of a batch code"
                )
            }
        }
    }

    /// The rows, one after the other: byte i is the top byte of i times 2654435761 modulo 2^32.
    fn bytes(&self) -> Vec<u8> {
        let bytes = self.rows as usize * self.row_bytes;
        (0..bytes as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    }

    /// The value of what is requested.
    pub(crate) fn value(&self) -> Vec<u8> {
        let (bytes, width) = (self.bytes(), self.row_bytes);
        let row =
            |row: &u64| bytes.iter().skip(*row as usize * width).take(width).copied().collect::<Vec<_>>();
        match &self.lookup {
            VectorLookup::Row(requested) => row(requested),
            VectorLookup::Rows(requested) => requested.iter().flat_map(row).collect(),
            VectorLookup::Key(key) => key.replace("key", "value").into_bytes(),
        }
    }

    /// The source of the table, and how it is read.
    fn source(&self, folder: &Path) -> Result<(std::path::PathBuf, SourceLayout), Failure> {
        let path = folder.join("source.csv");
        let VectorLookup::Key(_) = self.lookup else {
            fs::write(&path, self.bytes())?;
            return Ok((path, SourceLayout::Raw { row_bytes: self.row_bytes, value: ValueKind::Bytes }));
        };
        fs::write(&path, (0..self.rows).map(|i| format!("key {i},value {i}\n")).collect::<String>())?;
        let options = KeywordOptions::new(KeyForm::Text, PublicSeed(derived("keyword", &self.name).0));
        Ok((path, SourceLayout::Keyword(options)))
    }
}

/// The seed of something that vectors need, for the vector of this name.
pub(crate) fn derived(what: &str, name: &str) -> Hex32 {
    blake3::hash(format!("sotto vectors: {what} {name}").trim_end().as_bytes()).into()
}

/// The time at which every table of the vectors was made: the first of January 2026.
const CREATED: u64 = 1_767_225_600;

/// The tables of a case.
pub(crate) struct EncodedCase {
    pub(crate) tables: Vec<EncodedTable>,
    pub(crate) stack: Option<SignedStack>,
    pub(crate) key: PublicKey,
    /// Key of the masks of a symmetric table.
    pub(crate) oprf: Option<Arc<SecretKey>>,
}

impl EncodedCase {
    pub(crate) fn encode(case: &Case) -> Result<Self, Failure> {
        let folder = Arc::new(tempfile::tempdir()?);
        // One publisher for all: a vector pins it.
        let mut key = SigningKey::generate(&mut ChaCha20Rng::from_seed(derived("publisher", "").0));
        if case.is_hybrid {
            key = key.with_ml_dsa(&mut ChaCha20Rng::from_seed(derived("ML-DSA-44 key", "").0));
        }
        let lock = TableDir::create(&folder.path().join("table"))?.lock()?;
        let (source, layout) = case.source(folder.path())?;
        let file = IngestOptions { file: FileOptions::default(), layout };
        let named = EncodeOptions {
            goal: case.goal,
            threads: Some(1),
            ..EncodeOptions::new(case.name.parse()?, &key)
        };
        let table = |image, oprf| EncodedTable::of(case.entry, image, &key, oprf, folder.clone());
        if let VectorLookup::Rows(_) = case.lookup {
            let seed = PublicSeed(derived("batch code", &case.name).0);
            let batch = BatchOptions { max_lookups: AT_ONCE, seed, max_queries: &MessageSizes::max_queries };
            encode_batch(case.entry, &source, &file, &lock, &batch, &named, &silent)?;
            let dir = StackDir::find(lock.dir().path()).ok_or("no stack was published")?;
            let (_, mut stack) = dir.read()?;
            let image = |shard: &Shard| TableDir::open(&dir.table(&shard.table))?.open_latest();
            let images = stack.shards.iter().map(image).collect::<Result<Vec<_>, _>>()?;
            let tables = images.into_iter().map(|image| table(image, None)).collect::<Result<Vec<_>, _>>()?;
            stack.created = CREATED;
            stack.shards = tables.iter().map(|table| Shard::of(&table.catalog)).collect::<Result<_, _>>()?;
            let stack = Some(SignedStack::sign(&stack, &key)?);
            return Ok(EncodedCase { tables, stack, key: key.public(), oprf: None });
        }
        let read = ingest(&source, &file, folder.path(), &silent)?;
        let options = EncodeOptions { kind: read.kind, value: read.value, layers: read.layers, ..named };
        let oprf = match case.is_symmetric {
            true => {
                let mut rng = ChaCha20Rng::from_seed(derived("oprf", &case.name).0);
                let oprf = SecretKey::generate(&mut rng)?;
                let masker = RowMasker { table: &options.table, epoch: lock.next_epoch()?, key: &oprf };
                let masked = masker.table(read.table.as_ref(), folder.path(), Some(1), &silent)?;
                let options =
                    EncodeOptions { layers: vec![SymmetricLayer::layer(&oprf.public())], ..options };
                encode_table(case.entry, &masked, &lock, &options, &silent)?;
                Some(Arc::new(oprf))
            }
            false => {
                encode_table(case.entry, read.table.as_ref(), &lock, &options, &silent)?;
                None
            }
        };
        let tables = vec![table(lock.dir().open_latest()?, oprf.clone())?];
        Ok(EncodedCase { tables, stack: None, key: key.public(), oprf })
    }
}

/// An encoded table.
#[derive(Clone)]
pub(crate) struct EncodedTable {
    pub(crate) entry: &'static SchemeEntry,
    pub(crate) catalog: Catalog,
    signed: SignedCatalog,
    image: Arc<ImageFile>,
    role: u8,
    oprf: Option<Arc<SecretKey>>,
    _folder: Arc<tempfile::TempDir>,
}

impl EncodedTable {
    fn of(
        entry: &'static SchemeEntry,
        image: Arc<ImageFile>,
        key: &SigningKey,
        oprf: Option<Arc<SecretKey>>,
        folder: Arc<tempfile::TempDir>,
    ) -> Result<Self, Failure> {
        let catalog = Catalog { created: CREATED, ..image.catalog().clone() };
        let signed = SignedCatalog::sign(&catalog, key)?;
        Ok(EncodedTable { entry, catalog, signed, image, role: 0, oprf, _folder: folder })
    }

    /// The table for the server with this role.
    pub(crate) fn at(&self, role: u8) -> Self {
        EncodedTable { role, ..self.clone() }
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
        let oprf = self.oprf.as_ref().map(|key| SecretKey::from_file(&key.to_file())).transpose();
        TableEpoch::with_key(
            parts,
            self.role,
            oprf.map_err(|error| SourceError::Unreadable(error.to_string()))?,
        )
    }
}
