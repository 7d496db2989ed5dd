//! Opens a file as a use case. Opening reads two pages, whatever the size of the tables.

use super::description::{FileLayout, UseCaseDescription, UseCaseKind};
use super::error::ImageError;
use crate::codec::Codec;
use crate::keyword::table::Shard;
use crate::sets::WeakParams;
use crate::use_case::UseCase;
use sotto_bfv::mulpir::ValueTable;
use sotto_core::server::ImageSection;
use sotto_core::{Image, Section};
use sotto_db::image::ForeignImage;
use sotto_db::image::header::FilePart;
use sotto_db::{CopyBudget, DbError, ImageProblem, Residency, ResidentImage, TableDir};
use std::path::Path;
use std::sync::Arc;

/// A use case that is answered from a file.
#[derive(Debug)]
pub struct OpenUseCase {
    /// Name of the use case.
    pub name: String,
    /// Epoch of the use case.
    pub epoch: u64,
    /// The table, ready to answer. It refuses to answer once the file was written to. A symmetric
    /// table evaluates only if it has [its key](UseCase::evaluated_by).
    pub use_case: UseCase,
    /// Identity of the table: BLAKE3 of its description, which contains the digest of everything
    /// that answers are computed from.
    pub digest: [u8; 32],
    /// Description in the file.
    pub description: UseCaseDescription,
    /// Mapped file; [`ResidentImage::decide_placement`] copies it to huge pages where that pays.
    pub image: Arc<ResidentImage<ForeignImage>>,
}

/// Opens a use case: a file, or the newest epoch of a folder. It is answered from the mapped file.
///
/// # Errors
/// [`ImageError`].
pub fn open(path: &Path, weak: WeakParams) -> Result<OpenUseCase, ImageError> {
    open_in(path, weak, Residency::Map, &CopyBudget::new(None))
}

/// Opens a use case whose tables are copied to memory where `residency` says so, once its
/// [placement is decided](ResidentImage::decide_placement).
///
/// # Errors
/// The errors of [`open`].
pub fn open_in(
    path: &Path,
    weak: WeakParams,
    residency: Residency,
    budget: &Arc<CopyBudget>,
) -> Result<OpenUseCase, ImageError> {
    let file = newest(path)?;
    let (description, codec, places) = read(&file, weak)?;
    let refuse = |why: String| ImageError::Description { path: file.path().to_owned(), why };
    let image = ResidentImage::of(file.clone(), residency, budget);
    let held: Arc<dyn Image> = image.clone();
    let held = ImageSection::open(held, Section::Resident, "tables", places.table_bytes);
    let held = Arc::new(held.map_err(|why| refuse(why.to_string()))?);
    let mut shards = Vec::with_capacity(places.shapes.len());
    for (shape, starts) in places.shapes.iter().zip(&places.tables) {
        let tables = starts.iter().map(|start| ValueTable::held(codec.kit(), shape, held.clone(), *start));
        let tables = tables.collect::<Result<_, _>>().map_err(|why| refuse(why.to_string()))?;
        shards.push(Shard::of_tables(*shape, tables).map_err(|why| refuse(why.to_string()))?);
    }
    let use_case = UseCase::new(description.set()?, codec, shards, description.compression.into())?;
    let use_case =
        if description.kind == UseCaseKind::IndexWithLengths { use_case.with_lengths() } else { use_case };
    let use_case = match description.oprf {
        Some(public) => use_case.symmetric(public),
        None => use_case,
    };
    let watched = file.clone();
    let use_case = use_case.checked(Arc::new(move || watched.check().is_ok()));
    let (name, epoch, digest) = (description.name.clone(), description.epoch, file.digest().0);
    Ok(OpenUseCase { name, epoch, use_case, digest, description, image })
}

/// Opens the file of a path: itself, or the newest epoch of a folder.
pub(super) fn newest(path: &Path) -> Result<Arc<ForeignImage>, ImageError> {
    if !path.is_dir() {
        return Ok(ForeignImage::open(path)?);
    }
    let dir = TableDir::open(path)?;
    let epoch = dir.latest()?.ok_or_else(|| DbError::Empty(path.to_owned()))?;
    let file = ForeignImage::open(&dir.image_path(epoch))?;
    match UseCaseDescription::parse(file.description()) {
        Ok(description) if description.epoch != epoch.0 => {
            let why = "the file's name has another epoch than its description";
            Err(file.refuse(ImageProblem::Malformed(why)).into())
        }
        // Other problems are reported when the file is read.
        _ => Ok(file),
    }
}

/// Parses the description in a file, if its length is within the limit.
pub(super) fn read(
    file: &ForeignImage,
    weak: WeakParams,
) -> Result<(UseCaseDescription, Arc<Codec>, FileLayout), ImageError> {
    let refuse = |why: String| ImageError::Description { path: file.path().to_owned(), why };
    let description = UseCaseDescription::parse(file.description()).map_err(refuse)?;
    let codec = UseCase::codec(&description.set()?, weak)?;
    let places = description.places(&codec).map_err(refuse)?;
    let len = |part| file.header().entry(part).map_or(0, |entry| entry.bytes);
    if len(FilePart::Scheme(Section::Resident)) != places.table_bytes
        || len(FilePart::Entries) != places.entry_bytes
    {
        return Err(refuse("the sections have other lengths than the description says".into()));
    }
    if file.rows_digest() != Some(description.tables) {
        let why = "the tables differ from those of the description";
        return Err(file.refuse(ImageProblem::Malformed(why)).into());
    }
    Ok((description, codec, places))
}
