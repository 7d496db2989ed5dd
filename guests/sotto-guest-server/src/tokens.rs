//! Tokens of Privacy Pass: a request of Apple's protocol brings one, which cannot be linked to a
//! user.
//!
//! The issuer is part of the server: a user's app has a user token, in exchange for which the phone
//! receives up to a maximum number of tokens. Keys and spent tokens are in the state directory, so
//! tokens stay valid after a restart, and spent ones stay spent.

mod ledger;
pub(crate) mod routes;

use arc_swap::ArcSwap;
use axum::http::{HeaderValue, header};
use ledger::TokenLedger;
use serde::Deserialize;
use sotto_pass::issuer::{GrantedSignature, IssuerError, VerifiedToken};
use sotto_pass::ledger::MemoryLedger;
use sotto_pass::{Issuer, IssuerKeys, Ledger, LedgerError, RotationSchedule, UserTiers};
use sotto_prg::system_rng;
use sotto_server::StartError;
use sotto_server::config::at_least_one;
use sotto_server::database::CopyTo;
use sotto_server::extension::{
    CountStore, HttpError, LowPriorityPool, Peer, Rate, RateLimit, Requester, now,
};
use sotto_wire::ProblemCode;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Maximum bytes of the file of users: some millions of users.
const MAX_USERS_BYTES: u64 = 1 << 28;

/// Number of threads that wait for the disk, where one of them writes for all.
const THREADS: usize = 16;

/// Duration of each signature, whatever the key and the message: many times what it takes on a slow
/// machine.
const SIGNING: Duration = Duration::from_millis(50);

/// Number of signatures made at once. Each takes a thread for [`SIGNING`], so this bounds the
/// signatures per second.
const SIGNERS: usize = 16;

const HOUR: Duration = Duration::from_secs(3600);

/// Seconds after which a user who has received all tokens of a key may try again: there may be
/// another key then.
const NO_TOKENS: u64 = 3600;
/// Seconds after which a failed write may succeed.
const NOT_WRITTEN: u64 = 5;

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
    fn rotation(&self) -> RotationSchedule {
        let every = self.renew_days.saturating_mul(86_400);
        RotationSchedule { every, after: every, before: every / 7 }
    }

    /// The issuer's name, if challenges have to contain it.
    fn issuer_name(&self) -> Option<&str> {
        Some(self.issuer.as_str()).filter(|name| *name != ANY_ISSUER)
    }

    /// Checks the rules that the types do not express.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.issuer.is_empty() {
            return Err("apple.tokens.issuer is empty: give the issuer's name, or * for any".into());
        }
        at_least_one(&[
            ("apple.tokens.per_user", u64::from(self.per_user)),
            ("apple.tokens.renew_days", self.renew_days),
        ])
    }
}

/// An issuer of tokens, and its users.
pub(crate) struct Tokens {
    pass: ArcSwap<Issuer>,
    ledger: Arc<dyn Ledger>,
    /// The ledger of tokens, if it outlives the process.
    book: Option<Arc<TokenLedger>>,
    users: PathBuf,
    /// Modification time of the file of users when it was last read.
    read: Mutex<Option<SystemTime>>,
    threads: LowPriorityPool,
    signers: LowPriorityPool,
    /// Number of wrong user tokens, by network: each is a guess.
    failures: RateLimit,
    /// Number of tokens spent since the start.
    spent: AtomicU64,
}

impl Tokens {
    /// The database of the ledger, if it outlives the process.
    pub(crate) fn store(&self) -> Option<&dyn CopyTo> {
        self.book.as_deref().map(|book| book as &dyn CopyTo)
    }

    /// Reads the users, and makes missing keys, which takes some tenths of a second each.
    ///
    /// # Errors
    /// [`StartError`].
    pub(crate) fn open(
        config: &TokenConfig,
        state: Option<&Path>,
        count_store: &CountStore,
    ) -> Result<Self, StartError> {
        let wrong = |why: String| StartError::Config { file: config.users.clone(), why };
        let written = written(&config.users);
        let users = read(&config.users).map_err(wrong)?;
        let book = state.map(TokenLedger::open).transpose()?.map(Arc::new);
        let ledger: Arc<dyn Ledger> = match &book {
            Some(book) => book.clone(),
            None => {
                tracing::warn!(
                    "tokens are in memory only: a restart forgets spent tokens and renews all keys"
                );
                Arc::new(MemoryLedger::default())
            }
        };
        let broken = |error: LedgerError| wrong(error.to_string());
        let ring = IssuerKeys::open(config.rotation(), &*ledger).map_err(broken)?;
        let mut rng = system_rng().map_err(|error| wrong(error.to_string()))?;
        let ring = ring.turned(users.tiers(), now(), &*ledger, &mut rng).map_err(broken)?;
        tracing::info!(users = users.len(), tiers = users.tiers().len(), "tokens are required");
        let pass = Issuer {
            ring,
            users,
            max_issued: config.per_user,
            issue_uri: config.issue_uri.clone(),
            issuer: config.issuer_name().map(str::to_owned),
        };
        let (pass, users, read) = (ArcSwap::from_pointee(pass), config.users.clone(), Mutex::new(written));
        let threads = LowPriorityPool::waiting(THREADS, "tokens")?;
        let signers = LowPriorityPool::waiting(SIGNERS, "issue")?;
        let words = "the hourly limit of wrong user tokens for this address is reached";
        let failures = RateLimit::new(Rate::per(config.failures_per_client, HOUR), words, count_store);
        let spent = AtomicU64::new(0);
        Ok(Tokens { pass, ledger, book, users, read, threads, signers, failures, spent })
    }

    /// Runs blocking work. Returns `None` if it panics.
    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        requester: Requester,
        work: impl FnOnce(&Self) -> Result<T, IssuerError> + Send + 'static,
    ) -> Result<T, HttpError> {
        let tokens = self.clone();
        self.threads
            .run(requester, move || work(&tokens))
            .await
            .ok_or(ProblemCode::Internal)?
            .map_err(refusal)
    }

    /// The directory of keys, as JSON.
    pub(crate) fn directory(&self) -> String {
        self.pass.load().directory(now()).to_string()
    }

    /// Checks a user token. A network that has guessed wrong too often receives no answer to
    /// further attempts for a while.
    ///
    /// # Errors
    /// 401 for a wrong token; [`ProblemCode::Busy`] after too many of them.
    pub(crate) fn admit(&self, peer: Peer, authorization: Option<&str>) -> Result<(), HttpError> {
        self.failures.check(peer, Instant::now())?;
        self.pass.load().knows(authorization).map_err(|failed| {
            // A request without a token is not a guess.
            self.failures.add(peer, u64::from(authorization.is_some()), Instant::now());
            refusal(failed)
        })
    }

    /// The key of a user's tier. See [`Issuer::key_for`].
    ///
    /// # Errors
    /// As for [`Tokens::admit`].
    pub(crate) fn key_for(&self, peer: Peer, authorization: Option<&str>) -> Result<Vec<u8>, HttpError> {
        self.admit(peer, authorization)?;
        self.pass.load().key_for(authorization, now()).map(<[u8]>::to_vec).map_err(refusal)
    }

    /// Signs a token, in a time that does not depend on the key. See [`Issuer::issue`].
    ///
    /// # Errors
    /// The errors of [`Issuer::grant`].
    pub(crate) async fn issue(
        self: &Arc<Self>,
        peer: Peer,
        authorization: Option<String>,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, HttpError> {
        let granted = self.run(peer.into(), move |tokens| {
            tokens.pass.load().grant(authorization.as_deref(), &body, now(), &*tokens.ledger)
        });
        let granted = granted.await?;
        let signed = self.signers.run(peer, move || in_fixed_time(SIGNING, || sign(&granted)));
        signed.await.ok_or(ProblemCode::Internal)?.map_err(refusal)
    }

    /// Verifies the token of a request, without spending it. See [`Issuer::verify`].
    ///
    /// # Errors
    /// 401 for an invalid token.
    pub(crate) async fn verify(
        self: &Arc<Self>,
        peer: Peer,
        authorization: Option<String>,
    ) -> Result<VerifiedToken, HttpError> {
        let verify = move |tokens: &Self| tokens.pass.load().verify(authorization.as_deref(), now());
        self.run(peer.into(), verify).await
    }

    /// Spends a token, whose number then identifies the requester. See [`Issuer::spend`].
    ///
    /// # Errors
    /// 401 for a token that was spent before.
    pub(crate) async fn spend(
        self: &Arc<Self>,
        peer: Peer,
        token: VerifiedToken,
    ) -> Result<Requester, HttpError> {
        let spend = move |tokens: &Self| tokens.pass.load().spend(&token, now(), &*tokens.ledger);
        self.run(peer.into(), spend).await?;
        Ok(Requester::Token(self.spent.fetch_add(1, Ordering::Relaxed)))
    }

    /// Forgets networks whose wrong attempts have expired.
    pub(crate) fn sweep(&self) {
        self.failures.sweep(Instant::now());
    }

    /// Applies changes to the file of users, and renews keys that are due. Blocks.
    pub(crate) fn refresh(&self) {
        let pass = self.pass.load();
        let users = self.new_users();
        let tiers = users.as_ref().unwrap_or(&pass.users).tiers();
        let due = pass.ring.is_due(tiers, now());
        if !due && users.is_none() {
            return;
        }
        let mut next = Issuer::clone(&pass);
        if due {
            let turned = system_rng()
                .map_err(|error| LedgerError(error.to_string()))
                .and_then(|mut rng| pass.ring.turned(tiers, now(), &*self.ledger, &mut rng));
            match turned {
                Ok(ring) => next.ring = ring,
                Err(error) => {
                    tracing::error!(%error, "token keys could not be renewed; the previous ones stay in use")
                }
            }
        }
        if let Some(users) = users {
            tracing::info!(users = users.len(), "the users file was reloaded");
            next.users = users;
        }
        self.pass.store(Arc::new(next));
    }

    /// The users, if their file has changed since it was read.
    fn new_users(&self) -> Option<UserTiers> {
        let mut last = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let written = written(&self.users);
        if written == *last {
            return None;
        }
        *last = written;
        let users = read(&self.users);
        users
            .inspect_err(|why| {
                tracing::warn!(why, "the users file is refused; the previous users stay in use")
            })
            .ok()
    }
}

/// The refusal of a request for a token, or with one.
fn refusal(failed: IssuerError) -> HttpError {
    let refused = match failed {
        IssuerError::Refused(refused) => refused,
        IssuerError::Broken(error) => {
            tracing::error!(%error, "no token was issued, and none was spent");
            let why = "the token ledger cannot be written\n".to_owned();
            return HttpError::foreign(503, why, ProblemCode::Busy.text())
                .with_header(header::RETRY_AFTER, NOT_WRITTEN);
        }
    };
    let outcome = match refused.status {
        401 => "no-token",
        429 => "too-many-tokens",
        _ => "malformed",
    };
    let mut no = HttpError::foreign(refused.status, format!("{}\n", refused.why), outcome);
    if let Some(challenge) = refused.authenticate.and_then(|challenge| HeaderValue::from_str(&challenge).ok())
    {
        no = no.with_header(header::WWW_AUTHENTICATE, challenge);
    }
    if refused.status == 429 { no.with_header(header::RETRY_AFTER, NO_TOKENS) } else { no }
}

/// Runs `work`, and returns a multiple of `slot` after it began: the first, unless the machine is
/// slower than that. The thread sleeps until then, so that later work on it does not begin earlier
/// either, and the time reveals nothing of the work.
fn in_fixed_time<T>(slot: Duration, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = work();
    let end = end(began.elapsed(), slot);
    std::thread::sleep(end.saturating_sub(began.elapsed()));
    done
}

/// The time at which work of this duration ends.
fn end(took: Duration, slot: Duration) -> Duration {
    let slots = took.as_nanos() / slot.as_nanos().max(1) + 1;
    slot.saturating_mul(u32::try_from(slots).unwrap_or(u32::MAX))
}

fn sign(granted: &GrantedSignature) -> Result<Vec<u8>, IssuerError> {
    let mut rng = system_rng().map_err(|error| IssuerError::Broken(LedgerError(error.to_string())))?;
    granted.sign(&mut rng)
}

fn written(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|meta| meta.modified()).ok()
}

fn read(file: &Path) -> Result<UserTiers, String> {
    let meta = std::fs::metadata(file).map_err(|error| error.to_string())?;
    if meta.len() > MAX_USERS_BYTES {
        return Err(format!("has more than {MAX_USERS_BYTES} bytes"));
    }
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    UserTiers::parse(&text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_does_not_depend_on_what_the_work_took() {
        let slot = Duration::from_millis(50);
        for micros in [0, 1, 3_000, 7_123, 49_999] {
            assert_eq!(end(Duration::from_micros(micros), slot), slot, "{micros}");
        }
        assert_eq!(end(slot, slot), 2 * slot);
        assert_eq!(end(Duration::from_micros(120_001), slot), 3 * slot);
        assert_eq!(in_fixed_time(Duration::from_micros(1), || 7), 7);
    }
}
