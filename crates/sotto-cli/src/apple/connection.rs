//! The connection to a server of Apple's lookups, with the headers of every request; and tokens of
//! Privacy Pass (RFC 9578), one for each request, issued at the server's own address for a user token.
//!
//! Blinding keeps the issuer from recognizing a token. An issuer that is also the server could
//! still link tokens to requests by their time. So tokens come in batches of one size, ahead of
//! their use, and a request takes a stored one. If a server refuses a token, to see who fetches
//! others then, the call ends.

#[cfg(feature = "ohttp")]
use crate::apple::relay::Relay;
use crate::apple::{now, why};
use crate::connect_args::ConnectArgs;
use crate::failure::{Exit, Failure, Result};
use sotto_client::cache::keyring::{KeyringSlot, TOKEN_BATCH, TokenStore};
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Response, Transport};
use sotto_core::CryptoRng;
use sotto_pass::client::{Client, TokenError, header};
use sotto_pass::message::{TOKEN, Token, challenge};
#[cfg(feature = "ohttp")]
use std::path::Path;

/// A connection to one server, with the headers of its requests.
pub(crate) struct AppleConnection {
    url: String,
    settings: HttpSettings,
    /// Headers of every request.
    headers: Vec<Header>,
    #[cfg(feature = "ohttp")]
    relay: Option<Relay>,
    /// Connection for requests with the common headers only.
    http: HttpTransport,
}

/// Name and value of a header.
pub(crate) type Header = (&'static str, String);

impl AppleConnection {
    pub(crate) fn new(url: &str, settings: HttpSettings, headers: Vec<Header>) -> Result<Self> {
        let http = HttpTransport::new(url, &settings)?.with_headers(headers.clone());
        Ok(AppleConnection {
            url: url.to_owned(),
            settings,
            headers,
            #[cfg(feature = "ohttp")]
            relay: None,
            http,
        })
    }

    /// Sets the user of all further requests.
    pub(crate) fn set_user(&mut self, user: &str) -> Result<()> {
        if self.headers.iter().any(|(name, value)| *name == USER && value == user) {
            return Ok(());
        }
        self.headers.retain(|(name, _)| *name != USER);
        self.headers.push((USER, user.to_owned()));
        self.http = HttpTransport::new(&self.url, &self.settings)?.with_headers(self.headers.clone());
        Ok(())
    }

    /// Sends all further requests through this relay, those to the token issuer too.
    #[cfg(feature = "ohttp")]
    pub(crate) fn use_relay(&mut self, relay: &str, keys: &Path) -> Result<()> {
        self.relay = Some(Relay::new(relay, &self.url, keys, &self.settings)?);
        Ok(())
    }

    /// Whether requests go through a relay.
    pub(crate) fn is_relayed(&self) -> bool {
        #[cfg(feature = "ohttp")]
        return self.relay.is_some();
        #[cfg(not(feature = "ohttp"))]
        false
    }

    /// The address of the server.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The headers of every request.
    pub(crate) fn headers(&self) -> &[Header] {
        &self.headers
    }

    /// A connection for requests with these headers.
    pub(crate) fn connection(&self, headers: Vec<Header>) -> Result<Connection> {
        let http = HttpTransport::new(&self.url, &self.settings)?.with_headers(headers.clone());
        Ok(Connection {
            http,
            #[cfg(feature = "ohttp")]
            headers,
        })
    }

    /// Sends a request on this connection, or on the common one.
    #[cfg_attr(
        not(feature = "ohttp"),
        allow(unused_variables, reason = "only what is sealed needs randomness")
    )]
    pub(crate) fn call(
        &mut self,
        connection: Option<&mut Connection>,
        request: &Request,
        rng: &mut dyn CryptoRng,
    ) -> Result<Response> {
        #[cfg(feature = "ohttp")]
        if let Some(relay) = &mut self.relay {
            let headers = connection.as_ref().map_or(&self.headers, |connection| &connection.headers);
            return relay.call(headers, request, rng);
        }
        connection
            .map_or(&mut self.http, |connection| &mut connection.http)
            .call(request)
            .map_err(Failure::from)
    }
}

/// A connection for requests with headers of their own.
pub(crate) struct Connection {
    http: HttpTransport,
    #[cfg(feature = "ohttp")]
    headers: Vec<Header>,
}

/// Header with the name under which the server stores keys.
const USER: &str = "user-identifier";

const AUTHORIZATION: &str = "authorization";
const DIRECTORY: &str = "/.well-known/private-token-issuer-directory";
const KEY: &str = "/token-key-for-user-token";
const ISSUE: &str = "/issue";

/// Maximum bytes of an issuer's response.
const MAX_ISSUER_BYTES: u64 = 1 << 20;

/// Maximum bytes of an answer.
const MAX_BYTES: u64 = 256 << 20;

/// The connection to a server, and the tokens of its user.
pub(crate) struct AppleServer {
    pub(crate) connection: AppleConnection,
    pub(crate) tokens: Option<Tokens>,
}

impl AppleServer {
    /// Sends a body, with a token if the user has some.
    pub(crate) fn post(&mut self, path: &str, body: Vec<u8>, rng: &mut dyn CryptoRng) -> Result<Response> {
        let request = Request::post(path.to_owned(), body, MAX_BYTES);
        match &mut self.tokens {
            Some(tokens) => tokens.send(&mut self.connection, &request, rng),
            None => self.connection.call(None, &request, rng),
        }
    }

    /// Fetches a batch of tokens, whatever is left of the previous one. Returns how many arrived.
    pub(crate) fn fetch_tokens(&mut self, rng: &mut dyn CryptoRng) -> Result<usize> {
        self.tokens.as_mut().map_or(Ok(0), |tokens| tokens.fetch(&mut self.connection, rng))
    }

    /// Fetches the next batch of tokens if few are left.
    pub(crate) fn refill_tokens(&mut self, rng: &mut dyn CryptoRng) {
        if let Some(tokens) = &mut self.tokens {
            tokens.refill(&mut self.connection, rng);
        }
    }
}

/// Tokens of one user at one server.
pub(crate) struct Tokens {
    store: TokenStore,
    user_token: String,
    /// Whether to use stored tokens only.
    stored_only: bool,
}

impl Tokens {
    /// Opens the stored tokens of a user at the server at `url`.
    pub(crate) fn open(remote: &ConnectArgs, url: &str, user_token: &str, stored_only: bool) -> Result<Self> {
        let url = url.trim_end_matches('/').to_ascii_lowercase();
        let user = blake3::hash(user_token.as_bytes()).to_hex();
        let slot = KeyringSlot::of(&format!("tokens {url}"), &user);
        let place = remote.token_keyring()?.map(|ring| (ring, slot));
        let store = TokenStore::new(place, TOKEN, remote.max_wait);
        Ok(Tokens { store, user_token: user_token.to_owned(), stored_only })
    }

    /// Sends a request with a token, which is removed from the disk before.
    fn send(
        &mut self,
        server: &mut AppleConnection,
        request: &Request,
        rng: &mut dyn CryptoRng,
    ) -> Result<Response> {
        let stored = match self.stored_only {
            true => self.store.take(rng)?,
            false => self.store.take_or_fetch(rng, |rng| issued(server, &self.user_token, rng))?,
        };
        let stored = stored.ok_or_else(|| {
            Failure::new(Exit::Refused, "no stored token is left")
                .fix("fetch tokens with --fetch-tokens, some time before lookups")
        })?;
        let token =
            Token::take(&stored.bytes).ok_or_else(|| Failure::internal("a stored token is malformed"))?;
        let headers = server.headers().iter().cloned().chain([(AUTHORIZATION, header(&token))]).collect();
        let mut connection = server.connection(headers)?;
        let response = server.call(Some(&mut connection), request, rng)?;
        if response.status != 401 {
            return Ok(response);
        }
        self.store.discard(&stored, rng)?;
        let message =
            format!("the server refuses a token, whose batch is now deleted (401: {})", why(&response));
        Err(Failure::new(Exit::Refused, message).fix(
            "try again later, with new tokens: the issuer can link a request right after they are fetched",
        ))
    }

    /// Fetches a batch, whatever is left of the previous one. Returns how many tokens arrived.
    fn fetch(&mut self, server: &mut AppleConnection, rng: &mut dyn CryptoRng) -> Result<usize> {
        if !self.store.is_kept() {
            return Err(Failure::usage("no cache folder for tokens").fix("give --cache DIR"));
        }
        let tokens = issued(server, &self.user_token, rng)?;
        self.store.replace(&tokens, rng)?;
        Ok(tokens.len())
    }

    /// Fetches the next batch if few are left. An error is reported by the call that finds no
    /// token.
    fn refill(&mut self, server: &mut AppleConnection, rng: &mut dyn CryptoRng) {
        if !self.stored_only && self.store.begin_refill(rng).unwrap_or(false) {
            let _ = self.fetch(server, rng);
        }
    }
}

/// A batch of tokens from the issuer. Fewer arrive only if the user may have no more.
fn issued(server: &mut AppleConnection, user_token: &str, rng: &mut dyn CryptoRng) -> Result<Vec<Vec<u8>>> {
    let get = |path: &str| Request::get(path.to_owned(), MAX_ISSUER_BYTES);
    let mut everybody = server.connection(Vec::new())?;
    let directory = granted(server.call(Some(&mut everybody), &get(DIRECTORY), rng)?)?;
    let directory = serde_json::from_slice(&directory)
        .map_err(|error| Failure::peer(format!("the issuer's directory is not JSON: {error}")))?;
    let mut user = server.connection(vec![(AUTHORIZATION, format!("Bearer {user_token}"))])?;
    let key = granted(server.call(Some(&mut user), &get(KEY), rng)?)?;
    let bad = |error: TokenError| Failure::peer(error.to_string());
    let name =
        server.url().split("://").last().and_then(|rest| rest.split(['/', ':']).next()).unwrap_or_default();
    let client = Client::new(&key, &directory, &challenge(name), now()).map_err(bad)?;
    let mut tokens = Vec::with_capacity(TOKEN_BATCH);
    while tokens.len() < TOKEN_BATCH {
        let (body, pending) = client.request(rng).map_err(bad)?;
        let request = Request::post(ISSUE.to_owned(), body, MAX_ISSUER_BYTES);
        let response = server.call(Some(&mut user), &request, rng)?;
        if response.status == 429 && !tokens.is_empty() {
            break;
        }
        tokens.push(client.finish(pending, &granted(response)?).map_err(bad)?.to_bytes());
    }
    Ok(tokens)
}

/// The tokens in the issuer's response.
fn granted(response: Response) -> Result<Vec<u8>> {
    let fix = match response.status {
        200 => return Ok(response.body),
        401 | 403 => "check --user-token, which the issuer does not accept",
        404 => "omit --user-token, since this server issues no tokens",
        429 => "try again later, since this user has reached the limit of tokens",
        _ => "ask the operator for the server's log",
    };
    Err(Failure::new(Exit::Refused, format!("the token issuer responds with {}", response.status)).fix(fix))
}
