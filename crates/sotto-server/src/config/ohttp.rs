//! A gateway of Oblivious HTTP.

use serde::Deserialize;
use std::net::IpAddr;

/// A gateway that relays pass requests on to, which they cannot read. A request that comes out of one goes to the same routes as
/// all others.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OhttpConfig {
    /// Where it is: `GET` gives its keys, `POST` takes requests.
    pub path: String,
    /// How many days a key is told. It is opened with for as many more.
    pub renew_days: u64,
    /// Most MiB of a request.
    pub max_request_mib: u64,
    /// Most MiB of a response. What is longer is refused inside.
    pub max_response_mib: u64,
    /// Of how many requests, the last ones, it is known that they came: one that comes again is refused inside. 0: of none.
    pub remember: usize,
    /// Addresses of relays (of IPv6, the first 64 bits): `connections_per_client` is not for them.
    pub relays: Vec<IpAddr>,
}

impl Default for OhttpConfig {
    fn default() -> Self {
        OhttpConfig {
            path: "/.well-known/ohttp-gateway".into(),
            renew_days: 7,
            max_request_mib: 16,
            max_response_mib: 64,
            remember: 1 << 18,
            relays: Vec::new(),
        }
    }
}

impl OhttpConfig {
    /// Checks what the types do not say.
    pub(super) fn check(&self) -> Result<(), String> {
        if cfg!(not(feature = "ohttp")) {
            return Err(
                "[ohttp] is set, and this program was built without: build it with --features ohttp".into()
            );
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        if !self.path.starts_with('/') || !self.path.bytes().all(is_plain) {
            return Err(format!("ohttp.path: {} is no path: give one as /gateway", self.path));
        }
        let numbers = [
            ("renew_days", self.renew_days),
            ("max_request_mib", self.max_request_mib),
            ("max_response_mib", self.max_response_mib),
        ];
        match numbers.iter().find(|(_, value)| *value == 0) {
            Some((key, _)) => Err(format!("ohttp.{key} must be at least 1")),
            None => Ok(()),
        }
    }
}
