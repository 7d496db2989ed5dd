//! What a host learns from whether a client aborts, if rows are verified: README.md, "What an abort tells".
//!
//! Verified rows carry a path to a root under the publisher's signature. Here digests of the true records stand for both: what a
//! client takes is what equals the publisher's record at the place it asked for.

use crate::noise::noise;
use crate::setup::{Table, literal, sent, words};
use sotto_core::{Client as _, OneServer, RecordIndex, Server as _, Wire};
use sotto_silent::MatrixScheme;
use sotto_silent::message::{Answer, Query};
use sotto_simplepir::SimplePir;
use sotto_testkit::rng::seeded;

type Client = sotto_silent::Client<SimplePir>;

/// Words of answers here have no bits cut off: a host can answer as finely as it likes.
const BITS: u32 = 26;
/// The value of one unit of a byte in a word.
const STEP: u32 = 1 << (BITS - 8);

/// A table of random bytes.
fn table(bytes: u64, records: u64) -> Table {
    let mut all = vec![0; (bytes * records) as usize];
    blake3::Hasher::new().finalize_xof().fill(&mut all);
    Table::new(literal(bytes, records, BITS as u8, BITS as u8), all)
}

/// The words of the honest answer.
fn honest(table: &Table, query: Query) -> Vec<u32> {
    let answer = table.server.answer(&(), query).unwrap();
    words(&sent::<MatrixScheme<SimplePir>>(&table.params, &answer), BITS)
}

/// An answer of these words, modulo 2^[`BITS`].
fn answer(table: &Table, words: &[u32]) -> Answer {
    let mut bytes = vec![0; Answer::size(&table.params)];
    for at in 0..words.len() * BITS as usize {
        let bit = words[at / BITS as usize] >> (at % BITS as usize) & 1;
        bytes[at / 8] |= (bit as u8) << (at % 8);
    }
    Answer::take(&table.params, &bytes).unwrap()
}

/// The result of a lookup with a host's answer, unverified.
fn read(client: &mut Client, index: u64, label: &str, host: impl FnOnce(Query) -> Answer) -> Vec<u8> {
    let (OneServer(query), pending) = client.query(RecordIndex(index), &mut seeded(label)).unwrap();
    client.recover(pending, OneServer(host(query))).unwrap().bytes().to_vec()
}

/// Whether a client takes a record for the one at `index` of the publisher's table.
fn takes(truth: &Table, index: u64, record: &[u8]) -> bool {
    let taken = blake3::hash(record) == blake3::hash(truth.row(index));
    assert!(!taken || record == truth.row(index), "a wrong record is never taken");
    taken
}

/// The honest answer with something added to each word.
fn shifted(table: &Table, query: Query, add: impl Fn(usize) -> u32) -> Answer {
    let shifted = honest(table, query).into_iter().enumerate().map(|(row, word)| word.wrapping_add(add(row)));
    answer(table, &shifted.collect::<Vec<_>>())
}

/// Finds a number below `2^bits` by asking whether it is in a set of the host's choosing: a question, and so one bit, for each.
fn bisect(bits: u32, mut is_in: impl FnMut(u32, &dyn Fn(u64) -> bool) -> bool) -> u64 {
    (0..bits).map(|bit| u64::from(is_in(bit, &|number| number >> bit & 1 == 1)) << bit).sum()
}

/// The table with every byte of some records altered.
fn altered(truth: &Table, is_altered: &dyn Fn(u64) -> bool) -> Table {
    let l = truth.params.record_bytes as usize;
    let byte = |(at, byte): (usize, &u8)| byte.wrapping_add(u8::from(is_altered((at / l) as u64)));
    let records = truth.rows.iter().enumerate().map(byte).collect();
    Table::new(literal(l as u64, truth.params.records, BITS as u8, BITS as u8), records)
}

#[test]
fn an_honest_answer_is_taken() {
    let truth = table(16, 32);
    for index in [0, 13, 31] {
        let record = read(&mut truth.client(), index, "honest", |query| shifted(&truth, query, |_| 0));
        assert!(takes(&truth, index, &record));
    }
}

/// An altered column is not only in the record that it alters: the mask of the true hint does not take it off.
#[test]
fn an_altered_table_is_refused_whatever_is_wanted() {
    let truth = table(16, 32);
    let mut client = truth.client();
    for up_to in [0, 16] {
        let host = altered(&truth, &|record| record == 7 || record < up_to);
        for index in 0..32 {
            let label = format!("altered {index}");
            let record = read(&mut client, index, &label, |query| answer(&host, &honest(&host, query)));
            assert!(!takes(&truth, index, &record), "{index}");
        }
    }
}

/// Which is why the hint has to be the publisher's. Who makes it can alter half of the table, and is told in which half the
/// wanted record is: one bit for each lookup of it, and all of the index if it is looked up often enough.
#[test]
fn whoever_makes_the_hint_finds_the_index_bit_by_bit() {
    let truth = table(16, 32);
    for index in [0, 13, 31] {
        let found = bisect(5, |lookup, half| {
            let host = altered(&truth, half);
            let query = |query| answer(&host, &honest(&host, query));
            !takes(&truth, index, &read(&mut host.client(), index, &format!("bit {lookup}"), query))
        });
        assert_eq!(found, index);
    }
}

/// Shifted to the boundary, an answer is taken if the noise of that query is below zero. That is one bit, of the host's choice,
/// of errors that no other query has; and under the same errors it is the same bit for every index.
#[test]
fn a_shift_to_the_boundary_tells_the_noise_and_not_the_index() {
    let truth = table(4, 256);
    let mut client = truth.client();
    let mut taken = 0;
    for lookup in 0..40 {
        let label = format!("boundary {lookup}");
        let row = lookup % 4;
        let tell = |client: &mut Client, index| {
            let at = |other| if other == row { STEP / 2 } else { 0 };
            takes(&truth, index, &read(client, index, &label, |query| shifted(&truth, query, at)))
        };
        let is_taken = tell(&mut client, 0);
        assert_eq!(is_taken, noise(&truth, 0, &label)[row] < 0, "{label}");
        for index in [1, 100, 128, 255] {
            assert_eq!(tell(&mut client, index), is_taken, "{label}, {index}");
        }
        taken += usize::from(is_taken);
    }
    assert!((8..=32).contains(&taken), "{taken} of 40: not a bit that could be known before");
}

/// Away from the boundary the host knows the outcome beforehand.
#[test]
fn what_is_well_inside_or_outside_tells_nothing() {
    let truth = table(4, 256);
    let mut client = truth.client();
    for index in [0, 77, 255] {
        for (add, expected) in [(STEP / 4, true), (STEP / 4 * 3, false), (STEP, false), (STEP * 128, false)] {
            let label = format!("shift {add}");
            let record = read(&mut client, index, &label, |query| {
                shifted(&truth, query, |row| add * u32::from(row == 2))
            });
            assert_eq!(takes(&truth, index, &record), expected, "{index}, {add}");
        }
        let junk = (0..4u32).map(|row| row.wrapping_mul(0x9e37_79b9) >> (32 - BITS)).collect::<Vec<_>>();
        assert!(!takes(&truth, index, &read(&mut client, index, "junk", |_| answer(&truth, &junk))));
    }
}

/// A check of the wanted row alone tells where in its record it is: the host spoils half of the record. So all of the record
/// has to be checked, and then it always aborts.
#[test]
fn a_record_is_checked_whole() {
    let (truth, row_bytes) = (table(64, 8), 4);
    let mut client = truth.client();
    for slot in [0, 5, 15] {
        let mut spoilt = |lookup, half: &dyn Fn(u64) -> bool| {
            let at = |row: usize| STEP * u32::from(half((row / row_bytes) as u64));
            read(&mut client, 3, &format!("slot {lookup}"), |query| shifted(&truth, query, at))
        };
        let requested = slot as usize * row_bytes..(slot as usize + 1) * row_bytes;
        let found = bisect(4, |lookup, half| {
            let record = spoilt(lookup, half);
            assert!(!takes(&truth, 3, &record), "the whole of it is refused");
            record[requested.clone()] != truth.row(3)[requested.clone()]
        });
        assert_eq!(found, slot);
    }
}

/// A check that a record is one of the table, and not that it is the one at this place, would let a host turn one record into
/// another, and tell it whether that was the one asked for.
#[test]
fn a_place_is_checked_too() {
    let truth = table(16, 32);
    let mut client = truth.client();
    let (from, to) = (truth.row(9), truth.row(20));
    for index in [9, 10, 20] {
        let at = |row: usize| u32::from(to[row].wrapping_sub(from[row])).wrapping_mul(STEP);
        let record = read(&mut client, index, "place", |query| shifted(&truth, query, at));
        assert_eq!((0..32).any(|other| record == truth.row(other)), index == 9, "{index}");
        assert!(!takes(&truth, index, &record));
    }
}
