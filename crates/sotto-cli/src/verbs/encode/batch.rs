//! `sotto encode --batch`: a table as a stack, whose tables are the buckets of a batch code.

use super::round::Round;
use super::traces::Traces;
use super::{Job, signing_key};
use crate::blame;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::screen::bars::Unit;
use sotto_catalog::stack::{FORMAT, Shard};
use sotto_catalog::{Batched, Catalog, Packing, PublicKey, Stack, TableKind, TableName};
use sotto_core::{Epoch, Shape};
use sotto_db::ingest::Notes;
use sotto_db::table::{Buckets, Scattered, TableSource, WithRoom, grouped};
use sotto_db::{EncodeOptions, Ingested, StackDir, TableDir, WriteLock, encode_buckets};
use sotto_layers::Pbc;
use sotto_layers::keyword::{self, Keyword};
use sotto_layers::pbc::Params;
use sotto_layers::pbc::code::Sizes;
use sotto_prg::PublicSeed;
use sotto_wire::Sizes as Frames;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What came of a job.
pub(super) struct Done {
    pub(super) stack: Stack,
    pub(super) layers: Batched,
    pub(super) round: Round,
    /// Of any of its tables.
    pub(super) catalog: Catalog,
    pub(super) table_bytes: u64,
    pub(super) notes: Notes,
    pub(super) public_key: PublicKey,
    pub(super) stages: Vec<(String, Duration)>,
    pub(super) took: Duration,
}

impl Job<'_> {
    /// Encodes a stack whose rounds have so many rows, or keys.
    pub(super) fn run_batch(self, most: usize, screen: Screen) -> Result<Done> {
        let began = Instant::now();
        std::fs::metadata(self.input).map_err(|error| Failure::file("reading", self.input, &error))?;
        super::replace::check_set(self.scheme, self.set.as_deref())?;
        let traces = Traces::before(self.out);
        // Tables that are there may be those of a stack that was never published, and are not ours to remove.
        let ours = !self.out.join("tables").exists();
        let root = TableDir::create(self.out).map_err(blame::db)?;
        let lock = root.lock().map_err(blame::db)?;
        let traces = traces.locked(&lock);
        let out = self.out;
        let done = self.encode_batch(most, began, &lock, screen);
        if done.is_err() {
            if ours {
                for folder in ["tables", "files"] {
                    // What led here is the error to report, not that its traces cannot be removed.
                    let _ = std::fs::remove_dir_all(out.join(folder));
                }
            }
            traces.remove(&lock);
        }
        done
    }

    fn encode_batch(self, most: usize, began: Instant, lock: &WriteLock, screen: Screen) -> Result<Done> {
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        if lock.dir().latest().map_err(blame::db)?.is_some() {
            return Err(Failure::usage("the directory holds a table, and not a stack of tables")
                .fix("give another directory, or leave --batch out"));
        }
        self.check_replaced()?;
        let before = StackDir::find(self.out).map(|dir| dir.read()).transpose().map_err(blame::db)?;
        let before = before.map(|(_, before)| before);
        let Ingested { table, kind, value, layers, origin, notes } =
            sotto_db::ingest(self.input, &self.source, self.out, &watch).map_err(blame::db)?;
        // Keys are found above the code, lengths in the rows of its tables.
        let (above, below): (Vec<_>, Vec<_>) =
            layers.into_iter().partition(|layer| layer.name == keyword::NAME);
        // A key takes several rows.
        let keyword = above.first().map(|layer| Keyword::parse(layer.params.to_string().as_bytes()));
        let keyword = keyword.transpose().map_err(sotto_db::DbError::Scheme).map_err(blame::db)?;
        let each = keyword.map_or(1, |keyword| keyword.params().probes as usize);
        // Where a row's copies lie follows from how many rows there are, so the room is rows, of zeros.
        let rows = table.rows().saturating_add(self.room);
        let sizes = sizes(before.as_ref(), &self.name, rows, most.saturating_mul(each))?;
        let mut rng = sotto_prg::system_rng()
            .map_err(|error| Failure::internal(error.to_string()).fix("mend the system's random device"))?;
        let params = Params::new(sizes, PublicSeed::fresh(&mut rng));
        let code = params.code().map_err(sotto_db::DbError::Scheme).map_err(blame::db)?;
        self.check(&code, table.row_bytes() as u64)?;
        let key = signing_key(lock.dir(), self.key)?;

        let dir = StackDir::create(self.out).map_err(blame::db)?;
        let with_room = WithRoom::new(table.as_ref(), self.room);
        let copy = Scattered::copy(&with_room, self.out, &watch).map_err(blame::db)?;
        drop(table);
        let buckets = Buckets::new(&copy, &code).map_err(blame::db)?;
        let options = EncodeOptions {
            value,
            layers: below,
            lookups_per_client: self.lookups,
            together: self.queries(&code),
            goal: self.goal,
            set: self.set.clone(),
            verified: self.verified,
            threads: self.threads,
            ..EncodeOptions::new(self.name.clone(), &key)
        };
        let mut shards = Vec::new();
        let mut round = Round::new(params.clone());
        let mut catalog = None;
        let tables = buckets.tables();
        let tables: Vec<&dyn TableSource> = tables.iter().map(|table| table as &dyn TableSource).collect();
        let tables = grouped(self.scheme, &tables, code.buckets());
        for (i, group) in tables.iter().enumerate() {
            bars.at("tables", i as u64, tables.len() as u64, Unit::Count("tables"));
            let encoded = self.encode_group(&dir, i, group, &options)?;
            let visits = if sizes.spare > 0 && i + 1 == tables.len() { sizes.spare } else { 1 };
            round.add(&encoded, self.scheme, visits).map_err(blame::db)?;
            shards.push(Shard::of(&encoded).map_err(|e| Failure::internal(e.to_string()))?);
            catalog = Some(encoded);
        }
        let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let stack = Stack {
            format: FORMAT.to_owned(),
            stack: self.name,
            epoch: Epoch(before.map_or(1, |before| before.epoch.0 + 1)),
            layers: Batched::layers(&kind, &above, &params),
            shards,
            files: Vec::new(),
            attribution: self.attribution,
            created,
            expires: self.lifetime.map(|lifetime| created.saturating_add(lifetime)),
        };
        // As clients will read it.
        let layers = Batched::of(&stack).map_err(|e| Failure::internal(e.to_string()))?;
        let (layers, catalog) =
            layers.zip(catalog).ok_or_else(|| Failure::internal("a batch code has tables"))?;
        match stack.layers.first().filter(|layer| layer.name == keyword::NAME) {
            Some(_) => dir.publish_keeping(&stack, &copy, &key, &watch).map(drop).map_err(blame::db)?,
            None => dir.publish(&stack, &[], &key).map(drop).map_err(blame::db)?,
        }
        lock.keep_origin(&origin).map_err(blame::db)?;
        let (public_key, took) = (key.public(), began.elapsed());
        let table_bytes = sizes.rows.saturating_mul(catalog.row_bytes);
        let stages = bars.finish();
        Ok(Done { stack, layers, round, catalog, table_bytes, notes, public_key, stages, took })
    }
}

impl Job<'_> {
    /// The next epoch of one of the tables, and its catalog. It consists of one bucket of the code, or of all.
    fn encode_group(
        &self,
        dir: &StackDir,
        number: usize,
        group: &[&dyn TableSource],
        options: &EncodeOptions<'_>,
    ) -> Result<Catalog> {
        let name: TableName = format!("{}-{number}", options.table).parse().map_err(|_| {
            Failure::usage("the stack's name is too long for its tables").fix("give a shorter --name")
        })?;
        let folder = TableDir::create(&dir.table(&name)).map_err(blame::db)?;
        let lock = folder.lock().map_err(blame::db)?;
        let (layers, set, attribution) = (options.layers.clone(), options.set.clone(), None);
        let options =
            EncodeOptions { table: name, kind: TableKind::Index, layers, set, attribution, ..*options };
        let written = encode_buckets(self.scheme, group, &lock, &options, &sotto_db::progress::silent)
            .map_err(blame::db)?;
        Ok(folder.open_epoch(written.epoch).map_err(blame::db)?.catalog().clone())
    }

    /// How many queries a round takes of tables without wide rows.
    fn queries(&self, code: &Pbc) -> u64 {
        let buckets = if self.scheme.batch.is_some() { code.buckets().min(1) } else { code.buckets() };
        (buckets + code.sizes().spare) as u64
    }

    /// Refuses, before anything is copied, tables that the scheme cannot serve, and a code that asks the whole table more often
    /// than one request has room for.
    fn check(&self, code: &Pbc, row_bytes: u64) -> Result<()> {
        let scheme = |e| blame::db(sotto_db::DbError::Scheme(e));
        let buckets = if self.scheme.batch.is_some() { code.buckets() as u64 } else { 1 };
        let bucket = (code.buckets() > 0).then(|| (code.bucket_rows() * buckets, buckets, 1));
        let whole = (code.sizes().spare > 0).then_some((code.sizes().rows, 1, code.sizes().spare));
        for (rows, buckets, visits) in bucket.into_iter().chain(whole) {
            let (goal, set, together) = (self.goal, self.set.clone(), self.queries(code));
            let shape = Shape { together, buckets, goal, set, ..Shape::new(rows, row_bytes, self.lookups) };
            let report = (self.scheme.select)(&shape).and_then(|params| (self.scheme.report)(&params));
            let report = report.map_err(scheme)?;
            let packing = Packing::new(rows, row_bytes, report.records, report.record_bytes);
            let lookups = packing.map_err(scheme)?.lookups();
            let room = usize::from(Frames::new(&report.costs, lookups).max_queries) / lookups.max(1);
            if visits > room {
                let why =
                    format!("a round asks the whole table {visits} times, and a request has room for {room}");
                return Err(Failure::new(Exit::Params, why).fix("give another --batch, or narrower rows"));
            }
        }
        Ok(())
    }
}

/// The code of a new stack; of one that is there, the same for other rows, since clients and servers know its tables.
fn sizes(before: Option<&Stack>, name: &TableName, rows: u64, items: usize) -> Result<Sizes> {
    let params = |error: sotto_core::Error| blame::db(sotto_db::DbError::Scheme(error));
    let Some(before) = before else { return Sizes::fit(rows, items).map_err(|error| params(error.into())) };
    let elsewhere = |why: String| Failure::usage(why).fix("encode into another directory");
    if before.stack != *name {
        return Err(elsewhere(format!("the stack here is named {}", before.stack)));
    }
    let layers = Batched::of(before).ok().flatten();
    let layers = layers.ok_or_else(|| elsewhere("the stack here is no batch code's".to_owned()))?;
    let sizes = Sizes { rows, ..*layers.code().sizes() };
    if sizes.items != items {
        let most = layers.most();
        return Err(elsewhere(format!("the stack here is made for {most} at once, and so are its tables")));
    }
    sizes.check().map_err(|_| elsewhere("the stack's buckets do not suffice for so many rows".to_owned()))?;
    Ok(sizes)
}
