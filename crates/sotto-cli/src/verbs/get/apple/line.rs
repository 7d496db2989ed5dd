//! The line to a server of Apple's lookups: what every request says of its sender and, where the server wants one, a token.
//!
//! Tokens come from the same address, for a user token (RFC 9578). One is asked for before each request, as phones do ahead of
//! time. Which request a token goes with, the issuer cannot tell.

use crate::blame;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use sotto_client::transport::http::{Http, Settings};
use sotto_client::transport::{Request, Response, Transport, TransportError};
use sotto_core::CryptoRng;
use sotto_pass::client::{Client as Wallet, header};
use sotto_pass::message::challenge;

/// Bytes of an answer at most.
const MOST_BYTES: u64 = 256 << 20;

/// Bytes of what an issuer says at most.
const MOST_TOLD: u64 = 1 << 20;

/// A line to one server.
pub(super) struct Line {
    url: String,
    settings: Settings,
    /// What every request says.
    headers: Vec<(&'static str, String)>,
    http: Http,
    wallet: Option<(Wallet, String)>,
}

impl Line {
    pub(super) fn new(url: &str, settings: Settings, headers: Vec<(&'static str, String)>) -> Result<Self> {
        let http = Http::new(url, &settings).map_err(transport)?.speaking(headers.clone());
        Ok(Line { url: url.to_owned(), settings, headers, http, wallet: None })
    }

    /// From now on brings tokens, which a user's token is good for.
    pub(super) fn with_tokens(&mut self, user_token: &str, now: u64) -> Result<()> {
        let directory = self.issuer(None, &Request::get(DIRECTORY.to_owned(), MOST_TOLD))?;
        let directory = serde_json::from_slice(&directory).map_err(|error| {
            Failure::new(Exit::Peer, format!("the issuer's directory is no JSON: {error}"))
        })?;
        let key = self.issuer(Some(user_token), &Request::get(KEY.to_owned(), MOST_TOLD))?;
        let name = self.url.split("://").last().and_then(|rest| rest.split(['/', ':']).next());
        let wallet = Wallet::new(&key, &directory, &challenge(name.unwrap_or_default()), now);
        let wallet = wallet.map_err(|error| Failure::new(Exit::Peer, error.to_string()))?;
        self.wallet = Some((wallet, user_token.to_owned()));
        Ok(())
    }

    pub(super) fn post(&mut self, path: &str, body: Vec<u8>, rng: &mut dyn CryptoRng) -> Result<Response> {
        let request = Request::post(path.to_owned(), body, MOST_BYTES);
        let Some((wallet, user_token)) = &self.wallet else {
            return self.http.call(&request).map_err(transport);
        };
        let bad = |error: sotto_pass::client::NoToken| Failure::new(Exit::Peer, error.to_string());
        let (asked, pending) = wallet.request(rng).map_err(bad)?;
        let answer = self.issuer(Some(user_token), &Request::post(ISSUE.to_owned(), asked, MOST_TOLD))?;
        let token = header(&wallet.finish(pending, &answer).map_err(bad)?);
        let with = self.headers.iter().cloned().chain([(AUTHORIZATION, token)]).collect();
        self.speaking(with)?.call(&request).map_err(transport)
    }

    /// What the issuer answers, to whoever has this user token.
    fn issuer(&self, user_token: Option<&str>, request: &Request) -> Result<Vec<u8>> {
        let bearer = user_token.map(|token| (AUTHORIZATION, format!("Bearer {token}")));
        let response = self.speaking(bearer.into_iter().collect())?.call(request).map_err(transport)?;
        let fix = match response.status {
            200 => return Ok(response.body),
            401 | 403 => "check --user-token: that issuer does not know it",
            404 => "leave --user-token out: no tokens are given there",
            429 => "try again later: this user had as many tokens as one may have",
            _ => "ask the operator what the server's log says",
        };
        Err(Failure::new(Exit::Refused, format!("the issuer of tokens said {}", response.status)).fix(fix))
    }

    fn speaking(&self, headers: Vec<(&'static str, String)>) -> Result<Http> {
        Ok(Http::new(&self.url, &self.settings).map_err(transport)?.speaking(headers))
    }
}

const AUTHORIZATION: &str = "authorization";
const DIRECTORY: &str = "/.well-known/private-token-issuer-directory";
const KEY: &str = "/token-key-for-user-token";
const ISSUE: &str = "/issue";

pub(super) fn transport(error: TransportError) -> Failure {
    blame::client(error.into())
}
