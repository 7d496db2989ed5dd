//! From the epoch of a client's state to a later one, by rows deltas, one epoch at a time.
//!
//! Catalogs come first, all of them: only they say whether the way is whole, and whether it is shorter than streaming
//! the rows. Every one is signed, and names the rows its delta starts from; so the way leads from just the rows that the
//! state was made of to just those of the epoch it ends at.

use super::action::Action;
use super::artifact_download::fetch;
use super::chunks::ChunkAssembler;
use super::config::SetupConfig;
use super::epoch_agreement::VerifiedTable;
use super::{Session, accepted};
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::signed::MAX_SIGNED_BYTES;
use sotto_catalog::{ArtifactEntry, Hex32, PublicKey};
use sotto_core::{Artifact, Epoch, Error, Misuse, ParamsDigest, PeerMisbehaved};
use sotto_wire::routes;
use std::collections::VecDeque;

/// What a client's state was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateVersion {
    /// Its epoch.
    pub epoch: Epoch,
    /// The digest of the parameters.
    pub params: ParamsDigest,
    /// The digest of the rows.
    pub rows: Hex32,
    /// Who signed that.
    pub key: PublicKey,
}

/// One epoch of a way: the delta that leads to it.
pub struct DeltaStep {
    /// What a state is made of that has followed [`DeltaStep::delta`].
    pub basis: StateVersion,
    /// For [`sotto_core::AnyState::follow`]; checked against the catalog.
    pub delta: Vec<u8>,
    pub(super) agreed: VerifiedTable,
}

/// A way under way.
pub struct DeltaChain {
    config: SetupConfig,
    from: StateVersion,
    to: VerifiedTable,
    /// The epochs between, as far as their catalogs are there; then all up to the last, without those that were taken.
    epochs: VecDeque<(VerifiedTable, ArtifactEntry)>,
    /// Bytes of all their deltas.
    bytes: u64,
    /// The delta at hand, once all catalogs are there.
    delta: Option<(ChunkAssembler, Vec<u8>)>,
}

impl VerifiedTable {
    /// What a state made at this epoch is made of; `None` if the catalog names no rows that states are made of.
    pub(super) fn state_version(&self) -> Option<StateVersion> {
        let (epoch, params) = (self.catalog.epoch, self.pin(0).digest);
        Some(StateVersion { epoch, params, rows: self.catalog.digest_of_rows()?, key: self.key })
    }

    /// Bytes that a client which starts over has to fetch: the rows, or the hints it orders, about as long as its state.
    fn bytes_to_start_over(&self) -> u64 {
        let costs = &self.terms.report.costs;
        self.rows().map_or(costs.client_bytes, |rows| rows.bytes)
    }
}

/// Most epochs of one way. A publisher could sign them without end, and changes in none; their catalogs are held at once.
const MAX_EPOCHS: usize = 4096;

impl DeltaChain {
    pub(super) fn new(mut config: SetupConfig, from: StateVersion, to: VerifiedTable) -> Result<Self> {
        config.pin = Some(from.key);
        config.remembered = None;
        let mut way = DeltaChain { config, from, to, epochs: VecDeque::new(), bytes: 0, delta: None };
        if way.to.pin(0).digest != from.params || way.to.key != from.key {
            return Err(way.none("its parameters or its publisher changed"));
        }
        way.arrive()?;
        Ok(way)
    }

    /// What to do next, with the first server: fetch a catalog, or a part of a delta. [`Action::Ready`] if there is a
    /// stretch to take, or none is left.
    pub fn next(&self) -> Action {
        match &self.delta {
            Some((assembly, _)) => match assembly.wanted() {
                Some(range) => Action::Fetch(fetch(assembly.entry(), range)),
                None => Action::Ready,
            },
            None if self.has_all_catalogs() => Action::Ready,
            None => {
                let path = routes::table(self.config.table.as_str(), Some(self.last().epoch_after()));
                Action::Catalog { server: 0, request: Request::get(path, MAX_SIGNED_BYTES as u64) }
            }
        }
    }

    /// Takes the response to what [`DeltaChain::next`] said to send.
    ///
    /// # Errors
    /// [`ClientError::NoDeltaChain`] if a catalog or a delta is not served any more, or the way is no shorter than the rows;
    /// [`ClientError`] for what is not what it should be.
    pub fn feed(&mut self, response: &Response) -> Result<()> {
        let asked = Some(self.from.epoch);
        let body = match accepted(response, asked) {
            Err(ClientError::EpochChanged { .. }) => {
                return Err(self.none("the server has dropped a part of it"));
            }
            outcome => outcome?,
        };
        let Some((assembly, delta)) = &mut self.delta else {
            let agreed = VerifiedTable::new(body, &self.config, None, None)?;
            let wanted = self.last().epoch_after();
            if agreed.catalog.epoch != wanted {
                return Err(ClientError::Rollback { seen: wanted, offered: agreed.catalog.epoch });
            }
            self.append(agreed)?;
            return self.arrive();
        };
        let what = assembly.entry().artifact.name();
        let want = assembly.wanted().map_or(0, |range| range.end - range.start);
        if body.len() as u64 != want {
            let got = body.len() as u64;
            return Err(Error::from(PeerMisbehaved::Length { what, got, want }).into());
        }
        let taken = assembly.take(body, &mut |chunk| {
            delta.extend_from_slice(chunk);
            Ok(())
        })?;
        if taken as u64 != want {
            return Err(Error::from(PeerMisbehaved::Digest(what)).into());
        }
        Ok(())
    }

    /// The next stretch, once its delta is whole.
    ///
    /// # Errors
    /// [`Error::Peer`] for a catalog that contradicts itself.
    pub fn take(&mut self) -> Result<Option<DeltaStep>> {
        if self.delta.as_ref().is_none_or(|(assembly, _)| assembly.wanted().is_some()) {
            return Ok(None);
        }
        let (Some((assembly, delta)), Some((agreed, _))) = (self.delta.take(), self.epochs.pop_front())
        else {
            return Ok(None);
        };
        assembly.finish()?;
        self.start();
        let basis = agreed.state_version().ok_or(Error::from(Misuse::Rule("a way leads over rows")))?;
        self.from = basis;
        Ok(Some(DeltaStep { basis, delta, agreed }))
    }

    /// Bytes of all deltas together, once all catalogs are there.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where the catalogs have come to so far.
    fn last(&self) -> StateVersion {
        self.epochs.back().and_then(|(agreed, _)| agreed.state_version()).unwrap_or(self.from)
    }

    /// Whether the catalogs reach from one end to the other.
    fn has_all_catalogs(&self) -> bool {
        self.last().epoch >= self.to.catalog.epoch
    }

    /// Adds the last epoch once it is the next one, and starts on the deltas.
    fn arrive(&mut self) -> Result<()> {
        if self.last().epoch_after() == self.to.catalog.epoch {
            self.append(self.to.clone())?;
        }
        if self.last().epoch == self.to.catalog.epoch {
            self.start();
        }
        Ok(())
    }

    fn start(&mut self) {
        self.delta = self.epochs.front().map(|(_, entry)| (ChunkAssembler::new(entry.clone()), Vec::new()));
    }

    /// Adds an epoch, if a delta leads to it from the one before.
    fn append(&mut self, agreed: VerifiedTable) -> Result<()> {
        let before = self.last();
        if agreed.pin(0).digest != before.params {
            return Err(self.none("the parameters changed on the way"));
        }
        let leads = |entry: &&ArtifactEntry| {
            entry.artifact == Artifact::RowsDelta
                && entry.from_epoch == Some(before.epoch)
                && entry.from_digest == Some(before.rows)
        };
        let Some(entry) = agreed.catalog.artifacts.iter().find(leads).cloned() else {
            return Err(self.none("an epoch was encoded afresh"));
        };
        // The signer may be careless; memory is ours. And deltas as large as what they spare are not worth the detour.
        self.bytes = self.bytes.saturating_add(entry.bytes);
        if self.bytes >= agreed.bytes_to_start_over() {
            return Err(self.none("the changes are as large as what a fresh start takes"));
        }
        if self.epochs.len() >= MAX_EPOCHS {
            return Err(self.none("there are too many epochs in between"));
        }
        self.epochs.push_back((agreed, entry));
        Ok(())
    }

    fn none(&self, why: &'static str) -> ClientError {
        ClientError::NoDeltaChain { from: self.from.epoch, to: self.to.catalog.epoch, why }
    }
}

impl Session {
    /// What its client's state was made of; `None` if the client has none that could follow deltas.
    pub fn state_version(&mut self) -> Option<StateVersion> {
        self.client.state().filter(|_| !self.discarded)?;
        self.agreed.state_version()
    }

    /// Moves the client's state, and the session with it, to the epoch of a stretch. Asks made before are not of this
    /// epoch.
    ///
    /// # Errors
    /// [`Misuse::Rule`] for a stretch that does not begin here. [`Error::Peer`] if the client cannot follow, whatever its
    /// publisher has signed; it is discarded then ([`Session::is_discarded`]).
    pub fn apply_delta_step(&mut self, stretch: DeltaStep) -> Result<()> {
        let next = self.state_version().map(|basis| basis.epoch_after());
        if next != Some(stretch.basis.epoch) {
            return Err(Error::from(Misuse::Rule("a stretch begins where the state is")).into());
        }
        self.apply_delta(&stretch.delta)?;
        let (trust, mut known) = (self.agreed.trust, self.agreed.known.clone());
        known.advance(&stretch.agreed.known)?;
        self.agreed = VerifiedTable { trust, known, ..stretch.agreed };
        Ok(())
    }

    /// Moves the client's state along a delta. One that cannot follow may have done so half, and is discarded.
    pub(crate) fn apply_delta(&mut self, delta: &[u8]) -> Result<()> {
        let state =
            self.client.state().ok_or(Error::from(Misuse::Rule("a client that follows has a state")))?;
        let followed = state.follow(delta);
        self.discarded |= followed.is_err();
        Ok(followed?)
    }
}

impl StateVersion {
    fn epoch_after(&self) -> Epoch {
        Epoch(self.epoch.0.saturating_add(1))
    }
}
