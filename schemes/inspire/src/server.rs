//! The server: one pass over the matrix, and one over the weights, for a few queries at once; then each
//! group of each is evaluated at the root that its client encrypted. A part has some groups of a
//! record's numbers, each with the rows of the matrix and the weights of its polynomials.

use crate::Inspire;
use crate::columns::{Columns, POLYNOMIAL_BYTES, groups, put, put_change, read_record, take};
use crate::literal::GROUP_BYTES;
use crate::selector::{MASKS, ROWS, gadgets};
use rayon::prelude::*;
use sotto_core::{
    PartIndex, PeerMisbehaved, RecordChange, RecordSource, Result, Section, SectionRecords, Sink,
};
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::encrypt::restore;
use sotto_lattice::rgsw::RgswCiphertext;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::scratch::Scratch;
use sotto_math::gadget::Gadget;
use sotto_math::matrix::PANEL_ROWS;
use sotto_silent::groups::MaskLayout;
use sotto_silent::lattice::N;
use sotto_silent::matrix::{StackedColumns, change_column, write_matrix};
use sotto_silent::message::{Format, Partial, PartialFormat, Query};
use sotto_silent::packed_groups::{PackedGroups, rounded, write_packed};
use sotto_silent::packed_matrix::{BATCH, GroupRange, PackedMatrix, PackedQuery};
use sotto_silent::pieces::{PartSection, Piece};
use sotto_silent::unit_vector::{KEY_BODIES, MessageBits};
use sotto_silent::{MatrixServer, Params};

/// An open table, or some groups of one.
pub struct Server {
    matrix: PackedMatrix,
    gadgets: [Gadget; 2],
    /// Masks of a selector's rows, the same for everyone.
    masks: Vec<Vec<u64>>,
}

/// A query in the form that the steps take.
pub struct ExpandedQuery {
    packed: PackedQuery,
    selector: RgswCiphertext,
}

/// Writes the weights of some groups of the matrix.
fn write_weights(
    params: &Params<Inspire>,
    groups: impl Iterator<Item = usize>,
    out: &dyn Sink,
) -> Result<()> {
    let packed = PackedGroups::new(params.packing(), params.bits(), MaskLayout::Whole)?;
    write_packed(0, params.layout(), Section::Resident, &packed, packed.together(groups), out)
}

/// The polynomials of a part's groups.
fn share(params: &Params<Inspire>, cut: PartIndex) -> GroupRange {
    GroupRange::share(&params.layout(), &params.packing(), (cut, params.places as usize), MaskLayout::Whole)
}

impl MatrixServer<Inspire> for Server {
    const BATCH: usize = BATCH;
    type Expanded = ExpandedQuery;
    type Joiner = ();

    fn pieces(params: &Params<Inspire>, cut: PartIndex) -> Vec<Piece> {
        share(params, cut).pieces
    }

    fn write(params: &Params<Inspire>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let (stacked, height) = (params.places, params.record_bytes as usize);
        let columns = Columns { params, rows: StackedColumns { rows, stacked, height } };
        write_matrix(params.layout(), Section::Resident, &columns, out)?;
        write_weights(params, 0..params.packing().count(), out)
    }

    /// A changed number is in all t polynomials of its group, so these change, and the weights of all t
    /// groups. Queries do not depend on the table, so nothing changes for clients.
    fn update_image(params: &Params<Inspire>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let (layout, t) = (params.layout(), params.places as usize);
        let column = |change: &RecordChange| change.record as usize / t;
        let mut changes: Vec<&RecordChange> = changes.iter().collect();
        // The sort is stable: of two changes to one byte, the later one is written later.
        changes.sort_by_key(|change| column(change));
        let (mut touched, mut scratch) = (Vec::new(), Vec::new());
        for changes in changes.chunk_by(|a, b| column(a) == column(b)) {
            let Some(column) = changes.first().map(|change| column(change)) else { continue };
            for group in groups(changes) {
                let panels = t * POLYNOMIAL_BYTES / PANEL_ROWS;
                let panels = group * panels..(group + 1) * panels;
                let edit = |bytes: &mut [u8]| {
                    let mut polynomials = take(bytes, &mut scratch);
                    for change in changes {
                        let numbers = polynomials.chunks_exact_mut(N).nth(change.record as usize % t);
                        put_change(numbers.unwrap_or_default(), group as u64 * GROUP_BYTES, change);
                    }
                    put(&mut polynomials, &mut scratch, bytes);
                };
                let changed = change_column(&layout, Section::Resident, column, panels, edit, out)?;
                touched.extend(changed.then_some(group * t..(group + 1) * t).into_iter().flatten());
            }
        }
        write_weights(params, touched.into_iter(), out)
    }

    fn records(params: &Params<Inspire>, held: PartSection) -> Box<dyn RecordSource> {
        let (layout, t) = (params.layout(), params.places as usize);
        let read = move |section: &[u8], record: u64, offset: usize, out: &mut [u8]| {
            read_record(&layout, t, section, record, offset, out)
        };
        let (records, record_bytes) = (params.records, params.record_bytes as usize);
        Box::new(SectionRecords { held: held.section(), records, record_bytes, read })
    }

    fn max_parts(params: &Params<Inspire>) -> u32 {
        params.groups() as u32
    }

    fn partial(params: &Params<Inspire>, cut: PartIndex) -> PartialFormat {
        let groups = share(params, cut).groups.len() as u64 / params.places;
        let ciphers = Format::default().and_packed(groups, N as u64, params.bits());
        PartialFormat { ciphers, ..PartialFormat::default() }
    }

    fn open(params: &Params<Inspire>, cut: PartIndex, held: PartSection) -> Result<Self> {
        let bits = (params.bits(), MaskLayout::Whole);
        let matrix = PackedMatrix::new(&share(params, cut), bits, held, 0)?;
        let ring = matrix.packed().ring();
        let masks = (0..ROWS as u64).map(|row| MASKS.mask(ring, ModulusLevel::Main, row)).collect();
        Ok(Server { matrix, gadgets: gadgets()?, masks })
    }

    fn joiner(_: &Params<Inspire>) -> Result<()> {
        Ok(())
    }

    fn expand(&self, params: &Params<Inspire>, (): &(), Query(fields): &Query) -> Result<ExpandedQuery> {
        let bad = || PeerMisbehaved::NotCanonical("query");
        let (words, bodies) = fields.split_first().ok_or_else(bad)?;
        let (keys, selector) = bodies.split_at_checked(KEY_BODIES).ok_or_else(bad)?;
        let packed = self.matrix.expand(words, keys)?;
        Ok(ExpandedQuery { packed, selector: self.selector(params, selector).ok_or_else(bad)? })
    }

    /// The paper's Respond: multiply the matrix by the words of a few queries in one pass; pack the
    /// products, in one pass over the weights, with the keys of each query; and evaluate the resulting
    /// polynomials.
    fn pass(&self, params: &Params<Inspire>, queries: &[ExpandedQuery]) -> Vec<Partial> {
        let ciphers = self.matrix.ciphers(&queries.iter().map(|query| &query.packed).collect::<Vec<_>>());
        let ring = self.matrix.packed().ring();
        let of_query = |(query, ciphers): (&ExpandedQuery, Vec<Ciphertext>)| {
            let evaluated = ciphers.par_chunks_exact(params.places as usize).map_init(
                || Scratch::new(ring),
                |scratch, group| self.evaluated(params.bits(), &query.selector, group, scratch),
            );
            let ciphers: Vec<[Vec<u64>; 2]> = evaluated.collect();
            Partial { ciphers: ciphers.into_iter().flatten().collect(), ..Partial::default() }
        };
        queries.iter().zip(ciphers).map(of_query).collect()
    }
}

impl Server {
    /// A query's selector under the public masks; `None` if it is malformed.
    fn selector(&self, params: &Params<Inspire>, bodies: &[Vec<u64>]) -> Option<RgswCiphertext> {
        let (ring, [masks, last]) = (self.matrix.packed().ring(), params.selector_bits());
        let row = |(i, (mask, body)): (usize, (&Vec<u64>, &Vec<u64>))| {
            let body: Vec<u128> = body.iter().map(|word| u128::from(*word)).collect();
            let bits = if i < self.gadgets[0].digits() as usize { masks } else { last };
            let body = restore(ring, ModulusLevel::Main, &body, bits)?;
            Some(Ciphertext::new(ring, ModulusLevel::Main, mask, std::iter::once(body.as_slice())))
        };
        let rows: Option<Vec<Ciphertext>> = self.masks.iter().zip(bodies).enumerate().map(row).collect();
        let [mask, body] = &self.gadgets;
        RgswCiphertext::from_rows([mask, body], rows?)
    }

    /// Horner's rule: the polynomial with these coefficients at the encrypted root, in the bits that
    /// are sent.
    fn evaluated(
        &self,
        bits: MessageBits,
        root: &RgswCiphertext,
        coefficients: &[Ciphertext],
        scratch: &mut Scratch,
    ) -> [Vec<u64>; 2] {
        let ring = self.matrix.packed().ring();
        let unfilled = || Ciphertext::unfilled(ring, ModulusLevel::Main, 1);
        let mut coefficients = coefficients.iter().rev();
        let (mut sum, mut product) = (coefficients.next().cloned().unwrap_or_else(unfilled), unfilled());
        for coefficient in coefficients {
            root.external_product(ring, &sum, &mut product, scratch);
            product.add(ring, coefficient);
            std::mem::swap(&mut sum, &mut product);
        }
        let mut sent = |component, bits| {
            let polynomial = sum.comp_mut(component);
            ring.inverse(ModulusLevel::Main, polynomial);
            rounded(ring, polynomial, bits)
        };
        [sent(0, bits.mask), sent(1, bits.body)]
    }
}
