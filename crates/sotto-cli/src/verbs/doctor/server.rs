//! Checks of a server at an address, and of any proxy in front of it.

use super::Findings;
use super::files;
use super::probe::{self, ServerAddress};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::bars::{ProgressLine, StageUnit};
use crate::screen::units;
use crate::verbs::download::{self, fetch};
use rustls::RootCertStore;
use sotto_catalog::{Catalog, SignedCatalog};
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Transport};
use sotto_wire::routes;
use sotto_wire::sizes::{MAX_CATALOG_BYTES, MAX_PROBLEM_BYTES, MessageSizes};
use sotto_wire::{Code, Problem};
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

pub(super) fn look(
    urls: &[String],
    trust: Option<&Path>,
    bars: &ProgressLine,
    findings: &mut Findings,
) -> Result<()> {
    let roots = probe::roots(trust)?;
    let mut tables: BTreeMap<String, Vec<ServedTableInfo>> = BTreeMap::new();
    for (at, url) in urls.iter().enumerate() {
        bars.at("asking servers", at as u64, urls.len() as u64, StageUnit::Count("servers"));
        let address = ServerAddress::of(url).ok_or_else(|| {
            Failure::usage(format!("{url} is no address")).fix("give http://HOST:PORT or https://HOST")
        })?;
        if !connection(url, &address, &roots, findings) {
            continue;
        }
        let mut settings = HttpSettings::default();
        if let Some(file) = trust {
            settings = settings.trust_file(file).map_err(|error| exit_mapping::client(error.into()))?;
        }
        let mut http =
            HttpTransport::new(url, &settings).map_err(|error| exit_mapping::client(error.into()))?;
        match self::tables(url, &mut http, findings) {
            Ok(found) => found.into_iter().for_each(|told| {
                tables.entry(told.catalog.table.to_string()).or_default().push(told);
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
                        "let it speak TLS 1.3: one round trip less, and names of certificates hidden",
                    ),
                    false => findings.good(url, "TLS 1.3"),
                }
                match tls.http2 {
                    true => findings.good(url, "HTTP/2"),
                    false => findings.note(
                        url,
                        "no HTTP/2",
                        "turn it on in the proxy: relays of oblivious HTTP ask for it",
                    ),
                }
            }
            Err(error) => {
                let remedy =
                    "check the certificate's name and date, and its chain; --trust-root for one of your own";
                findings.mend(url, format!("no TLS: {error}"), remedy);
                return false;
            }
        }
    } else {
        findings.note(
            url,
            "plain http: whoever is on the way sees what the server sees",
            "serve https (`[tls]`), but for tests",
        );
    }
    let seen = match probe::get(address, roots, routes::TABLES) {
        Ok(seen) => seen,
        Err(error) => {
            findings.mend(
                url,
                format!("no answer: {error}"),
                "check address and port, and that the server runs",
            );
            return false;
        }
    };
    let date = seen.header("date").and_then(|date| httpdate::parse_http_date(date).ok());
    match date.map(apart) {
        Some(apart) if apart > Duration::from_secs(SECONDS) => findings.mend(
            url,
            format!("its clock and this one differ by {}", units::time(apart)),
            "set both by a time server: catalogs and witnesses' words expire",
        ),
        Some(_) => findings.good(url, "its clock is this one's"),
        None => findings.note(url, "it does not tell the time", "let the proxy leave the header `Date`"),
    }
    if let Some(cookie) = seen.header("set-cookie") {
        let name: String = cookie
            .split('=')
            .next()
            .unwrap_or_default()
            .chars()
            .take(40)
            .filter(|c| !c.is_control())
            .collect();
        findings.mend(
            url,
            format!("it sets a cookie ({name}), by which browsers are told apart"),
            "turn off sticky sessions and bot checks in front of it",
        );
    }
    if let Some((name, _)) = seen.headers.iter().find(|(name, _)| NAMES.contains(&name.as_str())) {
        findings.note(
            url,
            format!("the header {name} names each request"),
            "keep no logs that put it beside addresses",
        );
    }
    if seen.header("content-encoding").is_some() {
        findings.mend(
            url,
            "something in front of it packs responses nobody asked to be packed",
            "turn compression off there",
        );
    }
    if probe::get(address, roots, "/metrics").is_ok_and(|seen| seen.status == 200) {
        findings.mend(
            url,
            "its metrics are public",
            "let the proxy pass /v1/ alone, and keep the admin port inside",
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
        findings.mend(url, "it serves no table", "give `sotto serve` folders of tables");
    }
    let mut all = Vec::new();
    for name in &list.tables {
        let about = format!("{url} {name}");
        let signed = fetch(http, Request::get(routes::table(name, None), MAX_CATALOG_BYTES))?;
        let catalog = SignedCatalog::parse(&signed).and_then(|signed| signed.verify(None));
        let catalog = match catalog {
            Ok(catalog) => catalog,
            Err(error) => {
                findings.failure(about, exit_mapping::client(error.into()));
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
                    let found = format!("{what} of {size} does not come through: status {}", response.status);
                    findings.mend(
                        about,
                        found,
                        format!("let the proxy take bodies of {size} (nginx: client_max_body_size)"),
                    );
                } else {
                    findings.good(about, format!("{what} of {size} comes through"));
                }
            }
            Err(error) => {
                let found = format!("{what} of {size} does not come through: {error}");
                findings.mend(about, found, format!("let whatever is in front take bodies of {size}"));
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
            findings.good(about, "downloads go on where they were cut off");
            return Ok(());
        }
        Ok(response) => format!("status {}", response.status),
        Err(error) => error.to_string(),
    };
    findings.mend(
        about,
        format!("downloads begin anew when they are cut off: a part of a static file was asked for, and came with {why}"),
        "let the proxy pass the header `Range`",
    );
    Ok(())
}

/// Checks whether the servers of a table have one epoch, and each another role.
fn roles(tables: &BTreeMap<String, Vec<ServedTableInfo>>, findings: &mut Findings) {
    for (name, told) in tables {
        let Some(first) = told.first().map(|told| &told.catalog) else { continue };
        if first.servers < 2 {
            continue;
        }
        if told.len() != first.servers as usize {
            let found = format!("it takes {} servers, and {} was given", first.servers, told.len());
            findings.note(name, found, "give the addresses of all, in the order of their roles");
            continue;
        }
        for (at, told) in told.iter().enumerate() {
            if told.role.is_some_and(|role| usize::from(role) != at) {
                findings.mend(
                    name,
                    format!("address {at} is of another role"),
                    "give --role to `sotto serve`, or change the order",
                );
            }
            if told.catalog.epoch != first.epoch {
                let found = format!(
                    "server 0 is at epoch {}, server {at} at epoch {}",
                    first.epoch, told.catalog.epoch
                );
                findings.mend(name, found, "publish the same epoch at both: clients wait until they agree");
            }
        }
    }
}
