//! Options for opening tables and stacks: which key to trust, where to store files, how long to wait.

use super::event::{Notifier, WaitPolicy};
use super::pacing::{Clock, SystemClock};
use super::servers::MakeTransports;
use super::state_guard::StatePathsFactory;
use super::{Progress, TableEvent};
#[cfg(doc)]
use crate::ClientError;
use crate::cache::keyring::{DEFAULT_KEY_AGE, DEFAULT_KEY_QUERIES};
use crate::session::durable_query::RowCheck;
use crate::session::witness::{DEFAULT_MAX_AGE, Witnesses};
use sotto_catalog::{Anchor, Hex32, PublicKey};
use sotto_core::SchemeEntry;
use sotto_tlog::{Policy, WitnessKey};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use web_time::Instant;

/// Options for opening a table, or a stack with its tables.
#[derive(Clone)]
pub struct OpenOptions {
    /// Public key of the publisher; a signature by any other key is refused. A pin with an ML-DSA-44
    /// half (`sotto-pq:`) demands both signatures of everything that the publisher signs.
    ///
    /// Without a pin the first key seen is trusted ([`crate::Trust::FirstUse`]) and, with a cache,
    /// no other afterwards. The tables of a stack must be signed by the same key as the stack.
    pub pin: Option<PublicKey>,
    /// Digest of the only catalog or stack to accept ([`sotto_catalog::Catalog::digest`]), which
    /// names one epoch with all its contents. Any other is [`ClientError::OtherSnapshot`], before a
    /// query is sent. Once the server no longer answers queries for this epoch, lookups fail with
    /// that error too: the table never moves on by itself.
    pub snapshot: Option<Hex32>,
    /// Anchor of the only catalog or stack to accept: the state of another system, such as a block of
    /// a chain, that this caller knows from that system. Any other is [`ClientError::OtherAnchor`],
    /// before a query is sent. The epoch before the newest is accepted too, for as long as servers
    /// answer for it; the epoch of a stack is always the newest.
    ///
    /// The server learns the anchor if it is that of the epoch before the newest.
    pub anchor: Option<Anchor>,
    /// Witnesses that must have cosigned recently: only a catalog or stack that its publisher shows
    /// to everybody is accepted, one that is in the publisher's log under such a checkpoint.
    ///
    /// If the log does not extend the one seen before, the error stores both checkpoints
    /// ([`WitnessError::Fork`](crate::session::WitnessError::Fork)); with a cache, this holds from
    /// process to process. A stack names its tables' catalogs by digest, so they are not looked up
    /// in the log one by one.
    ///
    /// Keys of one name are one witness, which has to have cosigned under each algorithm of which a
    /// key is given.
    pub witnesses: Vec<WitnessKey>,
    /// Number of witnesses that have to have cosigned; by default, all of them.
    pub witnesses_needed: Option<usize>,
    /// Policy with the logs and witnesses to trust, in place of [`OpenOptions::witnesses`].
    pub policy: Option<Arc<Policy>>,
    /// Maximum age of a cosignature; by default, a day. A server can present an old catalog for
    /// that long.
    pub witness_age: Duration,
    /// Folder of artifacts, keys and epochs. Without a cache every opening downloads the artifacts
    /// again, and registers new keys.
    pub cache_dir: Option<PathBuf>,
    /// File of the key that encrypts cached client keys, if it is not in the cache. Anyone who has
    /// both can read, from recorded traffic, what was looked up; anyone who has the cache alone
    /// cannot. See [`crate::cache::keyring`].
    pub key_file: Option<PathBuf>,
    /// Maximum age of registered keys, by default an hour; with a cache, keys are reused from
    /// opening to opening. The server knows which queries were made under the same keys, and so by
    /// one client. With [`Duration::ZERO`] an opening registers keys of its own, and none are
    /// stored: its keys link it to no other opening.
    ///
    /// An attacker who sees the effect of answers, and damages some, learns something about the
    /// keys. So keys end at this age or after [`OpenOptions::max_keys_queries`], and never because
    /// of an answer. The next keys are made in the background in time.
    pub max_keys_age: Duration,
    /// Maximum number of queries under registered keys, by default 256. All processes with one
    /// cache count together: each reserves uses there before it makes queries. A row that is wider
    /// than a record takes several.
    pub max_keys_queries: u64,
    /// Folder of the durable state of clients, which is stored nowhere else: a client of one table
    /// has one state at one server, or at one list of servers in their order. Required for schemes
    /// with hints that are used up ([`ClientError::StateNeeded`]).
    ///
    /// A copy of the directory, a restored backup or a cloned machine would use hints twice, and so
    /// reveal which rows were looked up. They are detected by the identity of the files and by a
    /// rollback counter in a second place ([`OpenOptions::rollback_dir`]); the state is then
    /// discarded with its key, and the table's rows are streamed again. A machine that goes back in
    /// time as a whole, counter included, cannot be detected.
    pub state_dir: Option<PathBuf>,
    /// Folder of the rollback counter of a state: a few bytes that count the state's requests. It
    /// is best on a disk that is not restored together with the state's. By default it is in the
    /// user's folder for states, by the XDG rules.
    pub rollback_dir: Option<PathBuf>,
    /// Whether a client with durable state may have it in memory alone. It is lost with the
    /// process: the next process streams the table's rows again, and lookups of a process that was
    /// copied, or went back in time, are not private.
    pub state_in_memory: bool,
    /// Whether to refuse a table without row proofs. In tables that have them, every row is verified
    /// anyway, and one that is not what its publisher has signed is
    /// [`ClientError::RowProofInvalid`].
    pub require_row_proofs: bool,
    /// Whether to refuse a table whose answers are not authenticated: whose rows are not verified, or
    /// where it may depend on the row whether a wrong answer is refused
    /// ([`sotto_core::AbortLeakage`]).
    pub require_authenticated_answers: bool,
    /// Number of queries below which the next client is prepared: by default a quarter of a new
    /// client's budget, and 0 for never. A thread of its own streams the table's rows, over
    /// connections of its own, while lookups go on with the current client; the next lookup after
    /// that uses the new client. When it begins depends on how many queries were made, never on
    /// their rows.
    ///
    /// A client with a state on disk continues where it was after a crash.
    /// [`Builder::progress`](super::Builder::progress) reports the progress as [`Stage::NextClient`](super::Stage::NextClient).
    pub low_water: Option<u64>,
    /// Maximum bytes per second of rows that are streamed in the background, as long as no lookup
    /// waits for them; by default there is no limit.
    pub preparation_rate: Option<u64>,
    /// Whether a lookup for which there are not enough hints fails with
    /// [`sotto_core::Error::Exhausted`]. By default it waits until the next client is prepared.
    pub fail_when_exhausted: bool,
    /// Maximum time to wait for a busy server, which may name a time, and for another process that
    /// has the same state open, registers keys or downloads the same file. The default is two
    /// minutes for each, longer than the minute over which servers count the requests of a client.
    /// A wait of more than a second is reported as [`TableEvent::Waiting`]. The limit has no effect
    /// on servers behind transports of the caller, which can be wrapped in a
    /// [`crate::transport::retry::RetryTransport`].
    pub max_wait: Duration,
    /// Maximum duration of one request over HTTP, for each attempt separately. The default is 60
    /// seconds.
    #[cfg(feature = "http")]
    pub timeout: Duration,
    /// PEM file of the roots to trust for `https` instead of the web's.
    #[cfg(feature = "http")]
    pub trust_root: Option<PathBuf>,
    /// Whether several servers may be reached without TLS, which is refused otherwise
    /// ([`ClientError::InsecurePlaintext`]) beyond this machine: anyone who can read the traffic to
    /// all of them sees what is looked up.
    #[cfg(feature = "http")]
    pub insecure_plaintext: bool,
    /// Functions of the caller that an open table calls.
    pub callbacks: Callbacks,
    /// Finds a scheme by its id: the registry, except in tests, since a scheme that was not
    /// registered was not reviewed.
    pub resolve: fn(&str) -> Option<&'static SchemeEntry>,
}

/// Functions of the caller that an open table calls; [`Builder`](super::Builder) sets them.
#[derive(Clone)]
pub struct Callbacks {
    pub(crate) events: Notifier<TableEvent>,
    pub(crate) progress: Notifier<Progress>,
    pub(crate) check: Option<RowCheck>,
    pub(crate) transports: Option<MakeTransports>,
    pub(crate) state_paths: Option<StatePathsFactory>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Default for Callbacks {
    fn default() -> Self {
        Callbacks {
            events: Notifier::new(|_| {}),
            progress: Notifier::new(|_| {}),
            check: None,
            transports: None,
            state_paths: None,
            clock: Arc::new(SystemClock(Instant::now())),
        }
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            pin: None,
            snapshot: None,
            anchor: None,
            witnesses: Vec::new(),
            witnesses_needed: None,
            policy: None,
            witness_age: DEFAULT_MAX_AGE,
            cache_dir: None,
            key_file: None,
            max_keys_age: DEFAULT_KEY_AGE,
            max_keys_queries: DEFAULT_KEY_QUERIES,
            state_dir: None,
            rollback_dir: None,
            state_in_memory: false,
            require_row_proofs: false,
            require_authenticated_answers: false,
            low_water: None,
            preparation_rate: None,
            fail_when_exhausted: false,
            max_wait: Duration::from_secs(120),
            #[cfg(feature = "http")]
            timeout: Duration::from_secs(60),
            #[cfg(feature = "http")]
            trust_root: None,
            #[cfg(feature = "http")]
            insecure_plaintext: false,
            callbacks: Callbacks::default(),
            resolve: sotto_registry::find,
        }
    }
}

impl OpenOptions {
    /// The required witnesses; `None` if neither a policy nor witnesses nor their number was set.
    pub(crate) fn required_witnesses(&self) -> Option<Witnesses> {
        let named = || match (self.witnesses.as_slice(), self.witnesses_needed) {
            ([], None) => None,
            // Such a build refuses whoever requires witnesses, however many.
            _ if cfg!(not(feature = "witness")) => Some(Arc::default()),
            (keys, None) => Some(Witnesses::all(keys).policy),
            // A caller that sets a number requires witnesses: if none is named, that is an error and
            // is not ignored.
            (keys, Some(needed)) => Some(Arc::new(Policy::threshold(keys, needed))),
        };
        let policy = self.policy.clone().or_else(named)?;
        Some(Witnesses { policy, age: self.witness_age })
    }

    pub(crate) fn wait_policy(&self) -> WaitPolicy {
        WaitPolicy { limit: self.max_wait, events: self.callbacks.events.clone() }
    }
}
