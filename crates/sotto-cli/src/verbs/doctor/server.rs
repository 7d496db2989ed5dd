//! Checks of a server at an address, and of any proxy in front of it.

use crate::download;
use crate::download::fetch;
use crate::failure::{Failure, Result};
use crate::screen::progress::{ProgressLine, StageUnit};
use crate::screen::units;
use crate::verbs::doctor::probe::ServerAddress;
use crate::verbs::doctor::{Findings, files, probe};
use rustls::RootCertStore;
use sotto_catalog::{Catalog, SignedCatalog};
use sotto_client::transport::http::HttpTransport;
use sotto_client::transport::{Request, Transport};
use sotto_wire::sizes::{MAX_CATALOG_BYTES, MAX_PROBLEM_BYTES, MessageSizes};
use sotto_wire::{Code, Problem, routes};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Difference in seconds below which two clocks count as equal.
const SECONDS: u64 = 60;

/// Headers that identify a request, by which the logs of both ends can be linked.
const NAMES: [&str; 6] =
    ["x-request-id", "x-correlation-id", "x-amzn-trace-id", "x-amz-cf-id", "cf-ray", "traceparent"];

/// A table as one server has it.
struct ServedTableInfo {
    catalog: Catalog,
    role: Option<u8>,
}

pub(crate) fn check(
    urls: &[String],
    trust: Option<&Path>,
    bars: &ProgressLine,
    findings: &mut Findings,
) -> Result<()> {
    let roots = probe::roots(trust)?;
    let mut tables: BTreeMap<String, Vec<ServedTableInfo>> = BTreeMap::new();
    for (at, url) in urls.iter().enumerate() {
        bars.at("checking servers", at as u64, urls.len() as u64, StageUnit::Count("servers"));
        let address = ServerAddress::of(url).ok_or_else(|| {
            Failure::usage(format!("{url} is not an address")).fix("give http://HOST:PORT or https://HOST")
        })?;
        if !connection(url, &address, &roots, findings) {
            continue;
        }
        let mut http = download::connect(url, trust)?;
        match self::tables(url, &mut http, findings) {
            Ok(found) => found.into_iter().for_each(|table| {
                tables.entry(table.catalog.table.to_string()).or_default().push(table);
            }),
            Err(failure) => findings.failure(url, failure),
        }
    }
    roles(&tables, findings);
    Ok(())
}

/// Checks the connection, the clock and the headers; returns whether there is a server at all.
fn connection(url: &str, address: &ServerAddress, roots: &RootCertStore, findings: &mut Findings) -> bool {
    if address.tls {
        match probe::tls(address, roots) {
            Ok(tls) => {
                match tls.old {
                    true => findings.note(
                        url,
                        "TLS 1.2",
                        "enable TLS 1.3, which saves a round trip and encrypts certificates",
                    ),
                    false => findings.good(url, "TLS 1.3"),
                }
                match tls.http2 {
                    true => findings.good(url, "HTTP/2"),
                    false => findings.note(
                        url,
                        "no HTTP/2",
                        "enable it in the proxy: relays of Oblivious HTTP need it",
                    ),
                }
            }
            Err(error) => {
                let remedy =
                    "check the certificate's name, date and chain; give --trust-root for a root of your own";
                findings.problem(url, format!("no TLS: {error}"), remedy);
                return false;
            }
        }
    } else {
        findings.note(
            url,
            "plain http: the network sees what the server sees",
            "serve https (`[tls]`), except for tests",
        );
    }
    let response = match probe::get(address, roots, routes::TABLES) {
        Ok(response) => response,
        Err(error) => {
            findings.problem(
                url,
                format!("no answer: {error}"),
                "check the address and port, and that the server runs",
            );
            return false;
        }
    };
    let date = response.header("date").and_then(|date| httpdate::parse_http_date(date).ok());
    match date.map(apart) {
        Some(apart) if apart > Duration::from_secs(SECONDS) => findings.problem(
            url,
            format!("the server's clock and this one differ by {}", units::time(apart)),
            "synchronize both with a time server: catalogs and cosignatures expire",
        ),
        Some(_) => findings.good(url, "the server's clock agrees with this one"),
        None => findings.note(url, "the response has no time", "let the proxy pass the header `Date`"),
    }
    if let Some(cookie) = response.header("set-cookie") {
        let name: String = cookie
            .split('=')
            .next()
            .unwrap_or_default()
            .chars()
            .take(40)
            .filter(|c| !c.is_control())
            .collect();
        findings.problem(
            url,
            format!("a cookie ({name}) is set, which identifies clients"),
            "turn off sticky sessions and bot checks in the proxy",
        );
    }
    if let Some((name, _)) = response.headers.iter().find(|(name, _)| NAMES.contains(&name.as_str())) {
        findings.note(
            url,
            format!("the header {name} identifies each request"),
            "log it nowhere together with addresses",
        );
    }
    if response.header("content-encoding").is_some() {
        findings.problem(
            url,
            "a proxy compresses responses that were not requested compressed",
            "turn off compression in the proxy",
        );
    }
    if probe::get(address, roots, "/metrics").is_ok_and(|response| response.status == 200) {
        findings.problem(
            url,
            "metrics are public",
            "let the proxy pass /v1/ only, and keep the admin port internal",
        );
    }
    true
}

/// The difference between a time and now.
fn apart(time: SystemTime) -> Duration {
    let now = SystemTime::now();
    now.duration_since(time).or_else(|_| time.duration_since(now)).unwrap_or_default()
}

fn tables(url: &str, http: &mut HttpTransport, findings: &mut Findings) -> Result<Vec<ServedTableInfo>> {
    let list = download::tables(http)?;
    if list.tables.is_empty() {
        findings.problem(url, "the server has no tables", "give `sotto serve` directories of tables");
    }
    let mut all = Vec::new();
    for name in &list.tables {
        let about = format!("{url} {name}");
        let signed = fetch(http, Request::get(routes::table(name, None), MAX_CATALOG_BYTES))?;
        let catalog = SignedCatalog::parse(&signed).and_then(|signed| signed.verify(None));
        let catalog = match catalog {
            Ok(catalog) => catalog,
            Err(error) => {
                findings.failure(about, error);
                continue;
            }
        };
        files::catalog(&about, &catalog, findings);
        bodies(&about, http, &catalog, findings)?;
        ranges(&about, http, &catalog, findings)?;
        all.push(ServedTableInfo { catalog, role: list.roles.get(name.as_str()).copied() });
    }
    Ok(all)
}

/// Checks whether the largest request of clients arrives. Its bytes are zeros, which the server
/// refuses with an error of its own.
fn bodies(about: &str, http: &mut HttpTransport, catalog: &Catalog, findings: &mut Findings) -> Result<()> {
    let Some(terms) = sotto_registry::find(&catalog.scheme).and_then(|entry| catalog.terms(entry).ok())
    else {
        return Ok(());
    };
    let sizes = MessageSizes::new(&terms.report.costs, terms.packing.records_per_row());
    let name = catalog.table.as_str();
    let mut requests = vec![(
        "a query",
        routes::query(name),
        sizes.query_frame_bytes(terms.packing.records_per_row() as u16),
    )];
    if terms.report.costs.keys_bytes > 0 {
        requests.push(("keys", routes::keys(name), sizes.keys_frame_bytes()));
    }
    for (what, path, bytes) in requests {
        let request = Request::post(path, vec![0; bytes as usize], MAX_PROBLEM_BYTES);
        let size = units::bytes(bytes);
        match http.call(&request) {
            Ok(response) => {
                let problem = Problem::read(response.status, &response.body);
                let by_server =
                    serde_json::from_slice::<serde_json::Value>(&response.body).is_ok_and(|body| {
                        body.get("code").is_some_and(|code| code.as_str() == Some(problem.code.text()))
                    });
                if !by_server || problem.code == Code::TooLarge {
                    let found = format!("{what} of {size} is not accepted: status {}", response.status);
                    findings.problem(
                        about,
                        found,
                        format!("let the proxy accept bodies of {size} (nginx: client_max_body_size)"),
                    );
                } else {
                    findings.good(about, format!("{what} of {size} is accepted"));
                }
            }
            Err(error) => {
                let found = format!("{what} of {size} is not accepted: {error}");
                findings.problem(about, found, format!("let the proxy accept bodies of {size}"));
            }
        }
    }
    Ok(())
}

/// Checks whether an interrupted download can be continued.
fn ranges(about: &str, http: &mut HttpTransport, catalog: &Catalog, findings: &mut Findings) -> Result<()> {
    let Some(file) = catalog.artifacts.iter().max_by_key(|file| file.bytes).filter(|file| file.bytes > 1)
    else {
        return Ok(());
    };
    let path = routes::artifact(&file.digest.to_string());
    let response = http.call(&Request::get_range(path, 1..2));
    let why = match response {
        Ok(response) if response.status == 206 => {
            findings.good(about, "interrupted downloads resume");
            return Ok(());
        }
        Ok(response) => format!("status {}", response.status),
        Err(error) => error.to_string(),
    };
    findings.problem(
        about,
        format!("interrupted downloads start again: a range request for a static file got {why}"),
        "let the proxy pass the header `Range`",
    );
    Ok(())
}

/// Checks whether the servers of a table have one epoch, and each another role.
fn roles(tables: &BTreeMap<String, Vec<ServedTableInfo>>, findings: &mut Findings) {
    for (name, servers) in tables {
        let Some(first) = servers.first().map(|table| &table.catalog) else { continue };
        if first.servers < 2 {
            continue;
        }
        if servers.len() != first.servers as usize {
            let found = format!("the scheme has {} servers, and {} is given", first.servers, servers.len());
            findings.note(name, found, "give the addresses of all servers, in the order of their roles");
            continue;
        }
        for (at, table) in servers.iter().enumerate() {
            if table.role.is_some_and(|role| usize::from(role) != at) {
                findings.problem(
                    name,
                    format!("address {at} has another role"),
                    "give --role to `sotto serve`, or change the order",
                );
            }
            if table.catalog.epoch != first.epoch {
                let found = format!(
                    "server 0 is at epoch {}, server {at} at epoch {}",
                    first.epoch, table.catalog.epoch
                );
                findings.problem(
                    name,
                    found,
                    "publish the same epoch at both servers: clients wait until they agree",
                );
            }
        }
    }
}
