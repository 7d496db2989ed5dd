//! A blocking client of one table: opens it, keeps it open, looks rows up.
//!
//! | module | contents |
//! |---|---|
//! | [`options`] | which key to trust, where to store files, how long to wait |
//! | [`builder`] | a table that is to be opened, with its servers and options |
//! | `endpoints` | the addresses or transports of the servers |
//! | `servers` | a transport to each server, and requests to all of them at once |
//! | `lookup` | lookups in as many requests as they need, also when the epoch changes |
//! | [`cover_traffic`] | lookups in rounds of one size at fixed times |
//! | `keys` | registered keys, from one opening to the next |
//! | `state_guard` | what is on disk before a request is sent, for clients whose hints are used up |
//! | `pacing` | pauses, rate and priority of a thread in the background |
//! | `preparation` | the next client, prepared before it is needed |
//! | [`event`] | what happens to the client and its state, and how long it waits for others |
//! | `driver` | the caller of a [`SessionSetup`], with a cache and transports; states that follow deltas |
//! | `rows` | all rows of a table, streamed to a client that is prepared from them |
//! | `stream` | a row of many megabytes, written while it arrives |
//! | [`stats`] | bytes and time, as seen by the client |
//!
//! The client blocks, and makes one lookup at a time, over any [`Transport`]. A server learns that
//! this client makes queries, when and how often, for which table, and for how many rows at once.
//! It does not learn which rows. With a scheme of two servers this holds as long as they do not
//! combine what they see: they must be run by independent parties, which no code here can check.

pub mod builder;
pub mod cover_traffic;
pub(crate) mod driver;
pub(crate) mod endpoints;
pub mod event;
mod keys;
pub(crate) mod lookup;
pub mod options;
pub(crate) mod pacing;
pub(crate) mod preparation;
mod rows;
mod servers;
pub(crate) mod state_guard;
pub mod stats;
mod stream;

pub use builder::{Builder, TableBuilder};
pub use cover_traffic::CoverTraffic;
pub use event::{TableEvent, WaitReason};
pub use options::{Callbacks, OpenOptions};
pub use stats::{EvaluationStats, LookupStats, Progress, ServerStats, Stage, Stats, StreamStats, Traffic};

use crate::cache::{Cache, CachedArtifact};
use crate::lookup::{Lookup, LookupResult};
use crate::session::{Session, SessionSetup, SetupConfig, Trust};
use crate::transport::Transport;
use crate::{ClientError, Result};
use driver::now;
use endpoints::Endpoints;
use event::{Notifier, WaitPolicy};
use keys::KeyManager;
use preparation::{Preparation, PreparationPolicy};
use servers::Servers;
use sotto_catalog::{Catalog, CatalogError, Hex32, TableKind};
use sotto_core::{Budget, Error, Misuse, ParamsReport};
use sotto_prg::ReseedingRng;
use std::fmt;

/// An open table, which looks rows up.
///
/// ```
/// use sotto_client::Table;
/// # mod common { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/common.rs")); }
/// # let server = common::server_of("simplepir/1", 3000, 8);
/// # let transport = server.transport();
///
/// // Over any transport; [`Table::connect`] takes a URL.
/// let mut table = Table::over(transport, "squares").open()?;
/// let rows = table.get_many(&[3, 2999])?;
/// assert_eq!(rows, [9u64, 8_994_001].map(|square| square.to_le_bytes().to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Table {
    driver: Driver,
    config: SetupConfig,
    session: Session,
    /// When and how the next client is prepared, and the preparation in progress.
    policy: PreparationPolicy,
    preparation: Option<Preparation>,
    /// Time until which the catalog is good, in seconds since 1970.
    good_until: Option<u64>,
    last: Option<LookupStats>,
}

/// Connects a session with the network, the cache, and the durable state.
pub(crate) struct Driver {
    servers: Servers,
    state_guard: state_guard::StateGuard,
    cache: Option<Cache>,
    /// Cache file of the artifact that is being downloaded, and its digest.
    slot: Option<(Hex32, CachedArtifact)>,
    keys: KeyManager,
    wait_policy: WaitPolicy,
    progress: Notifier<Progress>,
    rng: ReseedingRng,
    stats: Stats,
}

impl Table {
    /// A builder for a table at a server, over HTTP. Nothing is sent before [`Builder::open`].
    #[cfg(feature = "http")]
    pub fn connect(url: &str, table: &str) -> TableBuilder {
        Table::connect_all(&[url], table)
    }

    /// A builder for a table whose scheme needs several servers, over HTTP: their addresses are in
    /// the order of their roles.
    ///
    /// No two of them may be one endpoint ([`SameEndpoint`](crate::ClientError::SameEndpoint)). The
    /// caller is responsible for choosing servers run by parties that do not share what they see:
    /// together they would see what is looked up.
    #[cfg(feature = "http")]
    pub fn connect_all(urls: &[&str], table: &str) -> TableBuilder {
        Builder::new(Endpoints::urls(urls), table)
    }

    /// A builder for a table over any transport.
    pub fn over(transport: impl Transport + 'static, table: &str) -> TableBuilder {
        Table::over_all(vec![Box::new(transport)], table)
    }

    /// A builder for a table whose scheme needs several servers, over any transports, in the order
    /// of the servers' roles.
    pub fn over_all(transports: Vec<Box<dyn Transport>>, table: &str) -> TableBuilder {
        Builder::new(Endpoints::Transports(transports), table)
    }

    /// Accepts only catalogs signed by this key, from the next one on.
    pub(crate) fn set_pin(&mut self, key: sotto_catalog::PublicKey) {
        self.config.pin = Some(key);
    }

    fn open(mut driver: Driver, mut config: SetupConfig, policy: PreparationPolicy) -> Result<Self> {
        driver.load_known_table(&mut config)?;
        driver.load_known_keys(&mut config)?;
        let session = driver.open_newest(&config)?;
        // From here on the session holds the keys.
        config.registered = None;
        let mut table =
            Table { driver, config, session, policy, preparation: None, good_until: None, last: None };
        table.remember_table();
        table.start_preparation_if_low();
        Ok(table)
    }

    /// Looks up a row by its index, and returns its value, byte for byte as it was encoded.
    ///
    /// # Errors
    /// As for [`Table::get_all`].
    pub fn get(&mut self, row: u64) -> Result<Vec<u8>> {
        one(self.get_many(&[row])?)
    }

    /// Looks up several rows; returns their values in the same order.
    ///
    /// # Errors
    /// As for [`Table::get_all`].
    pub fn get_many(&mut self, rows: &[u64]) -> Result<Vec<Vec<u8>>> {
        let lookups: Vec<_> = rows.iter().copied().map(Lookup::Row).collect();
        self.get_all(&lookups)?.into_iter().map(value).collect()
    }

    /// Looks up bits of the table by their index; see [`sotto_catalog::BitPosition`] for their order.
    ///
    /// A bit costs as much as its row.
    ///
    /// # Errors
    /// As for [`Table::get_all`].
    pub fn get_bits(&mut self, bits: &[u64]) -> Result<Vec<bool>> {
        let lookups: Vec<_> = bits.iter().copied().map(Lookup::Bit).collect();
        let values = self.get_all(&lookups)?.into_iter().map(value).collect::<Result<Vec<_>>>()?;
        // Kept apart from the errors, since a branch on a secret bit must not decide between the
        // two.
        Ok(values.iter().map(|value| value.iter().fold(0, |all, byte| all | byte) & 1 == 1).collect())
    }

    /// Looks up what a person typed: a key of a range table, such as an address; a row index
    /// otherwise.
    ///
    /// A key that no range covers is queried like any other, and its row contains the table's empty
    /// value.
    ///
    /// # Errors
    /// As for [`Table::get_all`], and [`CatalogError::NoSuchRow`] for a key that the table does not
    /// have.
    pub fn get_key(&mut self, key: &str) -> Result<Vec<u8>> {
        value(one(self.get_all(&[Lookup::Key(key)])?)?)
    }

    /// Looks up rows, bits and keys; returns their results in the same order.
    ///
    /// Lookups travel in one request as far as they fit ([`Table::max_lookups`]), and in several
    /// one after another if they do not. The server sees how many there are. A caller who must hide
    /// that makes a fixed number, and fills it up with any lookups. Each request is of one epoch.
    /// If a row of a request cannot be read, or does not exist, the error is reported after all
    /// other requests were made.
    ///
    /// Two faults are repaired, once each. If the server has dropped this client's keys, they are
    /// registered again and the same query is sent once more. If the table has moved on to another
    /// epoch, it is opened again and queried once more, with a new query. A lookup that the table
    /// cannot serve is an error, and a query is sent all the same: its absence would reveal the
    /// error to the server.
    ///
    /// # Errors
    /// [`crate::ClientError`]; see [`Session::query`] and [`Session::recover`].
    /// [`CatalogError::NoSuchRow`] and [`Misuse::IndexPastEnd`] for rows and keys that the table
    /// cannot have.
    pub fn get_all(&mut self, lookups: &[Lookup<'_>]) -> Result<Vec<LookupResult>> {
        self.get_each(lookups)?.into_iter().collect()
    }

    /// Looks up rows, bits and keys as [`Table::get_all`] does, with an error for each lookup that
    /// fails instead of one for all. So a caller may fill a request up with any lookups, such as
    /// row 0 in a table that is queried by key.
    ///
    /// # Errors
    /// As for [`Table::get_all`], a row past the end included, which is known when all rows have
    /// been read.
    pub fn get_each(&mut self, lookups: &[Lookup<'_>]) -> Result<Vec<Result<LookupResult>>> {
        self.run_lookups(lookups)
    }

    /// Looks up the value of a key; `None` if the table does not have the key. The server cannot
    /// tell the two apart.
    ///
    /// # Errors
    /// As for [`Table::find_many`].
    pub fn find(&mut self, key: &str) -> Result<Option<Vec<u8>>> {
        one(self.find_many(&[key])?)
    }

    /// Looks up the values of several keys; `None` for those that the table does not have.
    ///
    /// # Errors
    /// As for [`Table::get_all`]; [`CatalogError::NoSuchRow`] in tables that are not queried by
    /// key.
    pub fn find_many(&mut self, keys: &[impl AsRef<str>]) -> Result<Vec<Option<Vec<u8>>>> {
        if !matches!(self.catalog().kind, TableKind::Keyword) {
            return Err(crate::lookup::by_row().into());
        }
        let lookups: Vec<_> = keys.iter().map(|key| Lookup::Key(key.as_ref())).collect();
        Ok(self.get_all(&lookups)?.into_iter().map(|result| result.value).collect())
    }

    /// Requests hints from the hint server, if some are due and the table's scheme has such a
    /// server. Returns whether some were due. May take seconds.
    ///
    /// A lookup does this by itself once it has run out of hints; calling it earlier spares that
    /// lookup the time. When hints are due depends on how many queries were made, never on their
    /// rows.
    ///
    /// # Errors
    /// As for [`Builder::open`];
    /// [`ClientError::EpochChanged`] if the table has moved on.
    pub fn refill_hints(&mut self) -> Result<bool> {
        self.driver.refill_hints(&mut self.session)
    }

    /// Fetches the catalog, and opens the table again if there is another epoch. Returns whether
    /// there was.
    ///
    /// # Errors
    /// As for [`Builder::open`]. The table stays open as it was.
    pub fn refresh(&mut self) -> Result<bool> {
        let mut setup = SessionSetup::after_session(self.config.clone(), &self.session);
        self.driver.fetch_catalog(&mut setup)?;
        if setup.catalog() == Some(self.session.catalog()) && !self.session.is_discarded() {
            self.good_until = self.catalog_deadline();
            return Ok(false);
        }
        self.driver.renew(setup, &mut self.session)?;
        self.remember_table();
        Ok(true)
    }

    /// Fetches the catalog again if it has expired, or if its cosignatures have become too old.
    /// This depends on the time alone.
    ///
    /// # Errors
    /// As for [`Table::refresh`].
    pub(super) fn recheck_catalog(&mut self) -> Result<()> {
        if self.good_until.is_none_or(|until| until > now()) {
            return Ok(());
        }
        match self.refresh() {
            Err(ClientError::EpochChanged { .. } | ClientError::NoCommonEpoch { .. }) => {
                self.refresh().map(drop)
            }
            outcome => outcome.map(drop),
        }
    }

    /// The time until which the open catalog is good; `None` for no limit.
    pub(super) fn catalog_deadline(&self) -> Option<u64> {
        let catalog = self.session.catalog();
        let good = || catalog.digest().map_or(0, |digest| self.config.logs.good_until(&digest));
        let witnessed = self.config.witnesses.is_some().then(good);
        [catalog.expires, witnessed].into_iter().flatten().min()
    }

    /// The catalog of the table.
    pub fn catalog(&self) -> &Catalog {
        self.session.catalog()
    }

    /// What the parameters promise and cost.
    pub fn report(&self) -> &ParamsReport {
        self.session.report()
    }

    /// Why the key that signed the catalog is trusted.
    pub fn trust(&self) -> Trust {
        self.session.trust()
    }

    /// The session below.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// How many more queries the client can make before the table's rows have to be streamed again.
    pub fn budget(&self) -> Budget {
        self.session.budget()
    }

    /// Bytes and time so far, of openings and lookups.
    pub fn stats(&self) -> Stats {
        Stats { retries: self.driver.servers.retries(), ..self.driver.stats }
    }

    /// Statistics of the last call that looked something up.
    pub fn last_lookup(&self) -> Option<&LookupStats> {
        self.last.as_ref()
    }

    /// From now on, refuses an older epoch or another key, with or without a cache.
    fn remember_table(&mut self) {
        // The catalog was compared with what was known, and becomes what is known.
        self.config.remembered = Some(self.session.known().clone());
        self.good_until = self.catalog_deadline();
    }
}

/// The only result of one lookup.
fn one<T>(mut all: Vec<T>) -> Result<T> {
    all.pop().ok_or_else(|| Error::from(Misuse::Rule("fewer results than lookups")).into())
}

fn value(result: LookupResult) -> Result<Vec<u8>> {
    let why = || CatalogError::NoSuchRow("the table does not have this key".to_owned());
    Ok(result.value.ok_or_else(why)?)
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("session", &self.session).field("stats", &self.stats()).finish()
    }
}
