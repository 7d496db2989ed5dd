//! Erased servers, whose messages are bytes; and what they offer besides answers for one record:
//! answers unit by unit, and the whitening of tables, on the literal's bytes.

use super::client::{check_unit, units};
use super::{AnyHintServer, PartEntry, canonical, checked, literal};
use crate::parts::SessionOf;
use crate::server::with_successes;
use crate::{
    Image, Misuse, RecordChange, RecordSource, Result, Scheme, Server, Sink, StreamServer, TableMatrix,
    UnitLayout, UpdateImage, WhiteningScheme, Wire, WriteSlot,
};
use std::any::Any;
use std::sync::Arc;

/// The server's half of a [`super::SchemeEntry`].
#[derive(Clone, Copy)]
pub struct ServerEntry {
    /// See [`Server::encode`].
    pub encode: fn(&[u8], &dyn RecordSource, &dyn Sink) -> Result<()>,
    /// See [`Server::open`].
    pub open: fn(&[u8], Arc<dyn Image>) -> Result<Box<dyn AnyServer>>,
    /// See [`Server::records`].
    pub records: fn(&[u8], Arc<dyn Image>) -> Result<Box<dyn RecordSource>>,
    /// See [`UpdateImage::update_image`]; `None` if a change requires encoding the whole table again.
    pub update_image: Option<UpdateImageFn>,
    /// How tables are whitened; `None` if they are not.
    pub whitening: Option<WhiteningEntry>,
    /// How tables are split into parts; `None` if they are not.
    pub parts: Option<PartEntry>,
}

/// `(params, changes, out)`: see [`UpdateImage::update_image`].
pub type UpdateImageFn = fn(&[u8], &[RecordChange], &dyn Sink) -> Result<()>;

impl ServerEntry {
    pub(super) const fn of<S: Scheme>(
        update_image: Option<UpdateImageFn>,
        whitening: Option<WhiteningEntry>,
        parts: Option<PartEntry>,
    ) -> Self {
        let records = |params: &[u8], image| S::Server::records(&checked::<S>(params)?, image);
        ServerEntry { encode: encode::<S>, open: open::<S>, records, update_image, whitening, parts }
    }
}

/// A client's admitted keys.
pub struct AnySession(Box<dyn Any + Send + Sync>);

impl AnySession {
    pub(super) fn new<S: Scheme>(session: SessionOf<S>) -> Self {
        AnySession(Box::new(session))
    }

    /// Restores the scheme's own type of the session.
    pub(super) fn of<S: Scheme>(&self) -> Result<&SessionOf<S>> {
        Ok(self.0.downcast_ref().ok_or(Misuse::ForeignValue("session"))?)
    }
}

/// A server of an open table.
pub trait AnyServer: Send + Sync {
    /// Exact bytes of encoded keys; 0 if the scheme has none.
    fn keys_bytes(&self) -> usize;
    /// Exact bytes of an encoded query.
    fn query_bytes(&self) -> usize;
    /// Exact bytes of an encoded answer.
    fn answer_bytes(&self) -> usize;
    /// See [`Server::session_bytes`].
    fn session_bytes(&self) -> usize;
    /// Decodes, validates and admits keys.
    ///
    /// # Errors
    /// [`crate::Error::Peer`].
    fn admit(&self, keys: &[u8]) -> Result<AnySession>;
    /// Decodes and answers queries of several clients together; results are in order, and
    /// independent of each other.
    fn answer_many(&self, queries: &[(&AnySession, &[u8])]) -> Vec<Result<Vec<u8>>>;
    /// See [`Server::matrices`].
    fn matrices(&self) -> Vec<TableMatrix<'_>> {
        Vec::new()
    }
    /// Returns the interface that answers unit by unit, if the scheme can.
    fn stream(&self) -> Option<&dyn AnyStreamServer>;
    /// Returns the interface that makes hints on request, if the scheme can.
    fn hint_server(&self) -> Option<&dyn AnyHintServer>;
}

pub(super) struct ErasedServer<S: Scheme> {
    pub(super) params: S::Params,
    pub(super) server: S::Server,
}

fn encode<S: Scheme>(params: &[u8], rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
    S::Server::encode(&checked::<S>(params)?, rows, out)
}

fn open<S: Scheme>(params: &[u8], image: Arc<dyn Image>) -> Result<Box<dyn AnyServer>> {
    let params = checked::<S>(params)?;
    let server = S::Server::open(&params, image)?;
    Ok(Box::new(ErasedServer::<S> { params, server }))
}

pub(super) fn update_image<S: UpdateImage>(
    params: &[u8],
    changes: &[RecordChange],
    out: &dyn Sink,
) -> Result<()> {
    S::update_image(&checked::<S>(params)?, changes, out)
}

impl<S: Scheme> ErasedServer<S> {
    pub(super) fn decode<'a>(
        &self,
        session: &'a AnySession,
        query: &[u8],
    ) -> Result<(&'a SessionOf<S>, S::Query)> {
        Ok((session.of::<S>()?, S::Query::take(&self.params, query)?))
    }
}

impl<S: Scheme> AnyServer for ErasedServer<S> {
    fn keys_bytes(&self) -> usize {
        S::Keys::size(&self.params)
    }
    fn query_bytes(&self) -> usize {
        S::Query::size(&self.params)
    }
    fn answer_bytes(&self) -> usize {
        <S as Scheme>::Answer::size(&self.params)
    }
    fn session_bytes(&self) -> usize {
        S::Server::session_bytes(&self.params)
    }

    fn admit(&self, keys: &[u8]) -> Result<AnySession> {
        Ok(AnySession::new::<S>(self.server.admit(S::Keys::take(&self.params, keys)?)?))
    }

    fn answer_many(&self, queries: &[(&AnySession, &[u8])]) -> Vec<Result<Vec<u8>>> {
        // One malformed query must not cost the others their answers.
        let decoded = queries.iter().map(|(session, query)| self.decode(session, query)).collect();
        let encode = |answer: <S as Scheme>::Answer| {
            let mut out = Vec::with_capacity(<S as Scheme>::Answer::size(&self.params));
            answer.put(&self.params, &mut out);
            out
        };
        let answers = with_successes(decoded, |good| self.server.answer_many(good));
        answers.into_iter().map(|answer| answer.map(encode)).collect()
    }

    fn matrices(&self) -> Vec<TableMatrix<'_>> {
        self.server.matrices()
    }
    fn stream(&self) -> Option<&dyn AnyStreamServer> {
        S::CAPS.as_stream.map(|view| view(self))
    }
    fn hint_server(&self) -> Option<&dyn AnyHintServer> {
        S::CAPS.as_hint_server.map(|view| view(self))
    }
}

/// A query, expanded once for all units of its record.
pub struct AnyExpandedQuery(Box<dyn Any + Send + Sync>);

/// Answers queries unit by unit. See [`StreamServer`].
pub trait AnyStreamServer: Send + Sync {
    /// The units that a record consists of.
    fn units(&self) -> UnitLayout;
    /// Decodes a query, and does the work that all units have in common.
    ///
    /// # Errors
    /// The errors of [`StreamServer::prepare`]; [`crate::Error::Peer`] for bytes that are not a
    /// query; [`Misuse::ForeignValue`].
    fn prepare(&self, session: &AnySession, query: &[u8]) -> Result<AnyExpandedQuery>;
    /// Makes the encoded answer for one unit.
    ///
    /// # Errors
    /// The errors of [`StreamServer::unit`]; [`Misuse::IndexPastEnd`]; [`Misuse::ForeignValue`].
    fn unit(&self, prepared: &AnyExpandedQuery, unit: u64) -> Result<Vec<u8>>;
}

pub(super) fn stream_view<S: StreamServer>(open: &ErasedServer<S>) -> &dyn AnyStreamServer {
    open
}

impl<S: StreamServer> AnyStreamServer for ErasedServer<S> {
    fn units(&self) -> UnitLayout {
        units::<S>(&self.params)
    }

    fn prepare(&self, session: &AnySession, query: &[u8]) -> Result<AnyExpandedQuery> {
        let (session, query) = self.decode(session, query)?;
        Ok(AnyExpandedQuery(Box::new(S::prepare(&self.server, session, query)?)))
    }

    fn unit(&self, prepared: &AnyExpandedQuery, unit: u64) -> Result<Vec<u8>> {
        let params = &self.params;
        check_unit::<S>(params, unit)?;
        let prepared =
            prepared.0.downcast_ref::<S::Prepared>().ok_or(Misuse::ForeignValue("prepared query"))?;
        let mut out = Vec::with_capacity(S::UnitAnswer::size(params));
        S::unit(&self.server, prepared, unit)?.put(params, &mut out);
        Ok(out)
    }
}

/// The whitening functions of a scheme. Their `params` are those of a [`super::SchemeEntry`].
#[derive(Clone, Copy)]
pub struct WhiteningEntry {
    /// See [`WhiteningScheme::with_whitening_seed`]; gives canonical JSON.
    pub with_seed: fn(&[u8], [u8; 32]) -> Result<Vec<u8>>,
    /// See [`WhiteningScheme::write_slot`], for many records.
    pub places: fn(&[u8], &[u64]) -> Result<Vec<WriteSlot>>,
    /// See [`WhiteningScheme::max_writes`].
    pub max_writes: fn(&[u8]) -> Result<u64>,
}

impl WhiteningEntry {
    pub(super) const fn of<S: WhiteningScheme>() -> Self {
        WhiteningEntry {
            with_seed: |params, seed| canonical::<S>(&S::with_whitening_seed(literal::<S>(params)?, seed)),
            places: |params, records| {
                let params = checked::<S>(params)?;
                Ok(records.iter().map(|record| S::write_slot(&params, *record)).collect())
            },
            max_writes: |params| Ok(S::max_writes(&checked::<S>(params)?)),
        }
    }
}
