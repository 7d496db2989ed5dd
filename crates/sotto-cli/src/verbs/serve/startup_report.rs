//! The report of a server about its tables and its certificate at startup.

use crate::screen::{Report, units};
use serde_json::json;
use sotto_catalog::{Catalog, PublicKey, Stack, TableKind};
use sotto_db::TablePlacement;
use sotto_server::{RunningServer, SelfSignedCertificate, ServerConfig, TableEpoch, TableStatus};

/// What is served, and where. The list of tables is dropped here: a table that it held would
/// stay in memory, with its image, long after newer epochs replaced it.
pub(crate) fn startup_report(
    config: &ServerConfig,
    running: &RunningServer,
    stacks: &[(Stack, PublicKey)],
    kernels: &str,
) -> Report {
    let scheme = if running.is_https { "https" } else { "http" };
    let (public, admin) = (format!("{scheme}://{}", running.public), format!("http://{}", running.admin));
    let announced: Vec<_> =
        running.tables().into_iter().map(|(name, standing)| StartupTable { name, standing }).collect();
    // Tables of stacks come last, and have a line only if there is something to report.
    let (own, shards) = announced.split_at(config.tables.len().min(announced.len()));
    let use_cases = sotto_guest_server::use_cases(running);
    // Address and first command come first; all of it in one write, so that a reader who waits for the address has the rest too.
    let mut lines = vec![format!("serving on {public}, health and metrics on {admin}; Ctrl-C stops it")];
    lines.extend(own.iter().find_map(|table| table.next(&public, running.own.as_ref())));
    if let (None, Some((name, _))) = (own.first(), use_cases.first()) {
        lines.push(format!("next: sotto get --apple {public} --use-case {name} --key KEY"));
    }
    if config.static_dir.is_some() {
        lines.push(format!("page for browsers: {public}/"));
    }
    lines.extend(running.own.as_ref().map(certificate));
    for table in own.iter().chain(shards.iter().filter(|table| table.live().is_none())) {
        lines.push(table.line());
        lines.extend(table.lies());
    }
    for (stack, key) in stacks {
        let (name, tables) = (&stack.stack, stack.shards.len());
        let layers: Vec<_> = stack.layers.iter().map(|layer| layer.name.as_str()).collect();
        let layers = layers.join(" over ");
        lines
            .push(format!("stack {name}: epoch {}, {layers} over {tables} tables\n  pin {key}", stack.epoch));
    }
    for (name, live) in &use_cases {
        let live = if *live == 1 { String::new() } else { format!(", {live} configurations") };
        lines.push(format!("use case {name}: Apple's private lookups{live}"));
    }
    let json = json!({
        "event": "serving",
        "public": public,
        "admin": admin,
        "kernels": kernels,
        "tables": own.iter().map(StartupTable::json).collect::<Vec<_>>(),
        "stacks": stacks.iter().map(|(stack, key)| stack_json(stack, key)).collect::<Vec<_>>(),
        "use_cases": use_cases.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "certificate": running.own.as_ref().map(|own| &own.pem),
    });
    Report::new(lines.join("\n"), &json)
}

/// A table in the report.
struct StartupTable {
    name: String,
    standing: TableStatus,
}

/// A self-signed certificate, and how a client trusts it.
fn certificate(own: &SelfSignedCertificate) -> String {
    let fingerprint = &own.fingerprint;
    match &own.files {
        Some(files) => format!(
            "self-signed certificate in {}: give clients a copy for --trust-root\n  sha256 {fingerprint}",
            files.cert.display()
        ),
        None => format!(
            "self-signed certificate for this run only (--state DIR keeps it): give clients the lines \
             below in a file for --trust-root\n  sha256 {fingerprint}\n{}",
            own.pem.trim_end()
        ),
    }
}

impl StartupTable {
    fn live(&self) -> Option<&TableEpoch> {
        match &self.standing {
            TableStatus::Live(table) => Some(table),
            _ => None,
        }
    }

    fn line(&self) -> String {
        match &self.standing {
            TableStatus::Live(table) => described(table, ""),
            TableStatus::Reading(table, _) => described(
                table,
                ", not ready: its image is being checked (see the log for the progress; /readyz waits for it)",
            ),
            TableStatus::Refused(why) => format!("table {}: NOT SERVED: {why}", self.name),
        }
    }

    /// Where the table is in memory and on which pages, once that is decided.
    fn lies(&self) -> Option<String> {
        let (live, residence) = self.live().and_then(|live| Some((live, live.residence()?)))?;
        Some(format!("table {}: {} {residence}", live.catalog().table, units::bytes(residence.bytes)))
    }

    fn next(&self, public: &str, own: Option<&SelfSignedCertificate>) -> Option<String> {
        let live = self.live()?;
        let (catalog, role) = (live.catalog(), u32::from(live.pin().server));
        let server = |server| match server == role {
            true => format!("--server {public}"),
            false => format!("--server (address of server {server}, at another operator)"),
        };
        let servers: Vec<_> = (0..catalog.servers).map(server).collect();
        let (servers, table) = (servers.join(" "), &catalog.table);
        let example = if catalog.kind == TableKind::Index { "--row 0" } else { "--key KEY" };
        let trust = match own.map(|own| &own.files) {
            Some(Some(files)) => format!(" --trust-root {}", files.cert.display()),
            Some(None) => " --trust-root FILE".to_owned(),
            None => String::new(),
        };
        Some(format!(
            "next: sotto get {servers} --table {table} {example} --pin {}{trust}",
            live.public_key()
        ))
    }

    fn json(&self) -> serde_json::Value {
        let (live, standing, why) = match &self.standing {
            TableStatus::Live(table) => (Some(table), "served", None),
            TableStatus::Reading(table, _) => (Some(table), "reading", None),
            TableStatus::Refused(why) => (None, "refused", Some(why)),
        };
        let Some(live) = live else { return json!({ "table": self.name, "standing": standing, "why": why }) };
        let catalog = live.catalog();
        json!({
            "table": catalog.table,
            "standing": standing,
            "epoch": catalog.epoch,
            "rows": catalog.rows,
            "row_bytes": catalog.row_bytes,
            "symmetric": is_symmetric(catalog),
            "scheme": catalog.scheme,
            "servers": catalog.servers,
            "role": live.pin().server,
            "resident": live.residence().map(resident_json),
            "public_key": live.public_key().to_string(),
        })
    }
}

fn resident_json(residence: TablePlacement) -> serde_json::Value {
    json!({
        "bytes": residence.bytes,
        "place": if residence.is_copy { "memory" } else { "file" },
        "huge_share": residence.huge_share,
        "why": residence.why.to_string(),
    })
}

fn is_symmetric(catalog: &Catalog) -> bool {
    catalog.symmetric_layer().is_ok_and(|masked| masked.is_some())
}

fn described(live: &TableEpoch, standing: &str) -> String {
    let catalog = live.catalog();
    let (name, rows) = (&catalog.table, units::count(catalog.rows));
    let masked = if is_symmetric(catalog) { ", symmetric" } else { "" };
    let bytes = catalog.unmasked_row_bytes().unwrap_or(catalog.row_bytes);
    let role = match catalog.servers {
        1 => String::new(),
        servers => format!(", server {} of {servers}", live.pin().server),
    };
    format!(
        "table {name}: epoch {}, {rows} rows of {bytes} bytes, {}{masked}{role}{standing}\n  pin {}",
        catalog.epoch,
        catalog.scheme,
        live.public_key()
    )
}

fn stack_json(stack: &Stack, key: &PublicKey) -> serde_json::Value {
    json!({
        "stack": stack.stack,
        "epoch": stack.epoch,
        "layers": stack.layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>(),
        "tables": stack.shards.iter().map(|shard| &shard.table).collect::<Vec<_>>(),
        "public_key": key.to_string(),
    })
}
