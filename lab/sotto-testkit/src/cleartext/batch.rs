//! A record of each bucket by one query: the query has a place in each, and the answer has the
//! records one after the other.

use super::client::{ClientState, Pending};
use super::message::{Answer, Query};
use super::params::ClearParams;
use super::{Clear, SchemeKind};
use sotto_core::{BatchScheme, CryptoRng, Misuse, PerServer, Record, Result, check_bucket_places};

impl<K: SchemeKind> BatchScheme for Clear<K> {
    fn buckets(params: &ClearParams<K>) -> u64 {
        params.buckets()
    }

    fn query_buckets(
        client: &mut ClientState<K>,
        places: &[u64],
        _: &mut dyn CryptoRng,
    ) -> Result<(K::Fan<Query>, Pending<K>)> {
        check_bucket_places(places, client.params.buckets(), client.params.bucket_records())?;
        let rule = Misuse::Rule("there is a query for each server");
        let queries = <K::Fan<Query>>::from_vec(vec![Query::of(places)]).ok_or(rule)?;
        Ok((queries, Pending::new(client.next, 0)))
    }

    fn recover_buckets(
        client: &mut ClientState<K>,
        _: Pending<K>,
        answers: K::Fan<Answer>,
    ) -> Result<Vec<Record>> {
        let (answers, each) = (answers.into_vec(), client.params.bucket_records());
        let read = |bucket| client.read(bucket * each, &answers).map(Record::new);
        (0..client.params.buckets()).map(read).collect()
    }
}
