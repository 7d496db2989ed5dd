//! The records that a lookup needs, and what their answers say. A lookup is of one row or, in a
//! table of several buckets, of one row of each bucket, by queries that each return a record of
//! every bucket: the first query is for the first record of each row, and so on.

use super::query_request::{QueryRequest, QueryTargets, Session};
use crate::{ClientError, Result};
use sotto_catalog::Packing;
use sotto_core::{AnyPending, CryptoRng, Error, Misuse, PeerMisbehaved, Record, RecordIndex};
use zeroize::Zeroizing;

/// The queries for each server, and the secrets that read all answers.
pub(super) type ServerQueries = (Vec<Vec<Vec<u8>>>, Vec<AnyPending>);

impl Session {
    /// Number of buckets of which one query returns a record each; 1 for ordinary tables.
    pub fn buckets(&self) -> usize {
        usize::try_from(self.table.terms.buckets).unwrap_or(usize::MAX)
    }

    /// Number of rows in each bucket; in ordinary tables, of all rows.
    pub fn bucket_rows(&self) -> u64 {
        self.packing().rows() / self.table.terms.buckets.max(1)
    }

    /// Queries one row of each bucket, once or several times: `rows` contains, for each time, one
    /// row of every bucket, by its index within the bucket. In an ordinary table this is
    /// [`Session::query`].
    ///
    /// The server sees how many times. A row past the end of its bucket is queried like any other.
    ///
    /// # Errors
    /// As for [`Session::query`]; [`Misuse::Rule`] if `rows` does not contain equally many rows of
    /// every bucket. Nothing was sent then.
    pub fn query_each_bucket(&mut self, rows: &[u64], rng: &mut dyn CryptoRng) -> Result<QueryRequest> {
        self.query_by(self.buckets(), &QueryTargets::rows(rows), rng)
    }

    /// Makes the queries for the records of rows, with `each` rows per lookup, or for sums of rows.
    pub(super) fn queries(
        &mut self,
        each: usize,
        targets: &QueryTargets,
        rng: &mut dyn CryptoRng,
    ) -> Result<ServerQueries> {
        self.ensure_usable()?;
        let QueryTargets { rows, ones } = targets;
        if !rows.len().is_multiple_of(each) {
            return Err(Error::from(Misuse::Rule("the rows of a request are not one for each bucket")).into());
        }
        let (depths, most) = (self.packing().records_per_row(), self.max_rows());
        let lookups = rows.len() / each;
        let too_many = |rows| ClientError::TooManyRows { rows, limit: most };
        if lookups == 0 || lookups > most {
            return Err(too_many(lookups));
        }
        let count = lookups.saturating_mul(depths);
        u16::try_from(count).map_err(|_| too_many(count))?;
        let part = self.part(each)?;
        let mut for_each = vec![Vec::with_capacity(count); self.ids.len()];
        let mut secrets = Vec::with_capacity(count);
        for (i, rows) in rows.chunks(each).enumerate() {
            let records: Vec<Vec<RecordIndex>> = rows.iter().map(|row| part.records_of(*row)).collect();
            for depth in 0..depths {
                let records = records.iter().filter_map(|records| records.get(depth)).copied().collect();
                let (queries, secret) = self.query_records(records, ones.get(i), rng)?;
                for (all, query) in for_each.iter_mut().zip(queries) {
                    all.push(query);
                }
                secrets.push(secret);
            }
        }
        Ok((for_each, secrets))
    }

    /// Makes one query: for a record, for a sum of records from one on, or for a record of each
    /// bucket.
    fn query_records(
        &mut self,
        records: Vec<RecordIndex>,
        ones: Option<&u128>,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<Vec<u8>>, AnyPending)> {
        match (records.as_slice(), ones) {
            ([record], None) => return Ok(self.client.query(*record, rng)?),
            ([record], Some(ones)) => {
                let rule = Misuse::Rule("the scheme cannot sum records");
                let sum = self.client.sum().ok_or(Error::from(rule))?;
                return Ok(sum.query_sum(*record, *ones, rng)?);
            }
            _ => {}
        }
        let batch = self.client.batch().ok_or_else(no_buckets)?;
        let places = Zeroizing::new(records.into_iter().map(|record| record.0).collect::<Vec<u64>>());
        Ok(batch.query_buckets(&places, rng)?)
    }

    /// How rows are packed into the records of a bucket, if a lookup has `each` rows.
    fn part(&self, each: usize) -> Result<Packing> {
        if each == 1 {
            return Ok(*self.packing());
        }
        Ok(self.packing().with_rows(self.bucket_rows())?)
    }

    /// Recovers the requested rows from all servers' answers.
    pub(super) fn rows_of(&mut self, query: QueryRequest, by_server: &[Vec<&[u8]>]) -> Result<Vec<Vec<u8>>> {
        let (each, lookups) = (query.each, self.packing().records_per_row());
        let part = self.part(each)?;
        let mut read = Vec::with_capacity(query.secrets.len());
        for (i, secret) in query.secrets.into_iter().enumerate() {
            let answers = by_server.iter().filter_map(|answers| answers.get(i)).map(|answer| answer.to_vec());
            read.push(self.answered(each, secret, &answers.collect::<Vec<_>>())?.into_iter());
        }
        let mut records = Vec::with_capacity(query.rows.len() * lookups);
        for depths in read.chunks_mut(lookups) {
            for _ in 0..each {
                records.extend(depths.iter_mut().filter_map(Iterator::next));
            }
        }
        let (got, want) = (records.len() as u64, (query.rows.len() * lookups) as u64);
        if got != want {
            return Err(Error::from(PeerMisbehaved::Count { what: "answers", got, want }).into());
        }
        let each_row = || query.rows.iter().zip(records.chunks(lookups));
        let mut proved = true;
        for (bucket, (&row, records)) in each_row().enumerate().map(|(i, row)| (i % each, row)) {
            let row = bucket as u64 * part.rows() + part.clamp_row(row);
            proved &= self.is_proved(row, records)?;
        }
        if !proved {
            return Err(self.row_proof_error());
        }
        each_row().map(|(&row, records)| Ok(part.extract(row, records)?)).collect()
    }

    /// Recovers the records of one answer: one record, or one of each bucket.
    fn answered(&mut self, each: usize, secret: AnyPending, answers: &[Vec<u8>]) -> Result<Vec<Record>> {
        if each == 1 {
            return Ok(vec![self.client.recover(secret, answers)?]);
        }
        Ok(self.client.batch().ok_or_else(no_buckets)?.recover_buckets(secret, answers)?)
    }
}

fn no_buckets() -> Error {
    Misuse::Rule("the table has several buckets, and its scheme has no batch queries").into()
}
