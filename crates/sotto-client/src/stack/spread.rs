//! Which query of which table each visit of a layer is.
//!
//! A table stands for one of the layer's shards, or for as many consecutive ones as it has buckets; then its buckets may have more rows
//! than the shards, which nobody asks for. A query of such a table brings a row of each bucket, so there are as many queries as there
//! are visits to the bucket that has most. Where the others have fewer, a row is drawn at random. All of this follows from the visits,
//! which know no request.

use sotto_core::{CryptoRng, Row};
use sotto_layers::draw;
use zeroize::Zeroizing;

/// What a table consists of.
pub(super) struct Parts {
    /// How many buckets.
    pub(super) count: usize,
    /// Rows of each.
    pub(super) rows: u64,
}

/// A layer's visits as queries.
pub(super) struct Spread {
    tables: Vec<Parts>,
    /// Of each visit the table, and where its row lies among those of all the table's queries.
    places: Vec<(usize, usize)>,
    /// The table of each query.
    queries: Vec<usize>,
}

impl Spread {
    /// How visits of a layer with such shards are made; `None` if the tables are not those of its shards.
    pub(super) fn new(tables: Vec<Parts>, shards: &[u64], visits: &[usize]) -> Option<Self> {
        // Of each shard: its table, its bucket there, and how often it was visited.
        let mut known: Vec<(usize, usize, usize)> = Vec::with_capacity(shards.len());
        let mut left = shards;
        for (table, parts) in tables.iter().enumerate() {
            let (own, rest) = left.split_at_checked(parts.count)?;
            let fits = |rows: &u64| if parts.count == 1 { *rows == parts.rows } else { *rows <= parts.rows };
            if !own.iter().all(fits) {
                return None;
            }
            known.extend((0..own.len()).map(|bucket| (table, bucket, 0)));
            left = rest;
        }
        if !left.is_empty() {
            return None;
        }
        let mut places = Vec::with_capacity(visits.len());
        let mut most = vec![0; tables.len()];
        for shard in visits {
            let (table, bucket, count) = known.get_mut(*shard)?;
            places.push((*table, *count * tables.get(*table)?.count + *bucket));
            *count += 1;
            let most = most.get_mut(*table)?;
            *most = (*most).max(*count);
        }
        let queries = most.into_iter().enumerate().flat_map(|(table, most)| vec![table; most]).collect();
        Some(Spread { tables, places, queries })
    }

    /// How many visits there are.
    pub(super) fn visits(&self) -> usize {
        self.places.len()
    }

    /// The table of each query.
    pub(super) fn queries(&self) -> &[usize] {
        &self.queries
    }

    /// What to ask of each table for the rows of all visits; `None` if there is not one for each.
    pub(super) fn lay(&self, rows: &[u64], rng: &mut dyn CryptoRng) -> Option<Vec<Zeroizing<Vec<u64>>>> {
        if rows.len() != self.places.len() {
            return None;
        }
        let mut wanted: Vec<Zeroizing<Vec<u64>>> = self.tables.iter().map(|_| Zeroizing::default()).collect();
        for table in &self.queries {
            let Parts { count, rows } = self.tables.get(*table)?;
            let idle = (0..*count).map(|_| draw::row(*rows, rng));
            wanted.get_mut(*table)?.extend(idle);
        }
        for ((table, place), row) in self.places.iter().zip(rows) {
            *wanted.get_mut(*table)?.get_mut(*place)? = *row;
        }
        Some(wanted)
    }

    /// The rows of all visits, of what came from each table; `None` if some did not.
    pub(super) fn gather(&self, mut answers: Vec<Vec<Vec<u8>>>) -> Option<Vec<Row>> {
        let row =
            |(table, place): &(usize, usize)| answers.get_mut(*table)?.get_mut(*place).map(std::mem::take);
        self.places.iter().map(row).map(|row| row.map(Row::new)).collect()
    }
}
