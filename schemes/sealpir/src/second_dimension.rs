//! The second dimension: the contributions of some columns, and the result for all of them
//! together.

use crate::digits::{self, PLAINTEXTS};
use crate::method::{ExpandedSelectors, SecondDimension};
use rayon::prelude::*;
use sotto_bfv::evaluator::{ColumnSums, Evaluator};
use sotto_lattice::bgv::table_product::product_sum;
use sotto_lattice::bgv::{AnswerBits, Ciphertext, Scratch};
use sotto_lattice::threads::items_per_thread;
use zeroize::Zeroizing;

impl ExpandedSelectors {
    /// The contribution of some columns: with a second dimension the share of their blocks in its
    /// sums.
    pub(crate) fn share_of(
        &self,
        evaluator: &Evaluator<'_>,
        second_dimension: &[Ciphertext],
        columns: &ColumnSums,
    ) -> Vec<Ciphertext> {
        let first = columns.cols.start;
        // A column of a block, and the sums of it in the present blocks, with their selectors.
        let mut work: Vec<Vec<(Option<&Ciphertext>, &Ciphertext)>> = Vec::new();
        for (bucket, sums) in columns.tables.iter().enumerate() {
            let second = second_dimension.chunks(self.blocks).nth(bucket).unwrap_or_default();
            let all = sums.iter().enumerate().map(|(i, sum)| (first + i, sum));
            if self.second == SecondDimension::None {
                work.extend(all.map(|(_, sum)| vec![(None, sum)]));
                continue;
            }
            let of = |k: usize| {
                let mine = all.clone().filter(|(column, _)| column % self.width == k);
                mine.map(|(column, sum)| (second.get(column / self.width), sum)).collect()
            };
            work.extend((0..self.width).map(of));
        }
        let one = |scratch: &mut Scratch, work: &Vec<(Option<&Ciphertext>, &Ciphertext)>| {
            let pairs: Vec<[&Ciphertext; 2]> =
                work.iter().filter_map(|(second, sum)| Some([(*second)?, *sum])).collect();
            match self.second {
                SecondDimension::None => {
                    work.iter().map(|(_, sum)| evaluator.lowered((*sum).clone(), 1, scratch)).collect()
                }
                SecondDimension::Digits(bits) => self.selected(evaluator, bits, &pairs),
                SecondDimension::Product => vec![evaluator.product_sum(&pairs)],
            }
        };
        work.par_iter().map_init(|| evaluator.scratch(), one).collect::<Vec<Vec<Ciphertext>>>().concat()
    }

    /// Combines contributions: those of a second dimension are summed; without one they are
    /// concatenated, bucket by bucket.
    pub(crate) fn finished(
        &self,
        evaluator: &Evaluator<'_>,
        shares: Vec<Vec<Ciphertext>>,
    ) -> Vec<Ciphertext> {
        if self.second == SecondDimension::None {
            let of = |bucket| {
                let mine = move |share: &Vec<Ciphertext>| {
                    let each = share.len() / self.buckets;
                    share.iter().skip(bucket * each).take(each).cloned().collect::<Vec<_>>()
                };
                shares.iter().flat_map(mine).collect::<Vec<_>>()
            };
            return (0..self.buckets).flat_map(of).collect();
        }
        let sums = evaluator.added(shares);
        if self.second != SecondDimension::Product {
            return sums;
        }
        let one = |scratch: &mut Scratch, sum: &Ciphertext| {
            let product = evaluator.relinearized(sum, scratch);
            evaluator.lowered(product, 1, scratch)
        };
        sums.par_iter().map_init(|| evaluator.scratch(), one).collect()
    }

    /// The plaintexts of the sums, times the second selectors. Threads of the current pool take
    /// ranges of the sums.
    fn selected(
        &self,
        evaluator: &Evaluator<'_>,
        bits: AnswerBits,
        pairs: &[[&Ciphertext; 2]],
    ) -> Vec<Ciphertext> {
        let level = evaluator.ring.top();
        let some = |pairs: &[[&Ciphertext; 2]]| {
            let mut values: Vec<Vec<Zeroizing<Vec<u64>>>> = vec![Vec::new(); PLAINTEXTS];
            for [_, sum] in pairs {
                let plaintexts = digits::split(evaluator.ring, bits, self.set.bits, sum);
                values.iter_mut().zip(plaintexts).for_each(|(values, plaintext)| {
                    values.push(evaluator.ring.from_plain(level, &plaintext));
                });
            }
            let second: Vec<&Ciphertext> = pairs.iter().map(|[second, _]| *second).collect();
            let one = |values: &Vec<Zeroizing<Vec<u64>>>| {
                let rows: Vec<&[u64]> = values.iter().map(|values| values.as_slice()).collect();
                let mut out = Ciphertext::zero(evaluator.ring, level, 2);
                product_sum(evaluator.ring, &second, &rows, &mut out);
                out
            };
            values.iter().map(one).collect()
        };
        evaluator.added(pairs.par_chunks(items_per_thread(pairs.len())).map(some).collect())
    }
}
