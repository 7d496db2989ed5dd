//! The server: one row of each partition, added up by halves.
//!
//! An image has a single section, the rows one after the other. Clients stream it once, and the server reads its
//! rows from the same bytes.

use crate::S3pir;
use crate::message::{Answer, Query};
use crate::params::Params;
use sotto_core::{Artifact, Image, Misuse, PeerMisbehaved, Result, Rows, Section, Sink};
use sotto_math::gather::{self, Picks, gather};
use std::sync::Arc;

/// Where the rows lie in an image, if clients stream them.
pub(crate) const ROWS: Section = Section::Public(Artifact::Rows);

/// Bytes of rows that are copied at once while encoding.
const CHUNK: usize = 1 << 20;

/// An open table.
pub struct Server {
    params: Params,
    image: Arc<dyn Image>,
    /// Where the rows lie.
    section: Section,
}

impl sotto_core::Server<S3pir> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        encode(ROWS, params, rows, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        Server::open_at(ROWS, params, image)
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer(&self, (): &(), query: Query) -> Result<Answer> {
        self.gather(query)
    }
}

/// Copies all rows into a section.
pub(crate) fn encode(section: Section, params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
    let row_bytes = params.row_bytes();
    if rows.records() != params.rows() || rows.record_bytes() != row_bytes {
        return Err(Misuse::Rule("the table does not have the shape that its parameters say").into());
    }
    out.reserve(section, params.table_bytes())?;
    let at_once = (CHUNK / row_bytes).max(1);
    let mut chunk = vec![0; at_once * row_bytes];
    let mut first = 0;
    while first < params.rows() {
        let count = (params.rows() - first).min(at_once as u64);
        chunk.truncate(count as usize * row_bytes);
        rows.read(first, &mut chunk)?;
        out.write_at(section, first * row_bytes as u64, &chunk)?;
        first += count;
        out.progress("rows", first, params.rows());
    }
    Ok(())
}

impl Server {
    /// Opens an image whose rows lie in `section`.
    pub(crate) fn open_at(section: Section, params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let got = image.section(section).map_or(0, <[u8]>::len) as u64;
        let want = params.table_bytes();
        if got != want {
            return Err(PeerMisbehaved::Length { what: "rows", got, want }.into());
        }
        Ok(Server { params: params.clone(), image, section })
    }

    /// The table.
    pub(crate) fn rows(&self) -> Result<&[u8]> {
        let lost = || PeerMisbehaved::Malformed { what: "image", why: "the rows are gone".into() };
        Ok(self.image.section(self.section).ok_or_else(lost)?)
    }

    /// Both parities of a query.
    pub(crate) fn gather(&self, query: Query) -> Result<Answer> {
        let row_bytes = self.params.row_bytes();
        let rows =
            gather::Rows { bytes: self.rows()?, row_bytes, partition_rows: self.params.partition_rows() };
        let offsets = query.offsets(&self.params);
        let mut parities = vec![0; 2 * row_bytes];
        let (zero, one) = parities.split_at_mut(row_bytes);
        gather(rows, Picks { offsets: &offsets, halves: &query.ones }, [zero, one]);
        Ok(Answer(parities))
    }
}
