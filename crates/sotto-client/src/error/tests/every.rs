//! One value of every error, for the tests of the client and of the command.

use super::*;
use sotto_core::{Budget, Misuse, ParamsError, PeerMisbehaved};
use sotto_wire::ProblemCode;
use std::io::{Error as IoError, ErrorKind as IoKind};
use std::path::PathBuf;

/// The expected columns: name, fault, kind, exit code of the command, fix, text.
pub(super) const TABLE: &str = include_str!("every.txt");

fn io() -> IoError {
    IoKind::NotFound.into()
}

fn core() -> Vec<Error> {
    vec![
        ParamsError::Insecure { bits: 90.0, required: 128 }.into(),
        Misuse::IndexPastEnd { index: 9, len: 9 }.into(),
        Misuse::Rule("a rule").into(),
        PeerMisbehaved::NotCanonical("query").into(),
        Error::Exhausted(Budget::Left(0)),
        Error::Unreadable,
        Error::BatchCodeFailure,
        io().into(),
    ]
}

fn catalog() -> Vec<CatalogError> {
    let key = || PublicKey(Hex32::from([7; 32]));
    let text = || "text".to_owned();
    let params = core().into_iter().map(CatalogError::Params);
    let other = [
        CatalogError::TooLarge { what: "catalog", bytes: 2, limit: 1 },
        CatalogError::Malformed { what: "catalog", why: text() },
        CatalogError::Version { found: text(), reads: "catalog/1" },
        CatalogError::UnknownLayer { name: text() },
        CatalogError::Invalid { field: "rows", why: text() },
        CatalogError::Disagree { what: "rows" },
        CatalogError::WrongScheme { expected: text(), offered: text() },
        CatalogError::BadSignature,
        CatalogError::WrongKey { pinned: key(), found: key() },
        CatalogError::ChangeOver { pinned: key(), found: key() },
        CatalogError::KeyText { what: "key", why: "too short" },
        CatalogError::NoSuchRow { why: text() },
    ];
    other.into_iter().chain(params).collect()
}

fn transport() -> Vec<TransportError> {
    let (text, origin) = (|| "text".to_owned(), || "http://host".to_owned());
    let intermediary = |found: Intermediary| TransportError::Intermediary { origin: origin(), found };
    vec![
        TransportError::Address { url: text(), why: text() },
        TransportError::Connect { origin: origin(), why: text() },
        TransportError::Lost(text()),
        TransportError::Timeout(text()),
        TransportError::TooLarge { limit: 1 },
        TransportError::Tls(text()),
        TransportError::UnknownHost { origin: origin() },
        TransportError::NotTls { origin: origin() },
        intermediary(Intermediary::WantsLogin { status: 401 }),
        intermediary(Intermediary::WantsLogin { status: 407 }),
        intermediary(Intermediary::WantsLogin { status: 511 }),
        intermediary(Intermediary::Redirects { status: 302, location: text() }),
        intermediary(Intermediary::Encodes { coding: text() }),
        intermediary(Intermediary::ShowsPage),
        TransportError::Protocol(text()),
    ]
}

fn witness() -> Vec<WitnessError> {
    let (what, why) = (|| "table 1".to_owned(), || "text".to_owned());
    let witnessed = |is_old: bool| WitnessError::NotWitnessed {
        what: what(),
        needed: 2,
        fresh: 1,
        stale: is_old.then_some(7200),
        is_old,
    };
    vec![
        WitnessError::NotLogged { what: what() },
        WitnessError::Proof { what: what(), why: why() },
        witnessed(true),
        witnessed(false),
        WitnessError::Fork { publisher: PublicKey([7; 32].into()), size: 1, found: why(), kept: None },
        WitnessError::Conflict { what: what(), why: why() },
        WitnessError::Unfollowed { why: why() },
        WitnessError::Kept { why: why() },
        WitnessError::Count { needed: 2, given: 1 },
        WitnessError::NoneNeeded { given: 1 },
        WitnessError::NoClock,
        WitnessError::NotBuilt,
    ]
}

fn files() -> (Vec<CacheError>, Vec<StateError>) {
    let (path, why) = (|| PathBuf::from("path"), || "text".to_owned());
    let cache = vec![
        CacheError::Full { path: path(), source: io() },
        CacheError::NotPrivate { path: path(), why: why() },
        CacheError::Io { path: path(), source: io() },
        CacheError::Memory { path: path(), why: why() },
    ];
    let state = vec![
        StateError::Busy { path: path() },
        StateError::Full { path: path(), source: io() },
        StateError::NotPrivate { path: path(), why: why() },
        StateError::Io { path: path(), source: io() },
        StateError::WrongState { path: path(), what: "scheme", found: why(), expected: why() },
        StateError::Unusable { path: path(), why: why() },
        StateError::Broken,
        StateError::NotBuilt,
        StateError::NoRollbackCounter,
    ];
    (cache, state)
}

/// One value of every error of a client, with every value of the errors that it wraps.
pub(super) fn every() -> Vec<ClientError> {
    let (epoch, text) = (Epoch(3), || "text".to_owned());
    let Ok(name) = "table".parse::<TableName>() else { return Vec::new() };
    let (key, digest) = (|| PublicKey([7; 32].into()), || Hex32::from([7; 32]));
    let wrong_server = ClientError::Refused(Problem::new(ProblemCode::WrongServer, text()));
    let (cache, state) = files();
    let mut all = vec![
        ClientError::CatalogDamaged { why: text() },
        ClientError::Frame(FrameError::Short),
        ClientError::EpochChanged { asked: epoch, newest: Some(epoch) },
        ClientError::NoDeltaChain { from: epoch, to: epoch, why: "text" },
        ClientError::ClientDiscarded { epoch },
        ClientError::Rollback { seen: epoch, offered: epoch },
        ClientError::RetiredKey { key: key(), by: key(), until_epoch: epoch, epoch },
        ClientError::OtherSigner { known: key(), found: key() },
        ClientError::Equivocation { epoch, kept: None },
        ClientError::OtherSnapshot { table: name.clone(), epoch, found: digest(), expected: digest() },
        ClientError::Expired { epoch, ago: 7200 },
        ClientError::WrongTable { asked: name.clone(), found: name.clone() },
        ClientError::UnknownScheme { id: text() },
        ClientError::ServerCount { id: text(), servers: 2, given: 1 },
        ClientError::SameEndpoint { first: text(), second: text(), why: text() },
        ClientError::InsecurePlaintext { url: text() },
        ClientError::NoRowProofs { table: name.clone() },
        ClientError::RowProofInvalid { table: name.clone(), epoch },
        ClientError::CatalogsDiffer { server: 1, epoch },
        ClientError::NoCommonEpoch { server: 1, epoch },
        ClientError::MissingArtifact { artifact: "hint", bytes: 1 },
        ClientError::TooManyRows { rows: 3, most: 2 },
        ClientError::CannotStream { why: "text" },
        ClientError::StackInconsistent { stack: name },
        ClientError::Output(io()),
        ClientError::StateNeeded { scheme: text() },
        ClientError::NoEntropy,
        ClientError::Server { server: 1, error: Box::new(wrong_server) },
        ClientError::Server { server: 1, error: Box::new(Error::Unreadable.into()) },
    ];
    all.extend("No name".parse::<TableName>().err().map(ClientError::TableName));
    all.extend(core().into_iter().map(ClientError::Core));
    all.extend(catalog().into_iter().map(ClientError::Catalog));
    all.extend(
        [OprfError::Element, OprfError::Proof, OprfError::Closed, OprfError::Future].map(ClientError::Oprf),
    );
    all.extend(transport().into_iter().map(ClientError::Transport));
    all.extend(ProblemCode::ALL.iter().map(|code| ClientError::Refused(Problem::new(*code, text()))));
    all.extend(witness().into_iter().map(ClientError::Witness));
    all.extend(cache.into_iter().map(ClientError::Cache));
    all.extend(state.into_iter().map(ClientError::State));
    all
}
