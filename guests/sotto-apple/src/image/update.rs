//! Writes the file of the next epoch from changed rows: only plaintexts of changed entries are
//! computed again.
//!
//! The shape does not change, and neither does the configuration that clients know. If rows find no
//! place in it, a larger table is made of all rows: [`UseCaseUpdate::is_anew`] says so before
//! anything is written.

use crate::codec::Codec;
use crate::image::buckets::{BucketAddress, BucketError, Buckets};
use crate::image::description::{FileLayout, ShardShape, UseCaseDescription, UseCaseKind};
use crate::image::encode::{ImageDraft, UseCaseOptions, UseCaseSummary, encode};
use crate::image::error::ImageError;
use crate::image::open::{newest, read};
use crate::image::oprf::read_fitting;
use crate::image::row_intake::{KeyChange, KeyChanges, KeywordRows, MAX_VALUE_BYTES, hash_changes};
use crate::keyword::{TABLES, bucket, shard};
use crate::sets::WeakParams;
use sotto_bfv::mulpir::ValueTable;
use sotto_catalog::RowForm;
use sotto_core::server::ImageSection;
use sotto_core::{Image, Section, Sink};
use sotto_db::image::ForeignImage;
use sotto_db::image::header::FilePart;
use sotto_db::progress::silent;
use sotto_db::update::ChangeCounts;
use sotto_db::{DbError, ImageProblem, Progress, ProgressUnit, Watcher, WriteLock};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A prepared update of the newest epoch of a folder.
pub struct UseCaseUpdate<'a> {
    /// The epoch before, with the description of the next one.
    epoch: PreviousEpoch<'a>,
    change: PendingChange,
    tally: ChangeCounts,
}

enum PendingChange {
    /// Changed entries: their shard, their address, and their bytes.
    Entries(BTreeMap<(usize, BucketAddress), Vec<u8>>),
    /// All rows are placed again.
    Rebuild(KeyChanges),
}

/// The newest epoch, opened before changes are read.
pub struct PreviousEpoch<'a> {
    lock: &'a WriteLock,
    file: Arc<ForeignImage>,
    description: UseCaseDescription,
    codec: Arc<Codec>,
    places: FileLayout,
    weak: WeakParams,
}

impl<'a> PreviousEpoch<'a> {
    /// Opens the newest epoch of a folder.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn open(lock: &'a WriteLock, weak: WeakParams) -> Result<Self, ImageError> {
        let file = newest(lock.dir().path())?;
        let (description, codec, places) = read(&file, weak)?;
        Ok(PreviousEpoch { lock, file, description, codec, places, weak })
    }

    /// Description in the file.
    pub fn description(&self) -> &UseCaseDescription {
        &self.description
    }

    fn damaged(&self) -> ImageError {
        self.file.refuse(ImageProblem::Digest(FilePart::Entries.name())).into()
    }

    /// Entries of a table.
    fn entries(&self, s: usize, table: usize) -> &[u8] {
        let all = self.file.bytes_of(FilePart::Entries).unwrap_or_default();
        let start = self.places.entries.get(s).and_then(|starts| starts.get(table)).copied();
        let len = self.places.shapes.get(s).map_or(0, |shape| shape.bytes_of_entries() as usize);
        start.and_then(|start| all.get(start as usize..)?.get(..len)).unwrap_or_default()
    }

    /// All rows, with the changes applied.
    fn all(&self, changes: &KeyChanges) -> Result<KeywordRows, ImageError> {
        let mut rows = self.description.oprf.map_or_else(KeywordRows::default, KeywordRows::sealed);
        for (shape, starts) in self.places.shapes.iter().zip(&self.places.entries) {
            for start in starts {
                let all = self.file.bytes_of(FilePart::Entries).unwrap_or_default();
                let all = all.get(*start as usize..).unwrap_or_default();
                for entry in all.chunks_exact(shape.entry_bytes()).take(shape.entries()) {
                    let damaged = || self.file.refuse(ImageProblem::Malformed("invalid bucket"));
                    for (hash, value) in bucket::read(entry).ok_or_else(damaged)? {
                        if !changes.contains_key(&hash) {
                            rows.push_hashed(hash, value)?;
                        }
                    }
                }
            }
        }
        for (hash, value) in changes.iter().filter_map(|(hash, value)| Some((hash, value.as_ref()?))) {
            rows.push_hashed(*hash, value)?;
        }
        Ok(rows)
    }

    /// Prepares changes to a keyword table.
    ///
    /// # Errors
    /// [`ImageError::Asked`] if it is not a keyword table, or if a value does not fit into a
    /// bucket; for a symmetric table also the errors of its key.
    pub fn change_keys(self, keys: Vec<KeyChange>) -> Result<UseCaseUpdate<'a>, ImageError> {
        let UseCaseKind::Keyword { bucket_bytes, .. } = self.description.kind else {
            return Err(ImageError::Asked("this is an index table: give row numbers, not keys".into()));
        };
        let sealing = self.description.oprf.as_ref().map(|public| read_fitting(self.lock.dir(), public));
        let changes = hash_changes(keys, sealing.transpose()?.as_ref())?;
        let most = (bucket_bytes as usize).saturating_sub(bucket::EMPTY + bucket::ROW).min(MAX_VALUE_BYTES);
        let longest = changes.values().flatten().map(Vec::len).max().unwrap_or(0);
        if longest > most {
            let why = format!(
                "a value has {longest} bytes, a bucket has room for {most}: shorten the value, or encode the table \
                 afresh"
            );
            return Err(ImageError::Asked(why));
        }
        let shards = self.places.shapes.len();
        let mut of_shards: BTreeMap<usize, Vec<(u64, &Option<Vec<u8>>)>> = BTreeMap::new();
        for (hash, value) in &changes {
            of_shards.entry(shard(*hash, shards)).or_default().push((*hash, value));
        }
        let (mut tally, mut entries, mut full) = (ChangeCounts::default(), BTreeMap::new(), false);
        let mut added = BTreeMap::new();
        for (s, changes) in of_shards {
            let Some(shape) = self.places.shapes.get(s) else { continue };
            let tables: [&[u8]; TABLES] = std::array::from_fn(|table| self.entries(s, table));
            let mut buckets = Buckets::new(tables, shape.entries(), shape.entry_bytes());
            let before = tally;
            match change(&mut buckets, &changes, &mut tally) {
                Ok(()) => {
                    entries.extend(buckets.changed().into_iter().map(|(place, bytes)| ((s, place), bytes)));
                }
                Err(BucketError::Full) => full = true,
                Err(BucketError::Damaged) => return Err(self.damaged()),
            }
            added.insert(s, (tally.added - before.added, tally.removed - before.removed));
        }
        let mut epoch = self;
        for (s, shard) in epoch.description.shards.iter_mut().enumerate() {
            let (more, fewer) = added.get(&s).copied().unwrap_or_default();
            shard.rows = (shard.rows + more).saturating_sub(fewer);
        }
        let change = if full { PendingChange::Rebuild(changes) } else { PendingChange::Entries(entries) };
        Ok(UseCaseUpdate { epoch, change, tally })
    }

    /// Prepares changes to an index table. Every row must have the length of the table's rows, and
    /// follow its length if the table's rows do.
    ///
    /// # Errors
    /// [`ImageError::Asked`] if it is not an index table, or if a row does not fit the table.
    pub fn change_rows(self, rows: BTreeMap<u64, Vec<u8>>) -> Result<UseCaseUpdate<'a>, ImageError> {
        let shape = self.places.shapes.first().copied();
        let form = shape.and_then(|shape| self.description.kind.row_form(shape.entry_bytes() as u64));
        let (Some(form), Some(shape)) = (form, shape) else {
            return Err(ImageError::Asked("this is a keyword table: give keys, not row numbers".into()));
        };
        let fits = |(row, bytes): (&u64, &Vec<u8>)| {
            let is_there = *row < shape.entries() as u64 && bytes.len() == shape.entry_bytes();
            is_there && (form == RowForm::Whole || form.value(bytes.clone()).is_ok())
        };
        if !rows.iter().all(fits) {
            return Err(ImageError::Asked("a row is past the end or has another length".into()));
        }
        let tally = ChangeCounts { set: rows.len() as u64, ..ChangeCounts::default() };
        let old = self.entries(0, 0);
        let is_new = |(row, bytes): &(u64, Vec<u8>)| {
            old.chunks_exact(shape.entry_bytes()).nth(*row as usize) != Some(bytes)
        };
        let entries = rows.into_iter().filter(is_new);
        let entries = entries.map(|(row, bytes)| ((0, (0, row as usize)), bytes)).collect();
        let change = PendingChange::Entries(entries);
        Ok(UseCaseUpdate { epoch: self, change, tally })
    }
}

/// Applies changes, removed keys first, so that there is space for new ones.
fn change(
    buckets: &mut Buckets<'_>,
    changes: &[(u64, &Option<Vec<u8>>)],
    tally: &mut ChangeCounts,
) -> Result<(), BucketError> {
    for (hash, value) in changes {
        match (buckets.has(*hash)?, value) {
            (true, Some(_)) => tally.set += 1,
            (false, Some(_)) => tally.added += 1,
            (true, None) => tally.removed += 1,
            (false, None) => tally.absent += 1,
        }
    }
    changes.iter().filter(|(_, value)| value.is_none()).try_for_each(|(hash, _)| buckets.remove(*hash))?;
    let come = changes.iter().filter_map(|(hash, value)| Some((hash, value.as_ref()?)));
    come.into_iter().try_for_each(|(hash, value)| buckets.set(*hash, value))
}

impl UseCaseUpdate<'_> {
    /// Counts of changed rows.
    pub fn tally(&self) -> ChangeCounts {
        self.tally
    }

    /// Whether nothing changes.
    pub fn is_nothing(&self) -> bool {
        matches!(&self.change, PendingChange::Entries(entries) if entries.is_empty())
    }

    /// Whether rows find no place, so that the whole table is re-encoded in a shape that clients do
    /// not know yet.
    pub fn is_anew(&self) -> bool {
        matches!(self.change, PendingChange::Rebuild(_))
    }

    /// Writes the next epoch. Returns the number of plaintexts that were computed again too.
    ///
    /// # Errors
    /// [`ImageError`]; the folder is then left as it was.
    pub fn apply(self, watch: Watcher<'_>) -> Result<(UseCaseSummary, u64), ImageError> {
        match self.change {
            PendingChange::Entries(entries) => {
                let PreviousEpoch { lock, file, description, codec, places, .. } = self.epoch;
                let draft = ImageDraft::of(description, places.clone(), lock, watch)?;
                ImageRevision { file, codec: &codec, places: &places, entries, draft }.apply(watch)
            }
            PendingChange::Rebuild(ref changes) => {
                let before = &self.epoch;
                before.file.verify(&silent)?;
                let rows = before.all(changes)?;
                let how = how(&before.description, before.weak, self.tally.added)?;
                let written = encode(rows, &how, before.lock, watch)?;
                let shards: u64 = written.description.shards.iter().map(plaintexts).sum();
                Ok((written, shards * TABLES as u64))
            }
        }
    }
}

fn plaintexts(shard: &ShardShape) -> u64 {
    shard.dimensions.iter().product()
}

/// Options by which a table was made, with space for `more` further keys.
fn how(description: &UseCaseDescription, weak: WeakParams, more: u64) -> Result<UseCaseOptions, ImageError> {
    let UseCaseKind::Keyword { form, bucket_bytes, fixed } = description.kind else {
        return Err(ImageError::Asked("this is an index table: give row numbers, not keys".into()));
    };
    let fixed = description.shards.first().filter(|_| fixed).map(|shard| shard.entries as usize);
    Ok(UseCaseOptions {
        name: description.name.clone(),
        set: description.set()?,
        weak,
        compression: description.compression,
        value: description.value,
        value_bytes: description.value_bytes,
        form,
        shards: description.shards.len(),
        bucket_bytes: bucket_bytes as usize,
        buckets: fixed,
        headroom: if fixed.is_none() { more } else { 0 },
    })
}

/// Removes all but the newest epochs of a folder. Returns the number of removed epochs, and their
/// bytes.
///
/// # Errors
/// [`DbError::Io`].
pub fn remove_older(lock: &WriteLock, keep: usize) -> Result<(usize, u64), ImageError> {
    let mut epochs = lock.dir().epochs()?;
    epochs.truncate(epochs.len().saturating_sub(keep.max(1)));
    let mut freed = 0;
    for epoch in &epochs {
        let path = lock.dir().image_path(*epoch);
        let failed = |source| DbError::Io { what: "removing an old epoch", path: path.clone(), source };
        freed += std::fs::metadata(&path).map_err(failed)?.len();
        std::fs::remove_file(&path).map_err(failed)?;
    }
    Ok((epochs.len(), freed))
}

/// Bytes of entries that are copied together.
const BLOCK: usize = 4 << 20;

/// A file that is made as a revision of the one before.
pub(super) struct ImageRevision<'a, 'w> {
    pub(super) file: Arc<ForeignImage>,
    pub(super) codec: &'a Codec,
    pub(super) places: &'a FileLayout,
    pub(super) entries: BTreeMap<(usize, BucketAddress), Vec<u8>>,
    pub(super) draft: ImageDraft<'w>,
}

impl ImageRevision<'_, '_> {
    /// Writes the file. Returns the number of plaintexts that were computed again too.
    pub(super) fn apply(self, watch: Watcher<'_>) -> Result<(UseCaseSummary, u64), ImageError> {
        // Copied parts get new digests, under which damage would pass for data from then on.
        let verify = || self.file.verify(&silent).map_err(ImageError::from);
        let (made, whole) = rayon::join(|| self.entries().and_then(|()| self.tables(watch)), verify);
        whole?;
        let made = made?;
        Ok((self.draft.close()?, made))
    }

    fn entries(&self) -> Result<(), ImageError> {
        let old = self.file.bytes_of(FilePart::Entries).unwrap_or_default();
        for (block, at) in old.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            self.draft.put(FilePart::Entries, at, block)?;
        }
        for ((s, (table, i)), bytes) in &self.entries {
            let start =
                self.places.entries.get(*s).and_then(|starts| starts.get(*table)).copied().unwrap_or(0);
            self.draft.put(FilePart::Entries, start + (i * bytes.len()) as u64, bytes)?;
        }
        Ok(())
    }

    fn tables(&self, watch: Watcher<'_>) -> Result<u64, ImageError> {
        let (kit, writer) = (self.codec.kit(), &self.draft.writer);
        let failed = |e| writer.failed(e);
        let image: Arc<dyn Image> = self.file.clone();
        let held = ImageSection::open(image, Section::Resident, "tables", self.places.table_bytes)
            .map_err(failed)?;
        let held = Arc::new(held);
        let (mut done, mut made) = (0, 0);
        for (s, shape) in self.places.shapes.iter().enumerate() {
            for table in 0..shape.batch() {
                let at = |places: &[Vec<u64>]| places.get(s).and_then(|starts| starts.get(table)).copied();
                let (start, entries) =
                    (at(&self.places.tables).unwrap_or(0), at(&self.places.entries).unwrap_or(0));
                let of_table = (s, (table, 0))..(s, (table + 1, 0));
                let [_, d1] = shape.dimensions();
                let plaintext = |((_, (_, i)), _): (&(usize, BucketAddress), &Vec<u8>)| i / shape.in_one();
                let changed: BTreeSet<usize> = self.entries.range(of_table).map(plaintext).collect();
                made += (changed.len() * shape.chunks()) as u64;
                let is_changed = |row: usize, col: usize| changed.contains(&(row * d1 + col % d1));
                let read = |at: u64, out: &mut [u8]| writer.read_part(FilePart::Entries, entries + at, out);
                let old = ValueTable::held(kit, shape, held.clone(), start).map_err(failed)?;
                let rewritten = old.rewrite(kit, &is_changed, &read, &mut |at, lines| {
                    done += lines.len() as u64;
                    let total = self.places.table_bytes;
                    watch(Progress { stage: "encode", done, total, unit: ProgressUnit::Bytes });
                    writer.write_at(Section::Resident, start + at, lines)
                });
                rewritten.map_err(failed)?;
            }
        }
        Ok(made)
    }
}
