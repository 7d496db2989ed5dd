//! The server: rotations of the vector, one pass over the table for a few queries at once, and the
//! remaining steps of each block.
//!
//! A part has some blocks, and its result is that of each, modulo q; all of them are packed at last. The
//! copies of the records after the table, from which nothing is answered, are divided among the parts
//! too. Every part computes the baby steps by itself.

use crate::encode;
use crate::grid::Grid;
use crate::keys::{QUERY_MASKS, Session, SessionKeys, body_slots, seed_and_bodies};
use crate::ring::{self, FOLD, N, gadget, ring};
use crate::{KsPir, Params};
use rayon::prelude::*;
use sotto_core::{
    Misuse, PartIndex, PeerMisbehaved, RecordChange, RecordSource, Result, SectionRecords, Sink,
};
use sotto_lattice::automorphism::AutomorphismKey;
use sotto_lattice::cdks;
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::encrypt::MaskSource;
use sotto_lattice::keyswitch::lower;
use sotto_lattice::rgsw::RgswCiphertext;
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_lattice::scratch::Scratch;
use sotto_lattice::threads::{items_per_thread, store_rows};
use sotto_math::tiles::{Selectors, TileLayout, WordFormat, gather, scan};
use sotto_silent::MatrixServer;
use sotto_silent::message::{Field, Format, Partial, PartialFormat, Query};
use sotto_silent::packed_groups::rounded;
use sotto_silent::pieces::{PartSection, Piece};
use std::ops::Range;
use std::sync::Arc;

/// Components of a ciphertext.
const COMPS: usize = 2;

/// An open table, or some blocks of one.
pub struct Server {
    grid: Grid,
    ring: &'static Ring,
    held: PartSection,
    layout: TileLayout,
    words: WordFormat,
}

/// A query in the form that the pass and the folding take.
pub struct ExpandedQuery {
    session: Arc<SessionKeys>,
    selectors: Selectors,
    power: RgswCiphertext,
}

/// Number of blocks that are not divided: their plaintexts are whole groups of columns.
fn together(grid: &Grid) -> usize {
    TileLayout::GROUP_COLS.div_ceil(grid.giants())
}

/// The blocks of a part.
fn blocks_of(grid: &Grid, cut: PartIndex) -> Range<usize> {
    let share = cut.share(grid.all_blocks().div_ceil(together(grid)) as u64);
    let place = |units: u64| (units as usize * together(grid)).min(grid.all_blocks());
    place(share.start)..place(share.end)
}

impl MatrixServer<KsPir> for Server {
    const BATCH: usize = 4;
    type Expanded = ExpandedQuery;
    type Joiner = ();

    /// Some columns of each tile of rows of the table, and some bytes of the records.
    fn pieces(params: &Params, cut: PartIndex) -> Vec<Piece> {
        let (grid, blocks) = (params.grid(), blocks_of(&params.grid(), cut));
        let columns = blocks.start * grid.giants()..blocks.end * grid.giants();
        let tile = |(all, own): (Range<u64>, Range<u64>)| Piece {
            bytes: all.end - all.start,
            part: own.start - all.start..own.end - all.start,
        };
        let table = grid.layout(grid.all_blocks()).map(|layout| {
            layout.columns(0..grid.cols()).zip(layout.columns(columns)).map(tile).collect::<Vec<_>>()
        });
        let bytes = params.image_bytes() - grid.table_bytes();
        table.into_iter().flatten().chain([Piece { bytes, part: cut.share(bytes) }]).collect()
    }

    fn write(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        encode::encode(params, rows, out)
    }

    fn update_image(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        encode::update_image(params, changes, out)
    }

    fn records(params: &Params, held: PartSection) -> Box<dyn RecordSource> {
        let (start, width) = (params.grid().table_bytes() as usize, params.grid().record_bytes());
        let read = move |section: &[u8], record: u64, offset: usize, out: &mut [u8]| {
            let first = start + record as usize * width + offset;
            out.copy_from_slice(section.get(first..first + out.len())?);
            Some(())
        };
        Box::new(SectionRecords { held: held.section(), records: params.records, record_bytes: width, read })
    }

    fn max_parts(params: &Params) -> u32 {
        let grid = params.grid();
        u32::try_from(grid.all_blocks().div_ceil(together(&grid))).unwrap_or(u32::MAX)
    }

    /// Mask and body of each block's ciphertext, eight bytes a word.
    fn partial(params: &Params, cut: PartIndex) -> PartialFormat {
        let blocks = blocks_of(&params.grid(), cut).len() as u64;
        let words = Field::wide(N as u64, ring::modulus(ModulusLevel::Main));
        let ciphers = Format::default().and_ciphers(blocks, [words; COMPS]);
        PartialFormat { ciphers, ..PartialFormat::default() }
    }

    fn open(params: &Params, cut: PartIndex, held: PartSection) -> Result<Self> {
        let grid = params.grid();
        let layout = encode::layout(&grid, blocks_of(&grid, cut).len())?;
        Ok(Server { grid, ring: ring()?, held, layout, words: encode::words()? })
    }

    fn joiner(_: &Params) -> Result<()> {
        Ok(())
    }

    /// Rotates the vector by baby steps.
    fn expand(&self, _: &Params, Session(session): &Session, Query(fields): &Query) -> Result<ExpandedQuery> {
        let ring = self.ring;
        let bad = || PeerMisbehaved::NotCanonical("query");
        let (seed, bodies) = seed_and_bodies(fields).ok_or_else(bad)?;
        let slots = |level, body: &Vec<u64>| body_slots(ring, level, body).ok_or_else(bad);
        let (vector, rows) = bodies.split_first().ok_or_else(bad)?;
        if !session.fits(&self.grid) {
            return Err(Misuse::ForeignValue("session").into());
        }
        let vector = slots(ModulusLevel::Full, vector)?;
        let rows = rows.iter().map(|row| slots(ModulusLevel::Main, row)).collect::<Result<Vec<_>, _>>()?;
        let masks = MaskSource { seed: &seed, label: QUERY_MASKS, first: 0 };
        let a = masks.mask(ring, ModulusLevel::Full, 0);
        let vector = Ciphertext::new(ring, ModulusLevel::Full, &a, std::iter::once(vector.as_slice()));
        let rotated = self.rotated(session, &vector);
        let mut selectors = Selectors::new(&self.words, &self.layout, COMPS);
        store_rows(&mut selectors, &rotated, |c| c.components());
        let masks = MaskSource { first: 1, ..masks };
        let power = RgswCiphertext::assemble(ring, ModulusLevel::Main, [&gadget(&FOLD)?; 2], 1, &rows, masks);
        Ok(ExpandedQuery { session: session.clone(), selectors, power })
    }

    /// Multiplies the table by a few vectors in one pass; then applies giant steps to each block's sums,
    /// and moves the record to the front.
    fn pass(&self, _: &Params, queries: &[ExpandedQuery]) -> Vec<Partial> {
        let (layout, grid) = (&self.layout, &self.grid);
        let selectors: Vec<&Selectors> = queries.iter().map(|query| &query.selectors).collect();
        let (table, _) = self.held.rest(0).split_at(layout.bytes() as usize);
        // One range of blocks per thread: more streams at once slow the memory down.
        let per_thread = items_per_thread(layout.blocks());
        let part = |(i, part): (usize, &[u8])| {
            let blocks = i * per_thread..i * per_thread + part.len() / layout.block_bytes();
            let mut sums = vec![vec![0; blocks.len() * layout.cols() * COMPS * 8]; queries.len()];
            let mut views: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
            scan(&self.words, layout, part, blocks, &selectors, &mut views);
            sums
        };
        let parts = table.par_chunks(per_thread * layout.block_bytes()).enumerate().map(part);
        let parts: Vec<Vec<Vec<u64>>> = parts.collect();
        let folded = |(i, query): (usize, &ExpandedQuery)| {
            let sums: Vec<u64> = parts.iter().filter_map(|part| part.get(i)).flatten().copied().collect();
            let blocks = (0..layout.cols() / grid.giants()).into_par_iter();
            let ring = self.ring;
            let folded = blocks
                .map_init(|| Scratch::new(ring), |scratch, block| self.folded(query, &sums, block, scratch));
            let folded: Vec<Ciphertext> = folded.collect();
            let words = folded.iter().flat_map(|block| block.components().map(<[u64]>::to_vec));
            Partial { ciphers: words.collect(), ..Partial::default() }
        };
        queries.par_iter().enumerate().map(folded).collect()
    }

    /// Packs the blocks of each page.
    fn finish(
        params: &Params,
        (): &(),
        Session(session): &Session,
        _: &Query,
        Partial { ciphers, .. }: Partial,
    ) -> Result<Vec<Vec<u64>>> {
        let (ring, grid) = (ring()?, params.grid());
        if !session.fits(&grid) {
            return Err(Misuse::ForeignValue("session").into());
        }
        let block = |[mask, body]: &[Vec<u64>; COMPS]| {
            Ciphertext::new(ring, ModulusLevel::Main, mask, std::iter::once(body.as_slice()))
        };
        let page = |blocks: &[[Vec<u64>; COMPS]]| {
            let blocks = blocks.iter().map(block).collect();
            let mut packed = cdks::pack(ring, &session.packing, blocks, &mut Scratch::new(ring));
            // The mask and the body in the bits that are sent.
            [0, 1].map(|comp| {
                let slots = packed.comp_mut(comp);
                ring.inverse(ModulusLevel::Main, slots);
                let [mask, body] = params.answer_bits.map(u32::from);
                rounded(ring, slots, if comp == 0 { mask } else { body })
            })
        };
        let pages: Vec<[Vec<u64>; COMPS]> = ciphers.as_chunks().0.par_chunks(grid.blocks).map(page).collect();
        Ok(pages.into_iter().flatten().collect())
    }
}

impl Server {
    /// The vector in all baby steps, modulo q. The second half is the vector rotated by half of
    /// them, and then processed like the first.
    fn rotated(&self, session: &SessionKeys, vector: &Ciphertext) -> Vec<Ciphertext> {
        let ring = self.ring;
        let Some((middle, first)) = session.babies.split_last() else { return Vec::new() };
        let mut turned = Ciphertext::unfilled(ring, ModulusLevel::Full, 1);
        middle.apply(ring, vector, &mut turned, &mut Scratch::new(ring));
        let lowered = |c: &Ciphertext, scratch: &mut Scratch| {
            let mut out = Ciphertext::unfilled(ring, ModulusLevel::Main, 1);
            lower(ring, c, &mut out, scratch);
            out
        };
        let mut all = Vec::with_capacity(self.grid.babies);
        for start in [vector, &turned] {
            let hoisted = middle.hoist(ring, start);
            let one = |(scratch, image): &mut (Scratch, Ciphertext), key: &AutomorphismKey| {
                key.apply_hoisted(ring, &hoisted, image, scratch);
                lowered(image, scratch)
            };
            let buffers = || (Scratch::new(ring), Ciphertext::unfilled(ring, ModulusLevel::Full, 1));
            all.push(lowered(start, &mut Scratch::new(ring)));
            all.extend(first.par_iter().map_init(buffers, one).collect::<Vec<_>>());
        }
        all
    }

    /// A block's product with the vector, times X^-p: its inner sums, each rotated by its giant
    /// step.
    fn folded(&self, query: &ExpandedQuery, sums: &[u64], block: usize, scratch: &mut Scratch) -> Ciphertext {
        let (ring, giants) = (self.ring, self.grid.giants());
        let buffers = |_| Ciphertext::unfilled(ring, ModulusLevel::Main, 1);
        let cols = block * giants..(block + 1) * giants;
        let mut ciphers: Vec<Ciphertext> = cols.clone().map(buffers).collect();
        let mut out: Vec<&mut [u64]> = ciphers.iter_mut().flat_map(Ciphertext::components_mut).collect();
        gather(&self.words, &self.layout, COMPS, sums, cols, &mut out);
        let mut ciphers = ciphers.into_iter();
        let mut sum = ciphers.next().unwrap_or_else(|| Ciphertext::zero(ring, ModulusLevel::Main, 1));
        let mut turned = buffers(0);
        for (key, c) in query.session.giants.iter().zip(ciphers) {
            key.apply(ring, &c, &mut turned, scratch);
            sum.add(ring, &turned);
        }
        query.power.external_product(ring, &sum, &mut turned, scratch);
        turned
    }
}
