//! The summary of what a table promises and costs, which `encode` and `inspect` print.

use crate::screen::{grid, units};
use sotto_catalog::{Catalog, CatalogError, Hex32, KeyKind, RowForm, TableKind, ValueKind};
use sotto_db::ingest::{Notes, out_of_proportion};
use sotto_db::inspect::SchemeInfo;
use sotto_layers::Keyword;
use sotto_layers::keyword::ValueLength;
use sotto_wire::MessageSizes;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Detail that names the parameter set, in schemes with several.
const SET: &str = "set";

/// The lines of the summary: (name, value).
pub(crate) fn lines(
    catalog: &Catalog,
    scheme: Option<&SchemeInfo>,
    public_key: &str,
) -> Vec<(&'static str, String)> {
    let table_bytes = catalog.rows.saturating_mul(catalog.row_bytes);
    let masked = catalog.symmetric_layer().ok().flatten();
    let mut lines = vec![
        ("table", format!("{}, epoch {}", catalog.table, catalog.epoch)),
        (
            "rows",
            format!(
                "{} of {} bytes ({}), {}",
                units::count(catalog.rows),
                masked.map_or(catalog.row_bytes, |masked| masked.item_bytes),
                units::bytes(table_bytes),
                values(catalog)
            ),
        ),
        ("lookup by", asked_by(catalog)),
        ("verified", verified(catalog)),
    ];
    if masked.is_some() {
        let bytes = catalog.row_bytes;
        lines.push((
            "symmetric",
            format!(
                "rows are masked, {bytes} bytes each; each opens with one evaluation, which the server grants"
            ),
        ));
    }
    if let Ok(Some(keyword)) = catalog.keyword() {
        lines.extend(keys(&keyword, catalog.value));
    }
    match scheme {
        Some(scheme) => lines.extend(promises(catalog, scheme)),
        None => lines.push(("scheme", format!("{} (not in this build: not checked)", catalog.scheme))),
    }
    if let Some(text) = &catalog.attribution {
        let safe = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        lines.push(("attribution", safe.collect()));
    }
    if let Some(anchor) = &catalog.anchor {
        lines.push(("anchor", anchor.to_string()));
    }
    if let Some(expires) = catalog.expires {
        lines.push(("expires", until(expires)));
    }
    lines.push(("snapshot", snapshot(catalog.digest())));
    lines.push(("public key", public_key.to_owned()));
    lines
}

/// The value for `--snapshot`: the digest of a catalog or of a stack.
pub(crate) fn snapshot(digest: std::result::Result<Hex32, CatalogError>) -> String {
    digest.map_or_else(|error| format!("none: {error}"), |digest| digest.to_string())
}

/// The first second of the year 10000, in Unix time.
const MAX_DATED_SECONDS: u64 = 253_402_300_800;

/// The time until which something is good, and how far that is from now.
pub(crate) fn until(expires: u64) -> String {
    let now = crate::unix_time();
    let hours = |seconds: u64| match seconds / 3600 {
        hours if hours < 48 => format!("{hours} hours"),
        hours => format!("{} days", hours / 24),
    };
    // A time beyond the year 9999 has no date.
    let date = match UNIX_EPOCH.checked_add(Duration::from_secs(expires)) {
        Some(time) if expires < MAX_DATED_SECONDS => httpdate::fmt_http_date(time),
        _ => "the year 10000 or later".to_owned(),
    };
    match expires.checked_sub(now) {
        Some(left) if left > 0 => format!("{date}, {} from now", hours(left)),
        _ => format!("{date}, {} ago; clients refuse it", hours(now.saturating_sub(expires))),
    }
}

/// What the scheme reports about its parameters, if anything.
pub(crate) fn parameters(scheme: Option<&SchemeInfo>) -> Option<String> {
    let details = &scheme.filter(|scheme| !scheme.details.is_empty())?.details;
    // The set is printed above, next to the scheme.
    let facts = details.iter().filter(|(name, _)| *name != SET).map(|(name, value)| (*name, value.clone()));
    Some(format!("\nparameters\n\n{}", grid::facts(facts)))
}

/// Base-2 logarithm of a sieve's cost for each dimension of the block, in core-SVP: classical
/// (Becker, Ducas, Gama and Laarhoven 2016), and with Grover's search (Laarhoven 2015).
const CLASSICAL: f64 = 0.292;
const QUANTUM: f64 = 0.265;

/// The number of a request's lookups, and of its queries if one is for several of them.
pub(crate) fn lookups(lookups: usize, queries: usize) -> String {
    match queries {
        queries if queries == lookups => format!("{lookups} lookups"),
        1 => format!("{lookups} lookups in one query"),
        queries => format!("{lookups} lookups in {queries} queries"),
    }
}

/// The number of a table's buckets, if one query is for several.
pub(crate) fn buckets(scheme: &SchemeInfo) -> Option<String> {
    let queries = if scheme.records_per_row == 1 {
        "one query".to_owned()
    } else {
        format!("{} queries", scheme.records_per_row)
    };
    (scheme.buckets > 1).then(|| format!("{} buckets, {queries}", scheme.buckets))
}

/// The number of requests for `rows` rows.
fn requests(catalog: &Catalog, rows: usize) -> Option<usize> {
    let terms = catalog.terms(sotto_registry::find(&catalog.scheme)?).ok()?;
    let lookups = terms.packing.records_per_row();
    Some(rows.div_ceil((MessageSizes::max_queries(&terms.report.costs, lookups) / lookups).max(1)))
}

fn promises(catalog: &Catalog, scheme: &SchemeInfo) -> Vec<(&'static str, String)> {
    // A key takes a lookup of each row that may contain it.
    let keyword = catalog.keyword().ok().flatten();
    let rows = keyword.as_ref().map_or(1, |keyword| keyword.params().probes);
    let in_sums = keyword.is_some_and(|keyword| keyword.params().band.is_some());
    let queries = match scheme.records_per_row * rows as usize {
        1 => "1 query".to_owned(),
        n => format!("{n} queries"),
    };
    let queries = match requests(catalog, rows as usize) {
        Some(requests) if requests > 1 => format!("{queries} in {requests} requests"),
        _ => queries,
    };
    let per_lookup = match catalog.servers {
        1 => queries,
        servers => format!("{queries} to each of {servers} servers"),
    };
    let per_lookup = match is_downloadable(catalog) {
        true => "sends nothing: rows are looked up in the download".to_owned(),
        false => format!(
            "{per_lookup}: {} up, {} down",
            units::bytes(scheme.query_bytes.saturating_mul(rows.into())),
            units::bytes(scheme.answer_bytes.saturating_mul(rows.into()))
        ),
    };
    let down = scheme.artifact_bytes.saturating_add(tree_bytes(catalog));
    let hint = format!("{} down per epoch", units::bytes(down));
    let keys = format!("{} of keys up per session", units::bytes(scheme.keys_bytes));
    let once = match (down, scheme.keys_bytes) {
        (0, 0) => "nothing".to_owned(),
        (_, 0) => hint,
        (0, _) => keys,
        _ => format!("{hint}, {keys}"),
    };
    let set = scheme.details.iter().find(|(name, _)| *name == SET).map(|(_, set)| (SET, set.clone()));
    let free = scheme.capacity.saturating_sub(catalog.rows);
    let mut lines = vec![("scheme", format!("{}: {}", catalog.scheme, scheme.title))];
    lines.extend(set);
    if catalog.servers > 1 {
        let who = "each with another operator: together they would see what is looked up";
        lines.push(("servers", format!("{}, {who}", catalog.servers)));
    }
    lines.extend(buckets(scheme).map(|buckets| ("buckets", buckets)));
    lines.extend([
        ("records", format!("{} of {}", units::count(scheme.records), units::bytes(scheme.record_bytes))),
        ("a lookup", per_lookup),
        ("once", once),
        ("security", format!("{} ({})", units::security(scheme.security_bits), scheme.security_model)),
    ]);
    if let Some(bits) = scheme.core_svp_bits {
        let quantum = units::security(bits / CLASSICAL * QUANTUM);
        let model =
            format!("{CLASSICAL} beta, classical, uSVP; a lower scale; {quantum} quantum, {QUANTUM} beta");
        lines.push(("core-SVP", format!("{} ({model})", units::security(bits))));
    }
    lines.extend([
        ("a lookup fails", format!("with probability {}", units::at_most(scheme.failure_log2))),
        (
            "updates",
            match (scheme.can_update, &catalog.kind) {
                (true, TableKind::Keyword) if in_sums => {
                    "changed keys in place, in a part of all records, as long as strips have room".to_owned()
                }
                (true, TableKind::Keyword) => "changed keys in place, as long as rows have room".to_owned(),
                (true, _) => format!("changed rows in place; room for {} more", units::count(free)),
                (false, _) => "by encoding again".to_owned(),
            },
        ),
    ]);
    lines
}

/// The type of the values, and their length.
fn values(catalog: &Catalog) -> String {
    let kind = value(catalog.value);
    match (catalog.row_form(), catalog.unmasked_row_bytes()) {
        (Ok(form @ RowForm::Length(bytes)), Ok(item_bytes)) => {
            let longest = item_bytes.saturating_sub(form.overhead());
            format!("{kind} of 0 to {longest} bytes, each after its length ({bytes} B)")
        }
        _ => kind.to_owned(),
    }
}

/// The name of a type of values.
pub(crate) fn value(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Text => "text",
        ValueKind::Unsigned => "unsigned integers",
        _ => "bytes",
    }
}

/// Bytes of the tree that clients fetch; 0 if they need none.
fn tree_bytes(catalog: &Catalog) -> u64 {
    let root = &catalog.rows_root;
    if root.needs_tree(catalog.rows) { root.tree_bytes(catalog.rows) } else { 0 }
}

/// Whether clients download the table, as its scheme says.
fn is_downloadable(catalog: &Catalog) -> bool {
    sotto_registry::find(&catalog.scheme).is_some_and(|entry| entry.is_downloadable())
}

/// Whether and how a client verifies a row.
pub(crate) fn verified(catalog: &Catalog) -> String {
    let once = units::bytes(tree_bytes(catalog));
    match (catalog.rows_root.path, tree_bytes(catalog)) {
        _ if is_downloadable(catalog) => "each row, by the signed digest of the download".to_owned(),
        (Some(0), 0) => "each row, against the signed root".to_owned(),
        (Some(0), _) => format!("each row, with {once} fetched once"),
        (Some(path), 0) => format!("each row, with {path} hashes in the row"),
        (Some(path), _) => {
            format!("each row, with {path} hashes in the row and {once} fetched once")
        }
        (None, _) => {
            "no row by itself (see --row-proofs); `sotto audit rows` compares all of them".to_owned()
        }
    }
}

fn asked_by(catalog: &Catalog) -> String {
    let Ok(Some(keyword)) = catalog.keyword() else { return kind(&catalog.kind) };
    let false_positive = units::at_most(keyword.params().false_positive_log2());
    format!("key; a missing key is found with probability {false_positive}")
}

/// The form of keys and values, and their layout in rows.
fn keys(keyword: &Keyword, kind: ValueKind) -> [(&'static str, String); 3] {
    let params = keyword.params();
    let values = match params.values {
        ValueLength::Fixed(0) => "none: a lookup says whether the table has the key".to_owned(),
        ValueLength::Fixed(bytes) => format!("{}, {bytes} bytes each", value(kind)),
        ValueLength::UpTo(max) => {
            format!("{}, up to {max} bytes, padded to one length", value(kind))
        }
    };
    let layout = match params.probes {
        _ if params.band.is_some() => {
            format!("in sums of rows, in strips of at most {} keys", params.slots)
        }
        1 => format!("{} keys per row; the catalog maps each key to a row", params.slots),
        probes => format!("{} keys per row; a key is in one of {probes} rows", params.slots),
    };
    [
        ("keys", format!("{}, up to {} bytes (--key-form)", params.form.name(), params.key_bytes)),
        ("values", values),
        ("layout", layout),
    ]
}

/// How a row is looked up: by index, key or range.
pub(crate) fn kind(kind: &TableKind) -> String {
    match kind {
        TableKind::Index => "row number".to_owned(),
        TableKind::Range { key, block, first, .. } => {
            let (what, first) = match key {
                KeyKind::Ipv4 => {
                    let address = u32::try_from(*first).map(|n| Ipv4Addr::from(n).to_string());
                    ("IPv4 address", address.unwrap_or_else(|_| first.to_string()))
                }
                _ => ("key", first.to_string()),
            };
            format!("{what}, in blocks of {block} from {first}")
        }
        _ => "a kind of key that this build does not know".to_owned(),
    }
}

/// Notes for the owner of the file: what was unusual about it, and about the size of the result.
pub(crate) fn remarks(notes: &Notes, image_bytes: u64, input: Option<&Path>) -> Vec<String> {
    let file_bytes = input.and_then(|input| std::fs::metadata(input).ok()).map(|metadata| metadata.len());
    let of_size = file_bytes.and_then(|bytes| out_of_proportion(image_bytes, bytes));
    notes.remarks().into_iter().chain(of_size).map(|note| format!("note: {note}")).collect()
}

/// Stages and their times, in one line.
pub(crate) fn stages_text(stages: &[(String, Duration)]) -> String {
    let stages: Vec<_> = stages.iter().map(|(name, time)| format!("{name} {}", units::time(*time))).collect();
    stages.join(", ")
}

/// Seconds of each stage of some work, by its name.
pub(crate) type StageSeconds = BTreeMap<String, f64>;

/// Stages and their times, in seconds.
pub(crate) fn stage_seconds(stages: &[(String, Duration)]) -> StageSeconds {
    stages.iter().map(|(name, time)| (name.clone(), time.as_secs_f64())).collect()
}

/// The total time with that of each stage, in one line.
pub(crate) fn took(seconds: f64, stages: &[(String, Duration)]) -> String {
    let total = Duration::from_secs_f64(seconds.max(0.0));
    format!("{} ({})", units::time(total), stages_text(stages))
}
