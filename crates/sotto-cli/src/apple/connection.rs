//! The connection to a server of Apple's lookups, with the headers of every request.

#[cfg(feature = "ohttp")]
use crate::apple::relay::Relay;
use crate::failure::{Failure, Result};
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Response, Transport};
use sotto_core::CryptoRng;
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
