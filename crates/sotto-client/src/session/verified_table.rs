//! A table whose catalog was verified: what the other modules of a session read.

use super::trust::{KnownSigner, Trust};
use sotto_catalog::{ArtifactEntry, Catalog, MlDsaPublicKey, PublicKey, SignerChange, TableTerms};
use sotto_core::{Artifact, ParamsDigest, SchemeEntry};
use sotto_wire::{FrameHeader, MessageSizes, SessionId};
use std::sync::Arc;

/// A table whose catalog was verified and decoded.
#[derive(Clone)]
pub(super) struct VerifiedTable {
    pub(super) catalog: Catalog,
    pub(super) key: PublicKey,
    /// The signer's ML-DSA-44 key, if it has one.
    pub(super) ml_dsa: Option<MlDsaPublicKey>,
    pub(super) trust: Trust,
    /// How the key came to be trusted, if another one was known.
    pub(super) change: Option<SignerChange>,
    /// What is known of the table from now on.
    pub(super) known: KnownSigner,
    pub(super) terms: TableTerms,
    /// Catalog with its signature, as received.
    pub(super) signed: Arc<[u8]>,
    pub(super) scheme: &'static SchemeEntry,
    /// Parameters as the scheme's literal.
    pub(super) params: Vec<u8>,
    /// Whether a durable state may be in memory alone: see [`super::SetupConfig::in_memory`].
    pub(super) in_memory: bool,
    /// Hash tree that rows are verified with, once it was fetched; empty if none is needed.
    pub(super) tree: Arc<[u8]>,
}

impl VerifiedTable {
    pub(super) fn sizes(&self) -> MessageSizes {
        MessageSizes::new(&self.terms.report.costs, self.terms.packing.records_per_row())
    }

    /// The header of frames for this server.
    pub(super) fn pin(&self, server: u8) -> FrameHeader {
        let digest = ParamsDigest(self.catalog.params_digest.0);
        FrameHeader { server, epoch: self.catalog.epoch, digest }
    }

    /// The signer, with its ML-DSA-44 key.
    pub(super) fn signer(&self) -> (PublicKey, Option<&MlDsaPublicKey>) {
        (self.key, self.ml_dsa.as_ref())
    }

    /// The entry of the rows among the artifacts.
    pub(super) fn rows(&self) -> Option<&ArtifactEntry> {
        self.catalog.artifacts.iter().find(|entry| entry.artifact == Artifact::Rows)
    }

    /// Whether queries have to be on disk before they are sent.
    pub(super) fn needs_state(&self) -> bool {
        self.scheme.state.is_some() && !self.in_memory
    }

    /// The number of servers.
    pub(super) fn servers(&self) -> u8 {
        u8::try_from(self.scheme.servers).unwrap_or(u8::MAX)
    }

    /// Empty session ids, one for each query server.
    pub(super) fn no_sessions(&self) -> Vec<SessionId> {
        vec![SessionId::NONE; self.scheme.query_servers]
    }

    /// Whether the scheme's clients have keys that servers hold, and no durable state.
    pub(super) fn draws_keys(&self) -> bool {
        self.sizes().keys_bytes > 0 && self.scheme.state.is_none()
    }
}
