//! One plain request, for what clients ignore: the TLS version, HTTP/2, and all headers of the
//! response.

use crate::failure::{Failure, FileContext, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum bytes of a response that are read.
const MAX: u64 = 64 << 10;

/// The parts of a server's address.
pub(crate) struct ServerAddress {
    pub(crate) tls: bool,
    host: String,
    port: u16,
    /// Base path, without a trailing slash.
    base: String,
}

impl ServerAddress {
    /// Parses `http://host:port/base`; `None` for an address with other parts.
    pub(crate) fn of(url: &str) -> Option<Self> {
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
pub(crate) struct ProbeResponse {
    pub(crate) status: u16,
    /// Headers, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
}

impl ProbeResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// The result of a TLS handshake.
#[derive(Debug)]
pub(crate) struct TlsFacts {
    pub(crate) old: bool,
    pub(crate) http2: bool,
}

/// The trusted roots: the web's, or those of a file.
pub(crate) fn roots(file: Option<&Path>) -> Result<RootCertStore> {
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
pub(crate) fn tls(address: &ServerAddress, roots: &RootCertStore) -> std::io::Result<TlsFacts> {
    let stream = handshake(address, roots, &[b"h2", b"http/1.1"])?;
    let old = stream.conn.protocol_version() != Some(ProtocolVersion::TLSv1_3);
    Ok(TlsFacts { old, http2: stream.conn.alpn_protocol() == Some(b"h2") })
}

/// Fetches a path, and reads status and headers.
pub(crate) fn get(
    address: &ServerAddress,
    roots: &RootCertStore,
    path: &str,
) -> std::io::Result<ProbeResponse> {
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
