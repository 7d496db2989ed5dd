//! Configuration of a gateway of Oblivious HTTP.

use serde::Deserialize;
use std::net::IpAddr;

/// A gateway for requests that relays pass on and cannot read. A decrypted request goes to the same
/// routes as all others.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OhttpConfig {
    /// Path of the gateway: `GET` returns its keys, `POST` accepts requests.
    pub path: String,
    /// Number of days for which a key is published. It opens requests for as many more days.
    pub renew_days: u64,
    /// Maximum size of a request in MiB.
    pub max_request_mib: u64,
    /// Maximum size of a response in MiB. A longer one is replaced by a refusal inside.
    pub max_response_mib: u64,
    /// Number of the last requests that are remembered: one that arrives again is refused inside. 0
    /// remembers none.
    pub replay_window: usize,
    /// Addresses of relays (for IPv6, the first 64 bits), which `connections_per_client` does not
    /// apply to.
    pub relays: Vec<IpAddr>,
}

impl Default for OhttpConfig {
    fn default() -> Self {
        OhttpConfig {
            path: "/.well-known/ohttp-gateway".into(),
            renew_days: 7,
            max_request_mib: 16,
            max_response_mib: 64,
            replay_window: 1 << 18,
            relays: Vec::new(),
        }
    }
}

impl OhttpConfig {
    /// Checks the rules that the types do not express.
    pub(super) fn check(&self) -> Result<(), String> {
        if cfg!(not(feature = "ohttp")) {
            return Err("[ohttp] is set, but this build has no OHTTP: build with --features ohttp".into());
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        if !self.path.starts_with('/') || !self.path.bytes().all(is_plain) {
            return Err(format!("ohttp.path: {} is not a path: give one such as /gateway", self.path));
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
