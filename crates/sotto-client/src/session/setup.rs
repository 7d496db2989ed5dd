//! From a table's name to a session: catalogs, artifacts, keys.
//!
//! All bytes that are read are the same for every client, except keys, so nothing here depends on
//! later lookups.

use super::artifacts::ArtifactDownload;
use super::config::SetupConfig;
use super::delta_chain::{DeltaChain, StateVersion};
use super::epoch_agreement::agree;
use super::keys::{self, session_id};
use super::registered_keys::{KeySeed, RegisteredKeys};
use super::row_proof::TreeDownload;
use super::setup_io::{RequestPurpose, SetupIo};
use super::trust::Freshness;
#[cfg(feature = "cache")]
use super::trust::KnownSigner;
use super::verified_table::VerifiedTable;
use super::{Session, accepted};
use crate::{ClientError, Result};
use sotto_catalog::{Catalog, Hex32};
#[cfg(feature = "cache")]
use sotto_catalog::{PublicKey, SignerChange};
use sotto_core::{
    AnyCheckpoint, AnyClient, AnyPrepare, Artifact, Epoch, Error, ExpectOrDefault, Misuse, ParamsDigest,
};
use sotto_tlog::catalogs::EntryKind;
use sotto_wire::SessionId;

/// A table that is being opened.
///
/// [`SessionSetup::complete`] does everything that is left. After an error it can be called again,
/// and continues where it was; if that cannot help, it starts again from the catalog.
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
    tree: Option<Box<(TreeDownload, ArtifactDownload)>>,
}

/// How far the client is.
#[derive(Default)]
enum SetupStage {
    /// The catalog is missing.
    #[default]
    Catalog,
    Gather(Box<dyn AnyPrepare>, Box<ArtifactDownload>),
    /// A client with keys, and the session ids that servers have returned so far.
    Keys(Box<dyn AnyClient>, Vec<SessionId>),
    /// The caller's session continues.
    Reused,
    Ready(Box<dyn AnyClient>, Vec<SessionId>),
}

/// A half-done preparation, and the version of the rows that it is made from.
pub struct SavedPreparation {
    /// Epoch of the rows.
    pub epoch: Epoch,
    /// Digest of the parameters.
    pub params: ParamsDigest,
    /// Digest of the rows.
    pub rows: Hex32,
    /// The preparation, as [`sotto_core::StateEntry::resume`] returns it.
    pub prepare: Box<dyn AnyPrepare>,
}

impl SavedPreparation {
    /// The preparation, if its rows are those of the catalog.
    fn prepare(self, table: &VerifiedTable) -> Result<Box<dyn AnyPrepare>> {
        let same = table.catalog.digest_of_rows() == Some(self.rows);
        if !same || table.pin(0).digest != self.params {
            return Err(ClientError::EpochChanged { asked: self.epoch, newest: None });
        }
        Ok(self.prepare)
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
            stage: SetupStage::Catalog,
            tree: None,
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
    /// If that epoch is no longer served, or has changed, [`SessionSetup::fetch_catalog`] returns
    /// [`ClientError::EpochChanged`], and the preparation is useless. Earlier bytes cannot be
    /// hashed again, so the rows are verified chunk by chunk only; the digest of each chunk is in
    /// the signed catalog.
    pub fn resuming(config: SetupConfig, resuming: SavedPreparation) -> Self {
        SessionSetup { resuming: Some(resuming), ..SessionSetup::new(config) }
    }

    /// Does everything that is left: the catalog, the tree, the artifacts, the keys.
    ///
    /// # Errors
    /// [`ClientError`] for a refusal, or for bytes that are not the requested ones; errors of `io`.
    pub fn complete(&mut self, io: &mut dyn SetupIo) -> Result<()> {
        self.fetch_catalog(io)?;
        self.fetch_tree(io)?;
        self.fetch_artifacts(io)?;
        self.register_keys(io)
    }

    /// Fetches the catalog of all servers, if it is missing, and decides whether it is accepted.
    ///
    /// # Errors
    /// As for [`SessionSetup::complete`].
    pub fn fetch_catalog(&mut self, io: &mut dyn SetupIo) -> Result<()> {
        if self.table.is_some() {
            return Ok(());
        }
        let resumed = self.resuming.as_ref().map(|saved| saved.epoch);
        let table = agree(&self.config, resumed, io)?;
        let freshness = Freshness {
            kind: EntryKind::Catalog,
            snapshot: self.config.snapshot,
            anchor: self.config.anchor.as_ref(),
            witnesses: self.config.witnesses.as_ref(),
            logs: &self.config.logs,
            now: io.now(),
        };
        let checked = freshness.check(
            &table.catalog,
            table.catalog.expires,
            table.signer(),
            table.change,
            &mut |request| io.call(0, RequestPurpose::Catalog, request),
        );
        checked.map_err(|error| match (resumed, error) {
            // The snapshot may be the newest one, or there may be a newer epoch: the half-done
            // preparation is useless to this caller.
            (
                Some(asked),
                ClientError::OtherSnapshot { .. }
                | ClientError::OtherAnchor { .. }
                | ClientError::Expired { .. },
            ) => ClientError::EpochChanged { asked, newest: None },
            (_, error) => io.with_evidence(error, &self.config.table, &table.signed),
        })?;
        self.tree = table.nodes()?.map(Box::new);
        self.stage = match self.begin(&table, io) {
            Ok(stage) => stage,
            Err(error) => {
                self.tree = None;
                return Err(error);
            }
        };
        self.table = Some(table);
        Ok(())
    }

    /// Continues with an accepted catalog: with the caller's session, with registered keys, or with
    /// a new client.
    fn begin(&mut self, table: &VerifiedTable, io: &mut dyn SetupIo) -> Result<SetupStage> {
        if self.reusable == Some(table.pin(0).digest) {
            return Ok(SetupStage::Reused);
        }
        if let Some(registered) = &self.config.registered
            && let Some((client, seed)) = registered.client(table)?
        {
            self.seed = Some(seed);
            return Ok(SetupStage::Ready(client, registered.sessions().to_vec()));
        }
        let rng = io.rng()?;
        self.seed = table.draws_keys().then(|| KeySeed::draw(rng));
        let prepare = match (self.resuming.take(), &self.seed) {
            (Some(resuming), _) => resuming.prepare(table)?,
            (None, Some(seed)) => seed.prepare(table)?,
            (None, None) => (table.scheme.prepare)(&table.params, rng)?,
        };
        let patch = table.scheme.patch.map(|patch| (Artifact::Hint, patch, table.params.clone()));
        let download = ArtifactDownload::new(table, &prepare, Artifact::HintDelta, patch)?;
        Ok(SetupStage::Gather(prepare, Box::new(download)))
    }

    /// Fetches the tree that rows are verified with, if one is needed. A tree with another root than
    /// the rows' starts the setup over.
    ///
    /// # Errors
    /// As for [`SessionSetup::complete`].
    pub fn fetch_tree(&mut self, io: &mut dyn SetupIo) -> Result<()> {
        let (Some(parts), Some(table)) = (&mut self.tree, &mut self.table) else { return Ok(()) };
        let (nodes, download) = parts.as_mut();
        download.run(&table.catalog, nodes, io)?;
        let Some(parts) = self.tree.take() else { return Ok(()) };
        let kept = table.keep(parts.0);
        if kept.is_err() {
            self.start_over();
        }
        kept
    }

    /// Fetches the artifacts that the client is made from. If it refuses them, the setup starts over.
    fn fetch_artifacts(&mut self, io: &mut dyn SetupIo) -> Result<()> {
        let (SetupStage::Gather(prepare, download), Some(table)) = (&mut self.stage, &self.table) else {
            return Ok(());
        };
        let outcome = download.run(&table.catalog, prepare, io);
        if download.spoiled {
            self.start_over();
        }
        outcome?;
        let SetupStage::Gather(prepare, _) = std::mem::take(&mut self.stage) else { return Ok(()) };
        match prepare.finish() {
            Ok(client) => self.settle_on(client),
            Err(error) => {
                self.start_over();
                Err(error.into())
            }
        }
    }

    /// Registers the client's keys with each server, unless there are registered ones by now.
    fn register_keys(&mut self, io: &mut dyn SetupIo) -> Result<()> {
        if matches!(&self.stage, SetupStage::Keys(_, ids) if ids.is_empty()) {
            let name = self.config.table.clone();
            if io.reuse_keys(&name, &mut |registered| self.reuse(registered))? {
                return Ok(());
            }
        }
        let (SetupStage::Keys(client, ids), Some(table)) = (&mut self.stage, &self.table) else {
            return Ok(());
        };
        while ids.len() < table.scheme.query_servers {
            let server = u8::try_from(ids.len()).expect_or_default("a scheme has few servers");
            let request = keys::registration(table, client.as_ref(), server);
            let response = io.call(server, RequestPurpose::Keys, &request)?;
            let id = accepted(&response, Some(table.catalog.epoch)).and_then(session_id);
            ids.push(id.map_err(|error| error.of_server(server, self.config.servers))?);
        }
        if let SetupStage::Keys(client, ids) = std::mem::take(&mut self.stage) {
            self.stage = SetupStage::Ready(client, ids);
        }
        Ok(())
    }

    /// Uses keys that servers already have, instead of registering others. Returns whether they fit
    /// the table; if not, nothing has changed.
    fn reuse(&mut self, registered: &RegisteredKeys) -> Result<bool> {
        let table = self.table.as_ref().ok_or_else(out_of_order)?;
        let Some((client, seed)) = registered.client(table)? else { return Ok(false) };
        self.seed = Some(seed);
        self.stage = SetupStage::Ready(client, registered.sessions().to_vec());
        Ok(true)
    }

    /// Starts again from the catalog.
    fn start_over(&mut self) {
        (self.stage, self.table, self.tree) = (SetupStage::Catalog, None, None);
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

    /// Whether the session that this setup was started with continues, with its keys.
    pub fn is_continued(&self) -> bool {
        matches!(self.stage, SetupStage::Reused)
    }

    /// Access to the half-done preparation for saving, if the scheme can save it; see
    /// [`SessionSetup::resuming`].
    pub fn checkpoint(&self) -> Option<&dyn AnyCheckpoint> {
        match &self.stage {
            SetupStage::Gather(prepare, _) => prepare.checkpoint(),
            _ => None,
        }
    }

    /// The catalog, once it is verified and every server shows the same.
    pub fn catalog(&self) -> Option<&Catalog> {
        self.table.as_ref().map(|table| &table.catalog)
    }

    /// Ends the setup and returns the session.
    ///
    /// # Errors
    /// [`Misuse::Rule`] before the setup is complete.
    pub fn finish(self) -> Result<Session> {
        match (self.stage, self.table.filter(|_| self.tree.is_none())) {
            (SetupStage::Ready(client, ids), Some(table)) => Ok(Session::new(table, client, ids, self.seed)),
            _ => Err(out_of_order()),
        }
    }

    /// Fetches the catalogs of the delta chain from a client's state of an earlier epoch to this
    /// epoch, once the catalog and the tree have arrived.
    ///
    /// # Errors
    /// [`ClientError::NoDeltaChain`] if its parameters or its publisher differ, or there is none;
    /// [`Misuse::Rule`] before the catalog has arrived.
    pub fn delta_chain(&self, version: StateVersion, io: &mut dyn SetupIo) -> Result<DeltaChain> {
        let table = self.table.clone().filter(|_| self.tree.is_none()).ok_or_else(out_of_order)?;
        DeltaChain::fetch(self.config.clone(), version, table, io)
    }
}

/// The view of a setup for code that stores what it led to.
#[cfg(feature = "cache")]
impl SessionSetup {
    /// Continues with a client from disk instead of the artifacts that one is prepared from, or
    /// instead of a new one that was made with the catalog because it needs no artifacts.
    pub(crate) fn supply_client(&mut self, client: Box<dyn AnyClient>) -> Result<()> {
        if matches!(self.stage, SetupStage::Catalog | SetupStage::Reused) {
            return Err(out_of_order());
        }
        self.settle_on(client)
    }

    /// How the state of the table's clients is read, once the catalog has arrived, and if the state
    /// is durable.
    pub(crate) fn state(&self) -> Option<(&'static sotto_core::StateEntry, &[u8])> {
        let table = self.table.as_ref().filter(|table| table.needs_state())?;
        Some((table.scheme.state.as_ref()?, &table.params))
    }

    /// The configuration of this setup.
    pub(crate) fn config(&self) -> &SetupConfig {
        &self.config
    }

    /// The key that signed the catalog.
    pub(crate) fn signer(&self) -> Option<PublicKey> {
        self.table.as_ref().map(|table| table.key)
    }

    /// How the key came to be trusted, if another one was known.
    pub(crate) fn change(&self) -> Option<SignerChange> {
        self.table.as_ref().and_then(|table| table.change)
    }

    /// The accepted catalog, what is known of the table, and the catalog with its signature.
    pub(crate) fn accepted(&self) -> Option<(&Catalog, &KnownSigner, &[u8])> {
        self.table.as_ref().map(|table| (&table.catalog, &table.known, &*table.signed))
    }
}

impl Session {
    /// Opens a table, with everything that its scheme needs.
    ///
    /// # Errors
    /// As for [`SessionSetup::complete`].
    pub fn establish(config: SetupConfig, io: &mut dyn SetupIo) -> Result<Session> {
        let mut setup = SessionSetup::new(config);
        setup.complete(io)?;
        setup.finish()
    }

    /// Moves the session to the epoch of a setup, and reuses its keys. The setup has to be made
    /// with [`SessionSetup::after_session`] for this session, and [`SessionSetup::is_continued`]
    /// has to be true. Queries made before do not belong to this epoch.
    ///
    /// # Errors
    /// [`Misuse::Rule`] for any other setup; the session then stays as it is.
    pub fn advance_to(&mut self, setup: SessionSetup) -> Result<()> {
        let reusable = self.reusable_params();
        match (setup.stage, setup.table.filter(|_| setup.tree.is_none())) {
            (SetupStage::Reused, Some(table)) if reusable == Some(table.pin(0).digest) => {
                self.table = table;
                Ok(())
            }
            _ => Err(out_of_order()),
        }
    }
}

fn out_of_order() -> ClientError {
    Error::from(Misuse::Rule("session setup is at another step than its caller expects")).into()
}
