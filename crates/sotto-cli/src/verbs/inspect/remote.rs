//! Inspection of a server: its tables as any client sees them.

use crate::download::fetch;
use crate::failure::{Failure, Result};
use crate::screen::{Report, Screen, grid, units};
use crate::verbs::inspect::Inspect;
use crate::verbs::inspect::stack::StackInfo;
use crate::{download, table_summary};
use serde_json::json;
use sotto_catalog::{Catalog, KeyKind, SignedCatalog, SignedStack, Stack, TableKind};
use sotto_client::transport::Request;
use sotto_client::transport::http::HttpTransport;
use sotto_db::inspect::{SchemeInfo, describe};
use sotto_wire::routes;
use sotto_wire::sizes::MAX_CATALOG_BYTES;

pub(crate) fn inspect(args: &Inspect, screen: Screen) -> Result<Report> {
    if args.epoch.is_some() {
        return Err(Failure::usage("--epoch does not apply to a server"));
    }
    let mut server = download::connect(&args.target, None)?;
    let list = download::tables(&mut server)?;
    let names = match &args.table {
        Some(name) => vec![name.clone()],
        None => list.tables,
    };
    // Tables of a stack are shown with it, unless one is requested by name.
    let names_of_stacks = if args.table.is_some() { &[][..] } else { &list.stacks };
    let mut stacks = Vec::new();
    for name in names_of_stacks {
        stacks.push(stack(&mut server, name)?);
    }
    let is_list = names.len() + stacks.len() > 1;
    let mut text = Vec::new();
    text.extend(stacks.iter().filter(|_| !is_list).map(|stack| stack.text() + "\n"));
    let within = |name: &str| {
        let shards = stacks.iter().flat_map(|stack| &stack.document.shards);
        shards.map(|shard| shard.table.as_str()).any(|table| table == name)
    };
    let mut rows: Vec<_> = stacks.iter().map(|stack| stack_row(&stack.document)).collect();
    let mut tables = Vec::new();
    for name in &names {
        let signed = fetch(&mut server, Request::get(routes::table(name, None), MAX_CATALOG_BYTES))?;
        let signed = SignedCatalog::parse(&signed)?;
        let catalog = signed.verify(None)?;
        let entry = sotto_registry::find(&catalog.scheme);
        let scheme = entry.map(|entry| describe(&catalog, entry)).transpose()?;
        let public_key = signed.public_key().to_string();
        if args.verify {
            verify(&mut server, &catalog, screen)?;
        }
        let role = list.roles.get(name.as_str()).copied();
        if !within(name) && is_list {
            rows.push(table_row(&catalog));
        } else if !within(name) {
            text.push(described(&catalog, scheme.as_ref(), &public_key));
            text.extend(role.map(|role| format!("server {role} of {}\n", catalog.servers)));
        }
        let scheme = table_summary::scheme_json(&catalog, scheme.as_ref())?;
        let snapshot = table_summary::snapshot(catalog.digest());
        tables.push(json!({
            "public_key": public_key, "snapshot": snapshot, "catalog": catalog, "scheme": scheme, "role": role,
        }));
    }
    if is_list {
        text.push(format!("{}\n\n--table NAME shows one table in full", grid::grid(LIST, rows)));
    }
    if args.verify {
        let verified = "\nverified: every static file matches its digests, and every catalog its signature";
        text.push(verified.to_owned());
    }
    let stacks: Vec<_> = stacks.iter().map(StackInfo::json).collect();
    let json = json!({ "server": args.target, "stacks": stacks, "tables": tables, "verified": args.verify });
    Ok(Report::new(text.join("\n"), &json))
}

/// Columns of a list of tables and stacks.
const LIST: &str = "name | lookup by | >rows | >row | scheme | >epoch";

/// The line of a table in a list.
fn table_row(catalog: &Catalog) -> Vec<String> {
    let asked_by = match &catalog.kind {
        TableKind::Index => "row",
        TableKind::Keyword => "key",
        TableKind::Range { key: KeyKind::Ipv4, .. } => "address",
        _ => "number",
    };
    let rows = units::count(catalog.rows);
    let row = units::bytes(catalog.row_bytes);
    let (scheme, epoch) = (catalog.scheme.clone(), catalog.epoch.to_string());
    vec![catalog.table.to_string(), asked_by.to_owned(), rows, row, scheme, epoch]
}

/// The line of a stack in a list.
fn stack_row(stack: &Stack) -> Vec<String> {
    let layers: Vec<_> = stack.layers.iter().map(|layer| layer.name.as_str()).collect();
    let tables = format!("a stack of {} tables", stack.shards.len());
    let none = || "-".to_owned();
    vec![stack.stack.to_string(), layers.join(" over "), none(), none(), tables, stack.epoch.to_string()]
}

/// A stack, with the catalogs that it names.
fn stack(server: &mut HttpTransport, name: &str) -> Result<StackInfo> {
    let body = fetch(server, Request::get(routes::stack(name), SignedStack::MAX_BYTES as u64))?;
    let signed = SignedStack::parse(&body)?;
    let document = signed.verify(None)?;
    let mut catalogs = Vec::new();
    for shard in &document.shards {
        let path = routes::table(shard.table.as_str(), Some(shard.epoch));
        let catalog = SignedCatalog::parse(&fetch(server, Request::get(path, MAX_CATALOG_BYTES))?);
        let catalog = catalog.and_then(|signed| signed.verify(None))?;
        if !shard.is(&catalog) {
            let text = format!("table {} differs from the one that stack {name} names", shard.table);
            return Err(Failure::peer(text)
                .fix("try again, in case of a new epoch; if the error persists, tell the operator"));
        }
        catalogs.push(catalog);
    }
    StackInfo::new(document, signed.public_key(), catalogs)
}

/// Downloads every static file and compares it with its digests.
fn verify(server: &mut HttpTransport, catalog: &Catalog, screen: Screen) -> Result<()> {
    let bars = screen.bars();
    catalog.artifacts.iter().try_for_each(|entry| download::whole(server, entry, &bars, &mut |_| Ok(())))
}

fn described(catalog: &Catalog, scheme: Option<&SchemeInfo>, public_key: &str) -> String {
    let mut text = vec![grid::facts(table_summary::lines(catalog, scheme, public_key))];
    text.extend(table_summary::parameters(scheme));
    if catalog.artifacts.is_empty() {
        return text.join("\n") + "\n";
    }
    let columns = "static file | >bytes | >since epoch | BLAKE3";
    let rows = catalog.artifacts.iter().map(|entry| {
        let from = entry.from_epoch.map_or_else(|| "-".to_owned(), |epoch| epoch.to_string());
        vec![entry.artifact.name().to_owned(), units::count(entry.bytes), from, entry.digest.to_string()]
    });
    text.push(format!("\n{}\n", grid::grid(columns, rows)));
    text.join("\n")
}
