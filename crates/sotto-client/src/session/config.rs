//! What to open, and whom to believe.

use super::registered_keys::RegisteredKeys;
use super::trust::KnownSigner;
use super::witness::{LogMemory, Witnesses};
use sotto_catalog::{Hex32, PublicKey, TableName};
use sotto_core::SchemeEntry;

/// A table to open.
#[derive(Debug, Clone)]
pub struct SetupConfig {
    /// The table.
    pub table: TableName,
    /// The publisher's key, if the caller knows it.
    pub pin: Option<PublicKey>,
    /// The digest of the only catalog that is taken ([`sotto_catalog::Catalog::digest`]): no other epoch is followed.
    pub snapshot: Option<Hex32>,
    /// What earlier sessions have seen ([`super::Session::known`]).
    pub remembered: Option<KnownSigner>,
    /// Keys that an earlier session registered ([`super::Session::keys`]), to go on with if they fit the table.
    pub registered: Option<RegisteredKeys>,
    /// How many servers there are to ask; the table's scheme has to ask just as many.
    pub servers: u8,
    /// Whether a client whose state must not be lost may have it in memory alone. With the process its hints are lost,
    /// and the next one has to prepare anew; a process that is copied or goes back in time uses hints twice, and gives
    /// away what it asked. For tests, benchmarks, and sessions whose caller keeps nothing.
    pub in_memory: bool,
    /// Whether a table is refused whose rows cannot be verified one by one.
    pub verified: bool,
    /// Who has to have seen the catalog in its publisher's log; nobody, unless the caller asks for witnesses.
    pub witnesses: Option<Witnesses>,
    /// What was seen of logs.
    pub logs: LogMemory,
    /// Finds a scheme by its id. Replaced in tests; the registry otherwise.
    pub resolve: fn(&str) -> Option<&'static SchemeEntry>,
}

impl SetupConfig {
    /// A table at one server, of which nothing is known.
    pub fn new(table: TableName) -> Self {
        SetupConfig {
            table,
            pin: None,
            snapshot: None,
            remembered: None,
            registered: None,
            servers: 1,
            in_memory: false,
            verified: false,
            witnesses: None,
            logs: LogMemory::default(),
            resolve: sotto_registry::find,
        }
    }
}
