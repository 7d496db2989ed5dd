//! What a host learns from whether a client that verifies records refuses an answer: attacks on the
//! [`AbortLeakage`](sotto_core::AbortLeakage) that a scheme declares.
//!
//! Verified rows carry a path to a root under the publisher's signature. Here the publisher's table
//! stands for both: what a client accepts is what equals the publisher's record at the place it asked
//! for. A host sees the query, makes any answer of it, and is told whether the client accepted.

use crate::rng::seeded;
use crate::served::InProcessServer;
use sotto_core::{Client as _, PartIndex, PartScheme, PerServer, Scheme, Server as _, SumElement, Wire};
use std::sync::Arc;

impl<S: Scheme<Keys = ()>> InProcessServer<S> {
    /// The honest answer to a query.
    pub fn honest(&self, query: S::Query) -> S::Answer {
        self.server.answer(&self.server.admit(()).unwrap(), query).unwrap()
    }

    /// The record that a client reads from a host's answer, unverified.
    pub fn unverified(
        &self,
        client: &mut S::Client,
        index: u64,
        label: &str,
        host: impl Fn(S::Query) -> S::Answer,
    ) -> Vec<u8> {
        let (requests, pending) = self.query(client, index, &mut seeded(label));
        let answer = |request: &Vec<u8>| host(S::Query::take(&self.params, request).unwrap());
        let answers = S::Fan::from_vec(requests.iter().map(answer).collect()).unwrap();
        client.recover(pending, answers).unwrap().bytes().to_vec()
    }

    /// Whether a client accepts a record as the one at `index`.
    pub fn accepts(&self, index: u64, record: &[u8]) -> bool {
        record == self.row(index)
    }

    /// The table of a host that altered every byte of some records.
    #[must_use]
    pub fn altered(&self, is_altered: &dyn Fn(u64) -> bool) -> Self {
        let bytes = self.row(0).len();
        let byte = |(at, byte): (usize, &u8)| match is_altered((at / bytes) as u64) {
            true => byte.wrapping_add(1 + (at % bytes * 50 % 127) as u8),
            false => *byte,
        };
        let rows = self.rows.iter().enumerate().map(byte).collect();
        InProcessServer::of(self.params.clone(), rows)
    }

    /// The answer of a host that edits what its pass computed before it makes an answer of it.
    pub fn edited(&self, query: S::Query, edit: &dyn Fn(&mut [u8])) -> S::Answer
    where
        S: PartScheme<Query: Clone>,
    {
        let params = &self.params;
        let part = S::open_part(params, PartIndex::WHOLE, Arc::new(self.image.clone())).unwrap();
        let session = <S as PartScheme>::admit(params, ()).unwrap();
        let mut partial = S::answer_part(&part, vec![(&session, query.clone())]).remove(0).unwrap();
        edit(&mut partial);
        let joiner = S::prepare_join(params).unwrap();
        S::join(params, &joiner, &session, query, &[partial]).unwrap()
    }
}

/// Finds a number of `bits` bits by asking for each bit whether the number is in a half of the host's
/// choosing: of the numbers that have the bit.
pub fn bisect(bits: u32, mut is_in: impl FnMut(u32, &dyn Fn(u64) -> bool) -> bool) -> u64 {
    (0..bits).map(|bit| u64::from(is_in(bit, &|number| number >> bit & 1 == 1)) << bit).sum()
}

/// A publisher's table, of a scheme that declares that refusals depend on nothing that is looked up;
/// and how a host shifts an answer.
pub struct AbortAttack<'a, S: Scheme> {
    /// The publisher's table, of records of four numbers at least.
    pub truth: &'a InProcessServer<S>,
    /// The numbers of a record.
    pub element: SumElement,
    /// Adds something to the word of each number of a record, modulo the words of an answer.
    pub shift: &'a dyn Fn(S::Answer, &dyn Fn(usize) -> u64) -> S::Answer,
    /// What a number is multiplied by in its word.
    pub step: u64,
}

impl<S: Scheme<Keys = ()>> AbortAttack<'_, S> {
    /// Makes all attacks.
    ///
    /// # Panics
    /// If a client refuses an honest answer, accepts a wrong record, or refuses by its index.
    pub fn fails(&self) {
        self.honest_answers_are_accepted();
        self.an_altered_table_is_refused_whatever_is_wanted();
        self.a_shift_to_the_boundary_says_the_same_of_all_records();
        self.shifts_off_the_boundary_have_a_known_outcome();
        self.half_a_record_is_refused_whichever_row_is_wanted();
        self.another_record_is_refused_in_its_place();
    }

    /// Records to look up: some of a large table, all of a small one.
    fn indices(&self) -> Vec<u64> {
        let records = self.records();
        (0..records).step_by((records / 3).max(1) as usize).chain([records - 1]).collect()
    }

    fn records(&self) -> u64 {
        (self.truth.rows.len() / self.truth.row(0).len()) as u64
    }

    fn client(&self) -> S::Client {
        self.truth.client("prepare")
    }

    /// Whether a client accepts what comes of a host's answer.
    fn is_accepted(
        &self,
        client: &mut S::Client,
        index: u64,
        label: &str,
        host: &dyn Fn(S::Query) -> S::Answer,
    ) -> bool {
        let record = self.truth.unverified(client, index, label, host);
        self.truth.accepts(index, &record)
    }

    /// Whether a client accepts the honest answer with something added to each word.
    fn accepts_shifted(
        &self,
        client: &mut S::Client,
        index: u64,
        label: &str,
        add: &dyn Fn(usize) -> u64,
    ) -> bool {
        self.is_accepted(client, index, label, &|query| (self.shift)(self.truth.honest(query), add))
    }

    fn honest_answers_are_accepted(&self) {
        let client = &mut self.client();
        for index in self.indices() {
            assert!(self.accepts_shifted(client, index, "honest", &|_| 0), "{index}");
        }
    }

    /// An altered record is not only in answers about it: the publisher's masks do not remove it from any.
    fn an_altered_table_is_refused_whatever_is_wanted(&self) {
        let (client, records) = (&mut self.client(), self.records());
        for up_to in [1, records / 2] {
            let host = self.truth.altered(&|record| record < up_to);
            for index in self.indices() {
                let label = format!("altered {up_to} {index}");
                let is_accepted = self.is_accepted(client, index, &label, &|query| host.honest(query));
                assert!(!is_accepted, "{index} of a table with {up_to} altered records");
            }
        }
    }

    /// Shifted to the boundary, an answer is accepted if the noise of that query is below zero: a bit of
    /// errors that no other query has. Under the same errors it is the same bit for all records.
    fn a_shift_to_the_boundary_says_the_same_of_all_records(&self) {
        const LOOKUPS: usize = 16;
        let (client, mut accepted) = (&mut self.client(), 0);
        for lookup in 0..LOOKUPS {
            let (label, number) = (format!("boundary {lookup}"), lookup % 4);
            let add = |at| if at == number { self.step / 2 } else { 0 };
            let mut bits = self.indices().into_iter();
            let mut bit = |index| self.accepts_shifted(client, index, &label, &add);
            let first = bits.next().map(&mut bit).unwrap();
            bits.for_each(|index| assert_eq!(bit(index), first, "{label}, {index}"));
            accepted += usize::from(first);
        }
        assert!((1..LOOKUPS).contains(&accepted), "{accepted} of {LOOKUPS}: a bit that could be known");
    }

    /// Away from the boundary a host knows the outcome beforehand.
    fn shifts_off_the_boundary_have_a_known_outcome(&self) {
        let (client, step) = (&mut self.client(), self.step);
        for index in self.indices() {
            for (add, expected) in
                [(step / 4, true), (step / 4 * 3, false), (step, false), (step * 128, false)]
            {
                let add_to = |at| if at == 2 { add } else { 0 };
                let label = format!("shift {add}");
                assert_eq!(self.accepts_shifted(client, index, &label, &add_to), expected, "{index}, {add}");
            }
        }
    }

    /// A check of the wanted row alone would tell where in its record it is. The whole record is refused
    /// whichever half of it a host spoils.
    fn half_a_record_is_refused_whichever_row_is_wanted(&self) {
        let (client, truth) = (&mut self.client(), self.truth);
        // Four rows of whole numbers.
        let row_numbers = truth.row(0).len() / self.element.bytes() / 4;
        let row_bytes = row_numbers * self.element.bytes();
        for slot in [0, 2, 3] {
            let wanted = slot as usize * row_bytes..(slot as usize + 1) * row_bytes;
            let found = bisect(2, |lookup, half| {
                let is_spoiled = |at: usize| at < 4 * row_numbers && half((at / row_numbers) as u64);
                let add = |at| if is_spoiled(at) { self.step } else { 0 };
                let host = |query| (self.shift)(truth.honest(query), &add);
                let record = truth.unverified(client, 1, &format!("half {lookup}"), host);
                assert!(!truth.accepts(1, &record), "the whole of it is refused");
                record.get(wanted.clone()) != truth.row(1).get(wanted.clone())
            });
            assert_eq!(found, slot, "what a check of the row alone would tell");
        }
    }

    /// A check that a record is one of the table, and not that it is the one at this place, would let a
    /// host turn one record into another, and tell it whether that was the one asked for.
    fn another_record_is_refused_in_its_place(&self) {
        let (client, truth, last) = (&mut self.client(), self.truth, self.records() - 1);
        let number = |record: u64, at| {
            let mut numbers = truth.row(record).chunks(self.element.bytes());
            u64::from(numbers.nth(at).map_or(0, |bytes| self.element.number(bytes)))
        };
        let difference = |at: usize| number(last, at).wrapping_sub(number(0, at)).wrapping_mul(self.step);
        for index in [0, 1, last] {
            let host = |query| (self.shift)(truth.honest(query), &difference);
            let record = truth.unverified(client, index, "place", host);
            assert_eq!((0..=last).any(|other| truth.accepts(other, &record)), index == 0, "{index}");
            assert!(!truth.accepts(index, &record));
        }
    }
}

/// Finds a record by what refuses: a host that makes masks and answers of its own table, half of which
/// it altered. This is why masks are the publisher's, under its signature.
pub fn whoever_makes_the_masks_finds_the_record<S: Scheme<Keys = ()>>(
    truth: &InProcessServer<S>,
    bits: u32,
    indices: &[u64],
) {
    for index in indices {
        let found = bisect(bits, |lookup, half| {
            let host = truth.altered(half);
            let label = format!("bit {lookup}");
            let record =
                host.unverified(&mut host.client("prepare"), *index, &label, |query| host.honest(query));
            !truth.accepts(*index, &record)
        });
        assert_eq!(found, *index);
    }
}
