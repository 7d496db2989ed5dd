//! Where the epochs of a table come from: the disk, as a table directory, one that belongs to a
//! stack, or a single image file; or whatever a test makes.

use crate::part_answering::{JoinedParts, PartPools};
use crate::table_epoch::TableEpochParts;
use crate::{PastEpoch, Residency, ServerConfig, SourceError, StartError, TableConfig, TableEpoch};
use sotto_catalog::{Catalog, TableName};
use sotto_core::{Accelerator, AnyServer, Epoch, PartIndex, SchemeEntry};
use sotto_db::image::FileKind;
use sotto_db::parts::open_parts;
use sotto_db::{CopyBudget, ImageFile, ResidentImage, StackDir, TableDir};
use sotto_oprf::SecretKey;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A source of the epochs of one table.
pub trait EpochSource: Send + Sync + 'static {
    /// Name of the source in messages, usually a path.
    fn name(&self) -> String;

    /// The current epochs, in any order.
    ///
    /// # Errors
    /// [`SourceError`] if the source cannot be read.
    fn epochs(&self) -> Result<Vec<Epoch>, SourceError>;

    /// Opens an epoch.
    ///
    /// # Errors
    /// [`SourceError`] if the epoch cannot be read or served.
    fn open(&self, epoch: Epoch) -> Result<TableEpoch, SourceError>;

    /// The epochs before `newest` on a delta chain to it, the latest first; none by default.
    fn past(&self, _newest: Epoch) -> Vec<Arc<PastEpoch>> {
        Vec::new()
    }
}

/// Options of a configuration for opening an image.
#[derive(Debug, Clone)]
struct ImageOptions {
    role: u8,
    residency: Residency,
    copies: Arc<CopyBudget>,
    pools: Arc<PartPools>,
    keep_deltas: u64,
    skip_image_check: bool,
    accelerator: Option<Arc<dyn Accelerator>>,
}

impl ImageOptions {
    /// The options of tables without a role of their own.
    fn of(
        config: &ServerConfig,
        copies: &Arc<CopyBudget>,
        accelerator: Option<Arc<dyn Accelerator>>,
    ) -> Self {
        ImageOptions {
            role: config.role,
            residency: config.residency,
            copies: copies.clone(),
            pools: PartPools::new(config.threads),
            keep_deltas: config.keep_deltas,
            skip_image_check: config.skip_image_check,
            accelerator,
        }
    }

    /// Reads the key that opens the rows of a symmetric table from the folder of its image, at the
    /// server that needs it.
    fn oprf_key(&self, catalog: &Catalog, folder: &Path) -> Result<Option<SecretKey>, SourceError> {
        if self.role != TableEpoch::EVALUATOR || catalog.symmetric_layer()?.is_none() {
            return Ok(None);
        }
        let read = TableDir::open(folder)?.oprf_key();
        read.map(Some).map_err(|error| SourceError::OprfKey(error.to_string()))
    }

    /// Checks the catalog of an image with the scheme that it names, and opens the image.
    fn open(&self, image: Arc<ImageFile>, folder: &Path) -> Result<TableEpoch, SourceError> {
        let catalog = image.catalog().clone();
        let unknown = || SourceError::UnknownScheme(catalog.scheme.clone());
        let entry = sotto_registry::find(&catalog.scheme).ok_or_else(unknown)?;
        let terms = catalog.terms(entry)?;
        let oprf = self.oprf_key(&catalog, folder)?;
        let signed = image.signed_catalog().clone();
        let (report, packing) = (terms.report, terms.packing);
        let (server, answered) = self.answering(&image, entry, report.costs.answer_bytes)?;
        let parts =
            TableEpochParts { scheme: entry, signed, catalog, report, packing, server, image: image.clone() };
        let table = TableEpoch::with_key(parts, self.role, oprf)?;
        let table = table.of_files(&image, answered, self.skip_image_check);
        Ok(match &self.accelerator {
            Some(accelerator) => table.with_accelerator(accelerator.clone()),
            None => table,
        })
    }

    /// Opens what answers are computed from: the image, or all parts of a front.
    fn answering(
        &self,
        image: &Arc<ImageFile>,
        entry: &'static SchemeEntry,
        answer_bytes: u64,
    ) -> Result<(Box<dyn AnyServer>, Vec<Arc<ResidentImage>>), SourceError> {
        let params = image.catalog().params.to_string();
        let resident =
            |image: &Arc<ImageFile>| ResidentImage::of(image.clone(), self.residency, &self.copies);
        let FileKind::Front(_) = image.piece() else {
            let image = resident(image);
            return Ok(((entry.server.open)(params.as_bytes(), image.clone())?, vec![image]));
        };
        let images: Vec<_> = open_parts(image)?.iter().map(resident).collect();
        let none =
            || SourceError::Inconsistent("the table is in parts, which its scheme does not support".into());
        let cuts = entry.server.parts.ok_or_else(none)?;
        let count = u32::try_from(images.len()).map_err(|_| none())?;
        let open = |(cut, image): (PartIndex, &Arc<ResidentImage>)| {
            (cuts.open)(params.as_bytes(), cut, image.clone()).map_err(SourceError::from)
        };
        let parts = PartIndex::all(count).zip(&images).map(open).collect::<Result<_, _>>()?;
        let joined = JoinedParts::new(entry, params.as_bytes(), parts, &self.pools, answer_bytes)?;
        Ok((Box::new(joined), images))
    }
}

/// A table directory. Its images appear whole and never change, so it is read without a lock.
#[derive(Debug)]
struct DirSource {
    dir: PathBuf,
    options: ImageOptions,
}

impl EpochSource for DirSource {
    fn name(&self) -> String {
        self.dir.display().to_string()
    }

    fn epochs(&self) -> Result<Vec<Epoch>, SourceError> {
        Ok(TableDir::open(&self.dir)?.epochs()?)
    }

    fn open(&self, epoch: Epoch) -> Result<TableEpoch, SourceError> {
        self.options.open(TableDir::open(&self.dir)?.open_epoch(epoch)?, &self.dir)
    }

    fn past(&self, newest: Epoch) -> Vec<Arc<PastEpoch>> {
        TableDir::open(&self.dir)
            .map(|dir| PastEpoch::all(&dir, newest, self.options.keep_deltas))
            .unwrap_or_default()
    }
}

/// A table of a stack, without the epochs that the stack does not name yet.
#[derive(Debug)]
struct StackTableSource {
    stack: StackDir,
    table: TableName,
    dir: DirSource,
}

impl EpochSource for StackTableSource {
    fn name(&self) -> String {
        self.dir.name()
    }

    fn epochs(&self) -> Result<Vec<Epoch>, SourceError> {
        let (_, stack) = self.stack.read()?;
        let named = stack.shards.iter().find(|shard| shard.table == self.table).map(|shard| shard.epoch);
        let mut epochs = self.dir.epochs()?;
        epochs.retain(|epoch| Some(*epoch) <= named);
        Ok(epochs)
    }

    fn open(&self, epoch: Epoch) -> Result<TableEpoch, SourceError> {
        self.dir.open(epoch)
    }

    fn past(&self, newest: Epoch) -> Vec<Arc<PastEpoch>> {
        self.dir.past(newest)
    }
}

/// One image file. A file that is renamed over it is found on the next reload.
#[derive(Debug)]
struct FileSource {
    path: PathBuf,
    options: ImageOptions,
}

impl EpochSource for FileSource {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn epochs(&self) -> Result<Vec<Epoch>, SourceError> {
        Ok(vec![ImageFile::open(&self.path)?.catalog().epoch])
    }

    fn open(&self, _: Epoch) -> Result<TableEpoch, SourceError> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        self.options.open(ImageFile::open(&self.path)?, folder.unwrap_or(Path::new(".")))
    }
}

/// Memory for copies of tables, shared by all of them.
pub(crate) fn copy_budget(config: &ServerConfig) -> Arc<CopyBudget> {
    CopyBudget::new((config.copy_memory_mib > 0).then(|| config.copy_memory_mib.saturating_mul(1 << 20)))
}

/// The sources that a configuration names.
///
/// # Errors
/// [`StartError::Settings`] for a table with both or neither of `dir` and `path`.
pub(crate) fn sources(
    config: &ServerConfig,
    copies: &Arc<CopyBudget>,
    accelerator: Option<Arc<dyn Accelerator>>,
) -> Result<Vec<Box<dyn EpochSource>>, StartError> {
    let common = ImageOptions::of(config, copies, accelerator);
    let source = |table: &TableConfig| -> Result<Box<dyn EpochSource>, StartError> {
        let options = ImageOptions { role: table.role.unwrap_or(config.role), ..common.clone() };
        match (table.dir.clone(), table.path.clone()) {
            (Some(dir), None) => Ok(Box::new(DirSource { dir, options })),
            (None, Some(path)) => Ok(Box::new(FileSource { path, options })),
            _ => Err(StartError::Settings("an entry of [[tables]] must have either dir or path".into())),
        }
    };
    let mut sources = config.tables.iter().map(source).collect::<Result<Vec<_>, _>>()?;
    for path in &config.stacks {
        let settings = |why: String| StartError::Settings(format!("{}: {why}", path.display()));
        let stack = StackDir::find(path).ok_or_else(|| settings("no stack is published here".into()))?;
        let (_, read) = stack.read().map_err(|e| settings(e.to_string()))?;
        for shard in read.shards {
            let dir = DirSource { dir: stack.table(&shard.table), options: common.clone() };
            sources.push(Box::new(StackTableSource { stack: stack.clone(), table: shard.table, dir }));
        }
    }
    Ok(sources)
}
