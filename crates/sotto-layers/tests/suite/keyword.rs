//! Values by key: every number of keys, missing keys, hostile ones, several at once, and tables
//! that change.

use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use sotto_core::{Compose, Error, Layer, Misuse, ParamsError, Row};
use sotto_layers::keyword::{
    BuildError, BuildOptions, EditError, Key, KeyForm, KeywordBuilder, Params, TableEdit, ValueLength,
    ValueWidth,
};
use sotto_layers::{Keyword, MultiKeyword};
use sotto_prg::PublicSeed;
use std::collections::BTreeMap;

/// A table in the clear.
struct Table {
    keyword: Keyword,
    rows: Vec<Vec<u8>>,
}

type Entry = (Vec<u8>, Vec<u8>);

fn options() -> BuildOptions {
    BuildOptions::new(KeyForm::Bytes, PublicSeed([7; 32]))
}

fn build(options: BuildOptions, entries: &[Entry]) -> Result<Table, BuildError> {
    let mut builder = KeywordBuilder::new(options)?;
    entries.iter().try_for_each(|(key, value)| builder.add(key, value.len() as u64))?;
    let mut layout = builder.place()?;
    let params = layout.keyword().params();
    let width = params.row_bytes() as usize;
    let mut bytes = vec![0; width * params.rows as usize];
    let mut slot = Vec::new();
    for (key, value) in entries {
        let at = layout.write(key, value, &mut slot)? as usize;
        assert!(bytes[at..at + slot.len()].iter().all(|byte| *byte == 0), "a slot is written once");
        bytes[at..at + slot.len()].copy_from_slice(&slot);
    }
    Ok(Table { keyword: layout.finish()?, rows: bytes.chunks_exact(width).map(<[u8]>::to_vec).collect() })
}

impl Table {
    fn fetch(&self, rows: &[u64]) -> Vec<Row> {
        rows.iter().map(|row| Row::new(self.rows[*row as usize].clone())).collect()
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let (rows, plan) = self.keyword.plan(key, &mut rng()).unwrap();
        assert_eq!(rows.len(), self.keyword.visits().len());
        let value = self.keyword.assemble(plan, self.fetch(&rows)).unwrap();
        value.map(|value| value.to_vec())
    }

    fn apply(&mut self, (changed, keyword): (BTreeMap<u64, Vec<u8>>, Keyword)) {
        changed.into_iter().for_each(|(row, bytes)| self.rows[row as usize] = bytes);
        self.keyword = keyword;
    }
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([5; 32])
}

/// Keys with small differences, with values of mixed length.
fn entries(count: usize) -> Vec<Entry> {
    (0..count).map(|i| (format!("key {i}").into_bytes(), vec![i as u8; i % 5])).collect()
}

#[test]
fn every_number_of_keys_finds_room() {
    for (probes, slots) in [(2, None), (1, Some(40)), (2, Some(1)), (3, Some(1)), (4, Some(2)), (1, Some(4))]
    {
        for count in (1..=300).step_by(if slots.is_some() { 7 } else { 1 }) {
            let entries = entries(count);
            let table = build(BuildOptions { probes, slots, ..options() }, &entries).unwrap();
            let params = table.keyword.params();
            assert_eq!(table.rows.len() as u64, params.rows);
            assert!(params.false_positive_log2() <= -64.0);
            for (key, value) in &entries {
                assert_eq!(table.get(key).as_ref(), Some(value), "{count} {probes} {slots:?}");
                assert_eq!(table.get(&[&key[..], b"x"].concat()), None);
            }
        }
    }
}

#[test]
fn a_hundred_thousand_keys() {
    let entries: Vec<Entry> =
        (0..100_000u32).map(|i| (i.to_le_bytes().to_vec(), i.to_be_bytes().to_vec())).collect();
    let table = build(options(), &entries).unwrap();
    let params = table.keyword.params();
    assert_eq!(params.values, ValueLength::Fixed(4));
    // 64 bits, and 17 for the slots, plus one.
    assert_eq!((params.tag_bytes, params.slot_bytes()), (11, 15));
    assert!(params.rows * u64::from(params.slots) < 110_000);
    for (key, value) in &entries {
        assert_eq!(table.get(key).as_ref(), Some(value));
    }
    assert!((100_000..200_000u32).all(|i| table.get(&i.to_le_bytes()).is_none()));
    // A table for more keys has longer tags.
    let many = build(BuildOptions { headroom: 9_000_000, ..options() }, &entries[..10]).unwrap();
    assert_eq!((many.keyword.params().tag_bytes, many.rows.len()), (12, 2_419_356));
    // The same keys give the same table.
    assert_eq!(build(options(), &entries).unwrap().rows, table.rows);
}

/// Empty values make a set, whose rows are tags alone.
#[test]
fn a_set_has_no_values() {
    let entries: Vec<Entry> = entries(100).into_iter().map(|(key, _)| (key, Vec::new())).collect();
    let table = build(options(), &entries).unwrap();
    assert_eq!(table.keyword.params().slot_bytes(), u64::from(table.keyword.params().tag_bytes));
    assert_eq!(table.get(b"key 3"), Some(Vec::new()));
    assert_eq!(table.get(b"key 300"), None);
}

#[test]
fn near_keys_are_other_keys() {
    let keys: Vec<Vec<u8>> =
        (0..256usize).flat_map(|i| [vec![i as u8], vec![b'a'; i.max(1)], vec![0; i.max(2)]]).collect();
    let keys: std::collections::BTreeSet<_> = keys.into_iter().filter(|key| key.len() <= 255).collect();
    let entries: Vec<Entry> = keys.into_iter().map(|key| (key.clone(), key)).collect();
    let table = build(options(), &entries).unwrap();
    for (key, value) in &entries {
        assert_eq!(table.get(key).as_ref(), Some(value));
    }
}

/// A key has one row in each part, whether it is present or not, and the plan has no other data.
#[test]
fn missing_keys_are_asked_for_alike() {
    let table = build(options(), &entries(1000)).unwrap();
    let (shards, part) = (table.keyword.shards(), table.keyword.params().rows / 2);
    assert_eq!((shards, table.keyword.visits()), (vec![2 * part], vec![0, 0]));
    let mean = |range: std::ops::Range<u32>| {
        let mut sum = [0.0; 2];
        let count = f64::from(range.end - range.start);
        for i in range {
            let (rows, _) = table.keyword.plan(format!("key {i}").as_bytes(), &mut rng()).unwrap();
            assert!(rows.len() == 2 && rows[0] < part && (part..2 * part).contains(&rows[1]));
            sum[0] += rows[0] as f64 / part as f64 / count;
            sum[1] += (rows[1] - part) as f64 / part as f64 / count;
        }
        sum
    };
    // The standard deviation of such a mean is 0.009.
    for mean in [mean(0..1000), mean(1000..2000)] {
        assert!(mean.iter().all(|mean| (0.45..0.55).contains(mean)), "{mean:?}");
    }
}

#[test]
fn what_no_table_can_have_is_refused_with_its_number() {
    let of = |entries: &[(&[u8], &[u8])], options| {
        let entries: Vec<Entry> = entries.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        build(options, &entries).err().unwrap()
    };
    assert!(matches!(of(&[], options()), BuildError::NoKeys));
    assert!(matches!(of(&[(b"a", b""), (b"", b"")], options()), BuildError::EmptyKey { entry: 2 }));
    let long = of(&[(&[1; 255], b""), (&[1; 256], b"")], options());
    assert!(matches!(long, BuildError::LongKey { entry: 2, bytes: 256, limit: 255 }));
    let long =
        of(&[(b"a", b"123"), (b"b", b"1234")], BuildOptions { width: ValueWidth::UpTo(3), ..options() });
    assert!(matches!(long, BuildError::LongValue { entry: 2, bytes: 4, limit: 3 }));
    let twice = of(&[(b"a", b""), (b"b", b""), (b"c", b""), (b"b", b"1"), (b"a", b"")], options());
    assert!(matches!(twice, BuildError::Duplicate { first: 2, second: 4 }));
    for options in [
        BuildOptions { probes: 0, ..options() },
        BuildOptions { probes: 5, ..options() },
        BuildOptions { slots: Some(0), ..options() },
        BuildOptions { key_bytes: 0, ..options() },
        BuildOptions { form: KeyForm::Sha1, key_bytes: 21, ..options() },
    ] {
        assert!(matches!(KeywordBuilder::new(options), Err(BuildError::Refused(Error::Params(_)))));
    }
    let huge = of(&[(b"a", b"")], BuildOptions { headroom: 1 << 40, ..options() });
    assert!(matches!(huge, BuildError::TooMany { .. }));
    // No tag is long enough for that probability.
    let sure = of(&[(b"a", b"")], BuildOptions { false_positive_log2: -130.0, ..options() });
    assert!(matches!(sure, BuildError::Refused(Error::Params(_))));
}

#[test]
fn a_second_pass_must_be_the_first_again() {
    let start = || {
        let mut builder = KeywordBuilder::new(options()).unwrap();
        entries(50).iter().for_each(|(key, value)| builder.add(key, value.len() as u64).unwrap());
        builder.place().unwrap()
    };
    let mut slot = Vec::new();
    assert!(matches!(start().finish(), Err(BuildError::Changed { entry: 1 })));
    let mut layout = start();
    layout.write(b"key 0", b"", &mut slot).unwrap();
    assert!(matches!(layout.write(b"key 1", b"12345", &mut slot), Err(BuildError::Changed { entry: 2 })));
    assert!(matches!(layout.write(b"", b"", &mut slot), Err(BuildError::Changed { entry: 2 })));
    // Another key is noticed unless it may have the same slot.
    let noticed =
        (0..100).filter(|i| start().write(format!("other {i}").as_bytes(), b"", &mut slot).is_err());
    assert!(noticed.count() > 60);
}

#[test]
fn keys_that_no_table_has_are_not_asked_for() {
    let table = build(options(), &entries(10)).unwrap();
    for key in [vec![], vec![0; 256], vec![0; 1 << 20]] {
        assert!(matches!(table.keyword.plan(&key, &mut rng()), Err(Error::Misuse(Misuse::Rule(_)))));
    }
}

#[test]
fn rows_of_no_table_are_refused() {
    let table = build(options(), &entries(10)).unwrap();
    let width = table.keyword.params().row_bytes() as usize;
    let ask = |rows: Vec<Vec<u8>>| {
        let (_, plan) = table.keyword.plan(b"key 1", &mut rng()).unwrap();
        table.keyword.assemble(plan, rows.into_iter().map(Row::new).collect())
    };
    assert!(matches!(ask(vec![vec![0; width]]), Err(Error::Misuse(_))));
    assert!(matches!(ask(vec![vec![0; width]; 3]), Err(Error::Misuse(_))));
    assert!(matches!(ask(vec![vec![0; width], vec![0; width - 1]]), Err(Error::Peer(_))));
    assert!(matches!(ask(vec![vec![0; width], Vec::new()]), Err(Error::Peer(_))));
    assert_eq!(ask(vec![vec![0; width]; 2]).unwrap(), None);
    assert_eq!(ask(vec![vec![255; width]; 2]).unwrap(), None);
}

/// A layer that fetches a batch of rows directly, in place of a batch code.
struct Plain {
    rows: u64,
    batch: usize,
}

impl Layer for Plain {
    type Request = [u64];
    type Reply = Vec<Row>;
    type Plan = ();

    fn shards(&self) -> Vec<u64> {
        vec![self.rows]
    }

    fn visits(&self) -> Vec<usize> {
        vec![0; self.batch]
    }

    fn plan(&self, rows: &[u64], _: &mut dyn CryptoRng) -> sotto_core::Result<(Vec<u64>, ())> {
        assert_eq!(rows.len(), self.batch);
        Ok((rows.to_vec(), ()))
    }

    fn assemble(&self, (): (), rows: Vec<Row>) -> sotto_core::Result<Vec<Row>> {
        Ok(rows)
    }
}

#[test]
fn several_keys_go_in_one_batch() {
    let entries = entries(500);
    let table = build(options(), &entries).unwrap();
    let keywords = MultiKeyword::new(table.keyword.clone(), 8);
    let layer = Compose(keywords.clone(), Plain { rows: table.keyword.params().rows, batch: 16 });
    let key = |text: &str| Key::new(text.as_bytes().to_vec());
    for names in [&[][..], &["key 7"], &["key 7", "none", "key 7", "key 499", "key 0", "a", "b", "key 12"]] {
        let keys: Vec<Key> = names.iter().map(|name| key(name)).collect();
        let (rows, plan) = layer.plan(&keys, &mut rng()).unwrap();
        assert_eq!((rows.len(), layer.visits().len()), (16, 16));
        assert!(rows.iter().all(|row| *row < table.keyword.params().rows));
        let values = layer.assemble(plan, table.fetch(&rows)).unwrap();
        assert_eq!(values.len(), names.len());
        for (name, value) in names.iter().zip(values) {
            assert_eq!(value.map(|value| value.to_vec()), table.get(name.as_bytes()), "{name}");
        }
    }
    let nine: Vec<Key> = (0..9).map(|i| key(&format!("key {i}"))).collect();
    assert!(matches!(keywords.plan(&nine, &mut rng()), Err(Error::Misuse(_))));
    assert!(keywords.plan(&[key("")], &mut rng()).is_err());
    let (_, plan) = keywords.plan(&[key("key 1")], &mut rng()).unwrap();
    assert!(keywords.assemble(plan, table.fetch(&[0; 15])).is_err());
}

#[test]
fn a_new_value_changes_one_row() {
    let mut table = build(options(), &entries(1000)).unwrap();
    let before = table.rows.clone();
    let keyword = table.keyword.clone();
    let mut edit = TableEdit::new(&keyword, |row| Ok(before[row as usize].clone()));
    edit.set(b"key 17", b"new").unwrap();
    let changed = edit.finish();
    assert_eq!(changed.0.len(), 1);
    table.apply(changed);
    assert_eq!(table.get(b"key 17"), Some(b"new".to_vec()));
    assert!(
        (0..1000)
            .filter(|i| *i != 17)
            .all(|i| table.get(format!("key {i}").as_bytes()) == Some(vec![i as u8; i % 5]))
    );
}

/// Keys are added until the table is full: all accepted keys are found, and by then the table is
/// nearly full.
#[test]
fn keys_are_added_until_the_table_is_full() {
    for (probes, slots) in [(2, None), (1, Some(20)), (1, Some(150))] {
        fill(BuildOptions { probes, slots, width: ValueWidth::UpTo(8), headroom: 2000, ..options() });
    }
}

fn fill(headroom: BuildOptions) {
    let mut table = build(headroom, &entries(1500)).unwrap();
    let places = table.keyword.params().rows * u64::from(table.keyword.params().slots);
    let keyword = table.keyword.clone();
    let before = table.rows.clone();
    let mut edit = TableEdit::new(&keyword, |row| Ok(before[row as usize].clone()));
    let mut count = 1500u64;
    let full = loop {
        match edit.set(format!("key {count}").as_bytes(), &count.to_le_bytes()) {
            Ok(_) => count += 1,
            Err(full) => break full,
        }
    };
    assert!(matches!(full, EditError::Full));
    assert!(count >= 2000 && count as f64 > 0.97 * places as f64, "{count} of {places}");
    table.apply(edit.finish());
    for i in 0..count {
        let value = table.get(format!("key {i}").as_bytes()).unwrap();
        let want = if i < 1500 { vec![i as u8; i as usize % 5] } else { i.to_le_bytes().to_vec() };
        assert_eq!(value, want);
    }
}

/// The table accepts as many keys as it was made for, in tables of few keys too, where too many may
/// have the same rows.
#[test]
fn room_holds_for_every_number_of_keys() {
    let arrangements =
        [(2, None), (2, Some(1)), (2, Some(2)), (3, Some(1)), (4, Some(4)), (1, Some(4)), (1, Some(9))];
    let mut anew = 0;
    for (probes, slots) in arrangements {
        for seed in 0..60u64 {
            for (keys, headroom) in [(1, 2), (3, 5), (3, 13), (1, 9), (10, 11), (5, 30), (20, 40)] {
                let mut bytes = [probes as u8; 32];
                bytes[..8].copy_from_slice(&seed.to_le_bytes());
                let (seed, width) = (PublicSeed(bytes), ValueWidth::UpTo(8));
                let options = BuildOptions { probes, slots, width, headroom, seed, ..options() };
                let mut table = build(options, &entries(keys)).unwrap();
                let (keyword, before) = (table.keyword.clone(), table.rows.clone());
                let mut edit = TableEdit::new(&keyword, |row| Ok(before[row as usize].clone()));
                for i in keys as u64..headroom {
                    let added = edit.set(format!("key {i}").as_bytes(), &i.to_le_bytes());
                    assert!(!added.unwrap(), "{probes} {slots:?}: {i} of {headroom}, {seed:?}");
                }
                table.apply(edit.finish());
                anew += usize::from(table.keyword.params().attempt != keyword.params().attempt);
                for i in 0..headroom {
                    let want = if i < keys as u64 {
                        vec![i as u8; i as usize % 5]
                    } else {
                        i.to_le_bytes().to_vec()
                    };
                    assert_eq!(table.get(format!("key {i}").as_bytes()), Some(want));
                }
                assert_eq!(table.get(b"no key"), None);
            }
        }
    }
    assert!(anew > 9, "{anew} tables had to be placed anew");
}

/// With one probe a table is practically full, and a lookup fetches one row.
#[test]
fn rows_that_are_cut_are_full() {
    let entries: Vec<Entry> = (0..20_000u32).map(|i| (i.to_le_bytes().to_vec(), vec![1])).collect();
    for slots in [8, 60, 500] {
        let table = build(BuildOptions { probes: 1, slots: Some(slots), ..options() }, &entries).unwrap();
        let (params, taken) = (table.keyword.params(), 20_000.0 / 0.97);
        assert_eq!(params.rows, (taken / f64::from(slots)).ceil() as u64);
        assert_eq!(table.keyword.visits().len(), 1);
        // The empty slots are spread over the rows, for keys that come later.
        let is_taken = |slot: &&[u8]| slot.iter().any(|byte| *byte > 0);
        let taken = |row: &Vec<u8>| row.chunks(params.slot_bytes() as usize).filter(is_taken).count();
        let full: Vec<bool> = table.rows.iter().map(|row| taken(row) == slots as usize).collect();
        assert!(full.windows(16).all(|full| full.contains(&false)));
        for (key, value) in entries.iter().step_by(7) {
            assert_eq!(table.get(key).as_ref(), Some(value));
        }
        assert!((20_000..22_000u32).all(|i| table.get(&i.to_le_bytes()).is_none()));
    }
}

/// A key that comes into a full row moves some of its neighbors' keys, and few rows change.
#[test]
fn a_key_in_a_full_row_changes_its_neighbors() {
    let options = BuildOptions { probes: 1, slots: Some(50), width: ValueWidth::UpTo(8), ..options() };
    let mut table = build(options, &entries(5000)).unwrap();
    let mut changed = 0;
    for i in 5000..5060 {
        let (keyword, before) = (table.keyword.clone(), table.rows.clone());
        let mut edit = TableEdit::new(&keyword, |row| Ok(before[row as usize].clone()));
        assert!(!edit.set(format!("key {i}").as_bytes(), &[1]).unwrap());
        let edited = edit.finish();
        let again = Keyword::parse(&serde_json::to_vec(edited.1.params()).unwrap()).unwrap();
        assert_eq!(again.params(), edited.1.params());
        changed += edited.0.len();
        table.apply(edited);
    }
    assert!(changed < 3 * 60, "{changed} rows for 60 keys");
    for i in 0..5060usize {
        let want = if i < 5000 { vec![i as u8; i % 5] } else { vec![1] };
        assert_eq!(table.get(format!("key {i}").as_bytes()), Some(want));
    }
}

#[test]
fn edits_refuse_what_the_table_cannot_hold() {
    let table = build(options(), &entries(20)).unwrap();
    let mut edit = TableEdit::new(&table.keyword, |row| Ok(table.rows[row as usize].clone()));
    assert!(matches!(edit.set(b"key 1", b"12345"), Err(EditError::Value { bytes: 5, limit: 4 })));
    assert!(matches!(edit.set(b"", b""), Err(EditError::Core(Error::Misuse(_)))));
    assert!(!edit.remove(b"none").unwrap());
    assert!(edit.finish().0.is_empty());
    let mut edit = TableEdit::new(&table.keyword, |_| Ok(vec![0; 3]));
    assert!(matches!(edit.set(b"key 1", b""), Err(EditError::Core(_))));
}

#[test]
fn parameters_are_read_strictly() {
    let table = build(options(), &entries(20)).unwrap();
    let text = serde_json::to_string(table.keyword.params()).unwrap();
    assert_eq!(
        text,
        format!(
            "{{\"form\":\"bytes\",\"key_bytes\":255,\"probes\":2,\"slots\":4,\"rows\":6,\"tag_bytes\":9,\
             \"values\":{{\"up-to\":4}},\"seed\":\"{}\",\"attempt\":0}}",
            "07".repeat(32)
        )
    );
    assert_eq!(Keyword::parse(text.as_bytes()).unwrap().params(), table.keyword.params());
    for (from, to) in [
        ("\"slots\":4", "\"slots\":0"),
        ("\"slots\":4", "\"slots\":65537"),
        ("\"slots\":4", "\"slots\":4,\"more\":1"),
        ("\"rows\":6", "\"rows\":0"),
        ("\"rows\":6", "\"rows\":7"),
        ("\"rows\":6", "\"rows\":18446744073709551614"),
        ("\"probes\":2", "\"probes\":0"),
        ("\"probes\":2", "\"probes\":6"),
        ("\"tag_bytes\":9", "\"tag_bytes\":7"),
        ("\"tag_bytes\":9", "\"tag_bytes\":17"),
        ("\"key_bytes\":255", "\"key_bytes\":4097"),
        ("\"up-to\":4", "\"up-to\":1073741825"),
        ("\"up-to\":4", "\"up-to\":500000000"),
        ("\"form\":\"bytes\"", "\"form\":\"Bytes\""),
        ("\"form\":\"bytes\"", "\"form\":\"sha256\""),
        ("0707", "07"),
        ("\"attempt\":0", "\"attempt\":0,\"cuts\":\"QEBAQEBA\""),
    ] {
        assert!(text.contains(from));
        assert!(Keyword::parse(text.replace(from, to).as_bytes()).is_err(), "{to}");
    }
    let one = build(BuildOptions { probes: 1, slots: Some(50), ..options() }, &entries(100)).unwrap();
    let text = serde_json::to_string(one.keyword.params()).unwrap();
    let (rest, cuts) = text.split_once("\"cuts\":").unwrap();
    assert_eq!((one.keyword.params().rows, cuts.len()), (3, "\"AAAA\"}".len()));
    assert_eq!(Keyword::parse(text.as_bytes()).unwrap().params(), one.keyword.params());
    for (cuts, taken) in [("QEBA", true), ("AMAA", true), ("QEBB", false), ("QEA=", false), ("Q", false)] {
        assert_eq!(
            Keyword::parse(format!("{rest}\"cuts\":\"{cuts}\"}}").as_bytes()).is_ok(),
            taken,
            "{cuts}"
        );
    }
    assert!(Keyword::parse(format!("{}}}", rest.trim_end_matches(',')).as_bytes()).is_err());
    let text = serde_json::to_string(table.keyword.params()).unwrap();
    // 2^27 slots and one more bit, against 64.
    let often = text.replace("\"tag_bytes\":9", "\"tag_bytes\":8").replace("\"rows\":6", "\"rows\":33554432");
    assert!(matches!(
        Keyword::parse(often.as_bytes()),
        Err(Error::Params(ParamsError::Unreliable { log2, .. })) if log2 == -36.0
    ));
}

/// The bytes of a table, which clients and servers of every version must agree on.
#[test]
fn a_table_is_these_bytes() {
    let text = format!(
        "{{\"form\":\"text\",\"key_bytes\":20,\"probes\":2,\"slots\":1,\"rows\":1000,\"tag_bytes\":9,\
         \"values\":{{\"up-to\":3}},\"seed\":\"{}\",\"attempt\":1}}",
        "2a".repeat(32)
    );
    let keyword = Keyword::parse(text.as_bytes()).unwrap();
    let (rows, _) = keyword.plan(b"key", &mut rng()).unwrap();
    assert_eq!(rows, VECTOR_ROWS);
    let mut edit = TableEdit::new(&keyword, |_| Ok(vec![0; 13]));
    edit.set(b"key", b"ab").unwrap();
    assert_eq!(edit.finish().0.into_iter().next(), Some((VECTOR_ROWS[0], VECTOR_BYTES.to_vec())));
}

/// Computed from the formulas of `tag` by another program, with another BLAKE3.
const VECTOR_ROWS: [u64; 2] = [420, 992];
const VECTOR_BYTES: [u8; 13] = [4, 103, 249, 21, 235, 137, 104, 68, 104, 2, b'a', b'b', 0];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_keys_and_values_are_found(
        entries in proptest::collection::btree_map(
            proptest::collection::vec(any::<u8>(), 1..12),
            proptest::collection::vec(any::<u8>(), 0..9),
            1..120,
        ),
        others in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..12), 0..20),
        seed in any::<[u8; 32]>(),
        (probes, slots) in (1u32..=4, 1u32..=9),
    ) {
        // Rows with row bounds have more than a few slots.
        let slots = if probes == 1 { slots + 3 } else { slots };
        let list: Vec<Entry> = entries.clone().into_iter().collect();
        let options = BuildOptions { seed: PublicSeed(seed), probes, slots: Some(slots), ..options() };
        let table = build(options, &list).unwrap();
        for key in entries.keys().chain(&others) {
            prop_assert_eq!(table.get(key), entries.get(key).cloned());
        }
    }

    /// Edits agree with those of a map, with many keys that come and go.
    #[test]
    fn edits_are_those_of_a_map(
        steps in proptest::collection::vec((0u8..40, proptest::option::of(0usize..6)), 1..150),
        seed in any::<[u8; 32]>(),
        (probes, slots) in prop_oneof![Just((2, 4)), (Just(1), 5u32..12)],
    ) {
        let seed = PublicSeed(seed);
        let start = entries(20);
        let slots = Some(slots);
        let options = BuildOptions { probes, slots, seed, width: ValueWidth::UpTo(5), headroom: 45, ..options() };
        let mut table = build(options, &start).unwrap();
        let mut map: BTreeMap<Vec<u8>, Vec<u8>> = start.into_iter().collect();
        for steps in steps.chunks(25) {
            let (keyword, before) = (table.keyword.clone(), table.rows.clone());
            let mut edit = TableEdit::new(&keyword, |row| Ok(before[row as usize].clone()));
            for (key, value) in steps {
                let name = format!("key {key}").into_bytes();
                match value {
                    Some(length) => {
                        edit.set(&name, &vec![*key; *length]).unwrap();
                        map.insert(name, vec![*key; *length]);
                    }
                    None => prop_assert_eq!(edit.remove(&name).unwrap(), map.remove(&name).is_some()),
                }
            }
            table.apply(edit.finish());
            for key in 0..50 {
                let name = format!("key {key}").into_bytes();
                prop_assert_eq!(table.get(&name), map.get(&name).cloned());
            }
        }
    }

    #[test]
    fn any_parameters_are_read_or_refused(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Params::parse(&text).is_err());
    }
}
