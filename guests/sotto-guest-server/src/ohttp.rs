//! A gateway of Oblivious HTTP (RFC 9458), and the section `[ohttp]`.
//!
//! | module | contents |
//! |---|---|
//! | `gateway` | its keys, and the requests that it remembers (feature `ohttp`) |
//! | `routes` | its route, in front of all others (feature `ohttp`) |

#[cfg(feature = "ohttp")]
mod gateway;
#[cfg(feature = "ohttp")]
mod routes;

use serde::Deserialize;
use sotto_server::StartError;
use sotto_server::config::at_least_one;
use sotto_server::extension::{Extension, ExtensionContext, ExtensionNeeds, ExtensionSetup};
use std::net::IpAddr;
use std::sync::Arc;

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

impl ExtensionSetup for OhttpConfig {
    fn check(&self) -> Result<(), String> {
        if cfg!(not(feature = "ohttp")) {
            return Err("[ohttp] is set, but this build has no OHTTP: build with --features ohttp".into());
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        if !self.path.starts_with('/') || !self.path.bytes().all(is_plain) {
            return Err(format!("ohttp.path: {} is not a path: give one such as /gateway", self.path));
        }
        at_least_one(&[
            ("ohttp.renew_days", self.renew_days),
            ("ohttp.max_request_mib", self.max_request_mib),
            ("ohttp.max_response_mib", self.max_response_mib),
        ])
    }

    fn needs(&self) -> ExtensionNeeds {
        ExtensionNeeds { relays: self.relays.clone(), ..ExtensionNeeds::default() }
    }

    #[cfg(feature = "ohttp")]
    fn open(
        self: Box<Self>,
        context: ExtensionContext<'_>,
    ) -> Result<Option<Arc<dyn Extension>>, StartError> {
        Ok(Some(Arc::new(gateway::Gateway::open(&self, context.config.state.as_deref())?)))
    }

    #[cfg(not(feature = "ohttp"))]
    fn open(self: Box<Self>, _: ExtensionContext<'_>) -> Result<Option<Arc<dyn Extension>>, StartError> {
        Ok(None)
    }
}
