//! The server of every scheme of the family: encode, open, answer, update; and tables in parts.

use crate::message::{Answer, Partial, PartialFormat, Query};
use crate::method::{
    MatrixLiteral as _, MatrixScheme, MatrixServer, Method, Params, RegisteredKeys, SessionOf,
};
use crate::pieces::{PartSection, Piece, name};
use rayon::prelude::*;
use sotto_core::server::with_successes;
use sotto_core::{
    Image, ImageSection, Misuse, PartIndex, PartScheme, PeerMisbehaved, RecordChange, RecordSource, Result,
    Section, Sink, TableMatrix, UpdateImage,
};
use std::ops::Range;
use std::sync::Arc;

/// An open table.
pub struct Server<M: Method> {
    params: Params<M>,
    table: M::Server,
    held: PartSection,
    joiner: JoinerOf<M>,
}

/// An open part of a table.
pub struct Part<M: Method> {
    params: Params<M>,
    part: M::Server,
    held: PartSection,
    format: PartialFormat,
}

type JoinerOf<M> = <<M as Method>::Server as MatrixServer<M>>::Joiner;

impl<M: Method> sotto_core::Server<MatrixScheme<M>> for Server<M> {
    type Session = SessionOf<M>;

    fn session_bytes(params: &Params<M>) -> usize {
        M::Keys::session_bytes(params)
    }

    fn encode(params: &Params<M>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        if rows.records() != params.records() || rows.record_bytes() as u64 != params.record_bytes() {
            return Err(Misuse::Rule("the records must have the shape of the parameters").into());
        }
        reserve(params, out)?;
        M::Server::write(params, rows, out)
    }

    fn open(params: &Params<M>, image: Arc<dyn Image>) -> Result<Self> {
        let held = held::<M>(params, PartIndex::WHOLE, image.clone())?;
        // Clients fetch the other sections, and the server itself does not use them.
        for (section, bytes) in M::Server::artifacts(params) {
            ImageSection::open(image.clone(), section, name(section), bytes)?;
        }
        let table = M::Server::open(params, PartIndex::WHOLE, held.clone())?;
        Ok(Server { table, held, joiner: M::Server::joiner(params)?, params: params.clone() })
    }

    fn records(params: &Params<M>, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        Ok(M::Server::records(params, held::<M>(params, PartIndex::WHOLE, image)?))
    }

    fn admit(&self, keys: M::Keys) -> Result<SessionOf<M>> {
        keys.admit(&self.params)
    }

    /// Passes for a few queries at once, and then each answer by itself.
    fn answer_many(&self, queries: Vec<(&SessionOf<M>, Query)>) -> Vec<Result<Answer>> {
        let partials = partials(&self.params, &self.table, &self.held, &queries);
        let answer = |((session, query), partial): (&(&SessionOf<M>, Query), Result<Partial>)| {
            M::Server::finish(&self.params, &self.joiner, session, query, partial?).map(Answer)
        };
        queries.par_iter().zip(partials).map(answer).collect()
    }

    fn matrices(&self) -> Vec<TableMatrix<'_>> {
        self.held.matrices()
    }
}

/// The results of a part for all queries, a few in each pass.
fn partials<M: Method>(
    params: &Params<M>,
    part: &M::Server,
    held: &PartSection,
    queries: &[(&SessionOf<M>, Query)],
) -> Vec<Result<Partial>> {
    let pass = |queries: &[(&SessionOf<M>, Query)]| {
        let expanded = queries.par_iter().map(|(session, query)| part.expand(params, session, query));
        with_successes(expanded.collect(), |queries: Vec<_>| {
            part.pass(params, &queries).into_iter().map(Ok).collect()
        })
    };
    let is_wide = held.is_accelerated() || sotto_math::machine::has_amx();
    let batch = if is_wide { M::Server::ACCELERATED_BATCH } else { M::Server::BATCH };
    queries.chunks(batch).flat_map(pass).collect()
}

fn held<M: Method>(params: &Params<M>, cut: PartIndex, image: Arc<dyn Image>) -> Result<PartSection> {
    PartSection::open(M::Server::SECTION, image, &M::Server::pieces(params, cut))
}

fn reserve<M: Method>(params: &Params<M>, out: &dyn Sink) -> Result<()> {
    let bytes = M::Server::pieces(params, PartIndex::WHOLE).iter().map(|piece| piece.bytes).sum();
    out.reserve(M::Server::SECTION, bytes)?;
    M::Server::artifacts(params).into_iter().try_for_each(|(section, bytes)| out.reserve(section, bytes))
}

impl<M: Method> UpdateImage for MatrixScheme<M> {
    fn update_image(params: &Params<M>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        reserve(params, out)?;
        changes.iter().try_for_each(|change| within(params, change))?;
        M::Server::update_image(params, changes, out)
    }
}

/// Refuses a change outside the table.
fn within<M: Method>(params: &Params<M>, change: &RecordChange) -> Result<()> {
    let past = |index, len| Err(Misuse::IndexPastEnd { index, len }.into());
    let end = change.offset.saturating_add(change.bytes.len() as u64);
    if change.record >= params.records() {
        past(change.record, params.records())
    } else if end > params.record_bytes() {
        past(end, params.record_bytes())
    } else {
        Ok(())
    }
}

impl<M: Method> PartScheme for MatrixScheme<M> {
    type Part = Part<M>;
    type Joiner = JoinerOf<M>;

    const SECTION: Section = M::Server::SECTION;

    fn max_parts(params: &Params<M>) -> u32 {
        M::Server::max_parts(params)
    }

    fn part_ranges(params: &Params<M>, cut: PartIndex) -> Vec<Range<u64>> {
        Piece::ranges(&M::Server::pieces(params, cut))
    }

    fn open_part(params: &Params<M>, cut: PartIndex, image: Arc<dyn Image>) -> Result<Part<M>> {
        let held = held::<M>(params, cut, image)?;
        let part = M::Server::open(params, cut, held.clone())?;
        Ok(Part { part, held, format: M::Server::partial(params, cut), params: params.clone() })
    }

    fn partial_bytes(params: &Params<M>, cut: PartIndex) -> usize {
        M::Server::partial(params, cut).bytes() as usize
    }

    fn admit(params: &Params<M>, keys: M::Keys) -> Result<SessionOf<M>> {
        keys.admit(params)
    }

    fn answer_part(part: &Part<M>, queries: Vec<(&SessionOf<M>, Query)>) -> Vec<Result<Vec<u8>>> {
        let put = |partial: Partial| {
            let mut out = Vec::with_capacity(part.format.bytes() as usize);
            part.format.put(&partial, &mut out);
            out
        };
        let partials = partials(&part.params, &part.part, &part.held, &queries);
        partials.into_iter().map(|partial| partial.map(put)).collect()
    }

    fn part_matrices(part: &Part<M>) -> Vec<TableMatrix<'_>> {
        part.held.matrices()
    }

    fn prepare_join(params: &Params<M>) -> Result<JoinerOf<M>> {
        M::Server::joiner(params)
    }

    fn join(
        params: &Params<M>,
        joiner: &JoinerOf<M>,
        session: &SessionOf<M>,
        query: Query,
        partials: &[Vec<u8>],
    ) -> Result<Answer> {
        let mut joined = Partial::default();
        let parts = u32::try_from(partials.len()).unwrap_or(u32::MAX);
        for (cut, partial) in PartIndex::all(parts).zip(partials) {
            let part = M::Server::partial(params, cut).join(partial, &mut joined);
            part.ok_or(PeerMisbehaved::NotCanonical("partial"))?;
        }
        M::Server::finish(params, joiner, session, &query, joined).map(Answer)
    }
}
