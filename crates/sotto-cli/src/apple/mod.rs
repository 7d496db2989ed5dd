//! Apple's private lookups, a guest: tables and lookups in the protocol of phones. The verbs
//! `encode`, `update`, `get`, `inspect`, `doctor` and `backup` call this module where a target or an
//! option asks for it, and the rest of the command does not name it.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@encode`] | tables from ordinary files, and their next epochs |
//! | [`get`] | lookups on a server |
//! | `client_files` | keys of a client, and the shards that each server has seen |
//! | `connection` | a connection with the headers of every request, and tokens of Privacy Pass |
//! | `relay` | Oblivious HTTP (feature `ohttp`) |

mod client_files;
mod connection;
pub(crate) mod encode;
pub(crate) mod get;
#[cfg(feature = "ohttp")]
mod relay;

use crate::failure::Result;
use crate::screen::{Report, Screen, grid, units};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_apple::image::oprf::read_fitting;
use sotto_apple::image::{OpenUseCase, UseCaseDescription, UseCaseKind};
use sotto_apple::sets::WeakParams;
use sotto_catalog::Hex32;
use sotto_client::transport::Response;
use sotto_core::{Epoch, Image, Section};
use sotto_db::{PathKind, TableDir};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The lines that summarize a table.
pub(crate) fn facts(opened: &OpenUseCase) -> Vec<(&'static str, String)> {
    let description = &opened.description;
    let mut lines = vec![
        ("use case", format!("{}, epoch {}", description.name, description.epoch)),
        (
            "lookup by",
            match &description.kind {
                UseCaseKind::Keyword { form, .. } => format!("key ({})", form.name()),
                UseCaseKind::Index | UseCaseKind::IndexWithLengths => "row number".to_owned(),
            },
        ),
        ("rows", units::count(description.rows())),
    ];
    if description.oprf.is_some() {
        lines.push((
            "symmetric",
            "rows are sealed; each opens with one evaluation, which the server grants".to_owned(),
        ));
    }
    if let Some(shard) = description.shards.first() {
        let [d0, d1] = shard.dimensions;
        let (entries, bytes) = (units::count(shard.entries), units::bytes(shard.entry_bytes));
        let tables = match description.kind {
            UseCaseKind::Keyword { .. } => format!("2 tables of {entries} buckets of {bytes}"),
            UseCaseKind::Index => format!("a table of {entries} rows of {bytes}"),
            UseCaseKind::IndexWithLengths => {
                format!("a table of {entries} rows of up to {bytes}, with their lengths")
            }
        };
        lines
            .push(("shards", format!("{}, each {tables}: {d0} x {d1} plaintexts", description.shards.len())));
    }
    let costs = opened.use_case.costs();
    let bytes = |bytes: usize| units::bytes(bytes as u64);
    lines.push(("parameters", format!("{}, {}", description.set, security(description))));
    lines.push((
        "client sends",
        format!("{} of keys once, {} per query", bytes(costs.keys), bytes(costs.query)),
    ));
    lines.push(("client receives", bytes(costs.answer)));
    lines
}

fn security(description: &UseCaseDescription) -> String {
    let security = description
        .set()
        .ok()
        .and_then(|set| set.kit(WeakParams::Allow).ok())
        .and_then(|(_, security)| security);
    security.map_or("less than 128 bits of security".into(), |security| {
        format!("{:.1} bits of security", security.bits)
    })
}

/// A table of Apple's lookups.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UseCaseReport<'a> {
    /// Path of the image.
    image: &'a Path,
    /// Bytes of the image.
    image_bytes: u64,
    /// Bytes that answers are computed from.
    table_bytes: usize,
    /// Number of rows.
    rows: u64,
    description: &'a UseCaseDescription,
    /// BLAKE3 digest of the image.
    digest: Hex32,
    /// Bytes of a client's keys.
    keys_bytes: usize,
    /// Bytes of a query.
    query_bytes: usize,
    /// Bytes of an answer.
    answer_bytes: usize,
}

/// A table of Apple's lookups that is inspected.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UseCaseInspection<'a> {
    #[serde(flatten)]
    table: UseCaseReport<'a>,
    /// Whether every section was compared with its digest (`--verify`).
    verified: bool,
}

impl<'a> UseCaseReport<'a> {
    pub(crate) fn new(opened: &'a OpenUseCase) -> Self {
        let (costs, file) = (opened.use_case.costs(), opened.image.file());
        UseCaseReport {
            image: file.path(),
            image_bytes: file.header().file_bytes,
            table_bytes: file.section(Section::Resident).map_or(0, <[u8]>::len),
            rows: opened.description.rows(),
            description: &opened.description,
            digest: file.digest(),
            keys_bytes: costs.keys,
            query_bytes: costs.query,
            answer_bytes: costs.answer,
        }
    }
}

/// The file to inspect at a path, if it is a table of Apple's lookups.
pub(crate) fn find(target: &Path, epoch: Option<u64>) -> Result<Option<PathBuf>> {
    Ok(match PathKind::of(target)? {
        PathKind::Foreign(dir, newest) => Some(epoch.map_or(newest, |epoch| dir.image_path(Epoch(epoch)))),
        PathKind::ForeignFile => Some(target.to_owned()),
        _ => None,
    })
}

pub(crate) fn inspect(path: &Path, verify: bool, screen: Screen) -> Result<Report> {
    let opened = open(path)?;
    let file = opened.image.file();
    if verify {
        let bars = screen.bars();
        file.verify(&|at| bars.watch(None, at))?;
    }
    let checked = match verify {
        true => "verified: every section matches its digest",
        false => "header and description are valid; --verify compares every section with its digest",
    };
    let (bytes, facts) = (units::bytes(file.header().file_bytes), grid::facts(facts(&opened)));
    let text = format!("{} ({bytes})\n\n{facts}\n\n{checked}", path.display());
    Ok(Report::new(text, &UseCaseInspection { table: UseCaseReport::new(&opened), verified: verify }))
}

/// Opens a table to inspect it. A weak one may be inspected, though not served.
pub(crate) fn open(path: &Path) -> Result<OpenUseCase> {
    Ok(sotto_apple::image::open(path, WeakParams::Allow)?)
}

/// Whether the key of a symmetric table lies beside it; `None` for a table without one.
pub(crate) fn check_oprf_key(path: &Path, opened: &OpenUseCase) -> Option<Result<(), String>> {
    let public = opened.description.oprf.as_ref()?;
    let dir = TableDir::open(path.parent().unwrap_or(Path::new("."))).map_err(|error| error.to_string());
    Some(dir.and_then(|dir| read_fitting(&dir, public).map(drop).map_err(|error| error.to_string())))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_secs())
}

/// The beginning of a refusal's text.
fn why(response: &Response) -> String {
    String::from_utf8_lossy(&response.body).chars().filter(|c| !c.is_control()).take(200).collect()
}
