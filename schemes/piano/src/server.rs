//! The server: one row of each partition, added up.
//!
//! An image has a single section, the rows by their places ([`places`](crate::places)). Clients stream it once, and the
//! server reads its rows from the same bytes.

use crate::Piano;
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::places::Places;
use crate::prf::Place;
use sotto_core::{Artifact, Image, Misuse, PeerMisbehaved, Result, Rows, Section, Sink};
use sotto_math::gather::{self, Picks, gather};
use std::sync::Arc;

/// Where the rows lie in an image.
pub(crate) const ROWS: Section = Section::Public(Artifact::Rows);

/// Bytes of rows that are read at once while encoding.
const CHUNK: usize = 1 << 20;

/// An open table.
pub struct Server {
    params: Params,
    image: Arc<dyn Image>,
    /// All partitions are of the half 0.
    halves: Vec<u8>,
}

impl sotto_core::Server<Piano> for Server {
    type Session = ();

    /// Writes row by row, since neighbours lie far apart.
    fn encode(params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        let row_bytes = params.row_bytes();
        if rows.records() != params.rows() || rows.record_bytes() != row_bytes {
            return Err(Misuse::Rule("the table does not have the shape that its parameters say").into());
        }
        out.reserve(ROWS, params.table_bytes())?;
        let order = Places::new(params);
        let at_once = (CHUNK / row_bytes).max(1);
        let mut chunk = vec![0; at_once * row_bytes];
        let mut places = vec![Place { partition: 0, offset: 0 }; at_once];
        let mut first = 0;
        while first < params.rows() {
            let count = (params.rows() - first).min(at_once as u64);
            chunk.truncate(count as usize * row_bytes);
            places.truncate(count as usize);
            rows.read(first, &mut chunk)?;
            order.run(first, &mut places);
            for (place, row) in places.iter().zip(chunk.chunks_exact(row_bytes)) {
                out.write_at(ROWS, index(params, *place) * row_bytes as u64, row)?;
            }
            first += count;
            out.progress("rows", first, params.rows());
        }
        Ok(())
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let got = image.section(ROWS).map_or(0, <[u8]>::len) as u64;
        let want = params.table_bytes();
        if got != want {
            return Err(PeerMisbehaved::Length { what: "rows", got, want }.into());
        }
        Ok(Server { params: params.clone(), image, halves: vec![0; params.partitions().div_ceil(8)] })
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer(&self, (): &(), query: Query) -> Result<Answer> {
        let row_bytes = self.params.row_bytes();
        let lost = || PeerMisbehaved::Malformed { what: "image", why: "the rows are gone".into() };
        let bytes = self.image.section(ROWS).ok_or_else(lost)?;
        let rows = gather::Rows { bytes, row_bytes, partition_rows: self.params.partition_rows() };
        let (mut parity, mut nothing) = (vec![0; row_bytes], vec![0; row_bytes]);
        gather(rows, Picks { offsets: &query.offsets, halves: &self.halves }, [&mut parity, &mut nothing]);
        Ok(Answer(parity))
    }
}

/// Number of a place, partition after partition.
pub(crate) fn index(params: &Params, place: Place) -> u64 {
    u64::from(place.partition) * params.partition_rows() as u64 + u64::from(place.offset)
}
