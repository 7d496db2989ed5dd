//! From a table's name to a session, step by step: catalogs, artifacts, keys.
//!
//! Every step reads bytes that are the same for every client, except keys, so nothing here depends
//! on later lookups.

mod catalog;
mod resume;

pub use resume::SavedPreparation;

use super::action::{Action, FetchRange};
use super::artifact_download::ArtifactDownload;
use super::config::SetupConfig;
use super::delta_chain::{DeltaChain, StateVersion};
use super::epoch_agreement::EpochAgreement;
use super::keys::{self, session_id};
use super::registered_keys::{KeySeed, RegisteredKeys};
use super::row_proof::TreeDownload;
use super::verified_table::VerifiedTable;
use super::witness::LogCheck;
use super::{Session, accepted};
use crate::transport::Response;
use crate::{ClientError, Result};
use sotto_catalog::{Catalog, Hex32};
use sotto_core::{AnyCheckpoint, AnyClient, CryptoRng, Error, ExpectOrDefault, Misuse, ParamsDigest};
use sotto_wire::SessionId;

/// A table that is being opened.
///
/// After an error the same step can be repeated with other bytes. If that cannot help,
/// [`SessionSetup::next`] starts again from the catalog.
pub struct SessionSetup {
    config: SetupConfig,
    /// Parameters for which the caller already has a client that is good at any epoch.
    reusable: Option<ParamsDigest>,
    resuming: Option<SavedPreparation>,
    table: Option<VerifiedTable>,
    /// Seed of the client's keys, if it has any.
    seed: Option<KeySeed>,
    stage: SetupStage,
    /// Download of the tree that rows are verified with, if there is one. It precedes everything
    /// else that the catalog requires.
    tree: Option<Box<ArtifactDownload<TreeDownload>>>,
    /// The current time in seconds since 1970, if the caller has set it.
    now: Option<u64>,
    /// Digest and bytes of an artifact that a delta produced, until [`SessionSetup::take_patched`]
    /// takes it.
    patched: Option<(Hex32, Vec<u8>)>,
}

enum SetupStage {
    Catalog(EpochAgreement),
    /// A catalog that all servers show, and the check whether its publisher shows it to everybody.
    Witness(Box<(LogCheck, VerifiedTable)>),
    Gather(Box<ArtifactDownload>),
    /// A client with keys, and the session ids that servers have returned so far.
    Keys(Box<dyn AnyClient>, Vec<SessionId>),
    /// The caller's session continues.
    Reused,
    Ready(Box<dyn AnyClient>, Vec<SessionId>),
}

impl Default for SetupStage {
    fn default() -> Self {
        SetupStage::Catalog(EpochAgreement::default())
    }
}

impl SessionSetup {
    /// Starts to open a table.
    pub fn new(config: SetupConfig) -> Self {
        SessionSetup {
            config,
            reusable: None,
            resuming: None,
            table: None,
            seed: None,
            stage: SetupStage::default(),
            tree: None,
            now: None,
            patched: None,
        }
    }

    /// Starts to open the current epoch for a caller that has a session of an earlier one. If the
    /// session's keys are good for this epoch too, the setup ends with the catalog:
    /// [`SessionSetup::is_continued`] is then true, and [`Session::advance_to`] takes the place of
    /// [`SessionSetup::finish`].
    pub fn after_session(config: SetupConfig, session: &Session) -> Self {
        SessionSetup { reusable: session.reusable_params(), ..SessionSetup::new(config) }
    }

    /// Continues a preparation that another setup began, perhaps in another process: at its epoch,
    /// from the chunk of the rows that it had reached.
    ///
    /// If that epoch is no longer served, or has changed, [`SessionSetup::feed`] returns
    /// [`ClientError::EpochChanged`], and the preparation is useless. Earlier bytes cannot be
    /// hashed again, so the rows are verified chunk by chunk only; the digest of each chunk is in
    /// the signed catalog.
    pub fn resuming(config: SetupConfig, resuming: SavedPreparation) -> Self {
        let stage = SetupStage::Catalog(EpochAgreement::at(resuming.epoch));
        SessionSetup { resuming: Some(resuming), stage, ..SessionSetup::new(config) }
    }

    /// Sets the current time, in seconds since 1970. Without it no catalog has expired, and none
    /// has witnesses.
    #[must_use]
    pub fn at(mut self, now: u64) -> Self {
        self.set_time(now);
        self
    }

    /// Updates the current time, in seconds since 1970, during a setup that takes a while.
    pub fn set_time(&mut self, now: u64) {
        self.now = Some(now);
    }

    /// Whether the session that this setup was started with continues, with its keys.
    pub fn is_continued(&self) -> bool {
        matches!(self.stage, SetupStage::Reused)
    }

    /// The next step. Calling this twice changes nothing.
    pub fn next(&self) -> Action {
        if let Some(tree) = &self.tree {
            return tree.next();
        }
        match &self.stage {
            SetupStage::Catalog(accord) => match accord.next(&self.config) {
                Some((server, request)) => Action::Catalog { server, request },
                None => Action::Ready,
            },
            SetupStage::Witness(check) => Action::Catalog { server: 0, request: check.0.next() },
            SetupStage::Gather(download) => download.next(),
            SetupStage::Keys(client, ids) => match &self.table {
                Some(table) => {
                    let server = u8::try_from(ids.len()).expect_or_default("a scheme has few servers");
                    Action::Keys { server, request: keys::registration(table, client.as_ref(), server) }
                }
                None => Action::Ready,
            },
            SetupStage::Ready(..) | SetupStage::Reused => Action::Ready,
        }
    }

    /// Takes the response to the request of [`SessionSetup::next`].
    ///
    /// # Errors
    /// [`ClientError`] for a refusal, or for bytes that are not the requested ones.
    pub fn feed(&mut self, response: &Response, rng: &mut dyn CryptoRng) -> Result<()> {
        let epoch = self.table.as_ref().map(|table| table.catalog.epoch);
        if let Some(tree) = &mut self.tree {
            tree.feed(accepted(response, epoch))?;
            return self.install_tree();
        }
        match &mut self.stage {
            SetupStage::Catalog(accord) => {
                let Some(table) = accord.feed(response, &self.config)? else { return Ok(()) };
                match self.check_freshness(&table)? {
                    None => self.accept_catalog(table, rng),
                    Some(check) => {
                        self.stage = SetupStage::Witness(Box::new((check, table)));
                        Ok(())
                    }
                }
            }
            SetupStage::Witness(check) => {
                let fed = check.0.feed(response);
                if matches!(fed, Ok(false)) {
                    return Ok(());
                }
                let at = self
                    .resuming
                    .as_ref()
                    .map_or_else(EpochAgreement::default, |saved| EpochAgreement::at(saved.epoch));
                let stage = std::mem::replace(&mut self.stage, SetupStage::Catalog(at));
                match (fed, stage) {
                    (Ok(_), SetupStage::Witness(check)) => self.accept_catalog(check.1, rng),
                    (fed, _) => fed.map(drop),
                }
            }
            SetupStage::Gather(download) => {
                let fed = download.feed(accepted(response, epoch));
                self.after(fed)
            }
            SetupStage::Keys(_, ids) => {
                let server = u8::try_from(ids.len()).expect_or_default("a scheme has few servers");
                let id = accepted(response, epoch).and_then(session_id);
                ids.push(id.map_err(|error| error.of_server(server, self.config.servers))?);
                let queried = self.table.as_ref().map_or(0, |table| table.scheme.query_servers);
                if ids.len() < queried {
                    return Ok(());
                }
                if let SetupStage::Keys(client, ids) = std::mem::take(&mut self.stage) {
                    self.stage = SetupStage::Ready(client, ids);
                }
                Ok(())
            }
            SetupStage::Ready(..) | SetupStage::Reused => Err(out_of_order()),
        }
    }

    /// Begins to prepare a new client.
    fn begin(&mut self, rng: &mut dyn CryptoRng) -> Result<()> {
        let table = self.table.as_ref().ok_or_else(out_of_order)?;
        self.seed = table.draws_keys().then(|| KeySeed::draw(rng));
        let prepare = match (self.resuming.take(), &self.seed) {
            (Some(resuming), _) => resuming.prepare(table)?,
            (None, Some(seed)) => seed.prepare(table)?,
            (None, None) => (table.scheme.prepare)(&table.params, rng)?,
        };
        self.stage = SetupStage::Gather(Box::new(ArtifactDownload::new(table, prepare)?));
        self.advance()
    }

    /// Uses keys that servers already have, instead of registering others. Returns whether they fit
    /// the table; if not, nothing has changed.
    ///
    /// # Errors
    /// [`Misuse::Rule`] before the catalog has arrived, and once keys were registered.
    pub fn reuse(&mut self, registered: &RegisteredKeys) -> Result<bool> {
        let is_early = match &self.stage {
            SetupStage::Catalog(_) => true,
            SetupStage::Keys(_, ids) => ids.is_empty(),
            _ => false,
        };
        let table = self.table.as_ref().filter(|_| is_early).ok_or_else(out_of_order)?;
        let Some((client, seed)) = registered.client(table)? else { return Ok(false) };
        self.seed = Some(seed);
        self.stage = SetupStage::Ready(client, registered.sessions().to_vec());
        Ok(true)
    }

    /// The range that will be fetched after the one in [`Action::Fetch`], for callers that fetch it
    /// while the other one is still being absorbed.
    pub fn upcoming_fetch(&self) -> Option<FetchRange> {
        match &self.stage {
            _ if self.tree.is_some() => None,
            SetupStage::Gather(download) => download.upcoming_fetch(),
            _ => None,
        }
    }

    /// Access to the half-done preparation for saving, if the scheme can save it; see
    /// [`SessionSetup::resuming`].
    pub fn checkpoint(&self) -> Option<&dyn AnyCheckpoint> {
        match &self.stage {
            SetupStage::Gather(download) => download.checkpoint(),
            _ => None,
        }
    }

    /// Takes cached bytes for the range in [`Action::Fetch`]: its first bytes, or all of them.
    /// Returns how many were valid; the rest is damaged, or an incomplete chunk, and has to be
    /// fetched.
    ///
    /// # Errors
    /// Only errors that end the setup; damaged bytes are no error.
    pub fn offer_cached(&mut self, cached: &[u8]) -> Result<usize> {
        if let Some(tree) = &mut self.tree {
            let taken = tree.offer(cached)?;
            return self.install_tree().map(|()| taken);
        }
        let SetupStage::Gather(download) = &mut self.stage else { return Err(out_of_order()) };
        let taken = download.offer(cached);
        self.after(taken)
    }

    /// Answers [`Action::Recall`] with the cached artifact of the older epoch, if there is one.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if no artifact was requested.
    pub fn cached_artifact(&mut self, cached: Option<Vec<u8>>) -> Result<()> {
        if let Some(tree) = &mut self.tree {
            tree.take_cached(cached)?;
            return self.install_tree();
        }
        let SetupStage::Gather(download) = &mut self.stage else { return Err(out_of_order()) };
        download.take_cached(cached)?;
        self.advance()
    }

    /// The bytes that a delta has just produced, for callers that cache artifacts: a verified
    /// prefix of the artifact with this digest.
    pub fn take_patched(&mut self) -> Option<(Hex32, Vec<u8>)> {
        self.patched.take()
    }

    /// The catalog, once it is verified and every server shows the same.
    pub fn catalog(&self) -> Option<&Catalog> {
        self.table.as_ref().map(|table| &table.catalog)
    }

    /// Ends the setup and returns the session.
    ///
    /// # Errors
    /// [`Misuse::Rule`] before [`Action::Ready`].
    pub fn finish(self) -> Result<Session> {
        match (self.stage, self.table.filter(|_| self.tree.is_none())) {
            (SetupStage::Ready(client, ids), Some(table)) => Ok(Session::new(table, client, ids, self.seed)),
            _ => Err(out_of_order()),
        }
    }

    /// The delta chain from a client's state of an earlier epoch to this epoch, once the catalog
    /// has arrived.
    ///
    /// # Errors
    /// [`ClientError::NoDeltaChain`] if its parameters or its publisher differ; [`Misuse::Rule`]
    /// before the catalog has arrived.
    pub fn delta_chain(&self, version: StateVersion) -> Result<DeltaChain> {
        let table = self.table.clone().filter(|_| self.tree.is_none()).ok_or_else(out_of_order)?;
        DeltaChain::new(self.config.clone(), version, table)
    }

    /// The table that the session with these reusable parameters continues with.
    pub(super) fn continued(self, reusable: Option<ParamsDigest>) -> Result<VerifiedTable> {
        match (self.stage, self.table.filter(|_| self.tree.is_none())) {
            (SetupStage::Reused, Some(table)) if reusable == Some(table.pin(0).digest) => Ok(table),
            _ => Err(out_of_order()),
        }
    }

    /// Advances after bytes were taken, or starts over if the preparation is spoiled.
    fn after<T>(&mut self, taken: Result<T>) -> Result<T> {
        if matches!(&self.stage, SetupStage::Gather(download) if download.spoiled) {
            self.stage = SetupStage::default();
        }
        let taken = taken?;
        self.advance()?;
        Ok(taken)
    }

    /// Advances past the artifacts once all of them are absorbed.
    fn advance(&mut self) -> Result<()> {
        let SetupStage::Gather(download) = &mut self.stage else { return Ok(()) };
        self.patched = download.patched.take().or(self.patched.take());
        if !download.is_done() {
            return Ok(());
        }
        let SetupStage::Gather(download) = std::mem::take(&mut self.stage) else {
            return Ok(());
        };
        let client = download.finish()?;
        self.settle_on(client)
    }

    /// Advances to what a client needs besides artifacts: keys, or nothing.
    fn settle_on(&mut self, client: Box<dyn AnyClient>) -> Result<()> {
        let Some(table) = &self.table else { return Err(out_of_order()) };
        self.stage = match table.sizes().keys_bytes {
            0 => SetupStage::Ready(client, table.no_sessions()),
            _ => SetupStage::Keys(client, Vec::new()),
        };
        Ok(())
    }
}

impl Session {
    /// Moves the session to the epoch of a setup, and reuses its keys. The setup has to be made
    /// with [`SessionSetup::after_session`] for this session, and [`SessionSetup::is_continued`]
    /// has to be true. Queries made before do not belong to this epoch.
    ///
    /// # Errors
    /// [`Misuse::Rule`] for any other setup; the session then stays as it is.
    pub fn advance_to(&mut self, opening: SessionSetup) -> Result<()> {
        self.table = opening.continued(self.reusable_params())?;
        Ok(())
    }
}

fn out_of_order() -> ClientError {
    Error::from(Misuse::Rule("session setup received another input than its next step expects")).into()
}
