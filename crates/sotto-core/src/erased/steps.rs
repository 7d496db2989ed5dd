//! Servers that say which step of an answer they are at.

use super::server::{self, Open};
use super::{AnyServer, AnySession};
use crate::{Image, Result, Stepped, Wire};
use std::sync::Arc;

/// Answers step by step.
pub trait AnySteps: Send + Sync {
    /// See [`Stepped::ORDERS`].
    fn orders(&self) -> &'static [&'static str];
    /// Decodes and answers one query in one of the orders, and calls `done` with the name of each step after it.
    ///
    /// # Errors
    /// As [`Stepped::answer_by_steps`]; [`crate::Error::Peer`] for bytes that are no query; [`crate::Misuse::Foreign`].
    fn answer(
        &self,
        session: &AnySession,
        query: &[u8],
        order: &str,
        done: &mut dyn FnMut(&'static str),
    ) -> Result<Vec<u8>>;
}

pub(super) fn open<S: Stepped>(params: &[u8], image: Arc<dyn Image>) -> Result<Box<dyn AnyServer>> {
    Ok(Box::new(Steps(server::open_as::<S>(params, image)?)))
}

struct Steps<S: Stepped>(Open<S>);

impl<S: Stepped> AnyServer for Steps<S> {
    server::as_open!();
    fn steps(&self) -> Option<&dyn AnySteps> {
        Some(self)
    }
}

impl<S: Stepped> AnySteps for Steps<S> {
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
        let (session, query) = self.0.decode(session, query)?;
        let answer = S::answer_by_steps(&self.0.server, session, query, order, done)?;
        let mut out = Vec::with_capacity(S::Answer::size(&self.0.params));
        answer.put(&self.0.params, &mut out);
        Ok(out)
    }
}
