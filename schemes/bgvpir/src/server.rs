//! The server: rotations, unfolding, one pass over the table for up to four queries, and the last products.
//!
//! | module | contents |
//! |---|---|
//! | [`image`] | the positions of rows in the image |
//! | [`encode`], [`update_image`] | writing rows into the image, and changing them |
//! | `read` | records of the image |
//! | `part` | tables in parts |
//! | [`prepare`] | from a query to u and v |
//! | [`answer`] | sums over rows, products with u, and the messages that result |
//! | [`steps`] | one answer step by step, in either order |

pub mod answer;
pub mod encode;
pub mod image;
mod part;
pub mod prepare;
mod read;
pub mod steps;
pub mod update_image;

use crate::client::masks;
use crate::literal::{ParamsLiteral, RowFormat};
use crate::message::{Answer, Keys, Query};
use crate::params::{Inner, Params};
use crate::rings::{Ring, on_ring};
use crate::{BgvPir, cost};
use answer::ColumnSums;
use image::PlaintextTable;
use prepare::ExpandedQuery;
use rayon::prelude::*;
use read::Records;
use sotto_core::server::with_successes;
use sotto_core::{
    Image, PeerMisbehaved, RecordChange, RecordSource, Result, Sink, UpdateImage, WhiteningScheme, WriteSlot,
};
use sotto_lattice::bgv::keyswitch::SwitchKey;
use sotto_lattice::bgv::table_product::STREAMED_ROWS;
use sotto_lattice::bgv::{Ciphertext, M8191, Pow2, RnsRing, RotationKey, SlotRing};
use sotto_lattice::buffer_pool::BufferPool;
use sotto_math::tiles::{SelectorBuffer, Selectors};
use sotto_prg::PublicSeed;
use std::sync::Arc;

/// Queries in one pass over the table.
const BATCH: usize = 4;

/// An open table, or some columns of one.
pub struct Server {
    table: PlaintextTable,
}

impl Server {
    /// The first step of an answer: rotations and unfolding.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] for a query that was not decoded under these parameters.
    pub fn prepare(&self, session: &Session, query: &Query) -> Result<ExpandedQuery> {
        let params = self.table.params();
        with_keys!(params, session, (rns, keys) => prepare::prepare(&self.table, rns, keys, query))
    }

    /// The second step of an answer: one pass over the table for several queries.
    pub fn first_dimension(&self, queries: &[&ExpandedQuery]) -> Vec<ColumnSums> {
        answer::first_dimension(&self.table, queries)
    }

    /// The third step of an answer: products with u, and rounding for the wire.
    ///
    /// # Errors
    /// None for the session, the query and the sums of one client.
    pub fn finish(&self, session: &Session, query: &ExpandedQuery, sums: &ColumnSums) -> Result<Answer> {
        let params = self.table.params();
        with_keys!(params, session, (rns, keys) => {
            let products = answer::products(&self.table, rns, query, sums);
            Ok(answer::finish(params, rns, keys, products))
        })
    }
}

impl sotto_core::Server<BgvPir> for Server {
    type Session = Session;

    fn session_bytes(params: &Params) -> usize {
        cost::session_bytes(&params.literal)
    }

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        on_ring!(&*params.ring, rns => encode::encode(params, rns, rows, out))
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        Ok(Server { table: PlaintextTable::open(params, image)? })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        Ok(Box::new(Records::open(params, image)?))
    }

    fn admit(&self, keys: Keys) -> Result<Session> {
        Session::admit(self.table.params(), &keys)
    }

    /// Answer (Algorithms 1 and 3, in the distributed order): rotate each query S - 1 times and unfold both sides of its tree;
    /// then `w_a = sum over b of v[b] X[a, b]`, for up to four queries in one pass over the table; and for each of them
    /// `r = sum over a of u[a] w_a`, which is relinearized once and switched to few bits.
    fn answer_many(&self, queries: Vec<(&Session, Query)>) -> Vec<Result<Answer>> {
        let answer = |queries: &[(&Session, Query)]| {
            let prepared =
                queries.par_iter().map(|(session, query)| Ok((*session, self.prepare(session, query)?)));
            with_successes(prepared.collect(), |queries: Vec<(&Session, ExpandedQuery)>| {
                let prepared: Vec<&ExpandedQuery> = queries.iter().map(|(_, query)| query).collect();
                let sums = self.first_dimension(&prepared);
                queries
                    .iter()
                    .zip(sums)
                    .map(|((session, query), sums)| self.finish(session, query, &sums))
                    .collect()
            })
        };
        queries.chunks(BATCH).flat_map(answer).collect()
    }
}

impl WhiteningScheme for BgvPir {
    fn with_whitening_seed(literal: ParamsLiteral, seed: [u8; 32]) -> ParamsLiteral {
        ParamsLiteral { mask: PublicSeed(seed), ..literal }
    }

    fn write_slot(params: &Params, record: u64) -> WriteSlot {
        WriteSlot { column: 0, summand: record / u64::from(params.layout.period) }
    }

    fn max_writes(params: &Params) -> u64 {
        params.literal.written.into()
    }
}

impl UpdateImage for BgvPir {
    fn update_image(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        on_ring!(&*params.ring, rns => update_image::update_image(params, rns, changes, out))
    }
}

/// The keys of a client in one ring.
pub struct SwitchKeys<R: SlotRing> {
    /// The key that rotates by one.
    rotation: RotationKey<R>,
    /// The key that rotates by a stride, if there is one.
    stride: Option<RotationKey<R>>,
    /// The key that relinearizes.
    square: SwitchKey,
}

/// Admitted keys.
pub enum Session {
    /// Keys in the ring of a power of two.
    Pow2(SwitchKeys<Pow2>),
    /// Keys in the paper's ring.
    M8191(SwitchKeys<M8191>),
}

impl Session {
    /// Admits keys. Decoding has checked every word.
    ///
    /// # Errors
    /// None for keys that [`Keys`] decoded under the same parameters.
    pub fn admit(params: &Params, keys: &Keys) -> Result<Self> {
        let bad = || PeerMisbehaved::NotCanonical("keys");
        Ok(match &*params.ring {
            Ring::Pow2(rns) => Session::Pow2(switches(params, rns, keys).ok_or_else(bad)?),
            Ring::M8191(rns) => Session::M8191(switches(params, rns, keys).ok_or_else(bad)?),
        })
    }
}

fn switches<R: SlotRing>(params: &Params, rns: &RnsRing<R>, keys: &Keys) -> Option<SwitchKeys<R>> {
    let [rotation, square, stride] = masks(&keys.seed, params.literal.primes);
    let by = params.literal.stride as usize;
    let stride = match by {
        ..2 => None,
        _ => Some(RotationKey::assemble(rns, rns.ring().rotation(by), &keys.stride, stride)?),
    };
    Some(SwitchKeys {
        stride,
        rotation: RotationKey::assemble(rns, rns.ring().rotation(1), &keys.rotation, rotation)?,
        square: SwitchKey::assemble(rns, &keys.square, square)?,
    })
}

/// Evaluates an expression that is generic in the ring for a ring and a client's keys in it.
macro_rules! with_keys {
    ($params:expr, $session:expr, ($rns:ident, $keys:ident) => $body:expr) => {
        match (&*$params.ring, $session) {
            ($crate::rings::Ring::Pow2($rns), $crate::server::Session::Pow2($keys)) => $body,
            ($crate::rings::Ring::M8191($rns), $crate::server::Session::M8191($keys)) => $body,
            _ => Err(sotto_core::Misuse::ForeignValue("session").into()),
        }
    };
}
pub(super) use with_keys;

/// Maximum number of queries whose memory is pooled.
const KEPT: u64 = 2 * BATCH as u64;

/// Maximum bytes of each kind that are pooled.
const KEPT_BYTES: u64 = 256 << 20;

/// The pooled memory of answers.
struct AnswerBuffers {
    primes: usize,
    /// Ciphertexts of the top level, with two parts.
    ciphers: BufferPool<Ciphertext>,
    selectors: BufferPool<SelectorBuffer>,
    sums: BufferPool<Vec<u64>>,
}

impl AnswerBuffers {
    fn new(params: &Inner) -> Self {
        let literal = &params.literal;
        let kept = |each: u64, bytes: u64| (KEPT * each).min(KEPT_BYTES / bytes.max(1)) as usize;
        let (primes, scan) = (u64::from(literal.primes), u64::from(literal.scan_primes));
        let cipher = cost::cipher_bytes(1);
        let columns = params.columns() as u64 * u64::from(literal.layers);
        let rows = params.tree.length(crate::folding_tree::Side::Right);
        // Selectors modulo a prime: of all rows, or of some at a time.
        let together = match literal.form {
            RowFormat::Values => rows,
            RowFormat::Coefficients => rows.min(STREAMED_ROWS as u64),
        };
        AnswerBuffers {
            primes: literal.primes.into(),
            ciphers: BufferPool::new(kept(literal.rotations(&params.tree).places as u64, primes * cipher)),
            selectors: BufferPool::new(kept(scan * rows.div_ceil(together.max(1)), together * cipher)),
            sums: BufferPool::new(kept(scan, columns * cipher)),
        }
    }

    /// A ciphertext of the top level, with two parts, of arbitrary content.
    fn cipher<R: SlotRing>(&self, rns: &RnsRing<R>) -> Ciphertext {
        self.ciphers.take().unwrap_or_else(|| Ciphertext::zero(rns, rns.top(), 2))
    }

    /// Returns ciphertexts of that shape to the pool.
    fn keep(&self, ciphers: impl IntoIterator<Item = Ciphertext>) {
        let fits = |c: &Ciphertext| (c.level().primes(), c.parts()) == (self.primes, 2);
        ciphers.into_iter().filter(fits).for_each(|c| self.ciphers.keep(c));
    }

    /// Memory for selectors.
    fn selectors(&self) -> SelectorBuffer {
        self.selectors.take().unwrap_or_default()
    }

    /// Returns the memory of selectors that are no longer needed.
    fn keep_selectors(&self, selectors: &mut [Selectors]) {
        selectors.iter_mut().for_each(|some| self.selectors.keep(some.take_buffer()));
    }
}
