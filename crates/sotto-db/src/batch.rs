//! Encodes a table as a stack whose tables are the buckets of a batch code: one round fetches
//! several rows, or the values of several keys.

use crate::batch_sizes::code_sizes;
use crate::ingest::{IngestOptions, IngestedTable, Notes, ingest};
use crate::inspect::{SchemeInfo, describe};
use crate::keys::validity;
use crate::progress::{Progress, ProgressUnit, Watcher};
use crate::table::{Buckets, ConcatTable, MappedTable, TableSource, grouped};
use crate::{DbError, EncodeOptions, Result, StackDir, TableDir, WriteLock, encode_buckets};
use sotto_catalog::stack::{FORMAT, MAX_SHARDS, Shard};
use sotto_catalog::{BatchAccess, Catalog, CatalogError, Packing, Stack, TableName};
use sotto_core::layer::failure_log2;
use sotto_core::{Compose, Costs, Epoch, Misuse, SchemeEntry, TableShape};
use sotto_layers::BatchCode;
use sotto_layers::batch_code::Params;
use sotto_layers::batch_code::code::CodeSizes;
use sotto_layers::keyword::{self, Keyword};
use sotto_prg::PublicSeed;
use std::path::Path;

/// Options of a batch code.
pub struct BatchOptions<'a> {
    /// Largest number of rows, or keys, that one round fetches.
    pub max_lookups: usize,
    /// Seed of the code; it is public.
    pub seed: PublicSeed,
    /// Returns how many queries fit into one request, given the costs of a query and the number of
    /// queries per lookup. Both ends of the wire must agree on it.
    pub max_queries: &'a dyn Fn(&Costs, usize) -> usize,
}

/// Summary of an encoded stack.
#[derive(Debug)]
pub struct BatchSummary {
    /// Signed description of the stack.
    pub stack: Stack,
    /// Layers of the stack, as clients read them.
    pub layers: BatchAccess,
    /// Costs of one round.
    pub round: BatchRequestCost,
    /// Catalog of the last table of the stack.
    pub catalog: Catalog,
    /// Bytes of the encoded rows; each row is counted once.
    pub table_bytes: u64,
    /// Bytes of all images of the stack.
    pub image_bytes: u64,
    /// Notes on the source data for the operator.
    pub notes: Notes,
}

/// Encodes a file as the next epoch of the stack in the locked folder. Each table of the stack is
/// named after the options' name and a number; kind, layers and value are those of the ingested
/// table. Keys keep the number of rows that they have in the latest epoch, unless `source` gives
/// another.
///
/// # Errors
/// [`DbError`]; among them [`DbError::NoStack`], [`DbError::OtherStack`], and parameters that are
/// refused.
pub fn encode_batch(
    entry: &'static SchemeEntry,
    input: &Path,
    source: &IngestOptions,
    lock: &WriteLock,
    batch: &BatchOptions<'_>,
    options: &EncodeOptions<'_>,
    watch: Watcher<'_>,
) -> Result<BatchSummary> {
    let out = lock.dir().path();
    if lock.dir().latest()?.is_some() {
        return Err(DbError::NoStack(out.to_owned()));
    }
    let before = StackDir::find(out).map(|dir| dir.read()).transpose()?.map(|(_, before)| before);
    let source = source.with_probes(before.as_ref().and_then(probes));
    let IngestedTable { table, kind, value, layers, origin, notes } = ingest(input, &source, out, watch)?;
    // Keys are found above the code; lengths are in the rows of its tables.
    let (above, below): (Vec<_>, Vec<_>) = layers.into_iter().partition(|layer| layer.name == keyword::NAME);
    // A key takes several rows.
    let keyword = above.first().map(|layer| Keyword::parse(layer.params.to_string().as_bytes()));
    let each = keyword.transpose()?.map_or(1, |keyword| keyword.params().probes as usize);
    // Where a row's copies are stored follows from the number of rows, so the headroom consists of
    // rows of zeros.
    let rows = table.rows().saturating_add(options.headroom);
    let shape = TableShape {
        goal: options.goal,
        set: options.set.clone(),
        ..TableShape::new(rows, table.row_bytes() as u64, options.lookups_per_client)
    };
    let sizes = sizes(entry, before.as_ref(), &options.table, &shape, [batch.max_lookups, each], out)?;
    let params = Params::new(sizes, batch.seed);
    let code = params.code()?;
    let job = Job { entry, code: &code, options };
    job.check(table.row_bytes() as u64, batch.max_queries)?;

    let dir = StackDir::create(out)?;
    let copy = MappedTable::copy(&ConcatTable::new(&[table.as_ref()])?.filled(rows), out, watch)?;
    drop(table);
    let buckets = Buckets::new(&copy, &code)?;
    let buckets = buckets.tables();
    let buckets: Vec<&dyn TableSource> = buckets.iter().map(|table| table as &dyn TableSource).collect();
    let groups = grouped(entry, &buckets, code.buckets());
    let (mut shards, mut last, mut image_bytes) = (Vec::new(), None, 0u64);
    let mut round = BatchRequestCost::new(params.clone());
    for (i, group) in groups.iter().enumerate() {
        watch(Progress {
            stage: "tables",
            done: i as u64,
            total: groups.len() as u64,
            unit: ProgressUnit::Tables,
        });
        let shared = EncodeOptions {
            value,
            layers: below.clone(),
            lookups_per_client: options.lookups_per_client,
            together: job.queries(),
            goal: options.goal,
            set: options.set.clone(),
            verified: options.verified,
            threads: options.threads,
            ..EncodeOptions::new(numbered(&options.table, i)?, options.key)
        };
        let (catalog, bytes) = job.group(&dir, group, &shared)?;
        image_bytes = image_bytes.saturating_add(bytes);
        let visits = if sizes.spare > 0 && i + 1 == groups.len() { sizes.spare } else { 1 };
        shards.push(Shard::of(&catalog)?);
        round.add(&catalog, entry, visits)?;
        last = Some(catalog);
    }
    let (created, expires) = validity(options.lifetime);
    let stack = Stack {
        format: FORMAT.to_owned(),
        stack: options.table.clone(),
        epoch: Epoch(before.map_or(1, |before| before.epoch.0 + 1)),
        layers: BatchAccess::layers(&kind, &above, &params),
        shards,
        files: Vec::new(),
        anchor: options.anchor.clone(),
        attribution: options.attribution.clone(),
        created,
        expires,
    };
    // The layers as clients will read them.
    let read = BatchAccess::of(&stack)?.zip(last);
    let (layers, catalog) = read.ok_or(CatalogError::Disagree("the layers of a batch code"))?;
    if above.is_empty() {
        dir.publish(&stack, &[], options.key)?;
    } else {
        dir.publish_keeping(&stack, &copy, options.key, watch)?;
    }
    lock.keep_origin(&origin)?;
    let table_bytes = sizes.rows.saturating_mul(catalog.row_bytes);
    Ok(BatchSummary { stack, layers, round, catalog, table_bytes, image_bytes, notes })
}

struct Job<'a> {
    entry: &'static SchemeEntry,
    code: &'a BatchCode,
    options: &'a EncodeOptions<'a>,
}

impl Job<'_> {
    /// Encodes the next epoch of one table of the stack. Returns its catalog and the bytes of its
    /// image. A group consists of one bucket of the code, or of all buckets.
    fn group(
        &self,
        dir: &StackDir,
        group: &[&dyn TableSource],
        options: &EncodeOptions<'_>,
    ) -> Result<(Catalog, u64)> {
        let folder = TableDir::create(&dir.table(&options.table))?;
        let lock = folder.lock()?;
        let written = encode_buckets(self.entry, group, &lock, options, &crate::progress::silent)?;
        Ok((folder.open_epoch(written.epoch)?.catalog().clone(), written.image_bytes))
    }

    /// Number of queries in a round over tables without wide rows.
    fn queries(&self) -> u64 {
        let buckets = self.code.buckets();
        let buckets = if self.entry.batch.is_some() { buckets.min(1) } else { buckets };
        (buckets + self.code.sizes().spare) as u64
    }

    /// Checks the stack before anything is copied. It refuses tables that the scheme cannot serve,
    /// more tables than a stack may have, and a code that queries the whole table more often than
    /// one request allows.
    fn check(&self, row_bytes: u64, max_queries: &dyn Fn(&Costs, usize) -> usize) -> Result<()> {
        let (code, sizes) = (self.code, self.code.sizes());
        let of_buckets = if self.entry.batch.is_some() { code.buckets().min(1) } else { code.buckets() };
        let tables = of_buckets + sizes.spare.min(1);
        if tables > MAX_SHARDS {
            return Err(DbError::TooManyTables { tables, limit: MAX_SHARDS });
        }
        let buckets = if self.entry.batch.is_some() { code.buckets() as u64 } else { 1 };
        let bucket = (code.buckets() > 0).then(|| (code.bucket_rows() * buckets, buckets, 1));
        let whole = (sizes.spare > 0).then_some((sizes.rows, 1, sizes.spare));
        for (rows, buckets, visits) in bucket.into_iter().chain(whole) {
            let shape = TableShape {
                lookups_per_request: self.queries(),
                buckets,
                goal: self.options.goal,
                set: self.options.set.clone(),
                ..TableShape::new(rows, row_bytes, self.options.lookups_per_client)
            };
            let report = (self.entry.report)(&(self.entry.select)(&shape)?)?;
            let packing = Packing::new(rows, row_bytes, report.records, report.record_bytes)?;
            let lookups = packing.records_per_row();
            let max = max_queries(&report.costs, lookups) / lookups.max(1);
            if visits > max {
                return Err(DbError::NoRoomInRequest { visits, max });
            }
        }
        Ok(())
    }
}

fn numbered(stack: &TableName, number: usize) -> Result<TableName> {
    let long = Misuse::Rule("the stack's name is too long for the numbers of its tables");
    format!("{stack}-{number}").parse().map_err(|_| long.into())
}

/// Sizes of the code of a new stack for `max_lookups` keys per round, each of which takes `each` rows. The
/// code of an existing stack changes only its number of rows, since clients and servers know its
/// tables.
fn sizes(
    entry: &SchemeEntry,
    before: Option<&Stack>,
    name: &TableName,
    shape: &TableShape,
    [max_lookups, each]: [usize; 2],
    dir: &Path,
) -> Result<CodeSizes> {
    let rows = shape.rows;
    let items = max_lookups.saturating_mul(each);
    let Some(before) = before else {
        return Ok(code_sizes(entry, shape, items)?);
    };
    let elsewhere = |why: String| DbError::OtherStack { dir: dir.to_owned(), why };
    if before.stack != *name {
        return Err(elsewhere(format!("the stack here is named {}", before.stack)));
    }
    let layers = BatchAccess::of(before).ok().flatten();
    let layers = layers.ok_or_else(|| elsewhere("the stack here has no batch code".to_owned()))?;
    let sizes = CodeSizes { rows, ..*layers.code().sizes() };
    if layers.max_batch() != max_lookups {
        let max = layers.max_batch();
        return Err(elsewhere(format!("the stack here is made for {max} at once, and so are its tables")));
    }
    if sizes.items != items {
        let there = sizes.items / max_lookups.max(1);
        return Err(elsewhere(format!("keys of the stack here take {there} rows each, expected {each}")));
    }
    sizes
        .check()
        .map_err(|_| elsewhere("the stack's buckets are too small for the number of rows".to_owned()))?;
    Ok(sizes)
}

/// Number of rows of each key of a stack; `None` if rows are looked up by number.
fn probes(stack: &Stack) -> Option<u32> {
    match BatchAccess::of(stack).ok().flatten()? {
        BatchAccess::Rows { .. } => None,
        BatchAccess::Keys(Compose(keywords, _)) => Some(keywords.keyword().params().probes),
    }
}

/// Costs of one round: a request to each table, with a number of queries that does not depend on
/// the lookups.
#[derive(Debug)]
pub struct BatchRequestCost {
    /// Sizes of the batch code.
    pub code: Params,
    /// Description of the scheme, with the shape of the last table added.
    pub scheme: Option<SchemeInfo>,
    /// Number of tables.
    pub tables: usize,
    /// Number of queries, each for a row or for a row of each bucket.
    pub queries: usize,
    /// Bytes of all queries, to all servers.
    pub up: u64,
    /// Bytes of all answers, from all servers.
    pub down: u64,
    /// Bytes that a client downloads before its first round.
    pub artifacts: u64,
    /// Bytes of the evaluation keys that a client sends.
    pub keys: u64,
    /// Base-2 logarithm of a bound on the probability that any of the lookups fails.
    pub lookups_fail: f64,
}

impl BatchRequestCost {
    /// Costs of a code without tables.
    fn new(code: Params) -> Self {
        let (scheme, tables, queries, up, down, artifacts, keys) = (None, 0, 0, 0, 0, 0, 0);
        let lookups_fail = f64::NEG_INFINITY;
        BatchRequestCost { code, scheme, tables, queries, up, down, artifacts, keys, lookups_fail }
    }

    /// Adds a table that is queried `visits` times per round.
    fn add(&mut self, catalog: &Catalog, entry: &SchemeEntry, visits: usize) -> Result<()> {
        let scheme = describe(catalog, entry)?;
        self.tables += 1;
        self.queries += visits;
        self.up += scheme.query_bytes * visits as u64 * u64::from(catalog.servers);
        self.down += scheme.answer_bytes * visits as u64 * u64::from(catalog.servers);
        self.artifacts += scheme.artifact_bytes;
        self.keys += scheme.keys_bytes;
        let visits = vec![0; visits];
        self.lookups_fail =
            failure_log2(&[0, 1], &[self.lookups_fail, failure_log2(&visits, &[scheme.failure_log2])]);
        self.scheme = Some(scheme);
        Ok(())
    }

    /// Base-2 logarithms of a bound on the probability that a round fails, and of the code's share
    /// of it.
    pub fn failure_log2(&self) -> (f64, f64) {
        let code = self.code.sizes().failure_log2();
        (failure_log2(&[0, 1], &[code, self.lookups_fail]), code)
    }
}
