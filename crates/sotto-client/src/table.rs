//! A table, for people in a hurry: opens it, keeps it open, looks rows up.
//!
//! | module | what lives there |
//! |---|---|
//! | [`builder`] | which table, whom to trust, where to keep things |
//! | `to` | where the servers are |
//! | `servers` | a transport to each server, and requests to all of them at once |
//! | `lookup` | rows in as many requests as they take; another epoch in between |
//! | `unmask` | rows of a symmetric table, opened after they were fetched |
//! | `patience` | how long a busy server and other processes are waited for |
//! | `keys` | keys that servers know, from opening to opening |
//! | `locations` | where the state of a client lies |
//! | `ledger` | what is on disk before a request leaves, where hints are used up |
//! | `advance_to` | takes the state of a client along when the table moves on |
//! | `ahead` | the next client, prepared before it is needed |
//! | [`event`] | what happens to the state |
//! | `drive` | carries out what an [`SessionSetup`] says, with a cache and a transport |
//! | `rows` | all rows of a table, streamed to a client that makes state of them |
//! | `vetted` | logs that were seen, and catalogs that are past their time |
//! | `stream` | a row of many megabytes, written down while it comes |
//! | [`stats`] | bytes and time, seen from here |
//!
//! Blocking, one lookup at a time, over any [`Transport`]. What it hides and what it does not: a server
//! learns that, when and how often this client asks, of which table, and how many rows at once. It does not
//! learn which. With a scheme of two servers that holds as long as they do not put together what they see: they must
//! be run by parties that do not, which nothing here can check.

pub mod builder;
mod catch_up;
mod driver;
pub(crate) mod endpoints;
pub mod event;
pub(crate) mod freshness;
mod keys;
pub(crate) mod lookup;
mod open_rows;
pub(crate) mod preparation;
mod rows;
mod servers;
mod state_guard;
pub(crate) mod state_paths;
pub mod stats;
mod stream;
pub(crate) mod wait_policy;

pub use builder::TableBuilder;
pub use event::{TableEvent, WaitReason};
pub use stats::{EvaluationStats, LookupStats, Progress, ServerStats, Stage, Stats, StreamStats, Traffic};

use crate::Result;
use crate::cache::Cache;
use crate::lookup::{Lookup, LookupResult};
use crate::session::{Session, SessionSetup, SetupConfig, Trust};
use crate::transport::Transport;
use event::Notifier;
use keys::KeyManager;
use preparation::{Preparation, PreparationPolicy};
use servers::Servers;
use sotto_catalog::{Catalog, CatalogError, TableKind};
use sotto_core::{Budget, Error, Misuse, ParamsReport};
use sotto_prg::ReseedingRng;
use std::fmt;
use wait_policy::WaitPolicy;

/// An open table.
pub struct Table {
    line: Driver,
    config: SetupConfig,
    session: Session,
    /// When its next client is prepared, and that one.
    plan: PreparationPolicy,
    pass: Option<Preparation>,
    /// Until when the catalog is good, in seconds since 1970.
    good_until: Option<u64>,
    last: Option<LookupStats>,
}

/// What lies between a session and the world.
pub(crate) struct Driver {
    servers: Servers,
    ledger: state_guard::StateGuard,
    cache: Option<Cache>,
    keys: KeyManager,
    patience: WaitPolicy,
    progress: Notifier<Progress>,
    rng: ReseedingRng,
    stats: Stats,
}

impl Table {
    /// A table at a server, over HTTP. Nothing is sent before [`TableBuilder::open`].
    #[cfg(feature = "http")]
    pub fn connect(url: &str, table: &str) -> TableBuilder {
        TableBuilder::connect(&[url], table)
    }

    /// A table whose scheme asks several servers, over HTTP: their addresses in the order of their roles.
    ///
    /// No two of them may be one endpoint ([`SameEndpoint`](crate::ClientError::SameEndpoint)). That they are run by parties
    /// which do not share what they see is the caller's to know: together they would see what is asked.
    #[cfg(feature = "http")]
    pub fn connect_all(urls: &[&str], table: &str) -> TableBuilder {
        TableBuilder::connect(urls, table)
    }

    /// A table over any transport.
    pub fn over(transport: impl Transport + 'static, table: &str) -> TableBuilder {
        TableBuilder::over(vec![Box::new(transport)], table)
    }

    /// A table whose scheme asks several servers, over any transports, in the order of the servers' roles.
    pub fn over_all(transports: Vec<Box<dyn Transport>>, table: &str) -> TableBuilder {
        TableBuilder::over(transports, table)
    }

    /// Accepts catalogs signed by this key only, from the next one on.
    pub(crate) fn set_pin(&mut self, key: sotto_catalog::PublicKey) {
        self.config.pin = Some(key);
    }

    fn open(servers: Servers, options: builder::TableOptions) -> Result<Self> {
        let builder::TableOptions { mut config, cache, keys, ledger, patience, progress, plan } = options;
        let rng = ReseedingRng::open()?;
        let mut line =
            Driver { servers, ledger, cache, keys, patience, progress, rng, stats: Stats::default() };
        line.load_known_table(&mut config)?;
        line.recollect_keys(&mut config)?;
        let session = line.open_newest(&config)?;
        // From here on the session has them.
        config.registered = None;
        let mut table = Table { line, config, session, plan, pass: None, good_until: None, last: None };
        table.remember_table();
        table.start_preparation_if_low();
        Ok(table)
    }

    /// Looks up a row by its index, and gives the value in it, byte for byte as it was encoded.
    ///
    /// # Errors
    /// As [`Table::get_all`].
    pub fn get(&mut self, row: u64) -> Result<Vec<u8>> {
        one(self.get_many(&[row])?)
    }

    /// Looks up several rows; their values in the same order.
    ///
    /// # Errors
    /// As [`Table::get_all`].
    pub fn get_many(&mut self, rows: &[u64]) -> Result<Vec<Vec<u8>>> {
        let wishes: Vec<_> = rows.iter().copied().map(Lookup::Row).collect();
        self.get_all(&wishes)?.into_iter().map(value).collect()
    }

    /// Looks up bits of the table by their numbers; see [`sotto_catalog::Bit`] for how they are counted.
    ///
    /// A bit costs what its row costs.
    ///
    /// # Errors
    /// As [`Table::get_all`].
    pub fn get_bits(&mut self, bits: &[u64]) -> Result<Vec<bool>> {
        let wishes: Vec<_> = bits.iter().copied().map(Lookup::Bit).collect();
        let values = self.get_all(&wishes)?.into_iter().map(value).collect::<Result<Vec<_>>>()?;
        // Apart from the errors: an error and a bit in one byte are told apart by a branch on it.
        Ok(values.iter().map(|value| value.iter().fold(0, |all, byte| all | byte) & 1 == 1).collect())
    }

    /// Looks up what a person typed: a key of a range table, such as an address; a row number otherwise.
    ///
    /// A key no range covers is asked for like any other, and its row holds the table's empty value.
    ///
    /// # Errors
    /// As [`Table::get_all`], and [`CatalogError::NoSuchRow`] for a key that the table does not have.
    pub fn get_key(&mut self, key: &str) -> Result<Vec<u8>> {
        value(one(self.get_all(&[Lookup::Key(key)])?)?)
    }

    /// Looks up rows, bits and keys; what came of each, in the same order.
    ///
    /// Lookups travel in one request as far as they fit ([`Table::max_lookups`]), and in several one after another if they
    /// do not. The server sees how many there are. Whoever minds asks for a fixed number and fills it up with any. Each
    /// request is of one epoch. Where a request comes to a row that cannot be read, or that the table lacks, all others are
    /// made before that is said.
    ///
    /// Two things this does by itself, once each. If the server has dropped this client's keys, they are registered
    /// again and the same query is sent once more. If the table has moved on to another epoch, it is opened anew
    /// and asked once more, with a query of its own. What the table does not have is an error, and the server is asked
    /// all the same: silence would tell it.
    ///
    /// # Errors
    /// [`crate::ClientError`]; see [`Session::ask`] and [`Session::recover`]. [`CatalogError::NoSuchRow`] and
    /// [`Misuse::IndexPastEnd`] for what the table cannot have.
    pub fn get_all(&mut self, wishes: &[Lookup<'_>]) -> Result<Vec<LookupResult>> {
        self.get_each(wishes)?.into_iter().collect()
    }

    /// As [`Table::get_all`], but a wish that cannot be granted spoils no other: it is an error of its own. So whoever fills a
    /// request up may do so with any wish, such as row 0 in a table that is asked by key.
    ///
    /// # Errors
    /// As [`Table::get_all`], a row past the end included: that is known when all rows are read together.
    pub fn get_each(&mut self, wishes: &[Lookup<'_>]) -> Result<Vec<Result<LookupResult>>> {
        self.run_lookups(wishes)
    }

    /// Looks up the value of a key; `None` if the table does not have the key. The server sees no difference.
    ///
    /// # Errors
    /// As [`Table::find_many`].
    pub fn find(&mut self, key: &str) -> Result<Option<Vec<u8>>> {
        one(self.find_many(&[key])?)
    }

    /// Looks up the values of several keys; `None` for those that the table does not have.
    ///
    /// # Errors
    /// As [`Table::get_all`]; [`CatalogError::NoSuchRow`] in tables that are not asked by key.
    pub fn find_many(&mut self, keys: &[impl AsRef<str>]) -> Result<Vec<Option<Vec<u8>>>> {
        if !matches!(self.catalog().kind, TableKind::Keyword) {
            return Err(crate::lookup::by_row().into());
        }
        let wishes: Vec<_> = keys.iter().map(|key| Lookup::Key(key.as_ref())).collect();
        Ok(self.get_all(&wishes)?.into_iter().map(|granted| granted.value).collect())
    }

    /// Orders hints from the server that makes them, if some are due and the table's scheme has such a server. Gives
    /// whether some were. May take seconds.
    ///
    /// A lookup does this by itself once it has run out of hints; whoever does it before, while nobody waits, spares that
    /// lookup the time. When hints are due depends on how much was asked, never on what.
    ///
    /// # Errors
    /// As [`TableBuilder::open`]; [`ClientError::EpochChanged`](crate::ClientError::EpochChanged) if the table has moved on.
    pub fn refill_hints(&mut self) -> Result<bool> {
        self.line.refill_hints(&mut self.session)
    }

    /// Fetches the catalog, and opens the table anew if there is another epoch. Gives whether there was.
    ///
    /// # Errors
    /// As [`TableBuilder::open`]. The table stays open as it was.
    pub fn refresh(&mut self) -> Result<bool> {
        let mut opening = SessionSetup::after_session(self.config.clone(), &self.session);
        while opening.catalog().is_none() {
            self.line.step(&mut opening)?;
        }
        if opening.catalog() == Some(self.session.catalog()) && !self.session.is_discarded() {
            self.good_until = self.catalog_deadline();
            return Ok(false);
        }
        self.line.renew(opening, &mut self.session)?;
        self.remember_table();
        Ok(true)
    }

    /// The table's catalog.
    pub fn catalog(&self) -> &Catalog {
        self.session.catalog()
    }

    /// What its parameters promise and cost.
    pub fn report(&self) -> &ParamsReport {
        self.session.report()
    }

    /// Why the key that signed the catalog is believed.
    pub fn trust(&self) -> Trust {
        self.session.trust()
    }

    /// The session underneath.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// How many more queries there are before the table's rows have to be streamed again.
    pub fn budget(&self) -> Budget {
        self.session.budget()
    }

    /// Bytes and time so far, openings included.
    pub fn stats(&self) -> Stats {
        Stats { retries: self.line.servers.retries(), ..self.line.stats }
    }

    /// The last call that looked something up.
    pub fn last_lookup(&self) -> Option<&LookupStats> {
        self.last.as_ref()
    }

    /// From now on an older epoch or another key is refused, cache or no cache.
    fn remember_table(&mut self) {
        // It was judged by what is remembered, and goes on from there.
        self.config.remembered = Some(self.session.known().clone());
        self.good_until = self.catalog_deadline();
    }
}

/// What came of one wish.
fn one<T>(mut all: Vec<T>) -> Result<T> {
    all.pop().ok_or_else(|| Error::from(Misuse::Rule("something comes of each wish")).into())
}

fn value(granted: LookupResult) -> Result<Vec<u8>> {
    let why = || CatalogError::NoSuchRow { why: "the table does not have this key".to_owned() };
    Ok(granted.value.ok_or_else(why)?)
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("session", &self.session).field("stats", &self.stats()).finish()
    }
}
