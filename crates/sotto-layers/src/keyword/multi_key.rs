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
///
/// ```
/// use sotto_core::{Compose, Layer as _};
/// use sotto_layers::keyword::{BuildOptions, Key, KeyForm, KeywordBuilder};
/// use sotto_layers::{BatchCode, MultiKeyword, batch_code::code::CodeSizes};
/// use sotto_prg::{PublicSeed, system_rng};
///
/// let seed = PublicSeed([7; 32]);
/// let mut builder = KeywordBuilder::new(BuildOptions::new(KeyForm::Bytes, seed.clone()))?;
/// for key in 0..1000u32 {
///     builder.add(&key.to_be_bytes(), 8)?;
/// }
/// let keyword = builder.place()?.keyword().clone();
///
/// // Up to four keys in a request: their rows are fetched through a batch code.
/// let (rows, items) = (keyword.params().rows, 4 * keyword.visits().len());
/// let code = BatchCode::new(CodeSizes::fit(rows, items)?, &seed)?;
/// let layer = Compose(MultiKeyword::new(keyword, 4), code);
///
/// // One key or three, present or missing: the server sees the same lookups.
/// let rng = &mut system_rng()?;
/// let key = |key: u32| Key::new(key.to_be_bytes().to_vec());
/// let (one, _) = layer.plan(&[key(1)], rng)?;
/// let (three, _) = layer.plan(&[key(1), key(999), key(4_000_000)], rng)?;
/// assert_eq!(one.len(), three.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
            return Err(Misuse::Rule("the request exceeds the maximum keys of the layer").into());
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
            return Err(Misuse::Rule("there must be a row for each lookup").into());
        }
        let of_keys = rows.chunks_exact(self.keyword.params().probes as usize);
        plan.0.iter().zip(of_keys).map(|(plan, rows)| self.keyword.read(*plan.digest, rows)).collect()
    }
}
