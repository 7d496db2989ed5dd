//! What `sotto serve` says once it answers: its addresses, the tables, stacks and use cases that it
//! serves, the certificate, and a first command for clients.

use crate::screen::{Report, units};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::{Catalog, PublicKey, Stack, TableKind, TableName};
use sotto_core::Epoch;
use sotto_db::TablePlacement;
use sotto_server::table_epoch::PassMaker;
use sotto_server::{RunningServer, SelfSignedCertificate, ServerConfig, TableEpoch, TableStatus};

/// What is served, and where. The list of tables is dropped here: a table that it held would
/// stay in memory, with its image, long after newer epochs replaced it.
pub(super) fn report(
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
        lines.extend(table.residence());
        lines.extend(table.pass_maker());
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
    let json = StartReport {
        event: "serving",
        public,
        admin,
        kernels,
        tables: own.iter().map(StartupTable::report).collect(),
        stacks: stacks.iter().map(|(stack, key)| ServedStack::new(stack, key)).collect(),
        use_cases: use_cases.iter().map(|(name, _)| name.to_string()).collect(),
        certificate: running.own.as_ref().map(|own| own.pem.clone()),
    };
    Report::new(lines.join("\n"), &json)
}

/// What is served, and where, once the server answers.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StartReport<'a> {
    /// Always `serving`.
    event: &'static str,
    /// Address for clients.
    public: String,
    /// Address for the operator.
    admin: String,
    /// Kernels that answers are computed with.
    kernels: &'a str,
    tables: Vec<ServedTable>,
    stacks: Vec<ServedStack>,
    /// Names of the tables of Apple's lookups.
    use_cases: Vec<String>,
    /// The self-signed certificate in PEM, if the server has one.
    certificate: Option<String>,
}

/// A table at the start of a server.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum ServedTable {
    /// A table that is not served.
    Refused {
        /// Name of the table.
        table: String,
        /// Always `refused`.
        standing: &'static str,
        /// Why it is not served.
        why: Option<String>,
    },
    /// A table that is served, or will be once its image is checked.
    Live {
        /// Name of the table.
        table: TableName,
        /// `served`, or `reading` while its image is being checked.
        standing: &'static str,
        epoch: Epoch,
        /// Number of rows.
        rows: u64,
        /// Bytes of a row.
        row_bytes: u64,
        /// Whether rows are masked, so that each needs an evaluation.
        symmetric: bool,
        /// Name of the scheme.
        scheme: String,
        /// Number of servers that a query is sent to.
        servers: u32,
        /// Role of this server, counted from 0.
        role: u8,
        /// Where the table is in memory, once that is decided.
        resident: Option<Resident>,
        /// Who makes the passes, with `--gpu`.
        #[serde(skip_serializing_if = "Option::is_none")]
        passes: Option<Passes>,
        /// Public key that signed the catalog.
        public_key: String,
    },
}

/// Where a table is in memory.
#[derive(Serialize, JsonSchema)]
struct Resident {
    bytes: u64,
    /// `memory` for a copy, or `file` for the mapped file.
    place: &'static str,
    /// Share of the bytes on huge pages, if the system reports it.
    huge_share: Option<f64>,
    /// Reason for the place.
    why: String,
}

/// Who makes the passes over a table.
#[derive(Serialize, JsonSchema)]
struct Passes {
    /// The graphics card and its driver; `null` if the processor makes them.
    device: Option<String>,
    /// Bytes of the table in the card's memory.
    bytes: u64,
    /// Reason why the processor makes them.
    why: Option<String>,
}

/// A stack at the start of a server.
#[derive(Serialize, JsonSchema)]
struct ServedStack {
    /// Name of the stack.
    stack: String,
    epoch: Epoch,
    /// Names of the layers.
    layers: Vec<String>,
    /// Names of the tables.
    tables: Vec<String>,
    /// Public key that signed the stack.
    public_key: String,
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
    fn residence(&self) -> Option<String> {
        let (live, residence) = self.live().and_then(|live| Some((live, live.residence()?)))?;
        Some(format!("table {}: {} {residence}", live.catalog().table, units::bytes(residence.bytes)))
    }

    /// Who makes the passes, if the server has an accelerator.
    fn pass_maker(&self) -> Option<String> {
        let live = self.live()?;
        let passes = match live.pass_maker()? {
            PassMaker::Accelerator { device, bytes } => format!("on {device}, {}", units::bytes(bytes)),
            PassMaker::Processor(why) => format!("by the processor: {why}"),
        };
        Some(format!("table {}: passes {passes}", live.catalog().table))
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

    fn report(&self) -> ServedTable {
        let (live, standing, why) = match &self.standing {
            TableStatus::Live(table) => (Some(table), "served", None),
            TableStatus::Reading(table, _) => (Some(table), "reading", None),
            TableStatus::Refused(why) => (None, "refused", Some(why.to_string())),
        };
        let Some(live) = live else {
            return ServedTable::Refused { table: self.name.clone(), standing, why };
        };
        let catalog = live.catalog();
        ServedTable::Live {
            table: catalog.table.clone(),
            standing,
            epoch: catalog.epoch,
            rows: catalog.rows,
            row_bytes: catalog.row_bytes,
            symmetric: is_symmetric(catalog),
            scheme: catalog.scheme.clone(),
            servers: catalog.servers,
            role: live.pin().server,
            resident: live.residence().map(Resident::from),
            passes: live.pass_maker().map(Passes::from),
            public_key: live.public_key().to_string(),
        }
    }
}

impl From<PassMaker> for Passes {
    fn from(maker: PassMaker) -> Self {
        match maker {
            PassMaker::Accelerator { device, bytes } => Passes { device: Some(device), bytes, why: None },
            PassMaker::Processor(why) => Passes { device: None, bytes: 0, why: Some(why) },
        }
    }
}

impl From<TablePlacement> for Resident {
    fn from(placement: TablePlacement) -> Self {
        let TablePlacement { bytes, is_copy, huge_share, why } = placement;
        Resident { bytes, place: if is_copy { "memory" } else { "file" }, huge_share, why: why.to_string() }
    }
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

impl ServedStack {
    fn new(stack: &Stack, key: &PublicKey) -> Self {
        ServedStack {
            stack: stack.stack.to_string(),
            epoch: stack.epoch,
            layers: stack.layers.iter().map(|layer| layer.name.clone()).collect(),
            tables: stack.shards.iter().map(|shard| shard.table.to_string()).collect(),
            public_key: key.to_string(),
        }
    }
}
