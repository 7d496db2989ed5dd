//! Why no whole response came, and what an intermediary did.

use sotto_core::{Diagnose, Diagnosis, ErrorKind};

/// No complete response arrived.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The address cannot be used.
    #[error("{url} is not an address of a server: {why}")]
    Address {
        /// Address that was given.
        url: String,
        /// Description of the fault.
        why: String,
    },
    /// No connection could be made.
    #[error("cannot connect to {origin}: {why}")]
    Connect {
        /// Origin of the server.
        origin: String,
        /// Error of the operating system.
        why: String,
    },
    /// The connection broke before the response was complete.
    #[error("the connection broke: {0}")]
    Lost(String),
    /// The time limit has passed.
    #[error("no complete response within the time limit ({0})")]
    Timeout(String),
    /// The response is larger than any valid one.
    #[error("the response is larger than {limit} bytes, its maximum")]
    TooLarge {
        /// Maximum bytes of a valid response.
        limit: u64,
    },
    /// The TLS handshake failed, or a certificate cannot be read.
    #[error("TLS: {0}")]
    Tls(String),
    /// The name of this server has no address.
    #[error("cannot connect to {0}: unknown host")]
    UnknownHost(String),
    /// The address is `https`, but this server does not speak TLS.
    #[error("{0} does not speak TLS")]
    NotTls(String),
    /// The response is not the server's, or was changed on its way.
    #[error("{origin} sent {found}")]
    Intermediary {
        /// Origin of the server.
        origin: String,
        /// What the intermediary did.
        found: Intermediary,
    },
    /// The response is not valid HTTP.
    #[error("the response is not valid HTTP: {0}")]
    Protocol(String),
}

impl Diagnose for TransportError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        let address = "check that the address is a sotto server's; tell its operator";
        match self {
            TransportError::Address { .. } => ErrorKind::Misuse.diagnosis(
                "bad-address",
                "give an address such as https://lookup.example or http://127.0.0.1:8080",
            ),
            TransportError::Connect { .. } => ErrorKind::Network
                .diagnosis("no-connection", "check the address, and that the server runs"),
            TransportError::Lost(_) => ErrorKind::Network.diagnosis(
                "connection-lost",
                "try again; with a cache, the download continues where it stopped",
            ),
            TransportError::Timeout(_) => ErrorKind::Timeout.diagnosis("timeout", "try again, or allow more time"),
            TransportError::TooLarge { .. } => ErrorKind::Peer.diagnosis("response-too-large", address),
            TransportError::Protocol(_) => ErrorKind::Peer.diagnosis("bad-http", address),
            TransportError::UnknownHost { .. } => ErrorKind::Network.diagnosis(
                "unknown-host",
                "check the spelling of the address, and that this machine can resolve names",
            ),
            TransportError::NotTls { .. } => ErrorKind::Peer.diagnosis(
                "no-tls",
                "give an http:// address if the server is meant to be used without TLS; otherwise ask its operator",
            ),
            TransportError::Intermediary { found, .. } => {
                ErrorKind::Network.diagnosis("intermediary", found.fix())
            }
            TransportError::Tls(_) => ErrorKind::Peer.diagnosis(
                "tls",
                "check the server's certificate, or name the root certificate that signed it",
            ),
        }
    }
}

impl TransportError {
    /// Whether the same bytes may be sent again at once.
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            TransportError::Connect { .. } | TransportError::UnknownHost { .. } | TransportError::Lost(_)
        )
    }
}

/// What an intermediary did (RFC 9110, section 3.7).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Intermediary {
    /// Status 401, 407 or 511 without a problem document of the server.
    #[error("status {status}: something in front of the server requires a login")]
    WantsLogin {
        /// HTTP status.
        status: u16,
    },
    /// A redirect, which no server sends and no client follows.
    #[error("status {status}: a redirect to {location}")]
    Redirects {
        /// HTTP status.
        status: u16,
        /// The `location` header, printable and at most 200 characters long.
        location: String,
    },
    /// A content coding that the client did not accept: the `content-encoding` header, printable
    /// and at most 200 characters long.
    #[error("compressed responses ({0}), made by something in front of the server")]
    Encodes(String),
    /// An HTML page with the status of a success.
    #[error("an HTML page instead of a sotto response")]
    ShowsPage,
}

impl Intermediary {
    /// What to do about this intermediary.
    pub fn fix(&self) -> &'static str {
        match self {
            Intermediary::WantsLogin { status: 511 } | Intermediary::ShowsPage => {
                "check that the address is a sotto server's; open any page in a browser first if this network has a login page"
            }
            Intermediary::WantsLogin { status: 407 } => {
                "give the proxy's user and password in HTTPS_PROXY, as http://user:password@proxy:port"
            }
            Intermediary::WantsLogin { .. } => {
                "ask the operator to let lookups through without a login: clients send no credentials"
            }
            Intermediary::Redirects { .. } => {
                "give the address that the redirect names, if you trust it: clients follow no redirects"
            }
            Intermediary::Encodes { .. } => {
                "ask the operator to turn compression off for the server's paths: clients accept no content coding"
            }
        }
    }
}
