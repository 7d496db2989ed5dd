//! One answer, step by step and in either order of products, with a callback after each step.
//!
//! The paper's order is for each row the raw product `u[a] v[b]`, of three parts, times the row
//! (Algorithm 3, with delayed unfolding). It takes seven products of polynomials where the
//! distributed order takes two, and exists for comparison: messages, image and levels are the same.
//! As there, products are summed before they are reduced, and no step allocates; rows are read
//! once, one polynomial at a time.

use super::image::{Coefficients, PlaintextTable, stored};
use super::{Server, Session, answer, prepare, with_keys};
use crate::layout::ProductOrder;
use crate::message::{Answer, Query};
use rayon::prelude::*;
use sotto_core::Result;
use sotto_lattice::bgv::{Ciphertext, CoefficientFormat, RnsRing, SlotRing};
use sotto_lattice::threads::items_per_thread;
use sotto_math::ntt::NttPlan;
use std::ops::Range;

/// The query rotated to every leaf.
const ROTATIONS: &str = "rotations";
/// Products of leaves for u and v, with relinearization, and lowering both to the primes of the
/// table.
const UNFOLDING: &str = "unfolding";
/// The products from u, v and the table to the sum of three parts.
const PRODUCTS: &str = "inner product";
/// Relinearization of the sum, dropping primes, and rounding.
const LAST: &str = "last step";

impl Server {
    /// Answers one query in the given order, and calls `done` with the name of each step after it.
    ///
    /// # Errors
    /// The errors of [`sotto_core::Server::answer`].
    pub fn answer_in(
        &self,
        order: ProductOrder,
        session: &Session,
        query: &Query,
        done: &mut dyn FnMut(&'static str),
    ) -> Result<Answer> {
        let (table, params) = (&self.table, self.table.params());
        with_keys!(params, session, (rns, keys) => {
            let leaves = prepare::leaves(table, rns, keys, query)?;
            done(ROTATIONS);
            let [u, v] = prepare::sides(params, rns, keys, leaves);
            done(UNFOLDING);
            let products = match order {
                ProductOrder::Paper => paper_products(table, rns, &u, &v),
                ProductOrder::Distributed => {
                    let query = prepare::ExpandedQuery::new(table, [u, v]);
                    let sums = answer::first_dimension(table, &[&query]);
                    sums.iter().flat_map(|sums| answer::products(table, rns, &query, sums)).collect()
                }
            };
            done(PRODUCTS);
            let answer = answer::finish(params, rns, keys, products);
            done(LAST);
            Ok(answer)
        })
    }
}

/// Rows of a column that are multiplied together: their lines share pages, and their products with
/// the selectors are reduced once.
const TOGETHER: usize = 8;

/// `r = sum over a, b of (u[a] v[b]) X[a, b]` for each layer, of three parts. Threads of the current pool take columns.
fn paper_products<R: SlotRing>(
    table: &PlaintextTable,
    rns: &RnsRing<R>,
    u: &[Ciphertext],
    v: &[Ciphertext],
) -> Vec<Ciphertext> {
    let literal = &table.params().literal;
    let level = rns.level(literal.scan_primes.into()).unwrap_or(rns.top());
    let layers = literal.layers as usize;
    let sources: Vec<Source> =
        (0..literal.scan_primes.into()).map(|prime| Source::of(table, prime)).collect();
    let zero = || ThreadScratch::new(vec![Ciphertext::zero(rns, level, 3); layers], rns.ring().words());
    let some = |mut scratch: ThreadScratch, (a, u): (usize, &Ciphertext)| {
        for ((limb, plan), source) in rns.plans(level).enumerate().zip(&sources) {
            for (i, v) in v.chunks(TOGETHER).enumerate() {
                scratch.multiply(plan, limb, u, v);
                let rows = i * TOGETHER..i * TOGETHER + v.len();
                (0..layers).for_each(|layer| {
                    let col = layer * table.params().columns() + a;
                    match source {
                        Source::Values(bytes) => gather(table, bytes, rows.clone(), col, &mut scratch.rows),
                        Source::Coefficients(all, stored) => {
                            for (row, out) in rows.clone().zip(&mut scratch.rows) {
                                stored.residues(all.row(row, col), &[plan.modulus().value()], &mut [out]);
                                rns.ring().forward(limb, out);
                            }
                        }
                    }
                    scratch.add(plan, limb, layer, v.len());
                });
            }
        }
        scratch
    };
    let add = |mut a: ThreadScratch, b: ThreadScratch| {
        a.sums.iter_mut().zip(&b.sums).for_each(|(a, b)| a.add(rns, b));
        a
    };
    // One part for each thread, with sums of its own.
    let each = items_per_thread(u.len());
    let mut sums = u.par_iter().enumerate().with_min_len(each).fold(zero, some).reduce(zero, add).sums;
    // The factor t of BGV's product, once for the whole sum.
    for sum in &mut sums {
        (0..sum.parts()).for_each(|part| rns.mul_plain_modulus(level, sum.part_mut(part)));
    }
    sums
}

/// The table of the image, modulo one prime.
enum Source<'a> {
    Values(&'a [u8]),
    Coefficients(Coefficients<'a>, CoefficientFormat),
}

impl<'a> Source<'a> {
    fn of(table: &'a PlaintextTable, prime: usize) -> Self {
        match table.coefficients() {
            Some(coefficients) => Source::Coefficients(coefficients, stored(table.params())),
            None => Source::Values(table.limb(prime)),
        }
    }
}

/// A few rows of one column, as values modulo one prime.
fn gather(table: &PlaintextTable, bytes: &[u8], rows: Range<usize>, col: usize, out: &mut [Vec<u64>]) {
    let layout = table.shape.layout();
    for block in 0..layout.blocks() {
        for (row, out) in rows.clone().zip(&mut *out) {
            let at = |offset: u64, line: &mut [u8]| {
                let bytes = bytes.get(offset as usize..).and_then(|bytes| bytes.get(..line.len()));
                bytes.map(|bytes| line.copy_from_slice(bytes)).ok_or(())
            };
            let words = layout.read(block, (row, col), at);
            if let (Ok(words), Some(to)) = (words, out.as_chunks_mut::<8>().0.get_mut(block)) {
                *to = words;
            }
        }
    }
}

/// The working memory of a thread.
struct ThreadScratch {
    /// Sums, one for each layer.
    sums: Vec<Ciphertext>,
    /// The three parts of a few products modulo one prime, part after part.
    products: [Vec<Vec<u64>>; 3],
    /// Rows modulo the same prime.
    rows: Vec<Vec<u64>>,
}

impl ThreadScratch {
    fn new(sums: Vec<Ciphertext>, words: usize) -> Self {
        let some = || vec![vec![0; words]; TOGETHER];
        ThreadScratch { sums, products: [some(), some(), some()], rows: some() }
    }

    /// The raw products of an entry of u and a few of v.
    fn multiply(&mut self, plan: &NttPlan, limb: usize, u: &Ciphertext, v: &[Ciphertext]) {
        let [u0, u1] = [0, 1].map(|part| u.limb(part, limb));
        let [first, second, third] = &mut self.products;
        for (((v, first), second), third) in v.iter().zip(first).zip(second).zip(third) {
            let [v0, v1] = [0, 1].map(|part| v.limb(part, limb));
            plan.sum_of_products(&[u0], &[v0], first);
            plan.sum_of_products(&[u0, u1], &[v1, v0], second);
            plan.sum_of_products(&[u1], &[v1], third);
        }
    }

    /// Adds the products, each times its row, to the sum of a layer.
    fn add(&mut self, plan: &NttPlan, limb: usize, layer: usize, count: usize) {
        let Some(sum) = self.sums.get_mut(layer) else { return };
        let mut rows = [&[][..]; TOGETHER];
        rows.iter_mut().zip(&self.rows).for_each(|(to, row)| *to = row);
        for (part, products) in self.products.iter().enumerate() {
            let mut factors = [&[][..]; TOGETHER];
            factors.iter_mut().zip(products).for_each(|(to, product)| *to = product);
            plan.add_sum_of_products(&factors[..count], &rows[..count], sum.limb_mut(part, limb));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BgvPir;
    use crate::client::{Client, Prepare};
    use crate::literal::{NO_TABLES_MASK, ParamsLiteral, RowFormat};
    use crate::params::Params;
    use rand_core::Rng;
    use sotto_core::{OneServer, Params as _, RecordChange, RecordIndex, Server as _, UpdateImage};
    use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
    use sotto_testkit::rng::seeded;
    use std::sync::Arc;

    /// A table of random records, its server, and a client that it admitted.
    struct Setting {
        params: Params,
        server: Server,
        session: Session,
        client: Client,
        records: Vec<u8>,
        image: MemoryImage,
    }

    impl Setting {
        fn new(literal: ParamsLiteral) -> Self {
            let params = Params::check(literal).unwrap();
            let mut rng = seeded("steps");
            let mut records = vec![0; params.literal.records as usize * params.record_bytes()];
            rng.fill_bytes(&mut records);
            let sink = MemorySink::new();
            Server::encode(&params, &MemoryRows::new(params.record_bytes(), records.clone()), &sink).unwrap();
            let image = sink.into_image();
            let server = Server::open(&params, Arc::new(image.clone())).unwrap();
            let prepare: Prepare = sotto_core::Prepare::<BgvPir>::begin(&params, &mut rng).unwrap();
            let client = sotto_core::Prepare::<BgvPir>::finish(prepare).unwrap();
            let session = server.admit(sotto_core::Client::<BgvPir>::keys(&client)).unwrap();
            Setting { params, server, session, client, records, image }
        }

        /// Moves the table to the next epoch, with other bytes in one record.
        fn change(&mut self, record: u64, offset: u64, bytes: &[u8]) {
            let at = record as usize * self.params.record_bytes() + offset as usize;
            self.records[at..at + bytes.len()].copy_from_slice(bytes);
            let change = RecordChange { record, offset, bytes: bytes.to_vec() };
            let sink = MemorySink::holding(self.image.clone());
            <BgvPir as UpdateImage>::update_image(&self.params, &[change], &sink).unwrap();
            self.image = sink.into_image();
            self.server = Server::open(&self.params, Arc::new(self.image.clone())).unwrap();
        }

        /// The answer about one record in an order, which is checked, and the names of the reported
        /// steps.
        fn answer(&mut self, index: u64, order: ProductOrder) -> (Answer, Vec<&'static str>) {
            // The query is the same each time.
            let mut rng = seeded("a query");
            let (OneServer(query), pending) =
                sotto_core::Client::<BgvPir>::query(&mut self.client, RecordIndex(index), &mut rng).unwrap();
            let mut steps = Vec::new();
            let answer =
                self.server.answer_in(order, &self.session, &query, &mut |step| steps.push(step)).unwrap();
            let record =
                sotto_core::Client::<BgvPir>::recover(&mut self.client, pending, OneServer(answer.clone()))
                    .unwrap();
            let bytes = self.params.record_bytes();
            assert_eq!(record.bytes(), &self.records[index as usize * bytes..][..bytes], "record {index}");
            (answer, steps)
        }
    }

    /// Two columns more than a group of the tiles, rows that fill no tile, leaves that are products, and two layers.
    fn literal(ring: &str) -> ParamsLiteral {
        let (primes, period, answer_bits) =
            if ring == "m8191" { (2, 14, [4, 14]) } else { (3, 16, [19, 26]) };
        let scan_primes = if ring == "m8191" { 1 } else { 2 };
        ParamsLiteral {
            ring: ring.into(),
            primes,
            scan_primes,
            levels: 1,
            left: vec![3, 2],
            right: vec![9],
            period,
            layers: 2,
            records: u64::from(period) * 50 + 1,
            answer_bits,
            stride: 1,
            form: RowFormat::Values,
            written: 0,
            mask: NO_TABLES_MASK,
        }
    }

    #[test]
    fn both_orders_have_the_same_slots() {
        let forms = [RowFormat::Values, RowFormat::Coefficients];
        for (ring, form) in ["pow2", "m8191"].into_iter().flat_map(|ring| forms.map(|form| (ring, form))) {
            let mut setting = Setting::new(ParamsLiteral { form, ..literal(ring) });
            let last = setting.params.literal.records - 1;
            for index in [0, last] {
                let (ours, steps) = setting.answer(index, ProductOrder::Distributed);
                let (theirs, same) = setting.answer(index, ProductOrder::Paper);
                assert_eq!((&steps, steps.as_slice()), (&same, &[ROTATIONS, UNFOLDING, PRODUCTS, LAST][..]));
                // The whole ciphertexts are equal, not the slots alone: products distribute over sums,
                // noise included.
                assert!(ours == theirs, "{ring}, {index}");
                assert!(setting.client.opened(&ours) == setting.client.opened(&theirs), "{ring}, {index}");
                let [ours, theirs] = setting.params.noise.sums;
                assert!((ours / theirs).log2().abs() < 0.1, "{ours} and {theirs} bound the same noise");
            }
        }
    }

    /// Rows are the same polynomials in both forms of images, so answers are the same bytes.
    #[test]
    fn both_forms_give_the_same_answers_before_and_after_changes() {
        for ring in ["pow2", "m8191"] {
            let [values, coefficients] = [RowFormat::Values, RowFormat::Coefficients].map(|form| {
                let mut setting = Setting::new(ParamsLiteral { form, ..literal(ring) });
                let last = setting.params.literal.records - 1;
                let before = setting.answer(last, ProductOrder::Distributed).0;
                setting.change(last, 1, &[0xa5, 0x5a]);
                (
                    before,
                    setting.answer(last, ProductOrder::Distributed).0,
                    setting.answer(0, ProductOrder::Distributed).0,
                )
            });
            assert!(values == coefficients, "{ring}");
        }
    }

    /// Grids of rows with one place, with all but one place, and with one place in the last row; 14
    /// places in all.
    #[test]
    fn strides_reach_every_place() {
        for (ring, stride) in [("pow2", 2), ("pow2", 13), ("m8191", 4), ("m8191", 7)] {
            let mut setting = Setting::new(ParamsLiteral { stride, layers: 1, ..literal(ring) });
            let last = setting.params.literal.records - 1;
            for index in [0, last / 3, last] {
                setting.answer(index, ProductOrder::Distributed);
            }
        }
    }

    #[test]
    fn orders_are_known_by_name() {
        assert_eq!(
            ProductOrder::NAMES.map(ProductOrder::named),
            [Some(ProductOrder::Distributed), Some(ProductOrder::Paper)]
        );
        assert_eq!(
            (ProductOrder::named("raw"), ProductOrder::default().name()),
            (None, ProductOrder::NAMES[0])
        );
    }

    /// The ring's own arithmetic, not a model: unpruned and pruned trees with and without a guard.
    #[test]
    fn slots_of_other_records_are_zero_behind_a_guard() {
        for (set, rows) in [("m8191-unpruned", 600), ("m8191-guarded", 5000), ("pow2-guarded", 40_000)] {
            let select = |set: &str| {
                let shape = sotto_core::TableShape {
                    set: Some(set.into()),
                    ..sotto_core::TableShape::new(rows, 4, 10)
                };
                Params::select(&shape).unwrap()
            };
            let guarded = select(set);
            let mut setting = Setting::new(guarded.clone());
            let layout = setting.params.layout;
            for index in [0, 1, guarded.records / 2, guarded.records - 1] {
                let (answer, _) = setting.answer(index, ProductOrder::Distributed);
                let (_, beta) = layout.place(index);
                let mine = |slot: usize| slot as u64 % u64::from(layout.period) == beta;
                for slots in setting.client.opened(&answer) {
                    let (own, others): (Vec<_>, Vec<_>) =
                        slots.iter().enumerate().partition(|(i, _)| mine(*i));
                    assert!(others.iter().all(|(_, slot)| **slot == 0), "{set}, {index}");
                    assert!(own.iter().any(|(_, slot)| **slot != 0), "{set}, {index}");
                }
            }
        }
    }

    #[test]
    fn without_a_guard_other_slots_hold_other_rows() {
        // Leaves of four and of three: the requested row is read elsewhere as another existing row.
        let literal = ParamsLiteral {
            left: vec![4],
            right: vec![3],
            layers: 1,
            records: 9 * 12,
            period: 9,
            primes: 2,
            ..literal("m8191")
        };
        let mut setting = Setting::new(literal);
        let records = setting.params.literal.records;
        let leaks = (0..records).step_by(7).any(|index| {
            let (answer, _) = setting.answer(index, ProductOrder::Distributed);
            let beta = index % 9;
            setting.client.opened(&answer)[0]
                .iter()
                .enumerate()
                .any(|(i, slot)| i as u64 % 9 != beta && *slot != 0)
        });
        assert!(leaks);
    }
}
