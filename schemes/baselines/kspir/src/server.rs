//! The server: rotations of the vector, one pass over the table for a few queries at once, and the
//! remaining steps of each block.

use crate::KsPir;
use crate::client::QUERY_MASKS;
use crate::encode::{self, Records};
use crate::message::{Answer, Keys, Query};
use crate::params::Params;
use crate::ring::{FOLD, N, gadget};
use crate::session::Session;
use rayon::prelude::*;
use sotto_core::server::together;
use sotto_core::{Image, ImageSection, Misuse, PeerMisbehaved, RecordSource, Result, Section, Sink};
use sotto_lattice::automorphism::AutomorphismKey;
use sotto_lattice::cdks;
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::encrypt::MaskSource;
use sotto_lattice::mod_down::lower;
use sotto_lattice::rgsw::RgswCiphertext;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::scratch::Scratch;
use sotto_math::modulus_pair::round_to_bits;
use sotto_math::tiles::{Selectors, TileLayout, WordFormat, gather, scan};
use std::sync::Arc;

/// Queries in one pass.
const BATCH: usize = 4;

/// Components of a ciphertext.
const COMPS: usize = 2;

/// An open table, or some blocks of one.
pub struct Server {
    pub(crate) params: Params,
    held: ImageSection,
    layout: TileLayout,
    words: WordFormat,
}

/// A query in the form that the pass and the folding take.
struct ExpandedQuery<'a> {
    session: &'a Session,
    selectors: Selectors,
    power: RgswCiphertext,
}

impl sotto_core::Server<KsPir> for Server {
    type Session = Session;

    fn session_bytes(params: &Params) -> usize {
        Session::bytes(params)
    }

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        encode::encode(params, rows, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let layout = encode::layout(&params.grid)?;
        Server::open_some(params, layout, params.image_bytes() - layout.bytes(), image)
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        let held = ImageSection::open(image, Section::Resident, "table", params.image_bytes())?;
        Ok(Box::new(Records { params: params.clone(), held }))
    }

    fn admit(&self, keys: Keys) -> Result<Session> {
        Session::admit(&self.params, &keys)
    }

    /// Rotates each vector by baby steps; multiplies the table by a few of them in one pass; then
    /// applies giant steps to each block's sums, moves the record to the front, and packs all
    /// blocks.
    fn answer_many(&self, queries: Vec<(&Session, Query)>) -> Vec<Result<Answer>> {
        let answer = |((session, _), folded): (&(&Session, Query), Result<Vec<Ciphertext>>)| {
            Ok(packed(&self.params, session, folded?))
        };
        queries.par_iter().zip(self.blocks(&queries)).map(answer).collect()
    }
}

impl Server {
    /// Opens the plaintexts of some blocks, followed by `behind` bytes of other data.
    pub(crate) fn open_some(
        params: &Params,
        layout: TileLayout,
        beyond: u64,
        image: Arc<dyn Image>,
    ) -> Result<Self> {
        let held = ImageSection::open(image, Section::Resident, "table", layout.bytes() + beyond)?;
        Ok(Server { params: params.clone(), held, layout, words: encode::words(params)? })
    }

    /// The result of each block for each query.
    pub(crate) fn blocks(&self, queries: &[(&Session, Query)]) -> Vec<Result<Vec<Ciphertext>>> {
        let prepared = queries.par_iter().map(|(session, query)| self.prepare(session, query)).collect();
        together(prepared, |queries: Vec<ExpandedQuery<'_>>| {
            queries.chunks(BATCH).flat_map(|some| self.pass(some)).map(Ok).collect()
        })
    }

    fn prepare<'a>(&self, session: &'a Session, query: &Query) -> Result<ExpandedQuery<'a>> {
        let ring = &self.params.ring;
        let bad = || PeerMisbehaved::NotCanonical("query");
        let (vector, rows) = query.bodies.split_first().ok_or_else(bad)?;
        if rows.len() != 2 * FOLD.count as usize || !session.fits(&self.params.grid) {
            return Err(Misuse::ForeignValue("session").into());
        }
        let masks = MaskSource { seed: &query.seed, label: QUERY_MASKS, first: 0 };
        let a = masks.mask(ring, ModulusLevel::Full, 0);
        let vector = Ciphertext::new(ring, ModulusLevel::Full, &a, std::iter::once(vector.as_slice()));
        let rotated = self.rotated(session, &vector);
        let mut selectors = Selectors::new(&self.words, &self.layout, COMPS);
        for (row, c) in rotated.iter().enumerate() {
            selectors.set_rows(row, &[c.comp(0), c.comp(1)]);
        }
        let masks = MaskSource { first: 1, ..masks };
        let power = RgswCiphertext::assemble(ring, ModulusLevel::Main, [&gadget(&FOLD)?; 2], 1, rows, masks);
        Ok(ExpandedQuery { session, selectors, power })
    }

    /// The vector in all baby steps, modulo q. The second half is the vector rotated by half of
    /// them, and then processed like the first.
    fn rotated(&self, session: &Session, vector: &Ciphertext) -> Vec<Ciphertext> {
        let ring = &self.params.ring;
        let Some((middle, first)) = session.babies.split_last() else { return Vec::new() };
        let mut turned = Ciphertext::unfilled(ring, ModulusLevel::Full, 1);
        middle.apply(ring, vector, &mut turned, &mut Scratch::new(ring));
        let lowered = |c: &Ciphertext, scratch: &mut Scratch| {
            let mut out = Ciphertext::unfilled(ring, ModulusLevel::Main, 1);
            lower(ring, c, &mut out, scratch);
            out
        };
        let mut all = Vec::with_capacity(self.params.grid.babies);
        for start in [vector, &turned] {
            let hoisted = middle.hoist(ring, start);
            let one = |(scratch, image): &mut (Scratch, Ciphertext), key: &AutomorphismKey| {
                key.apply_hoisted(ring, &hoisted, image, scratch);
                lowered(image, scratch)
            };
            let room = || (Scratch::new(ring), Ciphertext::unfilled(ring, ModulusLevel::Full, 1));
            all.push(lowered(start, &mut Scratch::new(ring)));
            all.extend(first.par_iter().map_init(room, one).collect::<Vec<_>>());
        }
        all
    }

    /// One pass for a few queries, and the following steps in each block.
    fn pass(&self, queries: &[ExpandedQuery<'_>]) -> Vec<Vec<Ciphertext>> {
        let (layout, grid) = (&self.layout, &self.params.grid);
        let selectors: Vec<&Selectors> = queries.iter().map(|query| &query.selectors).collect();
        let (table, _) = self.held.bytes().split_at(layout.bytes() as usize);
        // One range of blocks per thread: more streams at once slow the memory down.
        let per_thread = layout.blocks().div_ceil(rayon::current_num_threads()).max(1);
        let part = |(i, part): (usize, &[u8])| {
            let blocks = i * per_thread..i * per_thread + part.len() / layout.block_bytes();
            let mut sums = vec![vec![0; blocks.len() * layout.cols() * COMPS * 8]; queries.len()];
            let mut views: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
            scan(&self.words, layout, part, blocks, &selectors, &mut views);
            sums
        };
        let parts = table.par_chunks(per_thread * layout.block_bytes()).enumerate().map(part);
        let parts: Vec<Vec<Vec<u64>>> = parts.collect();
        let folded = |(i, query): (usize, &ExpandedQuery<'_>)| {
            let sums: Vec<u64> = parts.iter().filter_map(|part| part.get(i)).flatten().copied().collect();
            let blocks = (0..layout.cols() / grid.giants()).into_par_iter();
            let ring = &self.params.ring;
            let folded = blocks
                .map_init(|| Scratch::new(ring), |scratch, block| self.folded(query, &sums, block, scratch));
            folded.collect()
        };
        queries.par_iter().enumerate().map(folded).collect()
    }

    /// A block's product with the vector, times X^-p: its inner sums, each rotated by its giant
    /// step.
    fn folded(
        &self,
        query: &ExpandedQuery<'_>,
        sums: &[u64],
        block: usize,
        scratch: &mut Scratch,
    ) -> Ciphertext {
        let (ring, giants) = (&self.params.ring, self.params.grid.giants());
        let room = |_| Ciphertext::unfilled(ring, ModulusLevel::Main, 1);
        let cols = block * giants..(block + 1) * giants;
        let mut ciphers: Vec<Ciphertext> = cols.clone().map(room).collect();
        let mut out: Vec<&mut [u64]> = ciphers.iter_mut().flat_map(Ciphertext::components_mut).collect();
        gather(&self.words, &self.layout, COMPS, sums, cols, &mut out);
        let mut ciphers = ciphers.into_iter();
        let mut sum = ciphers.next().unwrap_or_else(|| Ciphertext::zero(ring, ModulusLevel::Main, 1));
        let mut turned = room(0);
        for (key, c) in query.session.giants.iter().zip(ciphers) {
            key.apply(ring, &c, &mut turned, scratch);
            sum.add(ring, &turned);
        }
        query.power.external_product(ring, &sum, &mut turned, scratch);
        turned
    }
}

/// Packs the blocks of each page.
pub(crate) fn packed(params: &Params, session: &Session, mut blocks: Vec<Ciphertext>) -> Answer {
    let mut pages = Vec::with_capacity(params.grid.pages);
    while !blocks.is_empty() {
        let rest = blocks.split_off(params.grid.blocks.min(blocks.len()));
        pages.push(std::mem::replace(&mut blocks, rest));
    }
    let page = |blocks| {
        let (ring, bits) = (&params.ring, params.literal.answer_bits);
        let mut packed = cdks::pack(ring, &session.packing, blocks, &mut Scratch::new(ring));
        // The mask and the body in the bits that are sent.
        [0, 1].map(|comp| {
            let mut out = vec![0; N];
            let slots = packed.comp_mut(comp);
            ring.inverse(ModulusLevel::Main, slots);
            round_to_bits(ring.q(), slots, u32::from(if comp == 0 { bits[0] } else { bits[1] }), &mut out);
            out
        })
    };
    Answer(pages.into_par_iter().map(page).collect())
}
