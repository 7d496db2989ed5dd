//! Erased parts of tables: a part is a server whose answers are partials, and all parts together
//! are a server again.

use super::server::{AnyServer, AnySession};
use super::{AnyHintServer, AnyStreamServer, checked};
use crate::parts::{PartIndex, SessionOf};
use crate::server::with_successes;
use crate::{Image, Misuse, PartScheme, PeerMisbehaved, Result, Scheme, Section, Server, TableMatrix, Wire};
use std::ops::Range;
use std::sync::Arc;

/// The functions of a scheme's tables in parts.
#[derive(Clone, Copy)]
pub struct PartEntry {
    /// See [`PartScheme::SECTION`].
    pub section: Section,
    /// See [`PartScheme::max_parts`].
    pub max_parts: fn(&[u8]) -> Result<u32>,
    /// See [`PartScheme::part_ranges`]. [`Misuse::Rule`] if a table of these parameters cannot have
    /// that many parts.
    pub ranges: fn(&[u8], PartIndex) -> Result<Vec<Range<u64>>>,
    /// See [`PartScheme::open_part`]: opens a server whose answers are partials, and that does
    /// nothing but answer.
    pub open: fn(&[u8], PartIndex, Arc<dyn Image>) -> Result<Box<dyn AnyServer>>,
    /// Makes the join of the partials of the given number of parts.
    pub join: fn(&[u8], u32) -> Result<Box<dyn AnyJoin>>,
}

impl PartEntry {
    pub(super) const fn of<S: PartScheme>() -> Self {
        PartEntry {
            section: S::SECTION,
            max_parts: |params| Ok(S::max_parts(&checked::<S>(params)?)),
            ranges: |params, cut| {
                let params = checked::<S>(params)?;
                within::<S>(&params, cut.parts())?;
                Ok(S::part_ranges(&params, cut))
            },
            open: |params, cut, image| {
                let params = checked::<S>(params)?;
                within::<S>(&params, cut.parts())?;
                let part = S::open_part(&params, cut, image)?;
                Ok(Box::new(ErasedPart::<S> { params, cut, part }))
            },
            join: |params, parts| {
                let params = checked::<S>(params)?;
                within::<S>(&params, parts)?;
                let joiner = S::prepare_join(&params)?;
                Ok(Box::new(ErasedJoin::<S> { params, joiner, parts }))
            },
        }
    }
}

fn within<S: PartScheme>(params: &S::Params, parts: u32) -> Result<()> {
    if !(1..=S::max_parts(params)).contains(&parts) {
        return Err(Misuse::Rule("the number of parts must be within the maximum of the parameters").into());
    }
    Ok(())
}

/// Joins partials to answers.
pub trait AnyJoin: Send + Sync {
    /// Number of parts.
    fn parts(&self) -> u32;
    /// Decodes, validates and admits keys, as a server of the whole table does. Every part accepts
    /// the session.
    ///
    /// # Errors
    /// [`crate::Error::Peer`].
    fn admit(&self, keys: &[u8]) -> Result<AnySession>;
    /// Joins one partial of each part, in the order of the parts, to the answer to a query.
    ///
    /// # Errors
    /// [`Misuse::Rule`] for another number of partials; [`crate::Error::Peer`] for bytes that are
    /// not a query or not a partial.
    fn join(&self, session: &AnySession, query: &[u8], partials: &[Vec<u8>]) -> Result<Vec<u8>>;
}

struct ErasedPart<S: PartScheme> {
    params: S::Params,
    cut: PartIndex,
    part: S::Part,
}

struct ErasedJoin<S: PartScheme> {
    params: S::Params,
    joiner: S::Joiner,
    parts: u32,
}

fn decode<'a, S: PartScheme>(
    params: &S::Params,
    session: &'a AnySession,
    query: &[u8],
) -> Result<(&'a SessionOf<S>, S::Query)> {
    Ok((session.of::<S>()?, S::Query::take(params, query)?))
}

fn admitted<S: PartScheme>(params: &S::Params, keys: &[u8]) -> Result<AnySession> {
    Ok(AnySession::new::<S>(S::admit(params, S::Keys::take(params, keys)?)?))
}

impl<S: PartScheme> AnyServer for ErasedPart<S> {
    fn keys_bytes(&self) -> usize {
        S::Keys::size(&self.params)
    }
    fn query_bytes(&self) -> usize {
        S::Query::size(&self.params)
    }
    fn answer_bytes(&self) -> usize {
        S::partial_bytes(&self.params, self.cut)
    }
    fn session_bytes(&self) -> usize {
        S::Server::session_bytes(&self.params)
    }
    fn admit(&self, keys: &[u8]) -> Result<AnySession> {
        admitted::<S>(&self.params, keys)
    }
    fn answer_many(&self, queries: &[(&AnySession, &[u8])]) -> Vec<Result<Vec<u8>>> {
        let decoded =
            queries.iter().map(|(session, query)| decode::<S>(&self.params, session, query)).collect();
        with_successes(decoded, |good| S::answer_part(&self.part, good))
    }
    fn matrices(&self) -> Vec<TableMatrix<'_>> {
        S::part_matrices(&self.part)
    }
    fn stream(&self) -> Option<&dyn AnyStreamServer> {
        None
    }
    fn hint_server(&self) -> Option<&dyn AnyHintServer> {
        None
    }
}

impl<S: PartScheme> AnyJoin for ErasedJoin<S> {
    fn parts(&self) -> u32 {
        self.parts
    }
    fn admit(&self, keys: &[u8]) -> Result<AnySession> {
        admitted::<S>(&self.params, keys)
    }
    fn join(&self, session: &AnySession, query: &[u8], partials: &[Vec<u8>]) -> Result<Vec<u8>> {
        if partials.len() != self.parts as usize {
            return Err(Misuse::Rule("the join must have one partial of each part").into());
        }
        for (cut, partial) in PartIndex::all(self.parts).zip(partials) {
            let (got, want) = (partial.len() as u64, S::partial_bytes(&self.params, cut) as u64);
            if got != want {
                return Err(PeerMisbehaved::Length { what: "partial", got, want }.into());
            }
        }
        let (session, query) = decode::<S>(&self.params, session, query)?;
        let mut out = Vec::with_capacity(<S as Scheme>::Answer::size(&self.params));
        S::join(&self.params, &self.joiner, session, query, partials)?.put(&self.params, &mut out);
        Ok(out)
    }
}
