//! Keys in sums of rows: every number of keys, both kinds of numbers, missing keys, and tables that change.

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_core::{Error, Layer, Row, SumElement};
use sotto_layers::Keyword;
use sotto_layers::keyword::{BuildError, BuildOptions, KeyForm, KeywordBuilder, TableEdit, ValueWidth};
use sotto_prg::PublicSeed;

type Entry = (Vec<u8>, Vec<u8>);

/// A table in the clear: the strips before they were solved, and the rows.
struct Table {
    keyword: Keyword,
    strips: Vec<Vec<u8>>,
    rows: Vec<Vec<u8>>,
}

fn options(strips: u64, unit: SumElement) -> BuildOptions {
    let seed = PublicSeed([7; 32]);
    BuildOptions { probes: 1, strips: Some((strips, unit)), ..BuildOptions::new(KeyForm::Bytes, seed) }
}

/// Entries with values of various lengths up to the maximum.
fn entries(count: usize) -> Vec<Entry> {
    (0..count).map(|i| (format!("key {i}").into_bytes(), vec![(200 + i % 50) as u8; i % 6])).collect()
}

fn build(options: BuildOptions, entries: &[Entry]) -> Result<Table, BuildError> {
    let mut builder = KeywordBuilder::new(options)?;
    entries.iter().try_for_each(|(key, value)| builder.add(key, value.len() as u64))?;
    let mut layout = builder.place()?;
    let params = layout.keyword().params().clone();
    let width = params.row_bytes() as usize;
    let mut strips = vec![vec![0; width]; params.rows as usize];
    let mut slot = Vec::new();
    for (key, value) in entries {
        let at = layout.write(key, value, &mut slot)? as usize;
        strips[at / width][at % width..][..slot.len()].copy_from_slice(&slot);
    }
    solved(layout.finish()?, strips)
}

fn solved(keyword: Keyword, strips: Vec<Vec<u8>>) -> Result<Table, BuildError> {
    let solved = strips.iter().map(|strip| keyword.solve(strip)).collect::<Result<Vec<_>, _>>()?;
    let params = keyword.params();
    let (rows, row_bytes) = (params.table_rows() as usize, params.table_row_bytes() as usize);
    let entry = row_bytes / strips.len();
    let row =
        |row: usize| solved.iter().flat_map(move |strip| strip.entries[row * entry..][..entry].to_vec());
    let rows: Vec<Vec<u8>> = (0..rows).map(|at| row(at).collect()).collect();
    assert!(rows.iter().all(|row| row.len() == row_bytes));
    let tries = solved.iter().map(|strip| strip.tried).collect();
    Ok(Table { keyword: keyword.with_tries(tries), strips, rows })
}

impl Table {
    /// The sum of rows that a scheme would fetch.
    fn sum(&self, first: u64, ones: u128) -> Row {
        let unit = self.keyword.params().band.as_ref().unwrap().unit;
        let added: Vec<&Vec<u8>> = self
            .rows
            .iter()
            .skip(first as usize)
            .take(128)
            .enumerate()
            .filter(|(i, _)| ones >> i & 1 == 1)
            .map(|(_, row)| row)
            .collect();
        let number = |at: usize| {
            added.iter().map(|row| unit.number(&row[at..][..unit.bytes()])).fold(0, u16::wrapping_add)
        };
        let numbers = (0..self.rows[0].len()).step_by(unit.bytes()).map(number);
        Row::new(numbers.flat_map(|number| unit.bytes_of(number).into_iter().take(unit.bytes())).collect())
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let (rows, plan) = self.keyword.plan(key, &mut ChaCha20Rng::from_seed([5; 32])).unwrap();
        let ones = plan.row_mask().unwrap();
        assert_eq!((rows.len(), self.keyword.visits(), ones & 1), (1, vec![0], 1));
        assert!(rows[0] < self.keyword.shards()[0]);
        let value = self.keyword.assemble(plan, vec![self.sum(rows[0], ones)]).unwrap();
        value.map(|value| value.to_vec())
    }
}

#[test]
fn every_number_of_keys_has_a_solution() {
    for unit in [SumElement::Byte, SumElement::Pair] {
        for (strips, step) in [(1, 23), (2, 37), (7, 61), (40, 97)] {
            for count in (1..8).chain((8..=500).step_by(step)).chain([2000]) {
                let entries = entries(count);
                let table = build(options(strips, unit), &entries).unwrap();
                assert!(table.keyword.params().false_positive_log2() <= -64.0);
                let read = Keyword::parse(&serde_json::to_vec(table.keyword.params()).unwrap()).unwrap();
                assert_eq!(read.params(), table.keyword.params());
                for (key, value) in entries.iter().step_by(1 + count / 50) {
                    assert_eq!(table.get(key).as_ref(), Some(value), "{count} {strips} {unit:?}");
                    assert_eq!(table.get(&[&key[..], b"x"].concat()), None);
                }
            }
        }
    }
}

/// Strips of thousands of keys have hardly more entries than keys, and all keys are found.
#[test]
fn long_strips_are_nearly_full() {
    let entries: Vec<Entry> =
        (0..60_000u32).map(|i| (i.to_le_bytes().to_vec(), i.to_be_bytes().to_vec())).collect();
    for (strips, unit) in [(8, SumElement::Pair), (31, SumElement::Byte)] {
        let table = build(options(strips, unit), &entries).unwrap();
        let over = (table.rows.len() as u64 * strips) as f64 / 60_000.0;
        assert!(over < 1.05, "{over}");
        for (key, value) in entries.iter().step_by(7) {
            assert_eq!(table.get(key).as_ref(), Some(value));
        }
        assert!((60_000..62_000u32).all(|i| table.get(&i.to_le_bytes()).is_none()));
        let again = build(options(strips, unit), &entries).unwrap();
        assert!(again.rows == table.rows && again.keyword.params() == table.keyword.params());
    }
}

/// The start and the rows of a band do not depend on whether the key is present.
#[test]
fn missing_keys_are_asked_for_alike() {
    let table = build(options(3, SumElement::Pair), &entries(3000)).unwrap();
    let starts = (table.rows.len() - 127) as f64;
    let means = |range: std::ops::Range<u32>| {
        let count = f64::from(range.end - range.start);
        let mut means = [0.0; 2];
        for i in range {
            let (rows, plan) = table
                .keyword
                .plan(format!("key {i}").as_bytes(), &mut ChaCha20Rng::from_seed([5; 32]))
                .unwrap();
            assert!((rows[0] as f64) < starts);
            means[0] += rows[0] as f64 / starts / count;
            means[1] += f64::from(plan.row_mask().unwrap().count_ones()) / 128.0 / count;
        }
        means
    };
    // The standard deviation of the first mean is 0.005, and that of the second is less.
    for mean in [means(0..3000), means(3000..6000)] {
        assert!(mean.iter().all(|mean| (0.47..0.53).contains(mean)), "{mean:?}");
    }
}

/// Tables whose strips have space: a value that changes and keys that come and go change a few
/// strips.
#[test]
fn strips_are_solved_again() {
    let options = BuildOptions { width: ValueWidth::UpTo(6), headroom: 3200, ..options(9, SumElement::Pair) };
    let mut table = build(options, &entries(3000)).unwrap();
    for i in 3000..3150u32 {
        let before = table.strips.clone();
        let mut edit = TableEdit::new(&table.keyword, |strip| Ok(before[strip as usize].clone()));
        assert!(!edit.set(format!("key {i}").as_bytes(), b"new").unwrap());
        assert!(edit.set(b"key 17", &i.to_le_bytes()).unwrap());
        assert!(edit.remove(format!("key {}", i - 2000).as_bytes()).unwrap());
        let (changed, keyword) = edit.finish();
        changed.into_iter().for_each(|(strip, bytes)| table.strips[strip as usize] = bytes);
        if i % 50 == 49 {
            table = solved(keyword, table.strips).unwrap();
            assert_eq!(table.get(b"key 17"), Some(i.to_le_bytes().to_vec()));
        } else {
            table.keyword = keyword;
        }
    }
    for i in 0..3150usize {
        let want = match i {
            17 => Some(3149u32.to_le_bytes().to_vec()),
            1000..1150 => None,
            3000.. => Some(b"new".to_vec()),
            _ => Some(vec![(200 + i % 50) as u8; i % 6]),
        };
        assert_eq!(table.get(format!("key {i}").as_bytes()), want, "{i}");
    }
}

#[test]
fn sums_of_no_table_are_refused() {
    let table = build(options(3, SumElement::Pair), &entries(100)).unwrap();
    let width = table.rows[0].len();
    let ask = |rows: Vec<Vec<u8>>| {
        let (_, plan) = table.keyword.plan(b"key 1", &mut ChaCha20Rng::from_seed([5; 32])).unwrap();
        table.keyword.assemble(plan, rows.into_iter().map(Row::new).collect())
    };
    assert!(matches!(ask(vec![]), Err(Error::Misuse(_))));
    assert!(matches!(ask(vec![vec![0; width]; 2]), Err(Error::Misuse(_))));
    assert!(matches!(ask(vec![vec![0; width - 1]]), Err(Error::Peer(_))));
    for byte in [0, 255] {
        assert_eq!(ask(vec![vec![byte; width]]).unwrap(), None);
    }
    assert!(table.keyword.solve(&table.strips[0][1..]).is_err());
}

#[test]
fn parameters_are_read_strictly() {
    let table = build(options(3, SumElement::Pair), &entries(100)).unwrap();
    let text = serde_json::to_string(table.keyword.params()).unwrap();
    assert!(text.contains("\"band\":{\"rows\":43,\"unit\":\"pair\",\"tries\":\"AAAA\"}"), "{text}");
    for (from, to) in [
        ("\"rows\":43", "\"rows\":0"),
        ("\"rows\":43", "\"rows\":18446744073709551615"),
        ("\"rows\":3", "\"rows\":4"),
        ("\"pair\"", "\"triple\""),
        ("\"AAAA\"", "\"AAAAAA==\""),
        ("\"AAAA\"", "\"AA\""),
        ("\"tries\":\"AAAA\"", "\"tries\":\"AAAA\",\"more\":1"),
        ("\"probes\":1", "\"probes\":3"),
        ("\"slots\":35", "\"slots\":1048577"),
        ("\"up-to\":5", "\"up-to\":31000000"),
    ] {
        assert!(text.contains(from), "{text}");
        assert!(Keyword::parse(text.replace(from, to).as_bytes()).is_err(), "{to}");
    }
}
