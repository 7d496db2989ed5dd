//! The server: one pass over the matrix, and one over the weights, for a few queries at once; then each group of each is
//! evaluated at the root that its client encrypted.

use crate::Inspire;
use crate::columns::{Columns, read_record};
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::selector::{MASKS, ROWS, gadgets};
use rayon::prelude::*;
use sotto_core::server::together;
use sotto_core::{
    Image, ImageSection, Misuse, Params as _, PeerMisbehaved, RecordSource, Result, Section, SectionRecords,
    Sink,
};
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::encrypt::restore;
use sotto_lattice::rgsw::RgswCiphertext;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::scratch::Scratch;
use sotto_math::gadget::Gadget;
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_planes};
use sotto_silent::matrix::{Matrix, write_matrix};
use sotto_silent::packed_groups::{MaskLayout, PackedGroups, PackingKeys, write_packed};
use std::sync::Arc;

/// Queries in one pass: their words have five or six planes, and twenty planes saturate the
/// multipliers.
const BATCH: usize = 4;

/// An open table, or some groups of one.
pub struct Server {
    pub(crate) params: Params,
    matrix: Matrix,
    packed: PackedGroups,
    gadgets: [Gadget; 2],
    /// Masks of a selector's rows, the same for everyone.
    masks: Vec<Vec<u64>>,
}

/// A query in the form that the steps take.
struct ExpandedQuery {
    planes: QueryPlanes,
    keys: PackingKeys,
    selector: RgswCiphertext,
}

impl sotto_core::Server<Inspire> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let packed = packed(params)?;
        let layout = params.layout();
        out.reserve(Section::Resident, layout.bytes() as u64 + packed.bytes())?;
        write_matrix(layout, Section::Resident, &Columns::new(params, rows)?, out)?;
        let groups = packed.together(0..params.packed());
        write_packed(layout, Section::Resident, &packed, groups, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        Server::open_some(params, params.layout(), packed(params)?, image)
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        let packed = packed(params)?;
        let (layout, t) = (params.layout(), params.places());
        let bytes = layout.bytes() as u64 + packed.bytes();
        let held = ImageSection::open(image, Section::Resident, "matrix", bytes)?;
        let literal = params.literal();
        let (records, record_bytes) = (literal.records, literal.record_bytes as usize);
        let read = move |matrix: &[u8], record: u64, offset: usize, out: &mut [u8]| {
            read_record(&layout, t, matrix, record, offset, out)
        };
        Ok(Box::new(SectionRecords { held, records, record_bytes, read }))
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// The paper's Respond: multiply the matrix by the words of a few queries in one pass; pack the
    /// products, in one pass over the weights, with the keys of each query; and evaluate the
    /// resulting polynomials.
    fn answer_many(&self, queries: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        let prepared = queries.iter().map(|(_, query)| self.prepare(query)).collect();
        together(prepared, |queries: Vec<ExpandedQuery>| {
            queries.chunks(BATCH).flat_map(|some| self.answers(some)).collect()
        })
    }
}

impl Server {
    /// Opens the rows of a matrix of this layout, and their packing.
    pub(crate) fn open_some(
        params: &Params,
        layout: PanelLayout,
        packed: PackedGroups,
        image: Arc<dyn Image>,
    ) -> Result<Self> {
        let matrix = Matrix::open(layout, packed.bytes(), Section::Resident, image)?;
        let masks = (0..ROWS as u64).map(|row| MASKS.mask(packed.ring(), ModulusLevel::Main, row)).collect();
        Ok(Server { params: params.clone(), matrix, packed, gadgets: gadgets()?, masks })
    }

    fn prepare(&self, query: &Query) -> Result<ExpandedQuery> {
        let planes = QueryPlanes::from_u64(&query.words, self.params.planes(), self.matrix.layout());
        let bad = || PeerMisbehaved::NotCanonical("query");
        let keys = self.packed.keys(&query.keys).ok_or_else(bad)?;
        Ok(ExpandedQuery { planes, keys, selector: self.selector(query).ok_or_else(bad)? })
    }

    /// A query's selector under the public masks; `None` if it is malformed.
    fn selector(&self, query: &Query) -> Option<RgswCiphertext> {
        let ring = self.packed.ring();
        let widths = query.selector.iter().zip(self.params.selector_bits());
        let bodies = widths.flat_map(|(rows, bits)| rows.iter().map(move |row| (row, bits)));
        let row = |(mask, (body, bits)): (&Vec<u64>, (&Vec<u128>, u32))| {
            let body = restore(ring, ModulusLevel::Main, body, bits)?;
            Some(Ciphertext::new(ring, ModulusLevel::Main, mask, std::iter::once(body.as_slice())))
        };
        let rows: Option<Vec<Ciphertext>> = self.masks.iter().zip(bodies).map(row).collect();
        let [mask, body] = &self.gadgets;
        RgswCiphertext::from_rows([mask, body], rows?)
    }

    fn answers(&self, queries: &[ExpandedQuery]) -> Vec<Result<Answer>> {
        let planes: Vec<QueryPlanes> = queries.iter().map(|query| query.planes.clone()).collect();
        let keys: Vec<&PackingKeys> = queries.iter().map(|query| &query.keys).collect();
        let sums = self.matrix.times(&planes, self.params.planes(), scan_planes);
        let products = |sums: &Vec<i64>| self.packed.products(sums, self.params.planes());
        let products: Vec<Vec<u64>> = sums.iter().map(products).collect();
        let (_, weights) = self.matrix.parts();
        let ciphers = self.packed.ciphers(weights, &keys, &products);
        let of_query = |(query, ciphers): (&ExpandedQuery, Vec<Ciphertext>)| {
            let groups = ciphers.par_chunks_exact(self.params.places());
            let ring = self.packed.ring();
            let evaluated = groups.map_init(
                || Scratch::new(ring),
                |scratch, coefficients| self.evaluated(&query.selector, coefficients, scratch),
            );
            Ok(Answer(
                evaluated
                    .collect::<Option<_>>()
                    .ok_or(Misuse::Rule("a polynomial must have coefficients"))?,
            ))
        };
        queries.iter().zip(ciphers).map(of_query).collect()
    }

    /// Horner's rule: the polynomial with these coefficients at the encrypted root, in the bits
    /// that are sent.
    fn evaluated(
        &self,
        root: &RgswCiphertext,
        coefficients: &[Ciphertext],
        scratch: &mut Scratch,
    ) -> Option<[Vec<u64>; 2]> {
        let (ring, bits) = (self.packed.ring(), self.params.bits());
        let (last, others) = coefficients.split_last()?;
        let (mut sum, mut product) = (last.clone(), Ciphertext::unfilled(ring, ModulusLevel::Main, 1));
        for coefficient in others.iter().rev() {
            root.external_product(ring, &sum, &mut product, scratch);
            product.add(ring, coefficient);
            std::mem::swap(&mut sum, &mut product);
        }
        let mut sent = |component, bits| {
            let polynomial = sum.comp_mut(component);
            ring.inverse(ModulusLevel::Main, polynomial);
            self.packed.rounded(polynomial, bits)
        };
        Some([sent(0, bits.mask), sent(1, bits.body)])
    }
}

/// The layout of the weights, and their packing.
pub(crate) fn packed(params: &Params) -> Result<PackedGroups> {
    PackedGroups::new(params.literal().packing(), params.bits(), MaskLayout::Whole)
}
