//! A stack, for people in a hurry: opens its tables, and asks all of them what a layer says.
//!
//! A layer's requests become one lookup for each of its visits, whatever is asked for; all tables are asked at the same
//! time, and each of them answers before anything is made of what the others said. So what servers see is the
//! layer's [`visits`](Layer::visits), and when.
//!
//! Tables, public files and the stack that names them are of one epoch, or nothing is asked: each table's catalog is compared
//! with the digest that the stack has for it, before a lookup and after.

use crate::session::{Trust, accepted};
use crate::table::{Builder, Table};
use crate::transport::{Request, Transport};
use crate::{ClientError, Result};
use sotto_catalog::{PublicKey, SignedStack, Stack as Document, TableName};
use sotto_core::{CryptoRng, Error, Layer, Misuse, PeerMisbehaved, Row};
use sotto_prg::system_rng;
use sotto_wire::routes;
use std::fmt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How often a stack is fetched whose tables have just moved on, and how long to wait in between.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// Makes transports to the servers of a table, in the order of their roles.
type Make = Box<dyn FnMut() -> Result<Vec<Box<dyn Transport>>> + Send>;

/// A stack about to be opened.
#[must_use = "nothing happens before open()"]
pub struct StackBuilder {
    make: Make,
    name: String,
    pin: Option<PublicKey>,
    cache_dir: Option<PathBuf>,
    #[allow(clippy::type_complexity, reason = "one function, named by what it does")]
    configure: Box<dyn Fn(Builder) -> Builder + Send>,
}

/// An open stack.
pub struct Stack {
    from: StackBuilder,
    document: Document,
    key: PublicKey,
    files: Vec<Vec<u8>>,
    tables: Vec<Table>,
}

impl StackBuilder {
    /// Accepts a stack signed by this key only, and tables likewise. Without it the first key seen is believed, and the
    /// tables must be signed by the same one.
    pub fn pin(mut self, key: PublicKey) -> Self {
        self.pin = Some(key);
        self
    }

    /// Keeps the tables' artifacts, keys and epochs in this directory.
    pub fn cache_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.cache_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Says how each table is opened, beyond its name, its key and its cache.
    pub fn configure(mut self, configure: impl Fn(Builder) -> Builder + Send + 'static) -> Self {
        self.configure = Box::new(configure);
        self
    }

    /// Opens the stack: what it says, its public files, its tables.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::StackMoves`] if its tables are never those that it names.
    pub fn open(mut self) -> Result<Stack> {
        let (document, key) = self.fetch(None)?;
        let files = self.files(&document)?;
        let mut tables = Vec::new();
        for shard in &document.shards {
            let transports = (self.make)()?;
            let mut builder = Table::over_all(transports, shard.table.as_str()).pin(key);
            if let Some(dir) = &self.cache_dir {
                builder = builder.cache_dir(dir);
            }
            tables.push((self.configure)(builder).open()?);
        }
        let mut stack = Stack { from: self, document, key, files, tables };
        stack.settle()?;
        Ok(stack)
    }

    /// The stack as it is now.
    fn fetch(&mut self, key: Option<PublicKey>) -> Result<(Document, PublicKey)> {
        let name: TableName = self.name.parse()?;
        let request = Request::get(routes::stack(name.as_str()), SignedStack::MAX_BYTES as u64);
        let signed = SignedStack::parse(&self.call(&request)?)?;
        let document = signed.verify(key.or(self.pin).as_ref())?;
        if document.stack != name {
            return Err(ClientError::WrongTable { asked: name, found: document.stack });
        }
        Ok((document, signed.public_key()))
    }

    fn files(&mut self, document: &Document) -> Result<Vec<Vec<u8>>> {
        let fetch = |file: &sotto_catalog::stack::File| {
            let request = Request::get(routes::artifact(&file.digest.to_string()), file.bytes);
            let bytes = self.call(&request)?;
            if !file.is(&bytes) {
                return Err(Error::from(PeerMisbehaved::Digest("a public file")).into());
            }
            Ok(bytes)
        };
        document.files.iter().map(fetch).collect()
    }

    /// Asks the first server for what is public.
    fn call(&mut self, request: &Request) -> Result<Vec<u8>> {
        let mut transports = (self.make)()?;
        let first = transports.first_mut().ok_or(Error::from(Misuse::Rule("a stack has a server")))?;
        let response = first.call(request)?;
        Ok(accepted(&response, None)?.to_vec())
    }
}

impl Stack {
    /// A stack at a server, over HTTP. Nothing is sent before [`StackBuilder::open`].
    #[cfg(feature = "http")]
    pub fn connect(url: &str, stack: &str) -> StackBuilder {
        Self::connect_all(&[url], stack)
    }

    /// A stack whose tables' schemes ask several servers, over HTTP: their addresses in the order of their roles.
    #[cfg(feature = "http")]
    pub fn connect_all(urls: &[&str], stack: &str) -> StackBuilder {
        let urls: Vec<String> = urls.iter().map(|&url| url.to_owned()).collect();
        Self::over(stack, move || crate::table::to::usual(&urls))
    }

    /// A stack over any transports, which are made for each table anew.
    pub fn over(
        stack: &str,
        make: impl FnMut() -> Result<Vec<Box<dyn Transport>>> + Send + 'static,
    ) -> StackBuilder {
        let configure = Box::new(|builder| builder);
        StackBuilder { make: Box::new(make), name: stack.to_owned(), pin: None, cache_dir: None, configure }
    }

    /// What the stack says of itself.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The key that signed it.
    pub fn public_key(&self) -> PublicKey {
        self.key
    }

    /// Why that key is believed.
    pub fn trust(&self) -> Trust {
        if self.from.pin.is_some() { Trust::Pinned } else { Trust::FirstUse }
    }

    /// Its tables, in the order of its layer's shards.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The bytes of a public file.
    ///
    /// # Errors
    /// [`sotto_catalog::CatalogError::Invalid`] if the stack has none of that name.
    pub fn file(&self, name: &str) -> Result<&[u8]> {
        let file = self.document.file(name)?;
        let mut found = self.document.files.iter().zip(&self.files).filter(|(other, _)| *other == file);
        Ok(found.next().map_or(&[], |(_, bytes)| bytes))
    }

    /// log2 of a bound on the probability that a request of a layer fails: that any of its lookups does.
    ///
    /// # Errors
    /// [`ParamsError::UnreliableTogether`](sotto_core::ParamsError::UnreliableTogether) if it is above 2^-40.
    pub fn failure_log2<L: Layer>(&self, layer: &L) -> Result<f64> {
        let of_rows = self.tables.iter().map(|table| {
            let session = table.session();
            session.packing().failure_log2(session.report().failure_log2)
        });
        let of_rows: Vec<f64> = of_rows.collect();
        Ok(sotto_core::layer::gate(&layer.visits(), &of_rows).map_err(Error::from)?)
    }

    /// Looks for a newer epoch. Gives whether there was one: layers made of the old one's files are over then.
    ///
    /// # Errors
    /// As [`StackBuilder::open`].
    pub fn refresh(&mut self) -> Result<bool> {
        let before = self.document.clone();
        self.take(TRIES)?;
        Ok(self.document != before)
    }

    /// Asks what a layer says about a request: a lookup for each of its visits. Tables whose lookups fail too often
    /// together are not asked.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::EpochChanged`] if the stack has moved on: [`Self::refresh`] it, make the layer
    /// anew, and ask again.
    pub fn lookup<L: Layer>(&mut self, layer: &L, request: &L::Request) -> Result<L::Reply> {
        let mut rng = system_rng().map_err(|_| ClientError::NoEntropy)?;
        self.lookup_with(layer, request, &mut rng)
    }

    fn lookup_with<L: Layer>(
        &mut self,
        layer: &L,
        request: &L::Request,
        rng: &mut dyn CryptoRng,
    ) -> Result<L::Reply> {
        let (shards, visits) = (layer.shards(), layer.visits());
        let rows = self.tables.iter().map(|table| table.catalog().rows);
        if !rows.eq(shards) {
            let why = "its tables have other rows than its layer says".to_owned();
            return Err(Error::from(PeerMisbehaved::Malformed { what: "stack", why }).into());
        }
        self.failure_log2(layer)?;
        let (rows, plan) = layer.plan(request, rng)?;
        let mut wanted: Vec<Vec<u64>> = vec![Vec::new(); self.tables.len()];
        let broken = || Error::from(Misuse::Rule("a layer plans a row for each of its visits"));
        if rows.len() != visits.len() {
            return Err(broken().into());
        }
        for (shard, row) in visits.iter().zip(rows) {
            wanted.get_mut(*shard).ok_or_else(broken)?.push(row);
        }
        let answers = self.ask(&wanted);
        let current = self.is_current();
        let mut answers: Vec<_> = answers.into_iter().collect::<Result<_>>()?;
        if !current {
            return Err(ClientError::EpochChanged { asked: self.document.epoch, newest: None });
        }
        // Back into the order of the visits.
        answers.iter_mut().for_each(|rows| rows.reverse());
        let mut next = |shard: &usize| answers.get_mut(*shard)?.pop().map(Row::new);
        let rows = visits.iter().map(|shard| next(shard).ok_or_else(broken)).collect::<Result<_, _>>()?;
        Ok(layer.assemble(plan, rows)?)
    }

    /// Asks every table, all at the same time, and waits for all.
    fn ask(&mut self, wanted: &[Vec<u64>]) -> Vec<Result<Vec<Vec<u8>>>> {
        thread::scope(|scope| {
            let asked = self.tables.iter_mut().zip(wanted);
            let asked: Vec<_> = asked
                .map(|(table, rows)| {
                    scope.spawn(move || if rows.is_empty() { Ok(Vec::new()) } else { table.get_many(rows) })
                })
                .collect();
            let joined = asked.into_iter().map(|thread| thread.join());
            joined.map(|outcome| outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    /// Whether the tables are those that the stack names.
    fn is_current(&self) -> bool {
        self.document.shards.iter().zip(&self.tables).all(|(shard, table)| shard.is(table.catalog()))
    }

    /// Fetches the stack until its tables are those that it names.
    fn settle(&mut self) -> Result<()> {
        if self.is_current() { Ok(()) } else { self.take(TRIES) }
    }

    fn take(&mut self, tries: u32) -> Result<()> {
        for attempt in 0..tries {
            if attempt > 0 {
                thread::sleep(PAUSE);
            }
            let (document, _) = self.from.fetch(Some(self.key))?;
            if document.epoch < self.document.epoch {
                return Err(ClientError::Rollback { seen: self.document.epoch, offered: document.epoch });
            }
            let same = document.shards.iter().map(|shard| &shard.table);
            if !same.eq(self.document.shards.iter().map(|shard| &shard.table)) {
                return Err(ClientError::StackMoves { stack: document.stack });
            }
            if document != self.document {
                self.files = self.from.files(&document)?;
                self.document = document;
            }
            for table in &mut self.tables {
                table.refresh()?;
            }
            if self.is_current() {
                return Ok(());
            }
        }
        Err(ClientError::StackMoves { stack: self.document.stack.clone() })
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("document", &self.document).field("tables", &self.tables).finish()
    }
}
