//! A server across the network: HTTP/1.1, blocking, TLS by rustls.
//!
//! Every client sends the same headers: `host`, `user-agent: sotto`, `accept: */*`, for frames
//! `content-type` and `content-length`, for parts of artifacts `range`. There are no cookies, no
//! language, no compression and no redirects, since a redirect could name the client in its path.
//!
//! A proxy named by `ALL_PROXY`, `HTTPS_PROXY` or `HTTP_PROXY` is used, SOCKS (Tor) included, except for
//! servers on this machine and those in `NO_PROXY`.

use super::endpoint::Endpoint;
use super::intermediary::ResponseHeaders;
use super::{Method, Request, Response, Transport, TransportError};
use sotto_core::ExpectOrDefault;
use sotto_wire::{routes, sizes::MAX_PROBLEM_BYTES};
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::config::AutoHeaderValue;
use ureq::tls::{PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// The only value of `user-agent`, since a version would divide clients into smaller groups.
const USER_AGENT: &str = "sotto";

const CONTENT_TYPE: &str = "content-type";

/// Bytes of a body that are read at once.
const PIECE: usize = 64 << 10;

/// Timeouts and trusted roots of a connection.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// Timeout for connecting, TLS included.
    pub connect: Duration,
    /// Timeout for one request, from its first byte to the response's last.
    pub overall: Duration,
    /// PEM text of the roots to trust instead of the web's.
    pub roots: Option<Vec<u8>>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        HttpSettings { connect: Duration::from_secs(10), overall: Duration::from_secs(60), roots: None }
    }
}

impl HttpSettings {
    /// Trusts the roots of a PEM file instead of the web's.
    ///
    /// # Errors
    /// [`TransportError::Tls`] if the file cannot be read.
    pub fn trust_file(mut self, path: &Path) -> Result<Self, TransportError> {
        let pem = std::fs::read(path)
            .map_err(|e| TransportError::Tls(format!("the root {} cannot be read: {e}", path.display())))?;
        self.roots = Some(pem);
        Ok(self)
    }
}

/// A transport to one server over HTTP.
pub struct HttpTransport {
    agent: ureq::Agent,
    base: String,
    endpoint: Endpoint,
    /// Further headers of requests, for another protocol.
    spoken: Vec<(&'static str, String)>,
    /// A resource that was sent whole in response to a range request, as far as it was read.
    whole: Option<Box<WholeResource>>,
}

/// The rest of a resource that a server or cache sends whole in response to a range request. The
/// following ranges are read from it.
struct WholeResource {
    path: String,
    /// Offset of the reader in the resource, in bytes.
    offset: u64,
    reader: ureq::BodyReader<'static>,
}

impl HttpTransport {
    /// A transport to the server at `url`. Connects at the first request.
    ///
    /// # Errors
    /// [`TransportError::Address`] for a URL that is not `http://` or `https://`, or holds a user name, a
    /// query or a fragment; [`TransportError::Tls`] for unusable roots.
    pub fn new(url: &str, settings: &HttpSettings) -> Result<Self, TransportError> {
        let base = with_lowercase_scheme(url.trim_end_matches('/'));
        let bad = |why: &str| TransportError::Address { url: url.to_owned(), why: why.to_owned() };
        let rest = base
            .strip_prefix("https://")
            .or_else(|| base.strip_prefix("http://"))
            .ok_or_else(|| bad("expected http:// or https:// at its start"))?;
        if rest.is_empty() || rest.starts_with('/') {
            return Err(bad("no host name"));
        }
        if rest.contains(['?', '#', '@']) || rest.contains(char::is_whitespace) {
            return Err(bad("expected a host, a port and a path, and nothing else"));
        }
        let endpoint = Endpoint::of(&base).ok_or_else(|| bad("expected a port below 65536"))?;
        let roots = match &settings.roots {
            None => RootCerts::WebPki,
            Some(pem) => RootCerts::Specific(Arc::new(certificates(pem)?)),
        };
        let tls = TlsConfig::builder().provider(TlsProvider::Rustls).root_certs(roots).build();
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(settings.connect))
            .timeout_global(Some(settings.overall))
            .user_agent(AutoHeaderValue::Provided(Arc::new(USER_AGENT.to_owned())))
            .accept(AutoHeaderValue::Provided(Arc::new("*/*".to_owned())))
            .accept_encoding(AutoHeaderValue::None)
            .tls_config(tls);
        if endpoint.is_this_machine() {
            config = config.proxy(None);
        }
        Ok(HttpTransport {
            agent: config.build().new_agent(),
            base,
            endpoint,
            spoken: Vec::new(),
            whole: None,
        })
    }

    /// Adds headers to all requests, for another protocol; `user-agent` and `content-type` may be
    /// among them. They are the same for all requests.
    pub fn with_headers(self, headers: Vec<(&'static str, String)>) -> Self {
        HttpTransport { spoken: headers, ..self }
    }

    /// What this server and another one have in common, if that makes them one endpoint. May look
    /// up their names; see the notes of `transport/endpoint.rs` for what is compared.
    pub fn shared(&self, other: &HttpTransport) -> Option<String> {
        self.endpoint.shared(&other.endpoint, self.looks_up() && other.looks_up())
    }

    /// Whether the traffic can be read on the network: it is not encrypted, and leaves this
    /// machine.
    pub(crate) fn can_be_overheard(&self) -> bool {
        !self.base.starts_with("https://") && !self.endpoint.is_this_machine()
    }

    /// Whether this machine looks up the server's network address, and not a proxy.
    fn looks_up(&self) -> bool {
        let Some(proxy) = self.agent.config().proxy() else { return true };
        proxy.resolve_target() || self.base.parse().is_ok_and(|uri| proxy.is_no_proxy(&uri))
    }

    fn error(&self, error: ureq::Error) -> TransportError {
        use ureq::Error as E;
        match error {
            E::Timeout(which) => TransportError::Timeout(which.to_string()),
            E::Io(e) if e.kind() == ErrorKind::TimedOut => TransportError::Timeout(e.to_string()),
            E::HostNotFound => TransportError::UnknownHost(self.base.clone()),
            E::Io(e) if is_failed_name_lookup(&e) => TransportError::UnknownHost(self.base.clone()),
            E::ConnectionFailed | E::ConnectProxyFailed(_) => {
                TransportError::Connect { origin: self.base.clone(), why: error.to_string() }
            }
            E::Io(e) if matches!(e.kind(), ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable) => {
                TransportError::Connect { origin: self.base.clone(), why: e.to_string() }
            }
            // rustls reports a bad certificate through the stream, as `InvalidData`.
            E::Io(e) if e.kind() == ErrorKind::InvalidData && e.to_string().contains(NOT_TLS) => {
                TransportError::NotTls(self.base.clone())
            }
            E::Io(e) if e.kind() == ErrorKind::InvalidData => TransportError::Tls(e.to_string()),
            E::Io(e) => TransportError::Lost(e.to_string()),
            E::Tls(_) | E::Pem(_) | E::Rustls(_) | E::TlsRequired => TransportError::Tls(error.to_string()),
            E::BadUri(_) | E::Http(_) | E::InvalidProxyUrl => {
                TransportError::Address { url: self.base.clone(), why: error.to_string() }
            }
            other => TransportError::Protocol(other.to_string()),
        }
    }
}

/// A response whose body is still on its way.
type ArrivingResponse = ureq::http::Response<ureq::Body>;

impl HttpTransport {
    /// Sends a request, and returns the head of its response and the maximum bytes of its body.
    fn send(&mut self, request: &Request) -> Result<(ArrivingResponse, Response, u64), TransportError> {
        let url = format!("{}{}", self.base, request.path);
        let sent = match request.method {
            Method::Get => {
                let get = self.agent.get(&url);
                let mut get = self.spoken.iter().fold(get, |get, (name, value)| get.header(*name, value));
                if let Some(range) = &request.range {
                    // HTTP ranges include the last byte.
                    get =
                        get.header("range", format!("bytes={}-{}", range.start, range.end.saturating_sub(1)));
                }
                get.call()
            }
            Method::Post => {
                let post = self.agent.post(&url);
                let post = match self.spoken.iter().any(|(name, _)| *name == CONTENT_TYPE) {
                    true => post,
                    false => post.header(CONTENT_TYPE, routes::OCTETS),
                };
                let post = self.spoken.iter().fold(post, |post, (name, value)| post.header(*name, value));
                post.send(request.body.as_slice())
            }
        };
        let response = sent.map_err(|e| self.error(e))?;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let head = Response {
            status: response.status().as_u16(),
            body: Vec::new(),
            retry_after: header(routes::RETRY_AFTER)
                .and_then(|s| s.trim().parse().ok())
                .map(Duration::from_secs),
            server_timing: header(routes::SERVER_TIMING).map(str::to_owned),
        };
        let headers = ResponseHeaders {
            status: head.status,
            content_type: header(CONTENT_TYPE),
            content_encoding: header("content-encoding"),
            location: header("location"),
        };
        // Another protocol has statuses of its own.
        if let Some(found) = headers.intermediary().filter(|_| self.spoken.is_empty()) {
            return Err(TransportError::Intermediary { origin: self.base.clone(), found });
        }
        let limit = if head.is_success() { request.limit } else { MAX_PROBLEM_BYTES };
        if head.status == 200 && request.range.is_some() {
            return Ok((response, head, limit));
        }
        let declared = response.body().content_length();
        if declared.is_some_and(|bytes| bytes > limit) {
            return Err(TransportError::TooLarge { limit });
        }
        Ok((response, head, limit))
    }

    /// Reads a whole body.
    fn read(&self, mut response: ArrivingResponse, limit: u64) -> Result<Vec<u8>, TransportError> {
        let mut body = Vec::new();
        // One byte more than allowed tells a body that ends there from one that continues.
        let reader = response.body_mut().with_config().limit(u64::MAX).reader();
        reader.take(limit.saturating_add(1)).read_to_end(&mut body).map_err(|e| self.error(e.into()))?;
        if body.len() as u64 > limit {
            return Err(TransportError::TooLarge { limit });
        }
        Ok(body)
    }
}

impl HttpTransport {
    /// Reads a range from a resource that is sent whole, and keeps the rest for the range that
    /// follows. What precedes the range is read and dropped.
    fn read_range(
        &mut self,
        mut whole: Box<WholeResource>,
        range: &Range<u64>,
    ) -> Result<Vec<u8>, TransportError> {
        let failed = |http: &Self, error: std::io::Error| http.error(error.into());
        let before = range.start.saturating_sub(whole.offset);
        let skipped = std::io::copy(&mut whole.reader.by_ref().take(before), &mut std::io::sink());
        skipped.map_err(|error| failed(self, error))?;
        let mut bytes = Vec::new();
        let expected = range.end.saturating_sub(range.start);
        whole.reader.by_ref().take(expected).read_to_end(&mut bytes).map_err(|error| failed(self, error))?;
        whole.offset = range.end;
        self.whole = Some(whole);
        Ok(bytes)
    }

    /// The resource that was sent whole for the previous range, if this range continues where that
    /// one ended.
    fn continued(&mut self, request: &Request) -> Option<(Box<WholeResource>, Range<u64>)> {
        let whole = self.whole.take()?;
        let range = request.range.clone()?;
        (whole.path == request.path && whole.offset == range.start).then_some((whole, range))
    }
}

impl Transport for HttpTransport {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        if let Some((whole, range)) = self.continued(request) {
            return Ok(Response::new(206, self.read_range(whole, &range)?));
        }
        let (response, head, limit) = self.send(request)?;
        if let (200, Some(range)) = (head.status, &request.range) {
            let reader = response.into_body().into_with_config().limit(u64::MAX).reader();
            let whole = WholeResource { path: request.path.clone(), offset: 0, reader };
            return Ok(Response { body: self.read_range(Box::new(whole), range)?, ..head });
        }
        Ok(Response { body: self.read(response, limit)?, ..head })
    }

    fn call_in_pieces(
        &mut self,
        request: &Request,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Response, TransportError> {
        if request.range.is_some() {
            let mut response = self.call(request)?;
            if response.is_success() {
                take(&std::mem::take(&mut response.body));
            }
            return Ok(response);
        }
        let (mut response, head, limit) = self.send(request)?;
        if !head.is_success() {
            return Ok(Response { body: self.read(response, limit)?, ..head });
        }
        let mut reader = response.body_mut().with_config().limit(u64::MAX).reader();
        let mut piece = vec![0; PIECE];
        let mut left = limit;
        loop {
            let read = match reader.read(&mut piece) {
                Ok(0) => return Ok(head),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.error(error.into())),
            };
            left = left.checked_sub(read as u64).ok_or(TransportError::TooLarge { limit })?;
            if !take(piece.get(..read).expect_or_default("what was read fits the piece")) {
                return Ok(head);
            }
        }
    }

    fn origin(&self) -> String {
        self.base.clone()
    }
}

/// Error text of rustls for a peer that does not speak TLS.
const NOT_TLS: &str = "InvalidContentType";

/// Whether the system could not look up a name: the standard library has a text for it, and no
/// error kind.
fn is_failed_name_lookup(error: &std::io::Error) -> bool {
    error.to_string().starts_with("failed to lookup address information")
}

/// An address with its scheme in lower case, as URLs are compared (RFC 3986, section 6.2.2.1).
fn with_lowercase_scheme(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => format!("{}://{rest}", scheme.to_ascii_lowercase()),
        None => url.to_owned(),
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<ureq::tls::Certificate<'static>>, TransportError> {
    let mut out = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|e| TransportError::Tls(e.to_string()))? {
            out.push(certificate);
        }
    }
    if out.is_empty() {
        return Err(TransportError::Tls("the root file holds no certificate in PEM form".to_owned()));
    }
    Ok(out)
}
