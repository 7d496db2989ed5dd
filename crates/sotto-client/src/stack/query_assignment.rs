//! Assignment of a layer's visits to queries of tables.
//!
//! A table serves one of the layer's shards, or as many consecutive ones as it has buckets; then
//! its buckets may have more rows than the shards, and the additional rows are empty. A query of
//! such a table returns a row of each bucket, so there are as many queries as there are visits to
//! the most visited bucket. Where other buckets have fewer visits, a row is drawn at random. All of
//! this follows from the visits, which do not depend on a request.

use sotto_core::{CryptoRng, Row};
use sotto_layers::dummy_rows;
use zeroize::Zeroizing;

/// Number and size of the buckets of a table.
pub struct StackTable {
    /// Number of buckets.
    pub count: usize,
    /// Rows in each bucket.
    pub rows: u64,
}

/// A layer's visits, assigned to queries.
pub struct QueryAssignment {
    tables: Vec<StackTable>,
    /// For each visit its table, and the position of its row among the rows of all the table's
    /// queries.
    places: Vec<(usize, usize)>,
    /// Number of the table of each query.
    queries: Vec<usize>,
}

impl QueryAssignment {
    /// Assigns the visits of a layer with these shards; `None` if the tables do not serve these
    /// shards.
    pub fn new(tables: Vec<StackTable>, shards: &[u64], visits: &[usize]) -> Option<Self> {
        // For each shard: its table, its bucket there, and its number of visits.
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
        let mut max_visits = vec![0; tables.len()];
        for shard in visits {
            let (table, bucket, count) = known.get_mut(*shard)?;
            places.push((*table, *count * tables.get(*table)?.count + *bucket));
            *count += 1;
            let max_visits = max_visits.get_mut(*table)?;
            *max_visits = (*max_visits).max(*count);
        }
        let queries = max_visits.into_iter().enumerate();
        let queries = queries.flat_map(|(table, count)| vec![table; count]).collect();
        Some(QueryAssignment { tables, places, queries })
    }

    /// The number of visits.
    pub(super) fn visits(&self) -> usize {
        self.places.len()
    }

    /// The number of the table of each query.
    pub fn queries(&self) -> &[usize] {
        &self.queries
    }

    /// The rows to query in each table for the rows of all visits; `None` if their number is not
    /// that of the visits.
    pub fn assign(&self, rows: &[u64], rng: &mut dyn CryptoRng) -> Option<Vec<Zeroizing<Vec<u64>>>> {
        if rows.len() != self.places.len() {
            return None;
        }
        let mut assigned: Vec<Zeroizing<Vec<u64>>> =
            self.tables.iter().map(|_| Zeroizing::default()).collect();
        for table in &self.queries {
            let StackTable { count, rows } = self.tables.get(*table)?;
            let idle = (0..*count).map(|_| dummy_rows::row(*rows, rng));
            assigned.get_mut(*table)?.extend(idle);
        }
        for ((table, place), row) in self.places.iter().zip(rows) {
            *assigned.get_mut(*table)?.get_mut(*place)? = *row;
        }
        Some(assigned)
    }

    /// Collects the rows of all visits from the answers of each table; `None` if some are missing.
    pub fn gather(&self, mut answers: Vec<Vec<Vec<u8>>>) -> Option<Vec<Row>> {
        let row =
            |(table, place): &(usize, usize)| answers.get_mut(*table)?.get_mut(*place).map(std::mem::take);
        self.places.iter().map(row).map(|row| row.map(Row::new)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_testkit::rng::seeded;

    /// Assigns visits to tables of these bucket counts and sizes.
    fn spread(tables: &[(usize, u64)], shards: &[u64], visits: &[usize]) -> Option<QueryAssignment> {
        let parts = tables.iter().map(|(count, rows)| StackTable { count: *count, rows: *rows });
        QueryAssignment::new(parts.collect(), shards, visits)
    }

    #[test]
    fn visits_to_several_buckets_share_queries() {
        let visits = [2, 0, 2, 3, 1, 2, 4, 3];
        let spread = spread(&[(3, 8), (1, 9), (1, 4)], &[5, 7, 8, 9, 4], &visits).unwrap();
        assert_eq!((spread.visits(), spread.queries()), (8, &[0, 0, 0, 1, 1, 2][..]));
        let rng = &mut seeded("spread");
        let rows = [10, 20, 30, 40, 50, 60, 70, 80];
        let assigned = spread.assign(&rows, rng).unwrap();
        let lengths: Vec<usize> = assigned.iter().map(|rows| rows.len()).collect();
        assert_eq!(lengths, [9, 2, 1]);
        assert_eq!((&assigned[0][..3], assigned[0][5], assigned[0][8]), (&[20, 50, 10][..], 30, 60));
        assert_eq!((&assigned[1][..], &assigned[2][..]), (&[40, 80][..], &[70][..]));
        let idle: Vec<Vec<u64>> = (0..200)
            .map(|_| {
                let assigned = spread.assign(&rows, rng).unwrap();
                [3, 4, 6, 7].map(|place| assigned[0][place]).to_vec()
            })
            .collect();
        for place in 0..4 {
            let drawn: std::collections::BTreeSet<u64> = idle.iter().map(|idle| idle[place]).collect();
            assert!(drawn.into_iter().eq(0..8), "every row of a bucket, and none past it");
        }
        let answers = assigned.iter().map(|rows| rows.iter().map(|row| vec![*row as u8]).collect()).collect();
        let rows: Vec<u8> = spread.gather(answers).unwrap().iter().map(|row| row[0]).collect();
        assert_eq!(rows, [10, 20, 30, 40, 50, 60, 70, 80]);
        assert!(spread.assign(&[1; 7], rng).is_none() && spread.gather(vec![Vec::new(); 3]).is_none());
    }

    #[test]
    fn tables_of_other_shards_are_refused() {
        assert!(spread(&[(2, 8), (1, 9)], &[5, 8, 9], &[0, 1, 2]).is_some());
        assert!(spread(&[(2, 8), (1, 9)], &[5, 9, 9], &[]).is_none(), "a bucket is too short");
        assert!(spread(&[(2, 8), (1, 9)], &[5, 8, 8], &[]).is_none(), "an ordinary table is not filled up");
        assert!(spread(&[(2, 8), (1, 9)], &[5, 8], &[]).is_none(), "a shard is missing");
        assert!(spread(&[(2, 8), (1, 9)], &[5, 8, 9, 9], &[]).is_none(), "a table is missing");
        assert!(spread(&[(3, 8)], &[5, 8], &[]).is_none(), "more buckets than shards");
        assert!(spread(&[(2, 8)], &[5, 8], &[2]).is_none(), "a visit to no shard");
    }
}
