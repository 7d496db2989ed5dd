//! Layers above the schemes: the request is secret, and so are the fetched rows.

use super::Case;
use crate::secret::{SecretRng, hidden, hide, pick, show, shown, source, timed};
use sotto_core::{Compose, Layer, Row, SumElement};
use sotto_layers::batch_code::code::CodeSizes;
use sotto_layers::batch_code::permutation::Placement;
use sotto_layers::keyword::{BuildOptions, Key, KeyForm, KeywordBuilder, Value, ValueWidth};
use sotto_layers::{BatchCode, Keyword, MultiKeyword};
use sotto_prg::PublicSeed;

const SEED: PublicSeed = PublicSeed([7; 32]);

pub(super) fn cases() -> Vec<Case> {
    let options = || BuildOptions::new(KeyForm::Bytes, SEED);
    let fixed = || entries(|i| vec![i as u8; 4]);
    let several = || entries(|i| vec![i as u8; i % 5]);
    vec![
        Case::new("keyword/fixed", 3, move || keyword(options(), fixed())),
        Case::new("keyword/lengths", 3, move || keyword(options(), several())),
        Case::new("keyword/cuts", 3, move || {
            keyword(BuildOptions { probes: 1, slots: Some(40), ..options() }, several())
        }),
        Case::new("keyword/band", 3, move || keyword_in_sums(several())),
        Case::new("keyword/several", 1, move || keywords(fixed())),
        Case::new("form/bytes", 1, || spelling(KeyForm::Bytes, 32, |text| text.to_vec())),
        Case::new("form/md5", 1, || spelling(KeyForm::Md5, 32, undigits)),
        Case::new("form/phone", 1, || spelled(KeyForm::Phone, number, |text| text.to_vec())),
        Case::new("form/sha1", 1, || spelling(KeyForm::Sha1, 40, undigits)),
        Case::new("form/sha256", 1, || spelling(KeyForm::Sha256, 64, undigits)),
        Case::new("pbc/batch", 1, || batch(4)),
        Case::new("pbc/slack", 1, || batch(260)),
    ]
}

/// Plans and assembles a request, and returns its reply. `row` returns the bytes in a shard at a
/// row, and learns what a server would not.
pub(super) fn look_up<L: Layer>(
    layer: &L,
    request: &L::Request,
    row: impl Fn(usize, u64) -> Vec<u8>,
) -> sotto_core::Result<L::Reply> {
    let rng = &mut SecretRng(source("layer"));
    let (rows, plan) = timed(|| layer.plan(request, rng))?;
    let asked = layer.visits().into_iter().zip(rows);
    let fetched = asked.map(|(shard, at)| {
        let mut bytes = row(shard, shown(at));
        hide(bytes.as_mut_slice());
        Row::new(bytes)
    });
    let fetched = fetched.collect();
    timed(|| layer.assemble(plan, fetched))
}

type Entry = (Vec<u8>, Vec<u8>);

fn entries(value: impl Fn(usize) -> Vec<u8>) -> Vec<Entry> {
    (0..100).map(|i| (format!("key {i}").into_bytes(), value(i))).collect()
}

/// A table of these entries, in the clear.
fn table(options: BuildOptions, entries: &[Entry]) -> (Keyword, Vec<Vec<u8>>) {
    let mut builder =
        KeywordBuilder::new(BuildOptions { width: ValueWidth::UpTo(6), ..options }).expect("a form");
    for (key, value) in entries {
        builder.add(key, value.len() as u64).expect("a short key");
    }
    let mut layout = builder.place().expect("there is room");
    let params = layout.keyword().params();
    let width = params.row_bytes() as usize;
    let mut bytes = vec![0; width * params.rows as usize];
    let mut slot = Vec::new();
    for (key, value) in entries {
        let at = layout.write(key, value, &mut slot).expect("a key of the first pass") as usize;
        bytes[at..at + slot.len()].copy_from_slice(&slot);
    }
    let rows = bytes.chunks_exact(width).map(<[u8]>::to_vec).collect();
    (layout.finish().expect("all keys came"), rows)
}

/// The value that was found, if any: the caller may learn whether it exists.
fn found(mut reply: Option<Value>) -> Option<Vec<u8>> {
    show(&mut reply);
    reply.map(|value| {
        let mut value = value.to_vec();
        show(value.as_mut_slice());
        value
    })
}

/// A key of so many hexadecimal digits, as it was written, and its bytes.
fn spelling(form: KeyForm, digits: usize, bytes: fn(&[u8]) -> Vec<u8>) -> impl FnMut(usize) {
    let text =
        move || (0..digits).map(|i| b"0123456789abcdefABCDEF"[pick(i as u64 % 22, 22) as usize]).collect();
    spelled(form, text, bytes)
}

fn spelled(form: KeyForm, text: impl Fn() -> Vec<u8>, bytes: fn(&[u8]) -> Vec<u8>) -> impl FnMut(usize) {
    move |_| {
        let text = text();
        let mut key = text.clone();
        hide(key.as_mut_slice());
        let mut canonical = timed(|| form.canonical(&key));
        // The writer of a key learns whether it is one.
        show(&mut canonical);
        let mut canonical = canonical.expect("a key of its form");
        show(canonical.as_mut_slice());
        assert!(*canonical == bytes(&text));
    }
}

/// A telephone number of eleven digits.
fn number() -> Vec<u8> {
    let digits = (0..10).map(|i| b"0123456789"[pick(i % 10, 10) as usize]);
    b"+1".iter().copied().chain(digits).collect()
}

fn undigits(text: &[u8]) -> Vec<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).expect("a digit") as u8;
    text.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// The secret key of a round, and its value: two keys that are there, and one that is not.
fn requested(entries: &[Entry], round: usize) -> (Vec<u8>, Option<&Vec<u8>>) {
    // The reader may learn whether the key is present, so all random ones are.
    let at = pick([3, 44, entries.len()][round] as u64, entries.len() as u64) as usize;
    let entry = entries.get(at);
    let mut key = entry.map_or(b"no key".to_vec(), |(key, _)| key.clone());
    hide(key.as_mut_slice());
    (key, entry.map(|(_, value)| value))
}

fn keyword(options: BuildOptions, entries: Vec<Entry>) -> impl FnMut(usize) {
    let (keyword, rows) = table(options, &entries);
    move |round| {
        let (key, value) = requested(&entries, round);
        let reply = look_up(&keyword, &key, |_, row| rows[row as usize].clone()).expect("rows of the table");
        assert!(found(reply).as_ref() == value);
    }
}

/// Keys in sums of rows, which are added up here.
fn keyword_in_sums(entries: Vec<Entry>) -> impl FnMut(usize) {
    let strips = Some((5, SumElement::Pair));
    let (keyword, strips) =
        table(BuildOptions { probes: 1, strips, ..BuildOptions::new(KeyForm::Bytes, SEED) }, &entries);
    let solved: Vec<_> =
        strips.iter().map(|strip| keyword.solve(strip).expect("a strip of few keys")).collect();
    let keyword = keyword.with_tries(solved.iter().map(|strip| strip.tried).collect());
    let rows = keyword.params().table_rows() as usize;
    let entry = solved[0].entries.len() / rows;
    let number = move |row: usize, at: usize| {
        SumElement::Pair.number(&solved[at / entry].entries[row * entry + at % entry..][..2])
    };
    let width = keyword.params().table_row_bytes() as usize;
    move |round| {
        let (key, value) = requested(&entries, round);
        let rng = &mut SecretRng(source("layer"));
        let (first, plan) = timed(|| keyword.plan(&key, rng)).expect("a key");
        // Values that a server would not learn.
        let (first, ones) = (shown(first[0]) as usize, shown(plan.row_mask().expect("a sum")));
        let added = |at| {
            let rows = (first..rows).take(128).filter(|row| ones >> (row - first) & 1 == 1);
            rows.map(|row| number(row, at)).fold(0, u16::wrapping_add)
        };
        let mut sum: Vec<u8> =
            (0..width).step_by(2).flat_map(|at| SumElement::Pair.bytes_of(added(at))).collect();
        hide(sum.as_mut_slice());
        let reply = timed(|| keyword.assemble(plan, vec![Row::new(sum)])).expect("a sum of rows");
        assert!(found(reply).as_ref() == value);
    }
}

fn keywords(entries: Vec<Entry>) -> impl FnMut(usize) {
    let (keyword, rows) = table(BuildOptions::new(KeyForm::Bytes, SEED), &entries);
    let layer = MultiKeyword::new(keyword, 3);
    let sizes = CodeSizes::fit(rows.len() as u64, layer.visits().len()).expect("a small batch");
    let code = BatchCode::new(sizes, &SEED).expect("sizes that fit");
    let placement = Placement::new(&code);
    let layer = Compose(layer, code);
    move |_| {
        let selected = [3, 44].map(|written| &entries[pick(written, entries.len() as u64) as usize]);
        let keys: Vec<Key> = selected
            .map(|(key, _)| {
                let mut key = Key::new(key.clone());
                hide(key.as_mut_slice());
                key
            })
            .into();
        let reply = look_up(&layer, &keys, |bucket, row| {
            rows.get(placed(&placement, bucket, row)).unwrap_or(&rows[0]).clone()
        });
        let values: Vec<_> = reply.expect("rows of the table").into_iter().map(found).collect();
        assert!(values == selected.map(|(_, value)| Some(value.clone())));
    }
}

/// The row of the whole table that is at a place of a shard.
pub(super) fn placed(placement: &Placement, bucket: usize, row: u64) -> usize {
    let mut number = [0];
    // The whole table comes after the buckets.
    match placement.rows(bucket, row, &mut number) {
        Ok(()) => number[0] as usize,
        Err(_) => row as usize,
    }
}

/// A request of a code for `items` rows, two of which are the same.
fn batch(items: usize) -> impl FnMut(usize) {
    let code = BatchCode::new(CodeSizes::fit(200, items).expect("a batch"), &SEED).expect("sizes that fit");
    let placement = Placement::new(&code);
    move |_| {
        let mut selected = [5, 77, 5, 130].map(|row| pick(row, 200));
        selected[2] = selected[0];
        let reply =
            look_up(&code, &hidden(selected), |bucket, row| vec![placed(&placement, bucket, row) as u8; 2]);
        let rows = reply.expect("this batch can be served");
        for (row, selected) in rows.iter().zip(selected) {
            let mut row = row.to_vec();
            show(row.as_mut_slice());
            assert!(row == [selected as u8; 2]);
        }
    }
}
