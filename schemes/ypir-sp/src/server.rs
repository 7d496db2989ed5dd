//! The server: one pass over the matrix, and one over the weights, for a few queries at once. A part
//! has some groups of a record's numbers, with their rows of the matrix and their weights. In short
//! blocks there are digits of switches in the place of weights.

use crate::YpirSp;
use sotto_core::{Misuse, PartIndex, RecordChange, RecordSource, Result, Section, Sink};
use sotto_silent::groups::MaskLayout;
use sotto_silent::matrix::{
    ByteChange, JoinedRecords, Matrix, RecordRange, ScaledColumns, ScaledLayout, ScaledRecords,
    SectionOffset, change_panels, write_matrix,
};
use sotto_silent::message::{Partial, PartialFormat, Query};
use sotto_silent::nibbles::{NibbleRecords, WholeRecords, nibbles_of_changes};
use sotto_silent::packed_groups::{PackedGroups, write_packed};
use sotto_silent::packed_matrix::{BATCH, GroupRange, PackedMatrix, PackedQuery};
use sotto_silent::pieces::{PartSection, Piece};
use sotto_silent::short_block_matrix::{RotatedQuery, ShortBlockMatrix};
use sotto_silent::{MatrixLiteral as _, MatrixServer, Params};
use std::borrow::Cow;

/// An open table, or some groups of one.
pub enum Server {
    /// Packed by weights, a matrix for each bucket.
    ///
    /// A table of several buckets is that many tables of one bucket, each with a matrix and weights of
    /// its own; only the packing keys of a query are for all of them.
    Whole(Vec<PackedMatrix>),
    /// In short blocks.
    Short(Box<ShortBlockMatrix>),
}

/// A query in the form that passes take.
pub enum Expanded {
    /// The vector of each bucket, for products that are packed by weights.
    Whole(Vec<PackedQuery>),
    /// For short blocks.
    Short(RotatedQuery),
}

/// A bucket while it is written: where its matrix begins, and the weights behind it.
struct Bucket {
    number: usize,
    matrix: SectionOffset,
    packed: PackedGroups,
}

/// The buckets of a table.
fn buckets(params: &Params<YpirSp>) -> Result<Vec<Bucket>> {
    let bucket = |number: u64| {
        let masks = MaskLayout::Artifact { start: number * (params.masks().bytes() / params.buckets()) };
        let matrix = SectionOffset { section: Section::Resident, start: number * params.bucket_bytes() };
        let packed = PackedGroups::new(params.packing(), params.bits(), masks)?;
        Ok(Bucket { number: number as usize, matrix, packed })
    };
    (0..params.buckets()).map(bucket).collect()
}

impl Bucket {
    /// Writes weights and masks of some groups.
    fn write(
        &self,
        params: &Params<YpirSp>,
        groups: impl Iterator<Item = usize>,
        out: &dyn Sink,
    ) -> Result<()> {
        write_packed(
            self.number,
            params.layout(),
            self.matrix,
            &self.packed,
            self.packed.together(groups),
            out,
        )
    }
}

/// The changes of each bucket, by the records' numbers there.
fn by_bucket<'a>(params: &Params<YpirSp>, changes: &'a [RecordChange]) -> Vec<Cow<'a, [RecordChange]>> {
    if params.buckets() == 1 {
        return vec![Cow::Borrowed(changes)];
    }
    let records = params.bucket_records();
    let mut sorted = vec![Vec::new(); params.buckets() as usize];
    for change in changes {
        if let Some(bucket) = sorted.get_mut((change.record / records) as usize) {
            bucket.push(RecordChange { record: change.record % records, ..change.clone() });
        }
    }
    sorted.into_iter().map(Cow::Owned).collect()
}

/// The groups of a part, bucket by bucket.
fn shares(params: &Params<YpirSp>, cut: PartIndex) -> Vec<GroupRange> {
    let buckets = params.buckets() as usize;
    GroupRange::shares(buckets, &params.layout(), &params.packing(), cut, MaskLayout::ARTIFACT)
}

impl Expanded {
    /// The vector of a bucket.
    fn vector(&self, bucket: usize) -> Option<&PackedQuery> {
        match self {
            Expanded::Whole(vectors) => vectors.get(bucket),
            Expanded::Short(_) => None,
        }
    }

    /// The query for short blocks.
    fn short(&self) -> Option<&RotatedQuery> {
        match self {
            Expanded::Whole(_) => None,
            Expanded::Short(query) => Some(query),
        }
    }
}

impl MatrixServer<YpirSp> for Server {
    const BATCH: usize = BATCH;
    type Expanded = Expanded;
    type Joiner = ();

    fn pieces(params: &Params<YpirSp>, cut: PartIndex) -> Vec<Piece> {
        match params.short_blocks() {
            Some(blocks) => blocks.share(cut).1.into(),
            None => shares(params, cut).into_iter().flat_map(|share| share.pieces).collect(),
        }
    }

    fn write(params: &Params<YpirSp>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        if let Some(blocks) = params.short_blocks() {
            return blocks.write(params.bits(), rows, out);
        }
        let records = params.bucket_records();
        for bucket in buckets(params)? {
            let first = bucket.number as u64 * records;
            let rows = RecordRange { rows, range: first..first + records };
            let numbers = NibbleRecords(&rows);
            let rows: &dyn RecordSource = if params.number_bits == 4 { &numbers } else { &rows };
            let columns = ScaledColumns { rows, scales: params.plain().scales() };
            let columns: &dyn RecordSource = if params.scales.is_some() { &columns } else { rows };
            write_matrix(params.layout(), bucket.matrix, columns, out)?;
            bucket.write(params, 0..params.packing().count(), out)?;
        }
        Ok(())
    }

    /// The changed bytes, and the weights of every group that they touch. Queries do not depend on the
    /// table, so nothing changes for clients.
    fn update_image(params: &Params<YpirSp>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        if let Some(blocks) = params.short_blocks() {
            return blocks.update(params.bits(), changes, out);
        }
        let numbers = (params.number_bits == 4).then(|| nibbles_of_changes(changes));
        let changes = numbers.as_deref().unwrap_or(changes);
        let scales = params.plain().scales();
        let layout = ScaledLayout { matrix: params.layout(), scales: scales as u32 };
        // A panel belongs to one group.
        let rows = scales * params.samples();
        let group = |entries: &[ByteChange]| Ok(entries.first().map(|entry| entry.row as usize / rows));
        let changed = by_bucket(params, changes);
        for bucket in buckets(params)? {
            let Some(changes) = changed.get(bucket.number).filter(|changes| !changes.is_empty()) else {
                continue;
            };
            let touched = change_panels(layout, bucket.matrix, changes, out, group)?;
            bucket.write(params, touched.into_iter().flatten(), out)?;
        }
        Ok(())
    }

    fn records(params: &Params<YpirSp>, held: PartSection) -> Box<dyn RecordSource> {
        if let Some(blocks) = params.short_blocks() {
            return blocks.records(held);
        }
        let bucket =
            |number| Matrix::new(params.layout(), held.clone(), number * GroupRange::PIECES).records();
        if params.scales.is_some() {
            let (records, plain) = (params.records(), params.plain());
            let numbers = |record_bytes| ScaledRecords {
                columns: bucket(0),
                scales: plain.scales(),
                records,
                record_bytes,
            };
            let record_bytes = params.record_bytes as usize;
            return match params.number_bits {
                4 => Box::new(WholeRecords(Box::new(numbers(2 * record_bytes)))),
                _ => Box::new(numbers(record_bytes)),
            };
        }
        Box::new(JoinedRecords((0..params.buckets() as usize).map(bucket).collect()))
    }

    fn max_parts(params: &Params<YpirSp>) -> u32 {
        let groups = (params.buckets() * params.groups()) as u32;
        params.short_blocks().map_or(groups, |blocks| blocks.max_parts())
    }

    fn partial(params: &Params<YpirSp>, cut: PartIndex) -> PartialFormat {
        let groups = match params.short_blocks() {
            Some(blocks) => blocks.share(cut).0.len(),
            None => shares(params, cut).iter().map(|share| share.groups.len()).sum(),
        };
        PartialFormat { ciphers: params.bodies(groups as u64), ..PartialFormat::default() }
    }

    fn open(params: &Params<YpirSp>, cut: PartIndex, held: PartSection) -> Result<Self> {
        if let Some(blocks) = params.short_blocks() {
            let matrix = ShortBlockMatrix::open(blocks, params.bits(), cut, held)?;
            return Ok(Server::Short(Box::new(matrix)));
        }
        let bits = (params.bits(), MaskLayout::ARTIFACT);
        let bucket = |(number, share): (usize, &GroupRange)| {
            PackedMatrix::new(share, bits, held.clone(), number * GroupRange::PIECES)
        };
        Ok(Server::Whole(shares(params, cut).iter().enumerate().map(bucket).collect::<Result<_>>()?))
    }

    fn joiner(_: &Params<YpirSp>) -> Result<()> {
        Ok(())
    }

    fn expand(&self, _: &Params<YpirSp>, (): &(), Query(fields): &Query) -> Result<Expanded> {
        match self {
            Server::Whole(buckets) => {
                let (vectors, keys) = fields.split_at_checked(buckets.len()).ok_or(FIELDS)?;
                let keys = buckets.first().ok_or(FIELDS)?.keys(keys)?;
                let each = buckets.iter().zip(vectors);
                let each = each.map(|(bucket, words)| bucket.with_keys(words, keys.clone()));
                Ok(Expanded::Whole(each.collect()))
            }
            Server::Short(matrix) => {
                let (words, keys) = fields.split_first().ok_or(FIELDS)?;
                matrix.expand(words, keys).map(Expanded::Short)
            }
        }
    }

    /// The paper's Answer: multiply the matrix by the words of a few queries in one pass; then pack
    /// the products, in one pass over the weights, with the keys of each query. One bucket after the
    /// other.
    fn pass(&self, _: &Params<YpirSp>, queries: &[Expanded]) -> Vec<Partial> {
        let mut partials = vec![Partial::default(); queries.len()];
        let mut add = |ciphers: Vec<Vec<Vec<u64>>>| {
            for (partial, ciphers) in partials.iter_mut().zip(ciphers) {
                partial.ciphers.extend(ciphers);
            }
        };
        match self {
            Server::Whole(buckets) => {
                for (number, bucket) in buckets.iter().enumerate() {
                    let vectors = queries.iter().filter_map(|query| query.vector(number));
                    add(bucket.pass(&vectors.collect::<Vec<_>>()));
                }
            }
            Server::Short(matrix) => {
                add(matrix.pass(&queries.iter().filter_map(Expanded::short).collect::<Vec<_>>()));
            }
        }
        partials
    }
}

const FIELDS: Misuse = Misuse::Rule("a query must have a vector for each bucket, and keys");
