//! Configuration of Apple's private lookups: tables, and limits on their clients.

use super::SessionConfig;
use serde::Deserialize;
use sotto_pass::RotationSchedule;
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

/// Tokens of Privacy Pass: issued to known users, and redeemed by requests that cannot be linked to
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenConfig {
    /// File with a line for each user: the tier, and the user token of the user's app, or its
    /// SHA-256. It is read again when it has changed.
    pub users: PathBuf,
    /// Maximum number of tokens of one key that a user may have. A request takes one.
    #[serde(default = "per_user")]
    pub per_user: u32,
    /// Number of days for which a key signs. Its tokens are valid for as many more days, and then
    /// all spent tokens are forgotten.
    #[serde(default = "renew_days")]
    pub renew_days: u64,
    /// Address at which phones request tokens, as in the directory: a path, or a whole address if
    /// the issuer has another name.
    #[serde(default = "issue_uri")]
    pub issue_uri: String,
    /// Name of the issuer in the challenges of tokens: tokens for another challenge than this
    /// issuer's without a context are refused. `*` accepts those for any challenge.
    pub issuer: String,
    /// Number of wrong user tokens of one address, at once and again with each hour; then the
    /// address gets no answer to further attempts until it may try again. 0: any number, for
    /// servers behind a proxy or a relay.
    #[serde(default = "failures_per_client")]
    pub failures_per_client: u64,
}

/// Issuer name that stands for any.
const ANY_ISSUER: &str = "*";

fn per_user() -> u32 {
    5000
}

fn renew_days() -> u64 {
    7
}

fn failures_per_client() -> u64 {
    100
}

fn issue_uri() -> String {
    "/issue".into()
}

impl TokenConfig {
    /// The rotation schedule of issuer keys.
    pub(crate) fn rotation(&self) -> RotationSchedule {
        let every = self.renew_days.saturating_mul(86_400);
        RotationSchedule { every, after: every, before: every / 7 }
    }

    /// The issuer's name, if challenges have to contain it.
    pub(crate) fn issuer_name(&self) -> Option<&str> {
        Some(self.issuer.as_str()).filter(|name| *name != ANY_ISSUER)
    }

    /// Checks the rules that the types do not express.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.issuer.is_empty() {
            return Err("apple.tokens.issuer is empty: give the issuer's name, or * for any".into());
        }
        let numbers = [("per_user", u64::from(self.per_user)), ("renew_days", self.renew_days)];
        match numbers.iter().find(|(_, value)| *value == 0) {
            Some((key, _)) => Err(format!("apple.tokens.{key} must be at least 1")),
            None => Ok(()),
        }
    }
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
