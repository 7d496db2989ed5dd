//! Tokens of Privacy Pass: a request of Apple's protocol brings one, and nobody knows whose it is.
//!
//! The issuer's half is here too: a user's app has a user token, for which the phone gets as many tokens as one may have. Keys
//! and what was spent are in the state directory, so phones' tokens are good after a restart, and spent ones are not.

use super::ledger::Book;
use crate::aside::Aside;
use crate::config::TokenConfig;
use crate::database::Copies;
use crate::{StartError, clock};
use arc_swap::ArcSwap;
use sotto_pass::ledger::Memory;
use sotto_pass::pass::Failed;
use sotto_pass::{Broken, Ledger, Pass, Ring, Users};
use sotto_prg::system_rng;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Bytes of the file of users at most: some millions of them.
const MOST_USERS_BYTES: u64 = 1 << 28;

/// Threads that wait for the disk: one writes for all that wait.
const THREADS: usize = 16;

/// An issuer, and whoever asks for its tokens.
pub(crate) struct Tokens {
    pass: ArcSwap<Pass>,
    ledger: Arc<dyn Ledger>,
    /// The same, where it outlives the process.
    book: Option<Arc<Book>>,
    users: PathBuf,
    /// When the file of users was written, as it was read last.
    read: Mutex<Option<SystemTime>>,
    threads: Aside,
}

impl Tokens {
    /// The ledger, where it outlives the process.
    pub(crate) fn store(&self) -> Option<&dyn Copies> {
        self.book.as_deref().map(|book| book as &dyn Copies)
    }

    /// Reads users, and makes the keys that are missing, some tenths of a second each.
    ///
    /// # Errors
    /// [`StartError`].
    pub(crate) fn open(config: &TokenConfig, state: Option<&Path>) -> Result<Self, StartError> {
        let wrong = |why: String| StartError::Config { file: config.users.clone(), why };
        let written = written(&config.users);
        let users = read(&config.users).map_err(wrong)?;
        let book = state.map(Book::open).transpose()?.map(Arc::new);
        let ledger: Arc<dyn Ledger> = match &book {
            Some(book) => book.clone(),
            None => {
                tracing::warn!(
                    "tokens are in memory alone: after a restart spent ones are forgotten, and all keys are new"
                );
                Arc::new(Memory::default())
            }
        };
        let broken = |error: Broken| wrong(error.to_string());
        let ring = Ring::open(config.rotation(), &*ledger).map_err(broken)?;
        let mut rng = system_rng().map_err(|error| wrong(error.to_string()))?;
        let ring = ring.turned(users.tiers(), now(), &*ledger, &mut rng).map_err(broken)?;
        tracing::info!(users = users.len(), tiers = users.tiers().len(), "tokens are asked for");
        let pass = Pass {
            ring,
            users,
            most_given: config.per_user,
            issue_uri: config.issue_uri.clone(),
            issuer: config.issuer.clone(),
        };
        let (pass, users, read) = (ArcSwap::from_pointee(pass), config.users.clone(), Mutex::new(written));
        Ok(Tokens { pass, ledger, book, users, read, threads: Aside::waiting(THREADS, "tokens")? })
    }

    /// Does something that blocks. `None` if it panics.
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        let tokens = self.clone();
        self.threads.run(move || work(&tokens)).await
    }

    /// The directory of keys, as JSON.
    pub(crate) fn directory(&self) -> String {
        self.pass.load().directory(now()).to_string()
    }

    /// The key for a user. See [`Pass::key_for`].
    pub(crate) fn key_for(&self, authorization: Option<&str>) -> Result<Vec<u8>, Failed> {
        self.pass.load().key_for(authorization, now()).map(<[u8]>::to_vec)
    }

    /// Signs a token. Blocks on the disk. See [`Pass::issue`].
    pub(crate) fn issue(&self, authorization: Option<&str>, body: &[u8]) -> Result<Vec<u8>, Failed> {
        let mut rng = system_rng().map_err(|error| Failed::Broken(Broken(error.to_string())))?;
        self.pass.load().issue(authorization, body, now(), &*self.ledger, &mut rng)
    }

    /// Spends a token. Blocks on the disk. See [`Pass::redeem`].
    pub(crate) fn redeem(&self, authorization: Option<&str>) -> Result<(), Failed> {
        self.pass.load().redeem(authorization, now(), &*self.ledger).map(drop)
    }

    /// Takes up users that were added or removed, and renews keys that are due. Blocks.
    pub(crate) fn look(&self) {
        let pass = self.pass.load();
        let users = self.new_users();
        let tiers = users.as_ref().unwrap_or(&pass.users).tiers();
        let due = pass.ring.is_due(tiers, now());
        if !due && users.is_none() {
            return;
        }
        let mut next = Pass::clone(&pass);
        if due {
            let turned = system_rng()
                .map_err(|error| Broken(error.to_string()))
                .and_then(|mut rng| pass.ring.turned(tiers, now(), &*self.ledger, &mut rng));
            match turned {
                Ok(ring) => next.ring = ring,
                Err(error) => {
                    tracing::error!(%error, "keys of tokens could not be renewed; the old ones go on")
                }
            }
        }
        if let Some(users) = users {
            tracing::info!(users = users.len(), "users were read again");
            next.users = users;
        }
        self.pass.store(Arc::new(next));
    }

    /// The users, if their file is another one than it was.
    fn new_users(&self) -> Option<Users> {
        let mut last = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let written = written(&self.users);
        if written == *last {
            return None;
        }
        *last = written;
        let users = read(&self.users);
        users
            .inspect_err(|why| tracing::warn!(why, "the file of users is not taken; those there were go on"))
            .ok()
    }
}

fn now() -> u64 {
    clock::of_day().as_secs()
}

fn written(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|meta| meta.modified()).ok()
}

fn read(file: &Path) -> Result<Users, String> {
    let meta = std::fs::metadata(file).map_err(|error| error.to_string())?;
    if meta.len() > MOST_USERS_BYTES {
        return Err(format!("has more than {MOST_USERS_BYTES} bytes"));
    }
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    Users::parse(&text).map_err(|error| error.to_string())
}
