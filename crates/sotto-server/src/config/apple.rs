//! Tables of Apple's private lookups, and what their clients may have.

use super::SessionConfig;
use serde::Deserialize;
use sotto_pass::RotationSchedule;
use std::path::PathBuf;

/// Tables that phones ask in Apple's words, with `POST /config`, `/key` and `/queries` beside the routes of all other tables.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AppleConfig {
    /// Files of `sotto encode --apple`, or folders of their epochs, which are watched.
    pub use_cases: Vec<PathBuf>,
    /// Configurations of a use case before its newest that go on answering clients that know them; others are told that theirs is
    /// retired (410), and ask for the newest.
    pub kept: usize,
    /// Whether parameters below 128 bits of security are served.
    pub allow_weak: bool,
    /// Requests for lookups that may wait. One more takes the place of one of whoever has the most lookups waiting, which gets
    /// 429: an address, or a token where requests bring tokens. It gets that itself if nobody has more.
    pub max_requests: usize,
    /// How long users' keys are held, and how many.
    pub keys: AppleKeys,
    /// The tokens that requests have to bring. Without this anybody may ask.
    pub tokens: Option<TokenConfig>,
    /// A file to which reports of URL filters on supervised devices are appended, a line of JSON each. Without it they are
    /// dropped.
    pub reports: Option<PathBuf>,
    /// Most bytes of that file; what is reported after that is dropped.
    pub max_report_bytes: u64,
}

/// Tokens of Privacy Pass: given to users that are known, and brought by requests of nobody knows whom.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenConfig {
    /// A file with a line for each user: the tier, and what the user's app was given, or its SHA-256. It is read again when it
    /// has changed.
    pub users: PathBuf,
    /// Tokens that a user may have of one key. A request takes one.
    #[serde(default = "per_user")]
    pub per_user: u32,
    /// How many days a key signs. Its tokens count for as many more, and then all that was spent is forgotten.
    #[serde(default = "renew_days")]
    pub renew_days: u64,
    /// Where phones ask for tokens, as the directory says it: a path, or a whole address if the issuer has another name.
    #[serde(default = "issue_uri")]
    pub issue_uri: String,
    /// The issuer's name, as the challenges of tokens have it: tokens that answer another challenge than this issuer's without a
    /// context are refused. `*` takes those of any challenge.
    pub issuer: String,
    /// User tokens of one address that may be wrong, at once and with each hour; then it is told nothing of any until there may
    /// be more. 0: any number, for servers behind a proxy or a relay.
    #[serde(default = "failures_per_client")]
    pub failures_per_client: u64,
}

/// The name of an issuer that stands for any.
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
    /// How long keys are used.
    pub(crate) fn rotation(&self) -> RotationSchedule {
        let every = self.renew_days.saturating_mul(86_400);
        RotationSchedule { every, after: every, before: every / 7 }
    }

    /// The issuer's name, if challenges have to have it.
    pub(crate) fn issuer_name(&self) -> Option<&str> {
        Some(self.issuer.as_str()).filter(|name| *name != ANY_ISSUER)
    }

    /// Checks what the types do not say.
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

/// Limits on users' keys, over all use cases. A user whose keys went is told to send them again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AppleKeys {
    /// Most bytes of keys in memory, ready for lookups; the least recently used of the address that has the most go first, and
    /// are read again from the state directory.
    pub max_bytes: u64,
    /// Most bytes of keys in the state directory, as users sent them; the same go first. Their file is half as large again.
    pub max_stored_bytes: u64,
    /// How long unused keys are kept, in seconds.
    pub ttl_seconds: u64,
    /// Keys of one address. 0: any number, since phones ask by way of relays, which many share.
    pub per_client: usize,
    /// Uploads of one address that may come at once, and how many more each minute brings; others get 429. 0: any number.
    pub per_minute: u32,
}

impl Default for AppleConfig {
    fn default() -> Self {
        AppleConfig {
            use_cases: Vec::new(),
            kept: 1,
            allow_weak: false,
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
            per_client: 0,
            per_minute: 0,
        }
    }
}

impl AppleKeys {
    /// The same limits, as those of other clients' keys are said.
    pub(crate) fn sessions(&self) -> SessionConfig {
        let AppleKeys { max_bytes, max_stored_bytes, ttl_seconds, per_client, per_minute } = *self;
        SessionConfig { max_bytes, max_stored_bytes, ttl_seconds, per_client, per_minute }
    }
}
