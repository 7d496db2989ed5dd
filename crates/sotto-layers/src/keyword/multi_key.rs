//! Several keys in one request, over a batch code.

use super::{Key, Keyword, Value};
use crate::dummy_rows;
use sotto_core::{CryptoRng, Misuse, Result, Row};

/// Lookups of up to a fixed number of keys at once, whose rows a batch code fetches:
/// `Compose<MultiKeyword, B>`.
///
/// The number of lookups is that of the largest request. A smaller request is filled up with random
/// rows. A row may occur several times, since keys share rows and the same key may be requested
/// twice: batch codes handle that.
#[derive(Debug, Clone)]
pub struct MultiKeyword {
    keyword: Keyword,
    most: usize,
}

/// The secret plan of several keys. Wiped on drop.
#[derive(Debug)]
pub struct Plan(Vec<super::Plan>);

impl MultiKeyword {
    /// Requests of at most `most` keys.
    pub fn new(keyword: Keyword, most: usize) -> Self {
        MultiKeyword { keyword, most }
    }

    /// The layer of single keys.
    pub fn keyword(&self) -> &Keyword {
        &self.keyword
    }

    /// Maximum number of keys of a request.
    pub fn most(&self) -> usize {
        self.most
    }
}

impl sotto_core::Layer for MultiKeyword {
    /// Keys in their form.
    type Request = [Key];
    /// The value of each key, or `None` if the table does not have it.
    type Reply = Vec<Option<Value>>;
    type Plan = Plan;

    fn shards(&self) -> Vec<u64> {
        self.keyword.shards()
    }

    fn visits(&self) -> Vec<usize> {
        vec![0; self.most.saturating_mul(self.keyword.params().probes as usize)]
    }

    fn plan(&self, keys: &[Key], rng: &mut dyn CryptoRng) -> Result<(Vec<u64>, Plan)> {
        if keys.len() > self.most {
            return Err(Misuse::Rule("no more keys at once than the layer is made for").into());
        }
        let (mut rows, mut plans) = (Vec::with_capacity(self.visits().len()), Vec::with_capacity(self.most));
        for key in keys {
            let (of_key, plan) = self.keyword.plan(key, rng)?;
            rows.extend(of_key);
            plans.push(plan);
        }
        // Dummy rows are like a key's rows: one in each part of the table.
        let probes = u64::from(self.keyword.params().probes);
        let part = self.keyword.params().rows / probes;
        for _ in keys.len()..self.most {
            rows.extend((0..probes).map(|probe| probe * part + dummy_rows::row(part, rng)));
        }
        Ok((rows, Plan(plans)))
    }

    fn assemble(&self, plan: Plan, rows: Vec<Row>) -> Result<Self::Reply> {
        if rows.len() != self.visits().len() {
            return Err(Misuse::Rule("a row for each lookup").into());
        }
        let of_keys = rows.chunks_exact(self.keyword.params().probes as usize);
        plan.0.iter().zip(of_keys).map(|(plan, rows)| self.keyword.read(*plan.digest, rows)).collect()
    }
}
