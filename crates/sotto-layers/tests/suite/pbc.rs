//! Batches of rows from batch codes of every size, and what servers see of them.

use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, Rng, SeedableRng};
use sotto_core::{Compose, Error, Layer, Misuse, ParamsError, Result, Row};
use sotto_layers::BatchCode;
use sotto_layers::batch_code::Params;
use sotto_layers::batch_code::code::CodeSizes;
use sotto_layers::batch_code::permutation::Placement;
use sotto_prg::PublicSeed;

/// A code and its shards, as a server has them. Row `i` is `i + 1`, so that no row is zero.
struct Tables {
    code: BatchCode,
    shards: Vec<Vec<u64>>,
}

impl Tables {
    fn new(sizes: CodeSizes) -> Self {
        let code = BatchCode::new(sizes, &PublicSeed([5; 32])).unwrap();
        let placement = Placement::new(&code);
        let mut shards: Vec<Vec<u64>> = (0..code.buckets())
            .map(|bucket| {
                let mut rows = vec![0; code.bucket_rows() as usize];
                placement.rows(bucket, 0, &mut rows).unwrap();
                rows.into_iter().map(|row| if row < sizes.rows { row + 1 } else { 0 }).collect()
            })
            .collect();
        if sizes.spare > 0 {
            shards.push((1..=sizes.rows).collect());
        }
        let lengths: Vec<u64> = shards.iter().map(|shard| shard.len() as u64).collect();
        assert_eq!(lengths, code.shards());
        Tables { code, shards }
    }

    fn fit(rows: u64, items: usize) -> Self {
        Tables::new(CodeSizes::fit(rows, items).unwrap())
    }

    fn fetch(&self, asked: &[u64]) -> Vec<Row> {
        let visits = self.code.visits();
        assert_eq!(visits.len(), asked.len());
        let row = |(shard, row): (&usize, &u64)| {
            Row::new(self.shards[*shard][*row as usize].to_le_bytes().to_vec())
        };
        visits.iter().zip(asked).map(row).collect()
    }

    fn get(&self, request: &[u64], rng: &mut dyn CryptoRng) -> Result<Vec<u64>> {
        let (asked, plan) = self.code.plan(request, rng)?;
        let rows = self.code.assemble(plan, self.fetch(&asked))?;
        Ok(rows.iter().map(|row| u64::from_le_bytes(row.as_slice().try_into().unwrap()) - 1).collect())
    }
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([6; 32])
}

#[test]
fn every_size_of_batch_is_served() {
    let rng = &mut rng();
    for items in [1, 2, 3, 8, 12, 20, 33] {
        let tables = Tables::fit(5000, items);
        for n in 0..=items {
            for _ in 0..3 {
                let request: Vec<u64> = (0..n).map(|_| rng.next_u64() % 5000).collect();
                assert_eq!(tables.get(&request, rng).unwrap(), request, "{n} of {items}");
            }
        }
    }
}

#[test]
fn large_batches_are_served() {
    let rng = &mut rng();
    for items in [256, 257, 1000, 4096] {
        let tables = Tables::fit(30_000, items);
        let request: Vec<u64> = (0..items).map(|_| rng.next_u64() % 30_000).collect();
        assert_eq!(tables.get(&request, rng).unwrap(), request, "{items}");
    }
}

#[test]
fn tables_smaller_than_their_batches() {
    let rng = &mut rng();
    for rows in [1, 2, 3, 7, 30, 61] {
        let tables = Tables::fit(rows, 20);
        let request: Vec<u64> = (0..20).map(|i| i % rows).collect();
        assert_eq!(tables.get(&request, rng).unwrap(), request, "{rows}");
    }
}

#[test]
fn each_row_is_in_a_bucket_of_every_copy() {
    for rows in [1, 10, 97, 4094] {
        let sizes = CodeSizes { rows, items: 4, copies: 3, buckets: 5, spare: 3 };
        let tables = Tables::new(sizes);
        let len = tables.code.bucket_rows();
        assert!(len >= rows.div_ceil(5) && len <= (rows + rows.isqrt()).div_ceil(5));
        for copy in tables.shards[..15].chunks_exact(5) {
            let mut seen = copy.concat();
            seen.retain(|row| *row > 0);
            seen.sort();
            assert!(seen.into_iter().eq(1..=rows), "{rows}");
        }
    }
}

#[test]
fn buckets_are_written_from_anywhere() {
    let code = BatchCode::new(
        CodeSizes { rows: 1000, items: 4, copies: 3, buckets: 2, spare: 3 },
        &PublicSeed([5; 32]),
    )
    .unwrap();
    let placement = Placement::new(&code);
    let rows = code.bucket_rows() as usize;
    for bucket in 0..6 {
        let mut whole = vec![0; rows];
        placement.rows(bucket, 0, &mut whole).unwrap();
        for from in [1, 63, rows - 2, rows - 1] {
            for len in [0, 1, 65, rows - from] {
                let len = len.min(rows - from);
                let mut some = vec![0; len];
                placement.rows(bucket, from as u64, &mut some).unwrap();
                assert_eq!(some, whole[from..from + len]);
            }
        }
    }
    assert!(placement.rows(6, 0, &mut [0]).is_err(), "no such bucket");
    assert!(placement.rows(0, rows as u64, &mut [0]).is_err(), "no such row");
    assert!(placement.rows(0, u64::MAX, &mut [0]).is_err(), "no such row");
}

#[test]
fn rows_wanted_twice_are_fetched_once() {
    let rng = &mut rng();
    let tables = Tables::fit(5000, 20);
    let request = [7, 7, 9, 7, 9, 4999, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 9];
    assert_eq!(tables.get(&request, rng).unwrap(), request);
    let (asked, _) = tables.code.plan(&[7; 20], rng).unwrap();
    let fetched = tables.fetch(&asked).iter().filter(|row| row.as_slice() == 8u64.to_le_bytes()).count();
    // Besides the planned lookup, a random one may fetch the row too.
    assert!((1..=2).contains(&fetched));
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let rng = &mut rng();
    let code = Tables::fit(5000, 12).code;
    assert!(matches!(code.plan(&[0; 13], rng), Err(Error::Misuse(Misuse::Rule(_)))), "too many");
    let past = Misuse::IndexPastEnd { index: 5000, len: 5000 };
    assert!(matches!(code.plan(&[1, 5000], rng), Err(Error::Misuse(error)) if error == past));
    assert!(code.plan(&[u64::MAX], rng).is_err());
    let (asked, plan) = code.plan(&[1], rng).unwrap();
    assert!(code.assemble(plan, vec![Row::new(vec![0; 8]); asked.len() - 1]).is_err(), "a row is missing");
}

/// Requests made against the seed, such as all rows of one bucket, look like any other.
#[test]
fn what_cannot_be_served_is_asked_alike() {
    let rng = &mut rng();
    for (sizes, served) in [
        (CodeSizes { rows: 100_000, items: 20, copies: 5, buckets: 6, spare: 0 }, 5),
        (CodeSizes { rows: 100_000, items: 20, copies: 3, buckets: 18, spare: 2 }, 5),
    ] {
        let tables = Tables::new(sizes);
        // Rows whose copies are all in the first buckets of each copy: in as few as have enough of
        // them.
        let every: Vec<u64> = (0..sizes.rows).collect();
        let positions = tables.code.permutations().positions(sizes.copies, &every);
        let bucket =
            |row: u64, copy: usize| positions[copy * every.len() + row as usize] % sizes.buckets as u64;
        let few = |most: u64| -> Vec<u64> {
            let inside = |row: &u64| (0..sizes.copies).all(|copy| bucket(*row, copy) < most);
            every.iter().copied().filter(inside).take(20).collect()
        };
        let crowd = (1..).map(few).find(|rows| rows.len() > served + sizes.spare).unwrap();
        let good: Vec<u64> = (0..crowd.len() as u64).map(|i| i * 4001).collect();
        assert_eq!(tables.get(&good, rng).unwrap(), good);

        let (asked, plan) = tables.code.plan(&crowd, rng).unwrap();
        assert_eq!(asked.len(), tables.code.visits().len());
        assert!(
            asked.iter().zip(tables.code.visits()).all(|(row, shard)| *row < tables.code.shards()[shard])
        );
        assert!(matches!(tables.code.assemble(plan, tables.fetch(&asked)), Err(Error::BatchCodeFailure)));
        // Requested in parts, in requests that are due anyway, all of them are fetched.
        for part in crowd.chunks(served) {
            assert_eq!(tables.get(part, rng).unwrap(), part);
        }
    }
}

/// Dummy lookups are uniform over their shards, and the number of draws from the generator is
/// constant, whatever the request.
#[test]
fn idle_lookups_go_everywhere() {
    let sizes = CodeSizes { rows: 600, items: 6, copies: 4, buckets: 2, spare: 4 };
    let code = BatchCode::new(sizes, &PublicSeed([5; 32])).unwrap();
    let lengths = code.shards();
    let visits = code.visits();
    let rng = &mut rng();
    for request in [&[][..], &[17], &[17, 18, 19, 20, 21, 22]] {
        let mut seen: Vec<Vec<u32>> = visits.iter().map(|shard| vec![0; lengths[*shard] as usize]).collect();
        let rounds = 40_000;
        for _ in 0..rounds {
            for (seen, row) in seen.iter_mut().zip(code.plan(request, rng).unwrap().0) {
                seen[row as usize] += 1;
            }
        }
        let used = seen.iter().filter(|seen| seen.iter().filter(|n| **n > 0).count() == 1).count();
        assert_eq!(used, request.len(), "each wanted row takes one lookup");
        for seen in seen.iter().filter(|seen| seen.iter().filter(|n| **n > 0).count() > 1) {
            let mean = f64::from(rounds) / seen.len() as f64;
            let squares: f64 = seen.iter().map(|n| (f64::from(*n) - mean).powi(2) / mean).sum();
            let degrees = seen.len() as f64 - 1.0;
            assert!((squares - degrees).abs() < 6.0 * (2.0 * degrees).sqrt(), "{squares} for {degrees}");
        }
    }
    let after = |request: &[u64]| {
        let mut rng = ChaCha20Rng::from_seed([9; 32]);
        code.plan(request, &mut rng).unwrap();
        rng.next_u64()
    };
    assert_eq!(after(&[]), after(&[1, 2, 3, 4, 5, 6]));
}

#[test]
fn codes_that_fail_too_often_are_refused() {
    let sizes = |copies, buckets, spare| CodeSizes { rows: 1 << 21, items: 20, copies, buckets, spare };
    let seed = &PublicSeed([0; 32]);
    // The published code: three copies in 1.5 b buckets.
    assert!(matches!(
        BatchCode::new(sizes(3, 10, 0), seed),
        Err(Error::Params(ParamsError::Unreliable { .. }))
    ));
    for (copies, buckets, spare) in [(5, 6, 0), (4, 11, 0), (3, 17, 2), (0, 0, 20)] {
        assert!(BatchCode::new(sizes(copies, buckets, spare), seed).is_ok(), "{copies} {buckets} {spare}");
        let fewer = if buckets > 0 { sizes(copies, buckets - 1, spare) } else { sizes(0, 0, spare - 1) };
        assert!(BatchCode::new(fewer, seed).is_err(), "{copies} {buckets} {spare}");
    }
    for wrong in [
        CodeSizes { rows: 0, ..sizes(5, 6, 0) },
        CodeSizes { rows: u64::MAX, ..sizes(5, 6, 0) },
        CodeSizes { items: 0, ..sizes(5, 6, 0) },
        CodeSizes { items: 4097, ..sizes(5, 2000, 0) },
        // An exhaustive search would take too long for a large request.
        CodeSizes { items: 257, ..sizes(5, 200, 1) },
        sizes(9, 6, 0),
        sizes(5, 1 << 20, 0),
        sizes(0, 6, 20),
        sizes(5, 0, 20),
        sizes(5, 6, 21),
        sizes(usize::MAX, usize::MAX, usize::MAX),
    ] {
        assert!(BatchCode::new(wrong, seed).is_err(), "{wrong:?}");
    }
    for (rows, items) in [(0, 1), (1, 0), (1, 4097), ((1 << 40) + 1, 1)] {
        assert!(CodeSizes::fit(rows, items).is_err());
    }
}

#[test]
fn sizes_that_fit_are_in_order_and_cost_less_than_single_lookups() {
    for rows in [1, 2, 50, 1000, 1 << 21, 1 << 40] {
        for items in [1, 2, 7, 20, 64, 256, 1000, 4096] {
            let sizes = CodeSizes::fit(rows, items).unwrap();
            sizes.check().unwrap();
            assert!((sizes.copies + sizes.spare) * sizes.lookups() <= items * items, "{sizes:?}");
        }
    }
    // The figures of the README.
    let sizes = CodeSizes::fit((1 << 21) - 2, 20).unwrap();
    assert_eq!((sizes.copies, sizes.buckets, sizes.spare), (5, 6, 0));
}

#[test]
fn parameters_are_read_as_they_are_written() {
    let params = Params::new(CodeSizes::fit(5000, 20).unwrap(), PublicSeed([5; 32]));
    let text = serde_json::to_string(&params).unwrap();
    assert_eq!(Params::parse(text.as_bytes()).unwrap(), params);
    assert_eq!(params.code().unwrap().shards(), Tables::fit(5000, 20).code.shards());
    for (from, to) in [
        ("\"batch\":20", "\"batch\":4097"),
        ("\"batch\":20", "\"batch\":-1"),
        ("\"rows\":5000", "\"rows\":0"),
        ("\"buckets\":6", "\"buckets\":5"),
        ("\"copies\":5", "\"copies\":5,\"more\":1"),
        ("\"seed\":\"05", "\"seed\":\"0"),
        ("{", "["),
    ] {
        assert!(text.contains(from), "{from} is not in {text}");
        let error = Params::parse(text.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert!(matches!(error, Error::Params(_) | Error::Misuse(_)), "{to}: {error}");
    }
}

/// A layer that adds two rows that are far apart.
struct Sum;

impl Layer for Sum {
    type Request = u64;
    type Reply = u64;
    type Plan = ();

    fn shards(&self) -> Vec<u64> {
        vec![5000]
    }

    fn visits(&self) -> Vec<usize> {
        vec![0; 2]
    }

    fn plan(&self, row: &u64, _: &mut dyn CryptoRng) -> Result<(Vec<u64>, ())> {
        Ok((vec![*row, (*row + 2500) % 5000], ()))
    }

    fn assemble(&self, (): (), rows: Vec<Row>) -> Result<u64> {
        Ok(rows.iter().map(|row| u64::from_le_bytes(row.as_slice().try_into().unwrap())).sum())
    }
}

#[test]
fn a_layer_over_a_code() {
    let rng = &mut rng();
    let tables = Tables::fit(5000, 2);
    let code = BatchCode::new(*tables.code.sizes(), &PublicSeed([5; 32])).unwrap();
    let both = Compose(Sum, code);
    assert_eq!(both.shards(), tables.code.shards());
    let (asked, plan) = both.plan(&41, rng).unwrap();
    assert_eq!(both.assemble(plan, tables.fetch(&asked)).unwrap(), 42 + 2542);
    let (_, plan) = both.plan(&41, rng).unwrap();
    assert!(both.assemble(plan, Vec::new()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_code_serves_any_request(
        rows in 1u64..3000,
        items in 1usize..24,
        copies in 1usize..=8,
        buckets in 1usize..20,
        request in prop::collection::vec(any::<u64>(), 0..24),
        seed: [u8; 32],
    ) {
        // The least number of spare lookups that gives the code a sufficient failure bound.
        let sizes = (0..=items).map(|spare| CodeSizes { rows, items, copies, buckets, spare });
        let tables = Tables::new(sizes.into_iter().find(|sizes| sizes.check().is_ok()).unwrap());
        let request: Vec<u64> = request.iter().take(items).map(|row| row % rows).collect();
        let rng = &mut ChaCha20Rng::from_seed(seed);
        prop_assert_eq!(tables.get(&request, rng).unwrap(), request);
    }
}
