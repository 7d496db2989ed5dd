//! Which table to open, and which publisher to trust.

use super::registered_keys::RegisteredKeys;
use super::trust::KnownSigner;
use super::witness::{LogMemory, Witnesses};
use sotto_catalog::{Anchor, Hex32, PublicKey, TableName};
use sotto_core::SchemeEntry;

/// How to open a table.
#[derive(Debug, Clone)]
pub struct SetupConfig {
    /// Name of the table.
    pub table: TableName,
    /// Key of the publisher, if the caller knows it.
    pub pin: Option<PublicKey>,
    /// Digest of the only catalog to accept ([`sotto_catalog::Catalog::digest`]): no other epoch is
    /// followed.
    pub snapshot: Option<Hex32>,
    /// The only anchor to accept: the newest epoch must have it, or the one before, which servers
    /// still answer.
    pub anchor: Option<Anchor>,
    /// What earlier sessions have seen of the table ([`super::Session::known`]).
    pub remembered: Option<KnownSigner>,
    /// Keys that an earlier session registered ([`super::Session::keys`]), to be used again if they
    /// fit the table.
    pub registered: Option<RegisteredKeys>,
    /// Number of servers, which has to equal the number that the table's scheme needs.
    pub servers: u8,
    /// Whether a client with durable state may have it in memory alone. Its hints are then lost
    /// with the process, and the next process has to prepare a client from scratch; a copied
    /// process, or one that goes back in time, uses hints twice and reveals which rows it queried.
    /// For tests, benchmarks, and sessions whose caller stores nothing.
    pub in_memory: bool,
    /// Whether to refuse a table without row proofs.
    pub verified: bool,
    /// Whether to refuse a table whose answers are not authenticated.
    pub authenticated: bool,
    /// Witnesses that have to have seen the catalog in its publisher's log; `None` if the caller
    /// requires no witnesses.
    pub witnesses: Option<Witnesses>,
    /// What was seen of publishers' logs.
    pub logs: LogMemory,
    /// Finds a scheme by its id: the registry, except in tests.
    pub resolve: fn(&str) -> Option<&'static SchemeEntry>,
}

impl SetupConfig {
    /// The default configuration for a table at one server, without any earlier knowledge.
    pub fn new(table: TableName) -> Self {
        SetupConfig {
            table,
            pin: None,
            snapshot: None,
            anchor: None,
            remembered: None,
            registered: None,
            servers: 1,
            in_memory: false,
            verified: false,
            authenticated: false,
            witnesses: None,
            logs: LogMemory::default(),
            resolve: sotto_registry::find,
        }
    }
}
