//! Checks of a server at an address, and of any proxy in front of it; and one plain request, for what
//! clients ignore: the TLS version, HTTP/2, and all headers of the response.

use crate::download;
use crate::download::fetch;
use crate::failure::{Failure, FileContext, Result};
use crate::screen::progress::{ProgressLine, StageUnit};
use crate::screen::units;
use crate::verbs::doctor::{Findings, files};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, StreamOwned};
use sotto_catalog::signed::MAX_SIGNED_BYTES;
use sotto_catalog::{Catalog, SignedCatalog};
use sotto_client::transport::http::HttpTransport;
use sotto_client::transport::{Request, Transport};
use sotto_wire::sizes::{MAX_PROBLEM_BYTES, MessageSizes};
use sotto_wire::{Problem, ProblemCode, routes};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
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
    let roots = roots(trust)?;
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
        match tls(address, roots) {
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
    let response = match get(address, roots, routes::TABLES) {
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
    if get(address, roots, "/metrics").is_ok_and(|response| response.status == 200) {
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
        let signed = fetch(http, Request::get(routes::table(name, None), MAX_SIGNED_BYTES as u64))?;
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
                if !by_server || problem.code == ProblemCode::TooLarge {
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

const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum bytes of a response that are read.
const MAX: u64 = 64 << 10;

/// The parts of a server's address.
struct ServerAddress {
    tls: bool,
    host: String,
    port: u16,
    /// Base path, without a trailing slash.
    base: String,
}

impl ServerAddress {
    /// Parses `http://host:port/base`; `None` for an address with other parts.
    fn of(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let (host_port, base) = rest.split_once('/').unwrap_or((rest, ""));
        let default_port = if tls { 443 } else { 80 };
        let (host, port) = match host_port.rsplit_once(':') {
            // The colons within an IPv6 address are not those of a port.
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
            _ => (host_port, default_port),
        };
        let base = base.trim_end_matches('/');
        let base = if base.is_empty() { String::new() } else { format!("/{base}") };
        (!host.is_empty()).then(|| ServerAddress {
            tls,
            host: host.trim_matches(['[', ']']).into(),
            port,
            base,
        })
    }

    fn connect(&self) -> std::io::Result<TcpStream> {
        let mut last = std::io::Error::other("the name resolves to no address");
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, TIMEOUT) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(TIMEOUT))?;
                    stream.set_write_timeout(Some(TIMEOUT))?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Status and headers of a response.
#[derive(Debug, Default)]
struct ProbeResponse {
    status: u16,
    /// Headers, with names in lower case.
    headers: Vec<(String, String)>,
}

impl ProbeResponse {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// The result of a TLS handshake.
#[derive(Debug)]
struct TlsFacts {
    old: bool,
    http2: bool,
}

/// The trusted roots: the web's, or those of a file.
fn roots(file: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(roots);
    };
    let pem = std::fs::read(file).doing("reading", file)?;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let bad = |why: String| Failure::input(format!("{}: {why}", file.display()));
        let certificate = certificate.map_err(|error| bad(format!("{error:?}")))?;
        roots.add(certificate).map_err(|error| bad(error.to_string()))?;
    }
    Ok(roots)
}

fn handshake(
    address: &ServerAddress,
    roots: &RootCertStore,
    speaks: &[&[u8]],
) -> std::io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut config = ClientConfig::builder().with_root_certificates(roots.clone()).with_no_client_auth();
    config.alpn_protocols = speaks.iter().map(|name| name.to_vec()).collect();
    let name = ServerName::try_from(address.host.clone()).map_err(std::io::Error::other)?;
    let mut tls = ClientConnection::new(Arc::new(config), name).map_err(std::io::Error::other)?;
    let mut stream = address.connect()?;
    while tls.is_handshaking() {
        tls.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(tls, stream))
}

/// Makes a TLS handshake, and returns its result.
fn tls(address: &ServerAddress, roots: &RootCertStore) -> std::io::Result<TlsFacts> {
    let stream = handshake(address, roots, &[b"h2", b"http/1.1"])?;
    let old = stream.conn.protocol_version() != Some(ProtocolVersion::TLSv1_3);
    Ok(TlsFacts { old, http2: stream.conn.alpn_protocol() == Some(b"h2") })
}

/// Fetches a path, and reads status and headers.
fn get(address: &ServerAddress, roots: &RootCertStore, path: &str) -> std::io::Result<ProbeResponse> {
    let (host, base) = (&address.host, &address.base);
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let port = address.port;
    let request = format!(
        "GET {base}{path} HTTP/1.1\r\nhost: {host}:{port}\r\naccept: */*\r\nconnection: close\r\n\r\n"
    );
    let mut bytes = Vec::new();
    if address.tls {
        let mut stream = handshake(address, roots, &[b"http/1.1"])?;
        stream.write_all(request.as_bytes())?;
        read(&mut stream, &mut bytes)?;
    } else {
        let mut stream = address.connect()?;
        stream.write_all(request.as_bytes())?;
        read(&mut stream, &mut bytes)?;
    }
    parse(&bytes).ok_or_else(|| std::io::Error::other("the response is not HTTP"))
}

/// Reads until the head is complete, or the stream ends.
fn read(stream: &mut impl Read, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let mut piece = [0; 4096];
    while (bytes.len() as u64) < MAX && !bytes.windows(4).any(|part| part == b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => bytes.extend(piece.iter().take(n)),
            // Some servers end a TLS connection without notice.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn parse(bytes: &[u8]) -> Option<ProbeResponse> {
    let text = String::from_utf8_lossy(bytes);
    let (head, _) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
    Some(ProbeResponse { status, headers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_their_parts() {
        let parts = |url: &str| ServerAddress::of(url).map(|a| (a.tls, a.host, a.port, a.base));
        assert_eq!(parts("https://a.example"), Some((true, "a.example".into(), 443, String::new())));
        assert_eq!(parts("HTTPS://a.example"), parts("https://a.example"));
        assert_eq!(parts("http://a:8080/x/"), Some((false, "a".into(), 8080, "/x".into())));
        assert_eq!(parts("http://[::1]:81"), Some((false, "::1".into(), 81, String::new())));
        assert_eq!(parts("http://[::1]"), Some((false, "::1".into(), 80, String::new())));
        for bad in ["ftp://a", "a", "http://", "http://a:b", "http://a:99999"] {
            assert!(parts(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn heads_are_read_and_nothing_else() {
        let response = parse(b"HTTP/1.1 200 OK\r\nDate: x\r\nSet-Cookie: a=b\r\n\r\nbody").unwrap();
        assert_eq!((response.status, response.header("set-cookie")), (200, Some("a=b")));
        for bad in [&b"HTTP/2 200\r\n\r\n"[..], b"", b"HTTP/1.1 x y\r\n\r\n", b"HTTP/1.1 200 OK\r\n"] {
            assert!(parse(bad).is_none());
        }
    }
}
