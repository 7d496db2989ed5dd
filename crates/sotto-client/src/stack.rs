//! A blocking client of a stack: opens its tables, and makes the lookups of a layer in all of them.
//!
//! | module | contents |
//! |---|---|
//! | `fetch` | a stack from its first server, verified, and what the cache knows of it |
//! | [`query_assignment`] | which query of which table each visit is |
//! | [`batch_stack`] | several rows, or values of several keys, in rounds that look alike |
//!
//! A layer's requests become one lookup for each of its visits, whatever the request is; all tables
//! are queried at the same time, and each of them answers before any reply is used. So servers see
//! the layer's [`visits`](Layer::visits) and their time, and nothing else. A table of several
//! buckets serves as many shards, and one query is for a visit to each.
//!
//! Tables, public files and the stack that names them are of one epoch, or nothing is queried: each
//! table's catalog is compared with the digest in the stack, before a lookup and after.

pub mod batch_stack;
mod fetch;
pub mod query_assignment;

pub use batch_stack::BatchStack;
use fetch::{FetchedStack, StackSource};

use crate::parallel::{pause, run_all};
use crate::session::{KnownSigner, Trust, VerifiedCatalog};
use crate::table::driver::now;
use crate::table::endpoints::Endpoints;
use crate::table::{Builder, Table};
use crate::transport::Transport;
use crate::{ClientError, Result};
use query_assignment::{QueryAssignment, StackTable};
use sotto_catalog::{PublicKey, Stack as Document};
use sotto_core::{CryptoRng, Error, Layer, Misuse, PeerMisbehaved};
use sotto_prg::system_rng;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use zeroize::Zeroizing;

/// Maximum number of attempts to fetch a stack whose tables have just moved on, and the pause in
/// between.
const MAX_ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// An open stack and its tables.
///
/// ```
/// use sotto_client::Stack;
/// use sotto_client::stack::BatchStack;
/// # use sotto_db::ingest::{FileOptions, IndexOptions, IngestOptions};
/// # use sotto_db::ingest::{SourceLayout, ValueOptions};
/// # use sotto_db::progress::silent;
/// # use sotto_db::{BatchOptions, EncodeOptions, StackDir, encode_batch};
/// # let temporary = tempfile::tempdir()?;
/// # let (folder, rng) = (temporary.path(), &mut sotto_prg::system_rng()?);
/// # let input = folder.join("values.csv");
/// # std::fs::write(&input, (0..200).map(|i| format!("value {i:03}\n")).collect::<String>())?;
/// # let values = ValueOptions { width: Some(9), ..ValueOptions::default() };
/// # let layout = SourceLayout::Index(IndexOptions { value: "1".parse()?, row: None, values });
/// # let source = IngestOptions { file: FileOptions::default(), layout };
/// # let dir = StackDir::create(&folder.join("values"))?;
/// # let (root, seed) = (dir.root()?, sotto_prg::PublicSeed::fresh(rng));
/// # let signing = root.signing_key(None, rng)?;
/// # let options = EncodeOptions::new("values".parse()?, &signing);
/// # let batch = BatchOptions { max_lookups: 4, seed, max_queries: &sotto_wire::MessageSizes::max_queries };
/// # let scheme = sotto_registry::find("simplepir/1").ok_or("left out of this build")?;
/// # encode_batch(scheme, &input, &source, &root.lock()?, &batch, &options, &silent)?;
/// # let config = sotto_server::ServerConfig::on_free_ports();
/// # let config = sotto_server::ServerConfig { stacks: vec![dir.path().into()], ..config };
/// # let server = sotto_server::Server::start(&config)?;
/// # let (url, key) = (format!("http://{}", server.public), signing.public());
///
/// // A stack that a batch code made of one table: up to four rows at once.
/// let stack = Stack::connect(&url, "values").pin(key).open()?;
/// let mut batch = BatchStack::new(stack)?;
/// assert!(batch.layers().max_batch() >= 4);
///
/// // Every request queries each of its tables once, whichever rows it is for.
/// assert_eq!(batch.get_many(&[7, 150])?, [b"value 007", b"value 150"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Stack {
    source: StackSource,
    document: Document,
    /// Signed bytes of the document.
    signed: Vec<u8>,
    key: PublicKey,
    trust: Trust,
    /// What is known of the stack: no other key may sign it, and no older epoch is accepted.
    known: KnownSigner,
    /// Time until which the stack is good, in seconds since 1970.
    good_until: Option<u64>,
    files: Vec<Vec<u8>>,
    tables: Vec<Table>,
}

/// A stack that is to be opened.
pub type StackBuilder = Builder<Stack>;

impl Builder<Stack> {
    /// Opens the stack: its description, its public files, its tables.
    ///
    /// # Errors
    /// [`ClientError`], of which [`ClientError::StackInconsistent`] if its tables never reach the
    /// epochs that it names.
    pub fn open(self) -> Result<Stack> {
        let mut source = StackSource::new(self)?;
        let remembered = source.remembered()?;
        let FetchedStack { verified, signed, good_until } = source.fetch(remembered.as_ref())?;
        let VerifiedCatalog { document, key, trust, known, .. } = verified;
        let files = source.files(&document)?;
        let tables = document.shards.iter().map(|shard| source.open_table(shard, key));
        let tables = tables.collect::<Result<_>>()?;
        let mut stack = Stack { source, document, signed, key, trust, known, good_until, files, tables };
        stack.settle()?;
        Ok(stack)
    }

    /// Forgets the stack in the cache, and the tables that it named last, as for a table. Nothing is
    /// sent.
    ///
    /// # Errors
    /// [`ClientError::Cache`]; an error for an invalid address.
    pub fn forget(self) -> Result<bool> {
        StackSource::new(self)?.forget()
    }
}

impl Stack {
    /// A builder for a stack at a server, over HTTP. Nothing is sent before [`StackBuilder::open`].
    #[cfg(feature = "http")]
    pub fn connect(url: &str, stack: &str) -> StackBuilder {
        Self::connect_all(&[url], stack)
    }

    /// A builder for a stack whose tables need several servers, over HTTP: their addresses are in
    /// the order of their roles.
    #[cfg(feature = "http")]
    pub fn connect_all(urls: &[&str], stack: &str) -> StackBuilder {
        Builder::new(Endpoints::urls(urls), stack)
    }

    /// A builder for a stack over any transports; the closure makes new ones for each table.
    pub fn over(
        stack: &str,
        make: impl FnMut() -> Result<Vec<Box<dyn Transport>>> + Send + 'static,
    ) -> StackBuilder {
        Builder::new(Endpoints::Factory(Arc::new(Mutex::new(make))), stack)
    }

    /// The signed description of the stack.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The key that signed the stack.
    pub fn public_key(&self) -> PublicKey {
        self.key
    }

    /// Why the key that signed the stack is trusted.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// The tables of the stack, in the order of its layer's shards: each serves one shard, or as
    /// many as it has buckets.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The contents of a public file of the stack.
    ///
    /// # Errors
    /// [`sotto_catalog::CatalogError::Invalid`] if the stack has none of that name.
    pub fn file(&self, name: &str) -> Result<&[u8]> {
        let file = self.document.file(name)?;
        let mut found = self.document.files.iter().zip(&self.files).filter(|(other, _)| *other == file);
        Ok(found.next().map_or(&[], |(_, bytes)| bytes))
    }

    /// The base-2 logarithm of a bound on the probability that a request of a layer fails, which is
    /// that any of its lookups fails.
    ///
    /// # Errors
    /// [`ParamsError::UnreliableTogether`](sotto_core::ParamsError::UnreliableTogether) if it is above 2^-40.
    pub fn failure_log2<L: Layer>(&self, layer: &L) -> Result<f64> {
        self.gate(&self.assignment(layer)?)
    }

    fn gate(&self, assignment: &QueryAssignment) -> Result<f64> {
        let of_rows = self.tables.iter().map(|table| {
            let session = table.session();
            session.packing().failure_log2(session.report().failure_log2)
        });
        let of_rows: Vec<f64> = of_rows.collect();
        Ok(sotto_core::layer::gate(assignment.queries(), &of_rows).map_err(Error::from)?)
    }

    /// The assignment of a layer's visits to queries of these tables.
    fn assignment<L: Layer>(&self, layer: &L) -> Result<QueryAssignment> {
        let parts = self.tables.iter().map(|table| {
            let session = table.session();
            StackTable { count: session.buckets(), rows: session.bucket_rows() }
        });
        let other = || {
            let why = "number of rows in the tables differs from the layer's".to_owned();
            Error::from(PeerMisbehaved::Malformed { what: "stack", why })
        };
        Ok(QueryAssignment::new(parts.collect(), &layer.shards(), &layer.visits()).ok_or_else(other)?)
    }

    /// Checks for a newer epoch and opens it. Returns whether there was one: layers made from the
    /// old epoch's files are then invalid.
    ///
    /// # Errors
    /// As for [`StackBuilder::open`].
    pub fn refresh(&mut self) -> Result<bool> {
        let before = self.document.clone();
        self.refetch()?;
        Ok(self.document != before)
    }

    /// Makes the lookups of a layer's request: one for each of its visits, even for a request
    /// without a result, such as a leaf that a tree does not have. Tables whose lookups fail too
    /// often together are not queried.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::EpochChanged`] if the stack has moved on: [`Self::refresh`]
    /// it, make the layer again, and repeat the lookup.
    pub fn lookup<L: Layer>(&mut self, layer: &L, request: &L::Request) -> Result<L::Reply> {
        self.reset_last();
        self.round(layer, request)
    }

    /// Resets [`Table::last_lookup`] of all tables before the next call.
    fn reset_last(&mut self) {
        self.tables.iter_mut().for_each(Table::reset_last);
    }

    fn round<L: Layer>(&mut self, layer: &L, request: &L::Request) -> Result<L::Reply> {
        let rng: &mut dyn CryptoRng = &mut system_rng()?;
        if self.good_until.is_some_and(|until| until <= now()) {
            self.refetch()?;
        }
        let assignment = self.assignment(layer)?;
        self.gate(&assignment)?;
        // A request that cannot be planned is sent all the same, with rows 0: see
        // [`crate::lookup`].
        let (rows, plan) = match layer.plan(request, rng) {
            Ok((rows, plan)) => (rows, Ok(plan)),
            Err(gone) => (vec![0; assignment.visits()], Err(gone)),
        };
        let broken = || Error::from(Misuse::Rule("the layer planned fewer rows than it has visits"));
        let answers = self.query_tables(&assignment.assign(&rows, rng).ok_or_else(broken)?);
        // This error precedes all others: a row that a later epoch lacks must not keep the caller
        // from repeating the lookup.
        if !self.is_current() {
            return Err(ClientError::EpochChanged { asked: self.document.epoch, newest: None });
        }
        let answers: Vec<_> = answers.into_iter().collect::<Result<_>>()?;
        let plan = plan?;
        Ok(layer.assemble(plan, assignment.gather(answers).ok_or_else(broken)?)?)
    }

    /// Queries every table, all at the same time, and waits for all.
    fn query_tables(&mut self, rows_of_tables: &[Zeroizing<Vec<u64>>]) -> Vec<Result<Vec<Vec<u8>>>> {
        let queried = self.tables.iter_mut().zip(rows_of_tables);
        run_all(
            queried.map(|(table, rows)| || if rows.is_empty() { Ok(Vec::new()) } else { table.rows(rows) }),
        )
    }

    /// Whether the tables' epochs are those that the stack names.
    fn is_current(&self) -> bool {
        self.document.shards.iter().zip(&self.tables).all(|(shard, table)| shard.is(table.catalog()))
    }

    /// Fetches the stack until its tables' epochs are those that it names.
    fn settle(&mut self) -> Result<()> {
        if !self.is_current() {
            return self.refetch();
        }
        self.source.remember(self)
    }

    fn refetch(&mut self) -> Result<()> {
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                pause(PAUSE);
            }
            let FetchedStack { verified, signed, good_until } = self.source.fetch(Some(&self.known))?;
            let VerifiedCatalog { document, key, known, .. } = verified;
            let same = document.shards.iter().map(|shard| &shard.table);
            if !same.eq(self.document.shards.iter().map(|shard| &shard.table)) {
                return Err(ClientError::StackInconsistent(document.stack));
            }
            (self.key, self.known, self.good_until) = (key, known, good_until);
            if document != self.document {
                self.files = self.source.files(&document)?;
                (self.document, self.signed) = (document, signed);
            }
            for table in &mut self.tables {
                table.refresh()?;
            }
            if self.is_current() {
                // All tables are signed with the stack's key now; the time in which the previous
                // key was accepted is over.
                self.tables.iter_mut().for_each(|table| table.set_pin(self.key));
                return self.source.remember(self);
            }
        }
        Err(ClientError::StackInconsistent(self.document.stack.clone()))
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("document", &self.document).field("tables", &self.tables).finish()
    }
}
