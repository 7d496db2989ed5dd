//! The noise, measured with the secret: below the bound of each step, and close to the averages.
//!
//! Measured and average standard deviations may differ by 0.3 bits.

use sealpir::SealPir;
use serde_json::{Value, json};
use sotto_bfv::column_merge::merged;
use sotto_bfv::evaluator::EvaluationKeys;
use sotto_bfv::evaluator::{ColumnSums, Evaluator, SelectorSet};
use sotto_bfv::noise::{Steps, steps};
use sotto_bfv::rings::{Ring, SIGMA};
use sotto_bfv::{Family, Layout, Method, Params};
use sotto_core::Section;
use sotto_core::{Image, Params as _, Server as _};
use sotto_lattice::bgv::encrypt::{encrypt_divided, errors};
use sotto_lattice::bgv::expand::{self, ExpansionRound};
use sotto_lattice::bgv::keyswitch::SwitchKey;
use sotto_lattice::bgv::pass::pass;
use sotto_lattice::bgv::{Answer, Ciphertext, RotationKey, SecretKey, SlotRing, TableProduct};
use sotto_lattice::encrypt::{ErrorSource, MaskSource};
use sotto_math::sample::Gaussian;
use sotto_prg::PublicSeed;
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;

const TOLERANCE: f64 = 0.3;
const SEED: PublicSeed = PublicSeed([3; 32]);

/// Mean squares of errors: of selectors, of columns, of the response before it is rounded, and
/// after.
#[derive(Debug)]
struct Measured {
    selectors: f64,
    columns: f64,
    last: f64,
    answer: f64,
}

fn mean(errors: &[f64]) -> f64 {
    errors.iter().map(|x| x * x).sum::<f64>() / errors.len() as f64
}

fn mean_of(ring: &Ring, secret: &SecretKey, ciphers: &[Ciphertext]) -> f64 {
    ciphers.iter().map(|c| mean(&errors(ring, secret, c))).sum::<f64>() / ciphers.len() as f64
}

/// A client's keys as the server holds them.
fn session<F: Family>(
    params: &Params<F>,
    secret: &SecretKey,
    errors: &mut ErrorSource<'_>,
) -> EvaluationKeys {
    let (ring, keys) = (&params.ring, params.method.keys());
    let masks = |first| MaskSource { seed: &SEED, label: "key", first };
    let [rotation, stride] = [(keys.rotation, 0), (keys.stride, 5)].map(|(by, first)| {
        by.map(|by| {
            let bodies = RotationKey::generate(ring, by, secret, masks(first), errors);
            RotationKey::assemble(ring, ring.ring().rotation(by), &bodies, masks(first)).unwrap()
        })
    });
    let square = keys.square.then(|| {
        let bodies = SwitchKey::generate_square(ring, secret, masks(10), errors);
        SwitchKey::assemble(ring, &bodies, masks(10)).unwrap()
    });
    let round = |round: u32| {
        let masks = masks(20 + 10 * u64::from(round));
        let bodies = expand::generate(ring, round, secret, masks, errors);
        ExpansionRound::assemble(ring, round, &bodies, masks).unwrap()
    };
    EvaluationKeys { rotation, stride, square, rounds: (0..keys.rounds).map(round).collect() }
}

/// Measures the steps of a lookup in a table filled with one byte, or with many.
fn measure<F: Family>(params: &Params<F>, fill: Option<u8>) -> Measured {
    let (ring, layout, rng) = (&params.ring, &params.layout, &mut seeded("noise"));
    let len = params.literal.records as usize * layout.record_bytes();
    let many = |i: usize| (i as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0];
    let records = (0..len).map(|i| fill.unwrap_or_else(|| many(i))).collect();
    let sink = MemorySink::new();
    let rows = MemoryRows::new(layout.record_bytes(), records);
    sotto_bfv::server::Server::<F>::encode(params, &rows, &sink).unwrap();
    let image = sink.into_image();
    let bytes = image.section(Section::Resident).unwrap();

    let secret = SecretKey::sample(ring, rng);
    let mut law = ErrorSource { law: &Gaussian::new(SIGMA), rng };
    let keys = session(params, &secret, &mut law);
    let places: Vec<_> = (0..layout.buckets as u64).map(|b| layout.place((b + 1) % layout.records)).collect();
    let plaintexts = params.method.query_plaintexts(layout, &places);
    let query = (0..).zip(&plaintexts).map(|(i, (numbers, halvings))| {
        let mut plain = vec![0; ring.ring().words()];
        ring.ring().encode(numbers, &mut plain);
        let mask = ring.mask(ring.top(), &SEED, "query", i);
        let body = encrypt_divided(ring, ring.top(), &secret, &mask, &plain, *halvings, &mut law);
        Ciphertext::new(ring, ring.top(), &[&body, &mask])
    });
    let evaluator = Evaluator { ring, layout, keys: &keys };
    let SelectorSet { tables, second_dimension } = params.method.select(&evaluator, query.collect());
    let shape =
        TableProduct::new(ring, ring.level(layout.primes).unwrap(), layout.rows, layout.cols()).unwrap();
    let each = bytes.chunks_exact(shape.bytes() as usize);
    let columns: Vec<Vec<Ciphertext>> = tables
        .iter()
        .zip(each)
        .map(|(selectors, bytes)| {
            let sums = pass(&shape, bytes, &[shape.selectors(selectors).as_slice()]).remove(0);
            let sums: Vec<&[u64]> = sums.iter().map(Vec::as_slice).collect();
            shape.columns(ring, &sums, layout.cols(), 0..layout.cols())
        })
        .collect();
    let all = ColumnSums { cols: 0..layout.cols(), tables: columns.clone() };
    let share = merged(&evaluator, params.method.partial(&evaluator, &second_dimension, all));
    let last = params.method.finish(&evaluator, vec![share]);
    let answers: Vec<f64> = last
        .iter()
        .map(|c| mean(&Answer::new(ring, params.bits, c).errors(ring, params.bits, &secret)))
        .collect();
    Measured {
        selectors: mean_of(ring, &secret, &tables.concat()),
        columns: mean_of(ring, &secret, &columns.concat()),
        last: mean_of(ring, &secret, &last),
        answer: answers.iter().sum::<f64>() / answers.len() as f64,
    }
}

#[track_caller]
fn near(what: &str, measured: f64, average: f64) {
    let off = (measured / average).log2() / 2.0;
    assert!(off.abs() <= TOLERANCE, "{what}: off by {off:.2} bits");
}

/// Checks a measured value against its bound: a mean of some thousand squares is within three
/// percent.
#[track_caller]
fn below(what: &str, measured: f64, bound: f64) {
    let above = (measured / bound).log2() / 2.0;
    assert!(measured <= 1.03 * bound, "{what}: above its bound by {above:.2} bits");
}

/// The average of a step, by the models, the layout, and what was measured before it.
type Average<'a> = &'a dyn Fn(&Steps, &Ring, &Layout, &Measured) -> [f64; 2];

/// Checks random and extreme tables: the average of selectors and of responses, given what was
/// measured before.
fn check<F: Family>(literal: Value, average: Average<'_>) {
    let params = <Params<F> as sotto_core::Params>::check(serde_json::from_value(literal).unwrap()).unwrap();
    let (ring, layout) = (&params.ring, &params.layout);
    let models = [Steps::average(ring, SIGMA), steps(ring)];
    for fill in [None, Some(0), Some(0xff)] {
        let measured = measure(&params, fill);
        let [selectors, last] = average(&models[0], ring, layout, &measured);
        near("selectors", measured.selectors, selectors);
        near("columns", measured.columns, models[0].rows(measured.selectors, layout.rows as f64));
        near("the last sum", measured.last, last);
        near("an answer", measured.answer, models[0].answer(measured.last, params.bits));

        let bound = |step: &str| {
            let found = params.noise.steps.iter().find(|(name, _)| name.ends_with(step));
            found.map(|(_, variance)| *variance)
        };
        let of_selectors = bound("a selector").or(bound("last rotation")).unwrap_or(models[1].fresh());
        below("selectors", measured.selectors, of_selectors);
        below("columns", measured.columns, bound("column's sum").unwrap());
        let rounded = params.noise.rounded.last().unwrap();
        below("the last sum", measured.last, rounded.variance);
        below("an answer", measured.answer, models[1].answer(rounded.variance, params.bits));
    }
    assert!(params.report().failure_log2 <= -40.0);
}

fn literal(numbers: Value) -> Value {
    let mut literal = json!({
        "split": 1, "merged": 1, "answer_bits": [20, 27], "written": 0, "mask": "5c".repeat(32),
    });
    let fields = numbers.as_object().unwrap().clone();
    literal.as_object_mut().unwrap().extend(fields);
    literal
}

/// Parts of a record have lanes of their own, of which one has no number; an answer has two
/// columns.
#[test]
fn fastpir() {
    let numbers = json!({
        "ring": "n4096-t65537-q50", "records": 6000, "buckets": 3, "record_words": 7, "split": 4, "rows": 8, "merged": 2,
        "primes": 1, "queries": 8,
    });
    check::<fastpir::FastPir>(literal(numbers), &|steps, ring, layout, measured| {
        let columns = layout.merged as f64;
        let last = columns * measured.columns + (columns - 1.0) * steps.key_switch(ring.top());
        [steps.fresh(), last]
    });
}

#[test]
fn vbpir() {
    for (records, rows, stride) in [(6000, 2, 1), (21000, 7, 3)] {
        let numbers = json!({
            "ring": "n8192-t65537-q100", "records": records, "buckets": 3, "record_words": 6, "split": 2, "rows": rows,
            "merged": 3, "primes": 2, "queries": 2, "stride": stride,
        });
        check::<vbpir::Vbpir>(literal(numbers), &|steps, ring, layout, measured| {
            let switch = steps.key_switch(ring.top());
            let product = steps.tensor(steps.fresh(), measured.columns, 1.0) + switch;
            let (columns, one) = (layout.merged as f64, ring.level(1).unwrap());
            let last = columns * steps.lowered(product, ring.top()) + (columns - 1.0) * steps.key_switch(one);
            // Each selector is rotated by strides, and then once more than the one before.
            let turns = |row: usize| row / stride + if stride > 1 { row % stride } else { 0 };
            let turns = (0..layout.rows).map(turns).sum::<usize>() as f64 / layout.rows as f64;
            [steps.fresh() + switch * turns, last]
        });
    }
}

#[test]
fn pirana() {
    for primes in [1, 2] {
        let numbers = json!({
            "ring": "n8192-t65537-q100", "records": 12000, "buckets": 3, "record_words": 6, "split": 2, "rows": 4, "merged": 3,
            "primes": primes, "queries": 4,
        });
        check::<pirana::Pirana>(literal(numbers), &|steps, ring, layout, measured| {
            let switch = steps.key_switch(ring.top());
            let product = steps.tensor(steps.fresh(), steps.fresh(), 1.0) + switch;
            let (columns, one) = (layout.merged as f64, ring.level(1).unwrap());
            let lowered =
                |variance| if layout.primes > 1 { variance } else { steps.lowered(variance, ring.top()) };
            let alone = if layout.primes > 1 {
                steps.lowered(measured.columns, ring.top())
            } else {
                measured.columns
            };
            [lowered(product), columns * alone + (columns - 1.0) * steps.key_switch(one)]
        });
    }
}

/// One block, and both second dimensions.
#[test]
fn sealpir() {
    for (ring, records, primes, answer_bits) in [
        ("n4096-t2^14-q50", 3, 1, [17, 25]),
        ("n4096-t2^12-q50", 9, 1, [15, 23]),
        ("n4096-t2^10-q70", 9, 2, [13, 21]),
    ] {
        let mut numbers = literal(json!({
            "ring": ring, "records": 2 * records, "buckets": 2, "record_words": 4096, "rows": 3, "primes": primes, "queries": 1,
        }));
        numbers["answer_bits"] = json!(answer_bits);
        check::<SealPir>(numbers, &|steps, ring, layout, measured| {
            let each = layout.rows + if layout.blocks > 1 { layout.blocks } else { 0 };
            let selectors = steps.expanded(steps.fresh(), expand::rounds(2 * each), ring.top());
            let blocks = layout.blocks as f64;
            let last = match (layout.blocks, layout.primes) {
                (1, _) => measured.columns,
                (_, 1) => steps.rows(measured.selectors, blocks),
                _ => {
                    let product = steps.tensor(measured.selectors, measured.columns, blocks);
                    steps.lowered(product + steps.key_switch(ring.top()), ring.top())
                }
            };
            [selectors, last]
        });
    }
}
