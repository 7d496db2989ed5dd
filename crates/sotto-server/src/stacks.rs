//! The stacks that are served: which tables belong together, and their public files.
//!
//! A stack's tables are written one after the other, and none of them goes live before the stack
//! names its new epoch. Then all of them do, and the stack after them. A client that comes in
//! between sees that they disagree, and tries again.

use crate::epochs::ServedTables;
use crate::error::StartError;
use crate::locked;
use crate::table_epoch::warn_of_end;
use arc_swap::ArcSwapOption;
use bytes::Bytes;
use sotto_catalog::{Hex32, TableName};
use sotto_db::{DbError, StackDir};
use sotto_wire::{Problem, ProblemCode};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A stack, ready to be sent.
pub(crate) struct LiveStack {
    pub(crate) signed: Bytes,
    pub(crate) etag: String,
    files: Vec<(Hex32, Bytes)>,
    /// Public files of the previous stack, for a client that has read that one and not its files
    /// yet.
    before: Vec<(Hex32, Bytes)>,
}

/// A stack's folder, and what was last live of it.
pub(crate) struct StackFolder {
    name: TableName,
    dir: StackDir,
    live: ArcSwapOption<LiveStack>,
    /// Last refusal, so that a faulty stack is logged once and not with every check.
    refused: Mutex<Option<String>>,
}

/// All stacks of a server.
pub(crate) struct ServedStacks(Vec<StackFolder>);

impl ServedStacks {
    /// Opens stacks whose tables are open already.
    ///
    /// # Errors
    /// [`StartError::Settings`] for a folder without a stack, a stack whose tables are not served as it names them, and
    /// two of one name.
    pub(crate) fn open(dirs: &[PathBuf], tables: &ServedTables) -> Result<Self, StartError> {
        let mut stacks = ServedStacks(Vec::new());
        for path in dirs {
            let settings = |why: String| StartError::Settings(format!("{}: {why}", path.display()));
            let dir = StackDir::find(path).ok_or_else(|| settings("no stack is published here".into()))?;
            let (_, stack) = dir.read().map_err(|e| settings(e.to_string()))?;
            let stacked = StackFolder {
                name: stack.stack,
                dir,
                live: ArcSwapOption::empty(),
                refused: Mutex::new(None),
            };
            // Its tables may still be being verified, or be damaged: then the stack waits for them,
            // and other tables do not.
            let waits = stack.shards.iter().any(|shard| !tables.is_settled(shard.table.as_str()));
            match stacked.reload(tables) {
                Err(why) if waits => {
                    tracing::warn!(stack = %stacked.name, why, "a stack is not served yet: its tables are not ready")
                }
                outcome => outcome.map_err(settings)?,
            }
            if stacks.0.iter().any(|other| other.name == stacked.name) {
                return Err(settings(format!("another stack named {} is configured", stacked.name)));
            }
            stacks.0.push(stacked);
        }
        Ok(stacks)
    }

    /// The stack of this name.
    ///
    /// # Errors
    /// [`ProblemCode::NoSuchTable`]; [`ProblemCode::NotReady`] while its tables are not.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<LiveStack>, Problem> {
        let stacked = self.0.iter().find(|stacked| stacked.name.as_str() == name);
        let stacked = stacked
            .ok_or_else(|| Problem::new(ProblemCode::NoSuchTable, "there is no stack of that name"))?;
        stacked.live.load_full().ok_or_else(|| {
            Problem::new(ProblemCode::NotReady, "a table of this stack is damaged or still being verified")
        })
    }

    /// The names of all stacks, in alphabetical order.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.0.iter().map(|stacked| stacked.name.to_string()).collect();
        names.sort_unstable();
        names
    }

    /// The public file with this digest.
    pub(crate) fn file(&self, digest: &Hex32) -> Option<Bytes> {
        let live = self.0.iter().filter_map(|stacked| stacked.live.load_full());
        live.into_iter().find_map(|live| {
            let mut files = live.files.iter().chain(&live.before);
            files.find(|(name, _)| name == digest).map(|(_, bytes)| bytes.clone())
        })
    }

    /// Checks for newer stacks, after the tables were checked. A stack that cannot go live is
    /// logged, and the old one stays.
    pub(crate) fn reload(&self, tables: &ServedTables) {
        for stacked in &self.0 {
            let refused = stacked.reload(tables).err();
            let mut last = locked(&stacked.refused);
            if let Some(error) = refused.as_ref().filter(|refused| last.as_ref() != Some(refused)) {
                tracing::error!(stack = %stacked.name, error, "a new stack is refused; the previous one is still \
                     served");
            }
            *last = refused;
        }
    }
}

impl StackFolder {
    fn reload(&self, tables: &ServedTables) -> Result<(), String> {
        let text = |e: DbError| e.to_string();
        let (signed, stack) = self.dir.read().map_err(text)?;
        let bytes = Bytes::from(signed.to_bytes());
        if self.live.load().as_ref().is_some_and(|live| live.signed == bytes) {
            return Ok(());
        }
        if stack.stack != self.name {
            return Err(format!("the folder holds stack {}, expected {}", stack.stack, self.name));
        }
        for shard in &stack.shards {
            let live = tables.get(shard.table.as_str()).ok().and_then(|table| table.live_now());
            let live = live.ok_or_else(|| format!("table {} is not served", shard.table))?;
            if !live.all().any(|epoch| shard.is(epoch.catalog())) {
                return Err(format!("table {} is at another epoch", shard.table));
            }
        }
        let files = stack.files.iter().map(|file| Ok((file.digest, self.dir.file(file)?.into())));
        let files = files.collect::<Result<_, DbError>>().map_err(text)?;
        let signature = signed.signature.to_string();
        let etag = format!("\"{}\"", signature.get(..32).unwrap_or(&signature));
        let before = self.live.load().as_ref().map(|live| live.files.clone()).unwrap_or_default();
        self.live.store(Some(Arc::new(LiveStack { signed: bytes, etag, files, before })));
        tracing::info!(stack = %self.name, epoch = %stack.epoch, "live");
        warn_of_end(&self.name, stack.epoch, stack.expires);
        Ok(())
    }
}
