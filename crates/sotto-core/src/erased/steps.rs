//! Erased servers that report the steps of an answer.

use super::AnySession;
use super::server::ErasedServer;
use crate::{Result, StepServer, Wire};

/// Answers queries step by step. See [`StepServer`].
pub trait AnySteps: Send + Sync {
    /// See [`StepServer::ORDERS`].
    fn orders(&self) -> &'static [&'static str];
    /// Decodes and answers one query in one of the orders, and calls `done` with the name of each
    /// step after it.
    ///
    /// # Errors
    /// The errors of [`StepServer::answer_by_steps`]; [`crate::Error::Peer`] for bytes that are not
    /// a query; [`crate::Misuse::ForeignValue`].
    fn answer(
        &self,
        session: &AnySession,
        query: &[u8],
        order: &str,
        done: &mut dyn FnMut(&'static str),
    ) -> Result<Vec<u8>>;
}

pub(super) fn view<S: StepServer>(open: &ErasedServer<S>) -> &dyn AnySteps {
    open
}

impl<S: StepServer> AnySteps for ErasedServer<S> {
    fn orders(&self) -> &'static [&'static str] {
        S::ORDERS
    }

    fn answer(
        &self,
        session: &AnySession,
        query: &[u8],
        order: &str,
        done: &mut dyn FnMut(&'static str),
    ) -> Result<Vec<u8>> {
        let (session, query) = self.decode(session, query)?;
        let answer = S::answer_by_steps(&self.server, session, query, order, done)?;
        let mut out = Vec::with_capacity(S::Answer::size(&self.params));
        answer.put(&self.params, &mut out);
        Ok(out)
    }
}
