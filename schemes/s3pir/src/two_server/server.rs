//! Both servers. They hold the same table, which nobody streams; one answers queries, the other
//! makes hints.

use super::{Params, S3pirTwo};
use crate::HalfSets;
use crate::message::Query;
use crate::offline::sums::fold;
use sotto_core::{HintServer, Image, RecordChange, RecordSource, Result, Section, Sink, UpdateImage};
use sotto_hints::message::{Answer, HintRequest, HintResponse};
use sotto_hints::one_server::{self, Prf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// An open table.
pub struct Server {
    params: Params,
    one: one_server::Server<HalfSets>,
}

impl sotto_core::Server<S3pirTwo> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        params.one().encode(Section::Resident, rows, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let one = one_server::Server::open_at(Section::Resident, params.one(), image)?;
        Ok(Server { params: params.clone(), one })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        params.one().records(Section::Resident, image)
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_many(&self, queries: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        queries.into_iter().map(|((), query)| self.one.gather(query)).collect()
    }
}

impl HintServer for S3pirTwo {
    /// Runs the pass of a client that streams the table, for the ids of one block.
    fn answer_hint_request(server: &Server, request: HintRequest) -> Result<HintResponse> {
        let (params, one) = (&server.params, server.params.one());
        let ids =
            [request.block as usize, request.block as usize + 1].map(|blocks| params.ids_of(blocks) as u32);
        // Below 2^24.
        let (ids, none) = (ids[0]..ids[1], 0..0);
        let (hints, pairs) = if (ids.start as usize) < one.hints() { (ids, none) } else { (none, ids) };
        let prf = Prf::new(one, &request.key);
        let mut pass = fold(&prf, one.row_bytes(), hints, pairs)?;
        pass.absorb(&prf, server.one.rows()?);
        let (hints, pairs) = pass.finish(&prf).finish();
        let mut response = Zeroizing::new(Vec::with_capacity(params.response_bytes()));
        for parities in [&hints.parities, &pairs.halves, &pairs.others] {
            response.extend_from_slice(parities);
        }
        Ok(HintResponse(response))
    }
}

impl UpdateImage for S3pirTwo {
    fn revise(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        params.one().revise(Section::Resident, changes, out)
    }
}
