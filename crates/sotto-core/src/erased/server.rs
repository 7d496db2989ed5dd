//! Erased servers, whose messages are bytes.

use super::{AnyHintServer, AnyStreamServer, PartEntry, WhiteningEntry, checked};
use crate::parts::SessionOf;
use crate::server::together;
use crate::{Image, Misuse, RecordChange, RecordSource, Result, Scheme, Server, Sink, UpdateImage, Wire};
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
    /// See [`UpdateImage::revise`]; `None` if a change requires encoding the whole table again.
    pub revise: Option<UpdateImageFn>,
    /// How tables are whitened; `None` if they are not.
    pub mask: Option<WhiteningEntry>,
    /// How tables are split into parts; `None` if they are not.
    pub parts: Option<PartEntry>,
}

/// `(params, changes, out)`: see [`UpdateImage::revise`].
pub type UpdateImageFn = fn(&[u8], &[RecordChange], &dyn Sink) -> Result<()>;

impl ServerEntry {
    pub(super) const fn of<S: Scheme>(
        revise: Option<UpdateImageFn>,
        mask: Option<WhiteningEntry>,
        parts: Option<PartEntry>,
    ) -> Self {
        let records = |params: &[u8], image| S::Server::records(&checked::<S>(params)?, image);
        ServerEntry { encode: encode::<S>, open: open::<S>, records, revise, mask, parts }
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
    fn answer_many(&self, asks: &[(&AnySession, &[u8])]) -> Vec<Result<Vec<u8>>>;
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

pub(super) fn revise<S: UpdateImage>(params: &[u8], changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
    S::revise(&checked::<S>(params)?, changes, out)
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

    fn answer_many(&self, asks: &[(&AnySession, &[u8])]) -> Vec<Result<Vec<u8>>> {
        // One malformed query must not cost the others their answers.
        let decoded = asks.iter().map(|(session, query)| self.decode(session, query)).collect();
        let encode = |answer: <S as Scheme>::Answer| {
            let mut out = Vec::with_capacity(<S as Scheme>::Answer::size(&self.params));
            answer.put(&self.params, &mut out);
            out
        };
        let answers = together(decoded, |good| self.server.answer_many(good));
        answers.into_iter().map(|answer| answer.map(encode)).collect()
    }

    fn stream(&self) -> Option<&dyn AnyStreamServer> {
        S::CAPS.as_stream.map(|view| view(self))
    }
    fn hint_server(&self) -> Option<&dyn AnyHintServer> {
        S::CAPS.as_hint_server.map(|view| view(self))
    }
}
