//! Writes a file as a revision of the one before: everything is copied, except changed entries and
//! the plaintexts that contain them.

use super::buckets::BucketAddress;
use super::description::FileLayout;
use super::encode::{ImageDraft, UseCaseSummary};
use super::error::ImageError;
use crate::codec::Codec;
use sotto_bfv::mulpir::ValueTable;
use sotto_core::server::ImageSection;
use sotto_core::{Image, Section, Sink};
use sotto_db::image::ForeignImage;
use sotto_db::image::header::FilePart;
use sotto_db::progress::silent;
use sotto_db::{Progress, ProgressUnit, Watcher};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
