//! Inspection of a stack: its layer, a summary of its tables, its public files, and the cost of a
//! request.

use crate::failure::{Failure, Result};
use crate::screen::{Report, Screen, grid, units};
use crate::table_summary;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::{BatchAccess, Catalog, PublicKey, Stack};
use sotto_client::stack::query_assignment::{QueryAssignment, StackTable};
use sotto_core::Layer as _;
use sotto_core::layer::failure_log2;
use sotto_db::inspect::{SchemeInfo, describe};
use sotto_db::{StackDir, TableDir};
use sotto_layers::ProofLayout;
use std::path::Path;

/// A stack with the catalogs of its tables, in their order.
pub(crate) struct StackInfo {
    pub(crate) document: Stack,
    pub(crate) public_key: PublicKey,
    tables: Vec<(Catalog, Option<SchemeInfo>)>,
}

/// The cost of a request.
#[derive(Serialize, JsonSchema)]
struct Request {
    /// Number of lookups.
    lookups: usize,
    /// Number of queries, which is smaller than that of lookups if a query returns a row of each
    /// bucket.
    queries: usize,
    /// Bytes of all queries.
    #[serde(rename = "query_bytes")]
    up: u64,
    /// Bytes of all answers.
    #[serde(rename = "answer_bytes")]
    down: u64,
    /// Base-2 logarithm of the bound on the probability that the request fails; null in JSON if it
    /// cannot.
    #[schemars(with = "Option<f64>")]
    failure_log2: f64,
}

impl StackInfo {
    /// Adds the tables' catalogs, each of which has to be the one that the stack names.
    pub(crate) fn new(document: Stack, public_key: PublicKey, catalogs: Vec<Catalog>) -> Result<Self> {
        let describe = |catalog: Catalog| {
            let entry = sotto_registry::find(&catalog.scheme);
            let scheme = entry.map(|entry| describe(&catalog, entry)).transpose();
            scheme.map(|scheme| (catalog, scheme)).map_err(Failure::from)
        };
        let tables = catalogs.into_iter().map(describe).collect::<Result<_>>()?;
        Ok(StackInfo { document, public_key, tables })
    }

    /// The layer's shards and the shard of each lookup of a request, for layers that this build
    /// knows, and the probability that a request fails for other reasons than its lookups.
    fn visits(&self) -> Option<(Vec<u64>, Vec<usize>, f64)> {
        if let Ok(Some(batched)) = BatchAccess::of(&self.document) {
            let code = batched.code();
            return Some((code.shards(), code.visits(), code.sizes().failure_log2()));
        }
        let [layer] = self.document.layers.as_slice() else { return None };
        let (design, leaves) = ProofLayout::parse(&layer.name, &layer.params).ok()?;
        let code = match design {
            ProofLayout::Batch(code) => code.sizes(leaves).failure_log2(),
            _ => f64::NEG_INFINITY,
        };
        Some((design.shards(leaves).ok()?, design.visits(leaves).ok()?, code))
    }

    /// The cost of a request.
    fn request(&self) -> Option<Request> {
        let schemes: Vec<_> = self.tables.iter().map(|(_, scheme)| scheme.as_ref()).collect::<Option<_>>()?;
        let servers = |i: usize| {
            self.tables
                .get(i)
                .and_then(|(catalog, _)| sotto_registry::find(&catalog.scheme))
                .map_or(1, |entry| entry.query_servers as u64)
        };
        let (shards, visits, code) = self.visits()?;
        let parts = self.tables.iter().zip(&schemes).map(|((catalog, _), scheme)| {
            Some(StackTable {
                count: usize::try_from(scheme.buckets).ok()?,
                rows: catalog.rows / scheme.buckets,
            })
        });
        let spread = QueryAssignment::new(parts.collect::<Option<_>>()?, &shards, &visits)?;
        let sum = |bytes: fn(&SchemeInfo) -> u64| {
            spread.queries().iter().filter_map(|i| Some(bytes(schemes.get(*i)?) * servers(*i))).sum()
        };
        let of_rows: Vec<_> = schemes.iter().map(|scheme| scheme.failure_log2).collect();
        Some(Request {
            lookups: visits.len(),
            queries: spread.queries().len(),
            up: sum(|scheme| scheme.query_bytes),
            down: sum(|scheme| scheme.answer_bytes),
            failure_log2: failure_log2(&[0, 1], &[failure_log2(spread.queries(), &of_rows), code]),
        })
    }

    pub(crate) fn text(&self) -> String {
        let StackInfo { document, public_key, tables } = self;
        let layers = document.layers.iter().map(|layer| format!("{} {}", layer.name, layer.params));
        let public: u64 = document.files.iter().map(|file| file.bytes).sum();
        let once: u64 =
            tables.iter().flat_map(|(_, scheme)| scheme).map(|scheme| scheme.artifact_bytes).sum();
        let keys: u64 = tables.iter().flat_map(|(_, scheme)| scheme).map(|scheme| scheme.keys_bytes).sum();
        let mut lines = vec![
            ("stack", format!("{}, epoch {}", document.stack, document.epoch)),
            ("layer", layers.collect::<Vec<_>>().join("; ")),
        ];
        lines.push(match self.request() {
            Some(Request { lookups, queries, up, down, .. }) => {
                let lookups = table_summary::lookups(lookups, queries);
                ("a request", format!("{lookups}: {} up, {} down", units::bytes(up), units::bytes(down)))
            }
            None => ("a request", "layer or scheme not in this build: not checked".to_owned()),
        });
        if let Some(Request { failure_log2, .. }) = self.request() {
            lines.push(("a request fails", format!("with probability {}", units::at_most(failure_log2))));
        }
        lines.extend([
            (
                "once",
                format!(
                    "{} of public files, {} of hints down per epoch, {} of keys up per session",
                    units::bytes(public),
                    units::bytes(once),
                    units::bytes(keys)
                ),
            ),
            ("snapshot", table_summary::snapshot(document.digest())),
            ("public key", public_key.to_string()),
        ]);
        if let Some(anchor) = &document.anchor {
            lines.push(("anchor", anchor.to_string()));
        }
        if let Some(expires) = document.expires {
            lines.push(("expires", table_summary::until(expires)));
        }
        if let Some(text) = &document.attribution {
            lines.push(("attribution", text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()));
        }
        let facts = grid::facts(lines);
        let columns = "table | >epoch | >rows | >bytes | scheme | >security | >core-SVP";
        let rows = tables.iter().map(|(catalog, scheme)| {
            let (rows, bytes) = (units::count(catalog.rows), units::count(catalog.row_bytes));
            let buckets =
                scheme.as_ref().and_then(table_summary::buckets).map(|buckets| format!(": {buckets}"));
            let described = scheme.as_ref();
            let [security, core_svp] = [
                described.map(|scheme| scheme.security_bits),
                described.and_then(|scheme| scheme.core_svp_bits),
            ]
            .map(|bits| bits.map_or_else(|| "-".to_owned(), units::security));
            let scheme = catalog.scheme.clone() + &buckets.unwrap_or_default();
            vec![
                catalog.table.to_string(),
                catalog.epoch.to_string(),
                rows,
                bytes,
                scheme,
                security,
                core_svp,
            ]
        });
        let tables = grid::grid(columns, rows);
        let columns = "public file | >bytes | BLAKE3";
        let rows = document.files.iter();
        let rows =
            rows.map(|file| vec![file.name.to_string(), units::count(file.bytes), file.digest.to_string()]);
        format!("{facts}\n\n{tables}\n\n{}", grid::grid(columns, rows))
    }

    pub(crate) fn report(&self) -> StackReport<'_> {
        let tables = self.tables.iter();
        StackReport {
            stack: &self.document,
            snapshot: table_summary::snapshot(self.document.digest()),
            public_key: self.public_key.to_string(),
            request: self.request(),
            tables: tables
                .map(|(catalog, scheme)| ShardReport { catalog, scheme: scheme.as_ref() })
                .collect(),
        }
    }
}

/// A stack.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StackReport<'a> {
    /// The stack's signed document.
    stack: &'a Stack,
    /// Digest of the document.
    snapshot: String,
    /// Public key that signed the document.
    public_key: String,
    /// Cost of a request; null if this build lacks the layer or a scheme.
    request: Option<Request>,
    /// Tables of the stack, in order.
    tables: Vec<ShardReport<'a>>,
}

/// A table of a stack.
#[derive(Serialize, JsonSchema)]
struct ShardReport<'a> {
    catalog: &'a Catalog,
    /// What the scheme says of its parameters; null if this build does not have the scheme.
    scheme: Option<&'a SchemeInfo>,
}

/// A stack in a folder.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StackDirReport<'a> {
    #[serde(flatten)]
    stack: StackReport<'a>,
    /// Path of the folder.
    path: &'a Path,
    /// Whether every section and public file was compared with its digest (`--verify`).
    verified: bool,
}

/// Inspects a stack's folder. Every table's catalog is compared with what the stack names; `verify`
/// reads all of it.
pub(crate) fn inspect(dir: &StackDir, verify: bool, screen: Screen) -> Result<Report> {
    let (signed, document) = dir.read()?;
    let bars = screen.bars();
    let mut catalogs = Vec::new();
    for (i, shard) in document.shards.iter().enumerate() {
        let table = TableDir::open(&dir.table(&shard.table))?;
        let image = table.open_epoch(shard.epoch)?;
        if !shard.is(image.catalog()) {
            return Err(Failure::input(format!(
                "epoch {} of table {} differs from the one that the stack names",
                shard.epoch, shard.table
            ))
            .fix("publish the stack again"));
        }
        if verify {
            let table = Some((i, document.shards.len()));
            image.verify(&|at| bars.watch(table, at))?;
        }
        catalogs.push(image.catalog().clone());
    }
    if verify {
        for file in &document.files {
            dir.file(file)?;
        }
    }
    bars.finish();
    let info = StackInfo::new(document, signed.public_key(), catalogs)?;
    let checked = match verify {
        true => "\nverified: every section of every table and every public file matches its digest",
        false => {
            "\nthe stack and its catalogs are valid; --verify checks the rest; --table NAME shows one table"
        }
    };
    let text = format!("{}\n\n{}\n{checked}", dir.path().display(), info.text());
    let json = StackDirReport { stack: info.report(), path: dir.path(), verified: verify };
    Ok(Report::new(text, &json))
}
