//! Tables in parts: a part has some blocks, and its partial answer is the result of each, modulo q;
//! the coordinator packs them. The copies of the records after the table, from which nothing is
//! answered, are divided among the parts too.
//!
//! Every part computes the baby steps by itself.

use crate::KsPir;
use crate::encode;
use crate::grid::Grid;
use crate::message::{Answer, Keys, Query};
use crate::params::Params;
use crate::server::{Server, packed};
use crate::session::Session;
use sotto_core::{Image, Misuse, PartIndex, PartScheme, PeerMisbehaved, Result};
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::ring::ModulusLevel;
use sotto_math::tiles::TileLayout;
use std::ops::Range;
use std::sync::Arc;

/// Number of blocks that are not divided: their plaintexts are whole groups of columns.
fn together(grid: &Grid) -> usize {
    TileLayout::GROUP_COLS.div_ceil(grid.giants())
}

/// Number of blocks of all pages.
fn all(grid: &Grid) -> usize {
    grid.pages * grid.blocks
}

/// The blocks of a part.
fn blocks_of(grid: &Grid, cut: PartIndex) -> Range<usize> {
    let share = cut.share(all(grid).div_ceil(together(grid)) as u64);
    let place = |units: u64| (units as usize * together(grid)).min(all(grid));
    place(share.start)..place(share.end)
}

/// Bytes of a block's ciphertext.
fn block_bytes(params: &Params) -> usize {
    Ciphertext::sent_bytes(&params.ring, ModulusLevel::Main, 1)
}

/// The byte range of a part's records after the table.
fn records_of(params: &Params, cut: PartIndex) -> Range<u64> {
    cut.share(params.image_bytes() - params.grid.table_bytes())
}

impl PartScheme for KsPir {
    type Part = Server;
    type Joiner = ();

    fn max_parts(params: &Params) -> u32 {
        u32::try_from(all(&params.grid).div_ceil(together(&params.grid))).unwrap_or(u32::MAX)
    }

    fn part_ranges(params: &Params, cut: PartIndex) -> Vec<Range<u64>> {
        let (grid, records) = (&params.grid, records_of(params, cut));
        let blocks = blocks_of(grid, cut);
        let columns = blocks.start * grid.giants()..blocks.end * grid.giants();
        let behind = grid.table_bytes() + records.start..grid.table_bytes() + records.end;
        let table = grid.layout().map(|layout| layout.columns(columns).collect::<Vec<_>>());
        table.into_iter().flatten().chain([behind]).collect()
    }

    fn open_part(params: &Params, cut: PartIndex, image: Arc<dyn Image>) -> Result<Server> {
        let (grid, records) = (&params.grid, records_of(params, cut));
        let columns = blocks_of(grid, cut).len() * grid.giants();
        let whole = encode::layout(grid)?;
        let layout = TileLayout::new(whole.packing(), whole.n(), whole.rows(), columns);
        let layout = layout.ok_or(Misuse::Rule("a part must have at least one block"))?;
        Server::open_some(params, layout, records.end - records.start, image)
    }

    fn partial_bytes(params: &Params, cut: PartIndex) -> usize {
        blocks_of(&params.grid, cut).len() * block_bytes(params)
    }

    fn admit(params: &Params, keys: Keys) -> Result<Session> {
        Session::admit(params, &keys)
    }

    fn answer_part(part: &Server, queries: Vec<(&Session, Query)>) -> Vec<Result<Vec<u8>>> {
        let written = |blocks: Vec<Ciphertext>| {
            let mut out = Vec::with_capacity(blocks.len() * block_bytes(&part.params));
            blocks.iter().for_each(|block| block.put(&mut out));
            out
        };
        part.blocks(&queries).into_iter().map(|blocks| blocks.map(written)).collect()
    }

    fn prepare_join(_: &Params) -> Result<()> {
        Ok(())
    }

    fn join(
        (params, ()): (&Params, &()),
        (session, _): (&Session, Query),
        partials: &[Vec<u8>],
    ) -> Result<Answer> {
        if !session.fits(&params.grid) {
            return Err(Misuse::ForeignValue("session").into());
        }
        let bytes = partials.iter().flat_map(|partial| partial.chunks(block_bytes(params)));
        let blocks: Option<Vec<Ciphertext>> =
            bytes.map(|bytes| Ciphertext::take(&params.ring, 1, bytes)).collect();
        Ok(packed(params, session, blocks.ok_or(PeerMisbehaved::NotCanonical("partial"))?))
    }
}
