//! The chain of rows deltas from the epoch of a client's state to a later epoch.
//!
//! All catalogs come first, since only they show whether the chain is complete, and whether it is
//! shorter than streaming the rows. Each one is signed, and names the rows that its delta starts
//! from; so the chain leads from exactly the rows that the state was made from to exactly those of
//! its last epoch.

use super::config::SetupConfig;
use super::download::{FetchedDelta, fetch_delta};
use super::setup_io::{RequestPurpose, SetupIo};
use super::verified_table::VerifiedTable;
use super::{Session, accepted};
use crate::transport::Request;
use crate::{ClientError, Result};
use sotto_catalog::signed::MAX_SIGNED_BYTES;
use sotto_catalog::{ArtifactEntry, CatalogError, Hex32, PublicKey};
use sotto_core::{Artifact, Epoch, Error, Misuse, ParamsDigest};
use sotto_wire::routes;
use std::collections::VecDeque;

/// The epoch, parameters, rows and signer that a client's state belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateVersion {
    /// Epoch of the state.
    pub epoch: Epoch,
    /// Digest of the parameters.
    pub params: ParamsDigest,
    /// Digest of the rows.
    pub rows: Hex32,
    /// Key that signed the catalog.
    pub key: PublicKey,
}

/// One step of a delta chain: the rows delta that leads to the next epoch.
pub struct DeltaStep {
    /// Version of a state after [`DeltaStep::delta`] was applied to it.
    pub version: StateVersion,
    /// Delta for [`sotto_core::AnyState::apply_delta`], verified against the catalog.
    pub delta: Vec<u8>,
    pub(super) table: VerifiedTable,
}

/// A delta chain whose catalogs have been fetched.
pub struct DeltaChain {
    from: StateVersion,
    to: Epoch,
    /// Epochs of the chain that are left, and the delta that leads to each.
    epochs: VecDeque<(VerifiedTable, ArtifactEntry)>,
    /// Bytes of all deltas.
    bytes: u64,
}

impl VerifiedTable {
    /// The version of a state that is made at this epoch; `None` if the catalog names no rows that
    /// states are made from.
    pub(super) fn state_version(&self) -> Option<StateVersion> {
        let (epoch, params) = (self.catalog.epoch, self.pin(0).digest);
        Some(StateVersion { epoch, params, rows: self.catalog.digest_of_rows()?, key: self.key })
    }

    /// Bytes that a client which starts over has to fetch: the rows, or the hints that it requests,
    /// which are about as long as its state.
    fn bytes_to_start_over(&self) -> u64 {
        let costs = &self.terms.report.costs;
        self.rows().map_or(costs.client_bytes, |rows| rows.bytes)
    }
}

/// Maximum number of epochs of one chain. A publisher could sign epochs without end and without
/// changes, and the catalogs of a chain are held in memory at once.
const MAX_EPOCHS: usize = 4096;

impl DeltaChain {
    /// Fetches the catalogs of all epochs in between, from the first server.
    ///
    /// # Errors
    /// [`ClientError::NoDeltaChain`] if a catalog is no longer served, or the chain is no shorter
    /// than the rows; another [`ClientError`] for invalid bytes.
    pub(super) fn fetch(
        mut config: SetupConfig,
        from: StateVersion,
        to: VerifiedTable,
        io: &mut dyn SetupIo,
    ) -> Result<Self> {
        config.pin = Some(from.key);
        config.remembered = None;
        let mut chain = DeltaChain { from, to: to.catalog.epoch, epochs: VecDeque::new(), bytes: 0 };
        if to.pin(0).digest != from.params || !from.key.accepts(&to.key) {
            return Err(chain.none("the parameters or the publisher changed"));
        }
        while chain.last().epoch < chain.to {
            let expected = chain.last().epoch_after();
            if expected == chain.to {
                chain.append(to.clone())?;
                continue;
            }
            let path = routes::table(config.table.as_str(), Some(expected));
            let request = Request::get(path, MAX_SIGNED_BYTES as u64);
            let response = io.call(0, RequestPurpose::Catalog, &request)?;
            let body = accepted(&response, Some(from.epoch)).map_err(|error| chain.ended(error))?;
            let table = VerifiedTable::new(body, &config, None, None);
            let table = table.map_err(|error| match error {
                ClientError::Catalog(CatalogError::NoMlDsaSignature { .. }) => {
                    chain.none("an epoch in between has no ML-DSA-44 signature")
                }
                error => error,
            })?;
            if table.catalog.epoch != expected {
                return Err(ClientError::Rollback { seen: expected, offered: table.catalog.epoch });
            }
            chain.append(table)?;
        }
        Ok(chain)
    }

    /// Fetches the next step; `None` after the last one.
    ///
    /// # Errors
    /// [`ClientError::NoDeltaChain`] if a delta is no longer served; [`Error::Peer`] for invalid
    /// bytes. The step can be fetched again.
    pub fn next_step(&mut self, io: &mut dyn SetupIo) -> Result<Option<DeltaStep>> {
        let Some((_, entry)) = self.epochs.front() else { return Ok(None) };
        let delta = match fetch_delta(entry.clone(), self.from.epoch, io)? {
            FetchedDelta::Complete(delta) => delta,
            FetchedDelta::Unusable(error) => return Err(self.ended(error)),
        };
        let Some((table, _)) = self.epochs.pop_front() else { return Ok(None) };
        let rule = Misuse::Rule("an epoch of the delta chain has no state version");
        self.from = table.state_version().ok_or(Error::from(rule))?;
        Ok(Some(DeltaStep { version: self.from, delta, table }))
    }

    /// Bytes of all deltas.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The version that the catalogs have reached so far.
    fn last(&self) -> StateVersion {
        self.epochs.back().and_then(|(table, _)| table.state_version()).unwrap_or(self.from)
    }

    /// The error for a catalog or a delta that did not arrive.
    fn ended(&self, error: ClientError) -> ClientError {
        match error {
            ClientError::EpochChanged { .. } => self.none("the server no longer has all deltas"),
            error => error,
        }
    }

    /// Appends an epoch, if a delta leads to it from the epoch before.
    fn append(&mut self, table: VerifiedTable) -> Result<()> {
        let before = self.last();
        if table.pin(0).digest != before.params {
            return Err(self.none("the parameters changed in between"));
        }
        let leads = |entry: &&ArtifactEntry| {
            entry.artifact == Artifact::RowsDelta
                && entry.from_epoch == Some(before.epoch)
                && entry.from_digest == Some(before.rows)
        };
        let Some(entry) = table.catalog.artifacts.iter().find(leads).cloned() else {
            return Err(self.none("an epoch in between has no delta"));
        };
        // The signer may be careless, but the memory is the client's. Deltas as large as what they
        // save are not worth fetching.
        self.bytes = self.bytes.saturating_add(entry.bytes);
        if self.bytes >= table.bytes_to_start_over() {
            return Err(self.none("the deltas are as large as a new preparation"));
        }
        if self.epochs.len() >= MAX_EPOCHS {
            return Err(self.none("too many epochs in between"));
        }
        self.epochs.push_back((table, entry));
        Ok(())
    }

    fn none(&self, why: &'static str) -> ClientError {
        ClientError::NoDeltaChain { from: self.from.epoch, to: self.to, why }
    }
}

impl Session {
    /// The version of the client's state; `None` if the client has no state that could follow
    /// deltas.
    pub fn state_version(&mut self) -> Option<StateVersion> {
        self.client.state().filter(|_| !self.discarded)?;
        self.table.state_version()
    }

    /// Moves the client's state, and the session with it, to the epoch of a delta step. Queries
    /// made before do not belong to this epoch.
    ///
    /// # Errors
    /// [`Misuse::Rule`] for a step that does not begin at the session's epoch. [`Error::Peer`] if
    /// the client cannot apply the delta, although its publisher has signed it; the client is
    /// discarded then ([`Session::is_discarded`]).
    pub fn apply_delta_step(&mut self, step: DeltaStep) -> Result<()> {
        let next = self.state_version().map(|version| version.epoch_after());
        if next != Some(step.version.epoch) {
            return Err(
                Error::from(Misuse::Rule("delta step does not begin at the epoch of the state")).into()
            );
        }
        self.apply_delta(&step.delta)?;
        let (trust, mut known) = (self.table.trust, self.table.known.clone());
        known.advance(&step.table.known)?;
        self.table = VerifiedTable { trust, known, ..step.table };
        Ok(())
    }

    /// Applies a delta to the client's state. A client that fails may be left in an intermediate
    /// state, and is discarded.
    pub(crate) fn apply_delta(&mut self, delta: &[u8]) -> Result<()> {
        let state = self
            .client
            .state()
            .ok_or(Error::from(Misuse::Rule("a delta was applied to a client without a state")))?;
        let followed = state.apply_delta(delta);
        self.discarded |= followed.is_err();
        Ok(followed?)
    }
}

impl StateVersion {
    fn epoch_after(&self) -> Epoch {
        Epoch(self.epoch.0.saturating_add(1))
    }
}
