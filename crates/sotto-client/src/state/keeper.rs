//! Keeps a client's state: nothing leaves before it is durable, and an old copy is never used.
//!
//! ```text
//! commit   one transaction: journal, request, counter + 1   then the anchor   then the request may leave
//! settle   one transaction: journal, the request is gone    then the row is handed out
//! adopt    a snapshot; one transaction: it is the one       then the anchor   then the old one goes
//! ```
//!
//! After a crash the state is as it was before or after a transaction, and the anchor is at most one behind.

use super::about::{About, At, FORMAT, Marks, Snapshot, Wanted};
use super::anchor::Anchor;
use super::place::{Found, How, Loaded, Place};
use super::record::{Entry, Record};
use super::snapshot;
use super::store::{Change, FILE, Store};
use super::{Lost, StateError};
use crate::{ClientError, Result};
use sotto_core::{AnyClient, CryptoRng, Epoch, Error, Misuse};

/// Bytes of the journal that are always worth keeping rather than a new snapshot.
const JOURNAL_BYTES: u64 = 64 << 10;
/// The part of the snapshot's size that a journal may have.
const JOURNAL_PART: u64 = 4;

/// A request that is on disk. Only one that is can be sent: this is made here and nowhere else.
#[derive(Clone)]
pub(crate) struct Recorded {
    id: u64,
    record: Record,
}

impl Recorded {
    /// What is sent.
    pub(crate) fn record(&self) -> &Record {
        &self.record
    }
}

/// A state, open.
pub(crate) struct Keeper {
    place: Place,
    store: Store,
    anchor: Anchor,
    about: About,
    marks: Marks,
    recorded: Vec<Recorded>,
    /// The largest generation of any snapshot.
    generation: u64,
    /// A write failed, so what is in memory may be ahead of the disk.
    broken: bool,
}

/// What opening a state gives.
pub(crate) struct Opened {
    pub(crate) keeper: Keeper,
    /// The client, unless it has to be prepared first.
    pub(crate) client: Option<Box<dyn AnyClient>>,
    /// Why what was there was thrown away, if it was.
    pub(crate) lost: Option<Lost>,
}

impl Keeper {
    /// Opens a state, and makes a new one if there is none that may be used.
    ///
    /// # Errors
    /// [`StateError`].
    pub(crate) fn open(
        place: Place,
        wanted: &Wanted,
        how: How<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Opened> {
        let store = match place.store() {
            // A database whose making was interrupted. Without a snapshot there never was a client to lose.
            Err(StateError::Unusable { .. }) if !place.has_snapshots()? => {
                place.remove_store()?;
                place.store()?
            }
            outcome => outcome?,
        };
        let lost = match place.load(&store, wanted, how)? {
            Found::State(loaded) => {
                let Loaded { about, marks, anchor, client, asks } = *loaded;
                let generation = place.sweep(about.snapshot.map(|snapshot| snapshot.generation))?;
                let recorded = asks.into_iter().map(|(id, record)| Recorded { id, record }).collect();
                let broken = false;
                let mut keeper = Keeper { place, store, anchor, about, marks, recorded, generation, broken };
                // A crash may have left the anchor one behind, and the next one must not make it two.
                keeper.anchored()?;
                return Ok(Opened { keeper, client, lost: None });
            }
            Found::Nothing => {
                drop(store);
                None
            }
            Found::Useless { id, why, keep_anchor } => {
                drop(store);
                place.clear(&id, keep_anchor)?;
                why
            }
        };
        let keeper = Keeper::begin(place, wanted, rng)?;
        Ok(Opened { keeper, client: None, lost })
    }

    /// Throws the state away, for a reason that only the caller knows. The new one is of the same table.
    pub(crate) fn start_over(self, rng: &mut dyn CryptoRng) -> Result<Keeper> {
        let Keeper { place, store, about, .. } = self;
        drop(store);
        place.clear(&about.id, false)?;
        let About { table, origin, scheme, public_key, params, literal, .. } = about;
        Keeper::begin(place, &Wanted { table, origin, scheme, public_key, params, literal }, rng)
    }

    /// Refuses to be the state of anything else.
    ///
    /// # Errors
    /// [`StateError::Other`].
    pub(crate) fn check(&self, wanted: &Wanted) -> Result<(), StateError> {
        self.about.check(wanted, &self.place.disk.path())
    }

    /// A new state, without a client.
    fn begin(place: Place, wanted: &Wanted, rng: &mut dyn CryptoRng) -> Result<Keeper> {
        let store = place.store()?;
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let mut about = About {
            format: FORMAT.to_owned(),
            id: id.iter().map(|byte| format!("{byte:02x}")).collect(),
            table: wanted.table.clone(),
            origin: wanted.origin.clone(),
            scheme: wanted.scheme.clone(),
            public_key: wanted.public_key.clone(),
            params: wanted.params,
            literal: wanted.literal.clone(),
            clients: 0,
            anchored: false,
            snapshot: None,
            home: place.disk.home(FILE).map_err(|error| place.at(error))?,
        };
        let marks = Marks::default();
        let write = |about: &About| {
            let change = Change { about: Some(about), marks, ..Change::default() };
            store.apply(&change).map_err(|error| place.broken(error))
        };
        write(&about)?;
        let anchor =
            Anchor::make(place.anchors.as_ref(), &about.id).map_err(|error| place.at_anchor(error))?;
        about.anchored = true;
        write(&about)?;
        let generation = place.sweep(None)?;
        let recorded = Vec::new();
        Ok(Keeper { place, store, anchor, about, marks, recorded, generation, broken: false })
    }

    /// The rows its client is of; `None` before there is one.
    pub(crate) fn at(&self) -> Option<At> {
        self.about.snapshot.map(|Snapshot { epoch, rows, .. }| At { epoch, rows })
    }

    /// The requests that were made and are not settled, the oldest first.
    pub(crate) fn recorded(&self) -> &[Recorded] {
        &self.recorded
    }

    /// Makes a request durable, which may leave then, to servers of `epoch`.
    ///
    /// # Errors
    /// [`StateError`]. Nothing may be sent then, and nothing more asked with this client.
    pub(crate) fn commit(&mut self, entry: &Entry, epoch: Epoch) -> Result<Recorded> {
        if self.at().is_none_or(|at| at.epoch != epoch) {
            return Err(Error::from(Misuse::Rule("a client asks servers of its own epoch")).into());
        }
        let id = self.marks.asks.0;
        let mut marks = self.appended(&entry.journal);
        marks.counter += 1;
        marks.asks = (id + 1, marks.asks.1 + 1);
        let record = entry.record.encode();
        let change = Change {
            marks,
            append: self.entry(&entry.journal),
            record: Some((id, &record)),
            ..Change::default()
        };
        self.apply(&change)?;
        self.anchored()?;
        let recorded = Recorded { id, record: entry.record.clone() };
        self.recorded.push(recorded.clone());
        Ok(recorded)
    }

    /// Makes durable what the answers to a request told; with `whole`, the request is settled and forgotten.
    ///
    /// # Errors
    /// [`StateError`]. What the answers told may be handed out only after a success.
    pub(crate) fn settle(&mut self, recorded: &Recorded, journal: &[u8], whole: bool) -> Result<()> {
        let mut marks = self.appended(journal);
        if whole {
            marks.asks.1 = marks.asks.1.saturating_sub(1);
        }
        let settle = whole.then_some(recorded.id);
        self.apply(&Change { marks, append: self.entry(journal), settle, ..Change::default() })?;
        self.recorded.retain(|other| !whole || other.id != recorded.id);
        Ok(())
    }

    /// Writes the client down whole if the journal has become so long that it is worth it.
    ///
    /// # Errors
    /// [`StateError`]. A disk without room for a snapshot is none: the journal goes on.
    pub(crate) fn tidy(&mut self, client: &mut dyn AnyClient) -> Result<()> {
        let Some(Snapshot { bytes, epoch, rows, .. }) = self.about.snapshot else { return Ok(()) };
        if self.marks.bytes <= JOURNAL_BYTES.max(bytes / JOURNAL_PART) {
            return Ok(());
        }
        match self.replace(client, At { epoch, rows }, false) {
            Err(ClientError::State(StateError::Full { .. })) if !self.broken => Ok(()),
            outcome => outcome,
        }
    }

    /// Writes the client down whole, as one that was taken along to other rows. Its recorded requests stay.
    ///
    /// # Errors
    /// [`StateError`]. What was there before is still there, and nothing more may be asked.
    pub(crate) fn moved(&mut self, client: &mut dyn AnyClient, to: At) -> Result<()> {
        let outcome = self.replace(client, to, false);
        self.broken |= outcome.is_err();
        outcome
    }

    /// Makes a client that was prepared the one of this state, in place of the one before. That one's key, and the
    /// requests it made, are forgotten.
    ///
    /// # Errors
    /// [`StateError`].
    pub(crate) fn adopt(&mut self, client: &mut dyn AnyClient, at: At) -> Result<()> {
        self.replace(client, at, true)?;
        self.recorded.clear();
        Ok(())
    }

    fn replace(&mut self, client: &mut dyn AnyClient, at: At, is_new: bool) -> Result<()> {
        self.sound()?;
        self.generation += 1;
        let snapshot = self.write(client, at)?;
        let before = self.about.snapshot.replace(snapshot);
        let mut marks =
            Marks { entries: (self.marks.entries.1, self.marks.entries.1), bytes: 0, ..self.marks };
        if is_new {
            self.about.clients += 1;
            marks.counter += 1;
            marks.asks.1 = 0;
        }
        let about = self.about.clone();
        let (about, forget_journal, forget_asks) = (Some(&about), true, is_new);
        self.apply(&Change { about, marks, forget_journal, forget_asks, ..Change::default() })?;
        if is_new {
            self.anchored()?;
        }
        if let Some(before) = before {
            let old = snapshot::name(before.generation);
            self.place.disk.remove(&old).map_err(|error| self.place.at(error))?;
        }
        Ok(())
    }

    fn write(&self, client: &mut dyn AnyClient, at: At) -> Result<Snapshot> {
        let of = (self.generation, at, self.about.params);
        snapshot::write(self.place.disk.as_ref(), client, of).map_err(|error| match error {
            Error::Storage(error) => self.place.at(error).into(),
            error => error.into(),
        })
    }

    fn entry<'a>(&self, journal: &'a [u8]) -> Option<(u64, &'a [u8])> {
        (!journal.is_empty()).then_some((self.marks.entries.1, journal))
    }

    fn appended(&self, journal: &[u8]) -> Marks {
        let mut marks = self.marks;
        if !journal.is_empty() {
            marks.entries.1 += 1;
            marks.bytes += journal.len() as u64;
        }
        marks
    }

    fn sound(&self) -> Result<(), StateError> {
        if self.broken { Err(StateError::Broken) } else { Ok(()) }
    }

    /// One transaction. If it fails, nobody knows whether it is on disk.
    fn apply(&mut self, change: &Change<'_>) -> Result<(), StateError> {
        self.sound()?;
        self.broken = true;
        self.store.apply(change).map_err(|error| self.place.broken(error))?;
        self.marks = change.marks;
        self.broken = false;
        Ok(())
    }

    /// Moves the anchor to where the state is.
    fn anchored(&mut self) -> Result<(), StateError> {
        self.broken = true;
        self.anchor.set(self.marks.counter).map_err(|error| self.place.at_anchor(error))?;
        self.broken = false;
        Ok(())
    }
}
