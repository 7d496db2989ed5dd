//! Query expansion: from a query to selectors and bits.

use super::{AnswerBuffers, CubeTable};
use crate::client::QUERY_MASKS;
use crate::literal::{TableForm, Upload};
use crate::message::Query;
use crate::params::Inner;
use crate::session::Session;
use rayon::prelude::*;
use sotto_core::{Misuse, PeerMisbehaved, Result};
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::encrypt::{MaskSource, restore};
use sotto_lattice::expand::ExpandedLeaf;
use sotto_lattice::keyswitch::{SwitchKey, lower};
use sotto_lattice::pack;
use sotto_lattice::rgsw::RgswCiphertext;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::scratch::Scratch;
use sotto_lattice::threads::store_rows;
use sotto_math::tiles::Selectors;
use std::sync::Arc;

/// A query in the form that the server computes with: a selector for each row, a bit for each
/// further dimension.
pub struct ExpandedQuery {
    selectors: Selectors,
    pub(super) bits: Vec<RgswCiphertext>,
    /// The client's keys for packing the answer.
    pub(super) pack: Arc<Vec<SwitchKey>>,
    buffers: Arc<AnswerBuffers>,
}

impl Drop for ExpandedQuery {
    fn drop(&mut self) {
        self.buffers.selectors.keep(self.selectors.take_buffer());
    }
}

impl ExpandedQuery {
    pub(super) fn selectors(&self) -> &Selectors {
        &self.selectors
    }
}

/// The value that a leaf of the expansion becomes.
enum LeafValue {
    /// A selector modulo q, or n ciphertexts of it in the matrix form.
    Selector(Vec<Ciphertext>),
    /// A row m g_j of an RGSW ciphertext, still modulo Q.
    Bit(Ciphertext),
}

impl<F> CubeTable<F> {
    /// Expands a query to selectors and RGSW encryptions of bits, both modulo q.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] for a query that was not decoded under these parameters.
    pub fn prepare(&self, session: &Session, query: &Query) -> Result<ExpandedQuery> {
        let (selectors, rows) = self.params.selectors_and_rows(session, query)?;
        let layout = &self.share.layout;
        // Every cache line of the buffer is written below, so its old contents do not matter.
        let buffer = self.buffers.selectors.take().unwrap_or_default();
        let mut selector_tiles = Selectors::in_buffer(&self.words, layout, self.params.rank() + 1, buffer);
        let selectors: Vec<&Ciphertext> = selectors.iter().flatten().collect();
        store_rows(&mut selector_tiles, &selectors, |selector| selector.components());
        let bits = self.params.bits(session, rows)?;
        Ok(ExpandedQuery {
            selectors: selector_tiles,
            bits,
            pack: session.pack.clone(),
            buffers: self.buffers.clone(),
        })
    }

    /// Expands several queries; threads of the current pool work on different queries, and on one
    /// query together.
    pub fn prepare_all(&self, queries: &[(&Session, &Query)]) -> Vec<Result<ExpandedQuery>> {
        queries.par_iter().map(|(session, query)| self.prepare(session, query)).collect()
    }
}

impl Inner {
    /// The query's selectors, and the rows of which its bits are made.
    fn selectors_and_rows(
        &self,
        session: &Session,
        query: &Query,
    ) -> Result<(Vec<Vec<Ciphertext>>, Vec<Ciphertext>)> {
        match self.literal.upload {
            Upload::Expanded => self.expand(session, query, |cipher| self.selector(session, cipher)),
            Upload::Direct => Ok((self.selectors_received(session, query)?, self.rows_received(query)?)),
        }
    }

    /// Computes the bits of a query for a join, which has no table. Selectors are expanded along,
    /// and discarded.
    pub(super) fn bits_of(&self, session: &Session, query: &Query) -> Result<Vec<RgswCiphertext>> {
        let rows = match self.literal.upload {
            Upload::Expanded => self.expand(session, query, |_| Vec::new())?.1,
            Upload::Direct => self.rows_received(query)?,
        };
        self.bits(session, rows)
    }

    /// Expands the query's one ciphertext, coefficient by coefficient, to the values that
    /// `selector` makes of selectors, and to the rows of bits.
    fn expand(
        &self,
        session: &Session,
        query: &Query,
        selector: impl Fn(&Ciphertext) -> Vec<Ciphertext> + Sync,
    ) -> Result<(Vec<Vec<Ciphertext>>, Vec<Ciphertext>)> {
        let rule = Misuse::Rule("the keys must be for the parameters of the table");
        let [left, right] = session.rounds(self).ok_or(rule.clone())?;
        let expansion = self.expansion().ok_or(rule)?;
        let query = self.cipher(query, 0)?;
        let finish = |leaf, cipher: &mut Ciphertext| match leaf {
            ExpandedLeaf::Left(_) => LeafValue::Selector(selector(cipher)),
            ExpandedLeaf::Right(_) => LeafValue::Bit(cipher.clone()),
        };
        let (selectors, bits) = expansion.run(left, right, query, finish);
        let selectors = selectors.into_iter().filter_map(|value| match value {
            LeafValue::Selector(ciphers) => Some(ciphers),
            LeafValue::Bit(_) => None,
        });
        let bits = bits.into_iter().filter_map(|value| match value {
            LeafValue::Bit(cipher) => Some(cipher),
            LeafValue::Selector(_) => None,
        });
        Ok((selectors.collect(), bits.collect()))
    }

    /// The query's selectors, where they are sent directly.
    fn selectors_received(&self, session: &Session, query: &Query) -> Result<Vec<Vec<Ciphertext>>> {
        let selector = |i| Ok(self.selector(session, &self.cipher(query, i)?));
        (0..self.literal.rows as usize).into_par_iter().map(selector).collect()
    }

    /// The rows of the query's bits, where they are sent directly.
    fn rows_received(&self, query: &Query) -> Result<Vec<Ciphertext>> {
        let rows = self.literal.rows as usize..query.bodies.len();
        rows.into_par_iter().map(|i| self.cipher(query, i)).collect()
    }

    /// Ciphertext `i` of a query.
    fn cipher(&self, query: &Query, i: usize) -> Result<Ciphertext> {
        let (params, ring) = (self, &self.ring);
        let level = params.query_level();
        let bad = || PeerMisbehaved::NotCanonical("query");
        let body = query.bodies.get(i).ok_or_else(bad)?;
        let body = restore(ring, level, body, params.literal.query_bits.into()).ok_or_else(bad)?;
        let mask = MaskSource { seed: &query.seed, label: QUERY_MASKS, first: i as u64 }.mask(ring, level, 0);
        Ok(Ciphertext::new(ring, self.tag(level), &mask, std::iter::once(body.as_slice())))
    }

    /// The matrix form converts a ciphertext before the switch to q, whose result is the same.
    fn tag(&self, level: ModulusLevel) -> ModulusLevel {
        if self.literal.form == TableForm::Matrix { ModulusLevel::Full } else { level }
    }

    /// Makes a selector modulo q: one ciphertext, or the n columns of its matrix form, each with
    /// the message at its own position (Spiral's scalar-to-matrix).
    fn selector(&self, session: &Session, cipher: &Ciphertext) -> Vec<Ciphertext> {
        let ring = &self.ring;
        if cipher.level() == ModulusLevel::Main {
            return vec![cipher.clone()];
        }
        let mut scratch = Scratch::new(ring);
        let mut lowered = |high: &Ciphertext| {
            let mut low = Ciphertext::unfilled(ring, ModulusLevel::Main, high.rank());
            lower(ring, high, &mut low, &mut scratch);
            low
        };
        if self.literal.form != TableForm::Matrix {
            return vec![lowered(cipher)];
        }
        let column = |(place, key)| {
            let mut high = Ciphertext::zero(ring, ModulusLevel::Full, session.pack.len());
            pack::add_at(ring, key, place, cipher, &mut high, &mut Scratch::new(ring));
            lowered(&high)
        };
        (1..).zip(session.pack.iter()).map(column).collect()
    }

    /// Makes the RGSW encryptions of the bits: converted from rows m g_j, or assembled from all
    /// rows.
    fn bits(&self, session: &Session, rows: Vec<Ciphertext>) -> Result<Vec<RgswCiphertext>> {
        let Some(gadget) = &self.gadgets.fold else { return Ok(Vec::new()) };
        let incomplete = || Misuse::Rule("a query must have all rows of every bit").into();
        let ring = &self.ring;
        let l = gadget.digits() as usize;
        match &session.convert {
            Some(key) => rows
                .par_chunks(l)
                .map(|rows| key.convert(ring, gadget, rows, &mut Scratch::new(ring)).ok_or_else(incomplete))
                .collect(),
            None => rows
                .par_chunks(2 * l)
                .map(|rows| RgswCiphertext::from_rows([gadget; 2], rows.to_vec()).ok_or_else(incomplete))
                .collect(),
        }
    }
}
