//! The steps of an answer: each query's selectors, one pass over the tables for several queries,
//! and the response.

use super::image::PlaintextTable;
use super::session::AdmittedKeys;
use crate::client::QUERY_MASKS;
use crate::column_merge::merged;
use crate::evaluator::{ColumnSums, Evaluator, SelectorSet};
use crate::family::{Family, Method};
use crate::message::{Answer, Query};
use crate::params::Params;
use rayon::prelude::*;
use sotto_core::server::together;
use sotto_core::{Misuse, PeerMisbehaved, Result};
use sotto_lattice::bgv::pass::pass;
use sotto_lattice::bgv::{Answer as Sent, Ciphertext};
use sotto_math::tiles::Selectors;

/// Largest number of queries in one pass over the table.
const BATCH: usize = 4;

/// A query in the form that the pass takes.
struct ExpandedQuery {
    /// For each table, the selectors modulo each of its primes.
    selectors: Vec<Vec<Selectors>>,
    second_dimension: Vec<Ciphertext>,
}

/// Answers queries, in order.
pub(super) fn answer_many<F: Family>(
    table: &PlaintextTable<F>,
    asks: Vec<(&AdmittedKeys<F>, Query)>,
) -> Vec<Result<Answer>> {
    let params = table.params();
    let finish = |((session, _), share): (&(&AdmittedKeys<F>, Query), Result<Vec<Ciphertext>>)| {
        Ok(answer(params, session, table.share.whole, vec![share?]))
    };
    asks.par_iter().zip(shares(table, &asks)).map(finish).collect()
}

/// Makes the answer from the shares of all columns.
pub(super) fn answer<F: Family>(
    params: &Params<F>,
    session: &AdmittedKeys<F>,
    whole: bool,
    shares: Vec<Vec<Ciphertext>>,
) -> Answer {
    let evaluator = evaluator(params, session);
    let ciphers = params.method.finish(&evaluator, shares);
    let ciphers = if whole { ciphers } else { merged(&evaluator, ciphers) };
    Answer(ciphers.iter().map(|c| Sent::new(&params.ring, params.bits, c)).collect())
}

/// Makes the share of a table's columns for each query, merged if all columns of each answer are
/// present.
pub(super) fn shares<F: Family>(
    table: &PlaintextTable<F>,
    asks: &[(&AdmittedKeys<F>, Query)],
) -> Vec<Result<Vec<Ciphertext>>> {
    let some = |asks: &[(&AdmittedKeys<F>, Query)]| {
        let prepared =
            asks.par_iter().map(|(session, query)| Ok((*session, prepare(table, session, query)?)));
        together(prepared.collect(), |queries: Vec<(&AdmittedKeys<F>, ExpandedQuery)>| {
            let columns = columns(table, &queries.iter().map(|(_, query)| query).collect::<Vec<_>>());
            let shares = queries.par_iter().zip(columns).map(|((session, query), tables)| {
                let evaluator = evaluator(table.params(), session);
                let columns = ColumnSums { cols: table.share.cols.clone(), tables };
                let share = table.params().method.partial(&evaluator, &query.second_dimension, columns);
                Ok(if table.share.whole { merged(&evaluator, share) } else { share })
            });
            shares.collect()
        })
    };
    asks.chunks(BATCH).flat_map(some).collect()
}

fn evaluator<'a, F: Family>(params: &'a Params<F>, keys: &'a AdmittedKeys<F>) -> Evaluator<'a> {
    Evaluator { ring: &params.ring, layout: &params.layout, keys: &keys.keys }
}

/// Makes a query's selectors, in the layout that the pass reads.
fn prepare<F: Family>(
    table: &PlaintextTable<F>,
    session: &AdmittedKeys<F>,
    query: &Query,
) -> Result<ExpandedQuery> {
    let (params, ring) = (table.params(), &table.params().ring);
    let level = ring.top();
    let cipher = |(i, body): (u64, &Vec<u64>)| {
        let mask = ring.mask(level, &query.seed, QUERY_MASKS, i);
        match body.len() == mask.len() {
            true => Ok(Ciphertext::new(ring, level, &[body, &mask])),
            false => Err(PeerMisbehaved::NotCanonical("query").into()),
        }
    };
    let ciphers = (0..).zip(&query.bodies).map(cipher).collect::<Result<Vec<_>>>()?;
    let SelectorSet { tables, second_dimension } = params.method.select(&evaluator(params, session), ciphers);
    let rows = |selectors: &Vec<Ciphertext>| selectors.len() == params.layout.rows;
    if tables.len() != params.layout.tables() || !tables.iter().all(rows) {
        return Err(Misuse::Rule("a method must make a selector for each row of each table").into());
    }
    Ok(ExpandedQuery {
        selectors: tables.iter().map(|ciphers| table.shape.selectors(ciphers)).collect(),
        second_dimension,
    })
}

/// Computes the columns of each table for each query, in one pass over each table.
fn columns<F: Family>(table: &PlaintextTable<F>, queries: &[&ExpandedQuery]) -> Vec<Vec<Vec<Ciphertext>>> {
    let (layout, cols) = (&table.params().layout, table.share.cols.len());
    let mut out: Vec<Vec<Vec<Ciphertext>>> =
        queries.iter().map(|_| Vec::with_capacity(layout.tables())).collect();
    for i in 0..layout.tables() {
        let selectors: Vec<&[Selectors]> =
            queries.iter().map(|query| query.selectors[i].as_slice()).collect();
        let sums = pass(&table.shape, table.table(i), &selectors);
        for (out, sums) in out.iter_mut().zip(sums) {
            let sums: Vec<&[u64]> = sums.iter().map(Vec::as_slice).collect();
            out.push(table.shape.columns(&table.params().ring, &sums, cols, 0..cols));
        }
    }
    out
}
