//! The client: make two keys, add two answers.
//!
//! No branch, index or allocation depends on the requested index; the only exception is refusing
//! one past the end.

use crate::Dpf;
use crate::generator::Generator;
use crate::literal::LEAF_RECORDS;
use crate::message::{Answer, CorrectionWord, Query};
use crate::params::Params;
use sotto_core::{CryptoRng, Misuse, Record, RecordIndex, Result, TwoServers};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

/// A client, which needs nothing but the parameters.
pub struct Client<const PROVEN: bool = false> {
    params: Params,
}

impl<const PROVEN: bool> sotto_core::Prepare<Dpf<PROVEN>> for Client<PROVEN> {
    fn begin(params: &Params, _: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Client { params: params.clone() })
    }

    fn finish(self) -> Result<Self> {
        Ok(self)
    }
}

/// Evidence of a query. The two answers together are the record, so there is nothing to remember.
pub struct Pending(());

impl<const PROVEN: bool> sotto_core::Client<Dpf<PROVEN>> for Client<PROVEN> {
    type Pending = Pending;

    fn keys(&self) {}

    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(TwoServers<Query>, Pending)> {
        let len = self.params.records();
        if index.0 >= len {
            return Err(Misuse::IndexPastEnd { index: index.0, len }.into());
        }
        Ok((keys(index.0, self.params.depth(), rng), Pending(())))
    }

    fn recover(&mut self, _: Pending, TwoServers(first, second): TwoServers<Answer>) -> Result<Record> {
        Ok(Record::new(first.0.iter().zip(&second.0).map(|(a, b)| a ^ b).collect()))
    }
}

/// The nodes of both trees on the path to the record: the only ones that differ.
struct Path {
    seeds: Zeroizing<[[u8; 16]; 2]>,
    /// Control bits of the two nodes, one of which is set.
    bits: [Choice; 2],
}

/// The paper's Gen (figure 1), for a point function with the value 1: a string of `512 * 2^depth` bits.
fn keys(index: u64, depth: usize, rng: &mut dyn CryptoRng) -> TwoServers<Query> {
    let mut salt = [0; 16];
    rng.fill_bytes(&mut salt);
    let mut roots = Zeroizing::new([[0; 16]; 2]);
    rng.fill_bytes(roots.as_flattened_mut());
    let generator = Generator::new(&salt);
    let mut path = Path { seeds: roots.clone(), bits: [Choice::from(0), Choice::from(1)] };
    let leaf_number = index / LEAF_RECORDS;
    let levels: Vec<CorrectionWord> = (0..depth)
        .rev()
        .map(|height| path.descend(&generator, Choice::from((leaf_number >> height & 1) as u8)))
        .collect();
    let leaf = path.leaf(&generator, index % LEAF_RECORDS);
    let key =
        |party: usize| Query { salt, root: roots[party], party: party as u8, levels: levels.clone(), leaf };
    TwoServers(key(0), key(1))
}

impl Path {
    /// Steps to the right child if `right`, else to the left one, and returns the correction word
    /// that makes the other children of both trees equal.
    fn descend(&mut self, generator: &Generator, right: Choice) -> CorrectionWord {
        let mut children = Zeroizing::new([[0; 16]; 4]);
        let mut control = Zeroizing::new([[0; 16]; 2]);
        generator.children(&self.seeds[..], &mut children[..]);
        generator.control(&self.seeds[..], &mut control[..]);
        let [left_0, right_0, left_1, right_1] = children.map(u128::from_le_bytes);
        let kept =
            [(left_0, right_0), (left_1, right_1)].map(|(l, r)| u128::conditional_select(&l, &r, right));
        let lost =
            [(left_0, right_0), (left_1, right_1)].map(|(l, r)| u128::conditional_select(&r, &l, right));
        let bit = |tree: usize, place: u32| Choice::from(control[tree][0] >> place & 1);
        let word = lost[0] ^ lost[1];
        let left_bit = bit(0, 0) ^ bit(1, 0) ^ !right;
        let right_bit = bit(0, 1) ^ bit(1, 1) ^ right;
        let kept_bit = Choice::conditional_select(&left_bit, &right_bit, right);
        for (tree, kept) in kept.into_iter().enumerate() {
            let correction = u128::conditional_select(&0, &word, self.bits[tree]);
            self.seeds[tree] = (kept ^ correction).to_le_bytes();
            let own = Choice::conditional_select(&bit(tree, 0), &bit(tree, 1), right);
            self.bits[tree] = own ^ self.bits[tree] & kept_bit;
        }
        CorrectionWord { seed: word.to_le_bytes(), left: left_bit.unwrap_u8(), right: right_bit.unwrap_u8() }
    }

    /// The correction word that makes the two leaves differ in one bit, which is the record's.
    fn leaf(&self, generator: &Generator, place: u64) -> [u8; 64] {
        let mut leaves = Zeroizing::new([[0; 16]; 8]);
        generator.leaves(&self.seeds[..], &mut leaves[..]);
        let bytes = leaves.as_flattened();
        std::array::from_fn(|i| {
            let bit = u8::conditional_select(&0, &(1 << (place % 8)), (i as u64).ct_eq(&(place / 8)));
            bytes[i] ^ bytes[64 + i] ^ bit
        })
    }
}
