//! The server: makes each query's selectors, multiplies the tables by them in one pass for several
//! queries, and makes the answers of the sums.
//!
//! | module | contents |
//! |---|---|
//! | [`image`] | the positions of plaintexts in the image |
//! | `group` | the records of one row and block, as plaintexts |
//! | `encode`, [`update_image`], `read` | records into the image, changes, and records out of it |
//! | `part` | tables in parts |

mod encode;
mod group;
pub mod image;
mod part;
mod read;
pub mod update_image;

use crate::client::{QUERY_MASKS, key_masks};
use crate::column_merge::merged;
use crate::cost;
use crate::evaluator::{ColumnSums, EvaluationKeys, Evaluator, SelectorSet};
use crate::family::{Bfv, Family, Method};
use crate::message::{Answer, Keys, Query};
use crate::params::Params;
use image::PlaintextTable;
use rayon::prelude::*;
use sotto_core::server::with_successes;
use sotto_core::{Image, Misuse, PeerMisbehaved, RecordSource, Result, Sink};
use sotto_lattice::bgv::expand::ExpansionRound;
use sotto_lattice::bgv::keyswitch::SwitchKey;
use sotto_lattice::bgv::pass::pass;
use sotto_lattice::bgv::{Answer as Sent, Ciphertext, RotationKey, SlotRing};
use sotto_lattice::encrypt::MaskSource;
use sotto_math::tiles::Selectors;
use std::marker::PhantomData;
use std::sync::Arc;

/// An open table, or some columns of one.
pub struct Server<F: Family> {
    pub(crate) table: PlaintextTable<F>,
}

impl<F: Family> sotto_core::Server<Bfv<F>> for Server<F> {
    type Session = AdmittedKeys<F>;

    fn session_bytes(params: &Params<F>) -> usize {
        cost::session_bytes(params.set, params.method.keys())
    }

    fn encode(params: &Params<F>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        encode::encode(params, rows, out)
    }

    fn open(params: &Params<F>, image: Arc<dyn Image>) -> Result<Self> {
        Ok(Server { table: PlaintextTable::open(params, image)? })
    }

    fn records(params: &Params<F>, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        Ok(Box::new(read::Records::new(PlaintextTable::open(params, image)?)))
    }

    fn admit(&self, keys: Keys) -> Result<AdmittedKeys<F>> {
        AdmittedKeys::new(self.table.params(), &keys)
    }

    fn answer_many(&self, queries: Vec<(&AdmittedKeys<F>, Query)>) -> Vec<Result<Answer>> {
        answer_many(&self.table, queries)
    }
}

/// Keys that a server of a scheme admitted. Keys of another scheme have another type, and are
/// refused.
pub struct AdmittedKeys<F> {
    keys: EvaluationKeys,
    scheme: PhantomData<fn() -> F>,
}

impl<F: Family> AdmittedKeys<F> {
    /// Admits keys.
    ///
    /// # Errors
    /// The errors of [`EvaluationKeys::admit`].
    fn new(params: &Params<F>, keys: &Keys) -> Result<Self> {
        Ok(AdmittedKeys { keys: EvaluationKeys::admit(params, keys)?, scheme: PhantomData })
    }
}

impl EvaluationKeys {
    /// Admits keys. Decoding has checked every word.
    ///
    /// # Errors
    /// None for keys that [`Keys`] decoded under the same parameters.
    fn admit<F: Family>(params: &Params<F>, keys: &Keys) -> Result<Self> {
        let refuse = || PeerMisbehaved::NotCanonical("keys");
        let (ring, keyring, primes) = (&params.ring, params.method.keys(), params.set.query_primes());
        let mut each = keys.bodies.chunks_exact(primes).enumerate();
        let mut next = || {
            let (key, bodies) = each.next().ok_or_else(refuse)?;
            Ok::<(&[Vec<u64>], MaskSource<'_>), PeerMisbehaved>((bodies, key_masks(&keys.seed, key, primes)))
        };
        let mut session = EvaluationKeys { rotation: None, stride: None, square: None, rounds: Vec::new() };
        let [rotation, stride] = [&mut session.rotation, &mut session.stride];
        for (key, by) in [(rotation, keyring.rotation), (stride, keyring.stride)] {
            let Some(by) = by else { continue };
            let (bodies, masks) = next()?;
            let made = RotationKey::assemble(ring, ring.ring().rotation(by), bodies, masks);
            *key = Some(made.ok_or_else(refuse)?);
        }
        if keyring.square {
            let (bodies, masks) = next()?;
            session.square = Some(SwitchKey::assemble(ring, bodies, masks).ok_or_else(refuse)?);
        }
        for round in 0..keyring.rounds {
            let (bodies, masks) = next()?;
            session.rounds.push(ExpansionRound::assemble(ring, round, bodies, masks).ok_or_else(refuse)?);
        }
        Ok(session)
    }
}

/// Largest number of queries in one pass over the table.
const BATCH: usize = 4;

/// A query in the form that the pass takes.
struct ExpandedQuery {
    /// For each table, the selectors modulo each of its primes.
    selectors: Vec<Vec<Selectors>>,
    second_dimension: Vec<Ciphertext>,
}

/// Answers queries, in order.
fn answer_many<F: Family>(
    table: &PlaintextTable<F>,
    queries: Vec<(&AdmittedKeys<F>, Query)>,
) -> Vec<Result<Answer>> {
    let params = table.params();
    let finish = |((session, _), share): (&(&AdmittedKeys<F>, Query), Result<Vec<Ciphertext>>)| {
        Ok(answer(params, session, table.share.whole, vec![share?]))
    };
    queries.par_iter().zip(shares(table, &queries)).map(finish).collect()
}

/// Makes the answer from the shares of all columns.
fn answer<F: Family>(
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
fn shares<F: Family>(
    table: &PlaintextTable<F>,
    queries: &[(&AdmittedKeys<F>, Query)],
) -> Vec<Result<Vec<Ciphertext>>> {
    let some = |queries: &[(&AdmittedKeys<F>, Query)]| {
        let prepared =
            queries.par_iter().map(|(session, query)| Ok((*session, prepare(table, session, query)?)));
        with_successes(prepared.collect(), |queries: Vec<(&AdmittedKeys<F>, ExpandedQuery)>| {
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
    queries.chunks(BATCH).flat_map(some).collect()
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
    let cipher = |(i, body): (usize, &Vec<u64>)| {
        let mask = ring.mask(level, &query.seed, QUERY_MASKS, i as u64);
        match body.len() == mask.len() {
            true => Ok(Ciphertext::new(ring, level, &[body, &mask])),
            false => Err(PeerMisbehaved::NotCanonical("query").into()),
        }
    };
    let bodies = query.bodies.par_iter().enumerate();
    let ciphers = bodies.map(cipher).collect::<Result<Vec<_>>>()?;
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
