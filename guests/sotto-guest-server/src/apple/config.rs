//! Configuration of Apple's private lookups: tables, and limits on their clients.

use crate::TokenConfig;
use serde::Deserialize;
use sotto_server::SessionConfig;
use sotto_server::config::at_least_one;
use std::path::PathBuf;

/// Tables for phones in Apple's protocol, with `POST /config`, `/key` and `/queries` next to the
/// routes of all other tables.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AppleConfig {
    /// Files of `sotto encode --apple`, or folders of their epochs, which are checked for new ones.
    pub use_cases: Vec<PathBuf>,
    /// Number of configurations of a use case before its newest one that still answer clients that
    /// know them; other clients are notified that theirs is retired (410), and request the newest.
    pub configurations_kept: usize,
    /// Whether to serve parameters below 128 bits of security.
    pub allow_insecure_params: bool,
    /// Maximum number of lookup requests that wait. A further one replaces one of the requester
    /// that has the most lookups waiting, which gets 429: an address, or a token if requests bring
    /// tokens. If no requester has more than the sender, the further one gets it.
    pub max_requests: usize,
    /// Limits on users' keys.
    pub keys: AppleKeys,
    /// Tokens that requests have to bring; without them any client may make requests.
    pub tokens: Option<TokenConfig>,
    /// File to which reports of URL filters on supervised devices are appended, a line of JSON
    /// each. Without it they are dropped.
    pub reports: Option<PathBuf>,
    /// Maximum bytes of the report file; later reports are dropped.
    pub max_report_bytes: u64,
}

/// Limits on users' keys, over all use cases. A user whose keys were evicted is asked to send them
/// again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AppleKeys {
    /// Maximum bytes of keys in memory, ready for lookups; the least recently used of the address
    /// that has the most are evicted first, and read again from the state directory.
    pub max_bytes: u64,
    /// Maximum bytes of keys in the state directory, as users sent them, evicted in the same order.
    /// Their file is half as large again.
    pub max_stored_bytes: u64,
    /// Time in seconds after which unused keys expire.
    pub ttl_seconds: u64,
    /// Maximum number of keys of one address. 0: any number, since phones use relays, which many
    /// share.
    pub sessions_per_client: usize,
    /// Number of uploads of one address that may arrive at once, and how many more each minute
    /// allows; others get 429. 0: any number.
    pub registrations_per_minute: u32,
}

impl Default for AppleConfig {
    fn default() -> Self {
        AppleConfig {
            use_cases: Vec::new(),
            configurations_kept: 1,
            allow_insecure_params: false,
            max_requests: 128,
            keys: AppleKeys::default(),
            tokens: None,
            reports: None,
            max_report_bytes: 1 << 30,
        }
    }
}

impl Default for AppleKeys {
    fn default() -> Self {
        AppleKeys {
            max_bytes: 4 << 30,
            max_stored_bytes: 16 << 30,
            ttl_seconds: 30 * 86_400,
            sessions_per_client: 0,
            registrations_per_minute: 0,
        }
    }
}

impl AppleConfig {
    /// Checks the rules that the types do not express.
    pub(super) fn check(&self) -> Result<(), String> {
        self.tokens.as_ref().map_or(Ok(()), TokenConfig::check)?;
        at_least_one(&[("apple.max_requests", self.max_requests as u64)])
    }
}

impl AppleKeys {
    /// These limits as those of other clients' keys are expressed.
    pub(crate) fn sessions(&self) -> SessionConfig {
        let AppleKeys {
            max_bytes,
            max_stored_bytes,
            ttl_seconds,
            sessions_per_client,
            registrations_per_minute,
        } = *self;
        SessionConfig {
            max_bytes,
            max_stored_bytes,
            ttl_seconds,
            sessions_per_client,
            registrations_per_minute,
        }
    }
}
