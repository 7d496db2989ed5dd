//! Requests through a relay (Oblivious HTTP, RFC 9458): each request is encrypted for the server's
//! gateway, and a relay passes it on. The server does not learn this machine's address, and the
//! relay does not learn the contents.

use crate::failure::{Exit, Failure, Result};
use bytes::Bytes;
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Method, Request, Response, Transport};
use sotto_core::CryptoRng;
use sotto_ohttp::bhttp::BhttpLimits;
use sotto_ohttp::config::KeyConfig;
use sotto_ohttp::{KEY_PROBLEM, REQUEST_TYPE, bhttp, client};
use std::path::Path;
use std::time::Duration;

/// Maximum bytes of a gateway's keys.
const MAX_KEYS: u64 = 64 << 10;

/// Maximum bytes of a response besides its content.
const MAX_OVERHEAD: u64 = 64 << 10;

/// A relay, and the keys of the gateway behind it.
pub(crate) struct Relay {
    http: HttpTransport,
    key: KeyConfig,
    scheme: String,
    authority: String,
    /// Prefix of all paths.
    base: String,
}

impl Relay {
    /// Requests through the relay at `relay` to the server at `url`, encrypted for the keys in a
    /// file. They are not fetched from the server: it could give each address a key of its own, and
    /// identify the address by the key, whatever the relay hides.
    pub(crate) fn new(relay: &str, url: &str, keys: &Path, settings: &HttpSettings) -> Result<Self> {
        let keys = KeyConfig::read_all(&read(keys)?).unwrap_or_default();
        let key = keys.into_iter().next().ok_or_else(|| no_gateway("the file has no X25519 key".into()))?;
        let (scheme, rest) = url.trim_end_matches('/').split_once("://").unwrap_or(("https", url));
        let (authority, base) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let sealed = vec![("content-type", REQUEST_TYPE.to_owned())];
        Ok(Relay {
            http: HttpTransport::new(relay, settings)?.with_headers(sealed),
            key,
            scheme: scheme.to_owned(),
            authority: authority.to_owned(),
            base: base.to_owned(),
        })
    }

    /// Sends a request through the relay. Each request is encrypted anew.
    pub(crate) fn call(
        &mut self,
        headers: &[(&'static str, String)],
        request: &Request,
        rng: &mut dyn CryptoRng,
    ) -> Result<Response> {
        let field = |(name, value): &(&str, String)| ((*name).to_owned(), Bytes::from(value.clone()));
        let inner = bhttp::Request {
            method: if request.method == Method::Get { "GET" } else { "POST" }.to_owned(),
            scheme: self.scheme.clone(),
            authority: self.authority.clone(),
            path: format!("{}{}", self.base, request.path),
            fields: headers.iter().map(field).collect(),
            body: Bytes::copy_from_slice(&request.body),
        };
        let unsealed = |_| Failure::peer("cannot encrypt to the gateway's key");
        let (sealed, pending) = client::seal(&self.key, &inner.to_bytes(), rng).map_err(unsealed)?;
        let limit = request.limit.saturating_add(MAX_OVERHEAD);
        let answer = self.http.call(&Request::post(String::new(), sealed, limit))?;
        if !answer.is_success() {
            return Err(refused(&answer));
        }
        let wrong = |why: &str| Failure::peer(format!("the relay's response is not from the gateway: {why}"));
        let plain = pending.open(&answer.body).map_err(|error| wrong(&error.to_string()))?;
        let read = bhttp::Response::read(plain.into(), BhttpLimits::default());
        let read = read.map_err(|error| wrong(&error.to_string()))?;
        let after = read.fields.iter().find(|(name, _)| name == "retry-after");
        let after = after.and_then(|(_, value)| std::str::from_utf8(value).ok()?.trim().parse().ok());
        Ok(Response {
            status: read.status,
            body: read.body.into(),
            retry_after: after.map(Duration::from_secs),
            server_timing: None,
        })
    }
}

fn read(file: &Path) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Failure::file("cannot read", file, &error);
    let about = std::fs::metadata(file).map_err(failed)?;
    if about.len() > MAX_KEYS {
        return Err(no_gateway(format!("{} exceeds {MAX_KEYS} bytes", file.display())));
    }
    std::fs::read(file).map_err(failed)
}

fn no_gateway(why: String) -> Failure {
    Failure::new(Exit::Refused, format!("no keys of the gateway: {why}")).fix(
        "get the file of keys from the server's operator over another connection than this machine's, \
             and give it with --gateway-keys",
    )
}

/// The failure for a refusal of the relay, or of the gateway if it could not decrypt the request.
fn refused(answer: &Response) -> Failure {
    let is_key = answer.body.windows(KEY_PROBLEM.len()).any(|part| part == KEY_PROBLEM.as_bytes());
    if is_key {
        return Failure::new(Exit::Refused, "the gateway does not know the key in --gateway-keys")
            .fix("get the file of keys again, since keys are rotated");
    }
    Failure::new(Exit::Refused, format!("the relay responds with {}", answer.status))
        .fix("check --relay, and ask its operator whether it forwards requests to this server")
}
