//! The line to a server of Apple's lookups: what every request says of its sender and, where the server wants one, a token.
//!
//! Tokens come from the same address, for a user token (RFC 9578). One is asked for before each request, as phones do ahead of
//! time. Which request a token goes with, the issuer cannot tell.

#[cfg(feature = "ohttp")]
use super::relay::Relay;
use crate::blame;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use sotto_client::transport::http::{Http, Settings};
use sotto_client::transport::{Request, Response, Transport, TransportError};
use sotto_core::CryptoRng;
use sotto_pass::client::{Client as Wallet, header};
use sotto_pass::message::challenge;
#[cfg(feature = "ohttp")]
use std::path::Path;
use std::rc::Rc;

/// Bytes of an answer at most.
const MOST_BYTES: u64 = 256 << 20;

/// Bytes of what an issuer says at most.
const MOST_TOLD: u64 = 1 << 20;

/// A line to one server.
pub(super) struct Line {
    url: String,
    settings: Settings,
    /// What every request says.
    headers: Vec<Header>,
    wallet: Option<Rc<(Wallet, String)>>,
    #[cfg(feature = "ohttp")]
    relay: Option<Relay>,
    /// Where requests go that all say the same.
    http: Http,
}

/// A header of a request.
type Header = (&'static str, String);

impl Line {
    pub(super) fn new(url: &str, settings: Settings, headers: Vec<Header>) -> Result<Self> {
        let http = Http::new(url, &settings).map_err(transport)?.speaking(headers.clone());
        Ok(Line {
            url: url.to_owned(),
            settings,
            headers,
            wallet: None,
            #[cfg(feature = "ohttp")]
            relay: None,
            http,
        })
    }

    /// From now on says that this user asks.
    pub(super) fn speak_as(&mut self, user: &str) -> Result<()> {
        if self.headers.iter().any(|(name, value)| *name == USER && value == user) {
            return Ok(());
        }
        self.headers.retain(|(name, _)| *name != USER);
        self.headers.push((USER, user.to_owned()));
        self.http = Http::new(&self.url, &self.settings).map_err(transport)?.speaking(self.headers.clone());
        Ok(())
    }

    /// From now on asks by way of this relay, the issuer of tokens too.
    #[cfg(feature = "ohttp")]
    pub(super) fn by_relay(&mut self, relay: &str, keys: &Path) -> Result<()> {
        self.relay = Some(Relay::new(relay, &self.url, keys, &self.settings)?);
        Ok(())
    }

    /// Whether a relay is on the way.
    pub(super) fn is_relayed(&self) -> bool {
        #[cfg(feature = "ohttp")]
        return self.relay.is_some();
        #[cfg(not(feature = "ohttp"))]
        false
    }

    /// From now on brings tokens, which a user's token is good for.
    pub(super) fn with_tokens(&mut self, user_token: &str, now: u64, rng: &mut dyn CryptoRng) -> Result<()> {
        let directory = self.issuer(None, &Request::get(DIRECTORY.to_owned(), MOST_TOLD), rng)?;
        let directory = serde_json::from_slice(&directory).map_err(|error| {
            Failure::new(Exit::Peer, format!("the issuer's directory is no JSON: {error}"))
        })?;
        let key = self.issuer(Some(user_token), &Request::get(KEY.to_owned(), MOST_TOLD), rng)?;
        let name = self.url.split("://").last().and_then(|rest| rest.split(['/', ':']).next());
        let wallet = Wallet::new(&key, &directory, &challenge(name.unwrap_or_default()), now);
        let wallet = wallet.map_err(|error| Failure::new(Exit::Peer, error.to_string()))?;
        self.wallet = Some(Rc::new((wallet, user_token.to_owned())));
        Ok(())
    }

    pub(super) fn post(&mut self, path: &str, body: Vec<u8>, rng: &mut dyn CryptoRng) -> Result<Response> {
        let request = Request::post(path.to_owned(), body, MOST_BYTES);
        let Some(with) = self.wallet.clone() else { return self.call(None, &request, rng) };
        let (wallet, user_token) = &*with;
        let bad = |error: sotto_pass::client::NoToken| Failure::new(Exit::Peer, error.to_string());
        let (asked, pending) = wallet.request(rng).map_err(bad)?;
        let issue = Request::post(ISSUE.to_owned(), asked, MOST_TOLD);
        let answer = self.issuer(Some(user_token), &issue, rng)?;
        let token = header(&wallet.finish(pending, &answer).map_err(bad)?);
        let with = self.headers.iter().cloned().chain([(AUTHORIZATION, token)]).collect();
        self.call(Some(with), &request, rng)
    }

    /// What the issuer answers, to whoever has this user token.
    fn issuer(
        &mut self,
        user_token: Option<&str>,
        request: &Request,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>> {
        let bearer = user_token.map(|token| (AUTHORIZATION, format!("Bearer {token}")));
        let response = self.call(Some(bearer.into_iter().collect()), request, rng)?;
        let fix = match response.status {
            200 => return Ok(response.body),
            401 | 403 => "check --user-token: that issuer does not know it",
            404 => "leave --user-token out: no tokens are given there",
            429 => "try again later: this user had as many tokens as one may have",
            _ => "ask the operator what the server's log says",
        };
        Err(Failure::new(Exit::Refused, format!("the issuer of tokens said {}", response.status)).fix(fix))
    }

    /// Sends a request with these headers, or with those that every request has.
    #[cfg_attr(
        not(feature = "ohttp"),
        allow(unused_variables, reason = "only what is sealed needs randomness")
    )]
    fn call(
        &mut self,
        headers: Option<Vec<Header>>,
        request: &Request,
        rng: &mut dyn CryptoRng,
    ) -> Result<Response> {
        #[cfg(feature = "ohttp")]
        if let Some(relay) = &mut self.relay {
            return relay.call(headers.as_ref().unwrap_or(&self.headers), request, rng);
        }
        match headers {
            None => self.http.call(request).map_err(transport),
            Some(headers) => {
                let mut http = Http::new(&self.url, &self.settings).map_err(transport)?.speaking(headers);
                http.call(request).map_err(transport)
            }
        }
    }
}

/// The header that the server keeps keys by.
const USER: &str = "user-identifier";
const AUTHORIZATION: &str = "authorization";
const DIRECTORY: &str = "/.well-known/private-token-issuer-directory";
const KEY: &str = "/token-key-for-user-token";
const ISSUE: &str = "/issue";

pub(super) fn transport(error: TransportError) -> Failure {
    blame::client(error.into())
}
