//! The client of every scheme of the family: prepare, query, recover.
//!
//! No branch, index or allocation depends on the requested index or on a secret; the only exception
//! is refusing an index past the end.

use crate::message::{Answer, Query};
use crate::method::{
    BatchClient, MatrixClient, MatrixLiteral as _, MatrixScheme, Method, Params, PatchMethod, Preparation,
    RegisteredKeys, SumClient,
};
use sotto_core::{
    Artifact, ArtifactNeed, BatchScheme, CryptoRng, Misuse, OneServer, PatchArtifact, Record, RecordIndex,
    Result, SumElement, SumScheme, check_bucket_places, wire,
};

/// A client in preparation.
pub struct Prepare<M: Method> {
    params: Params<M>,
    prepared: M::Prepare,
}

impl<M: Method> sotto_core::Prepare<MatrixScheme<M>> for Prepare<M> {
    fn begin(params: &Params<M>, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare { prepared: M::Prepare::begin(params, rng)?, params: params.clone() })
    }

    fn needs(&self) -> Vec<ArtifactNeed> {
        self.prepared.needs(&self.params)
    }

    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        self.prepared.absorb(&self.params, from, chunk)
    }

    fn finish(self) -> Result<Client<M>> {
        Ok(Client { half: M::Client::new(&self.params, self.prepared)?, params: self.params })
    }
}

/// A prepared client.
pub struct Client<M: Method> {
    params: Params<M>,
    half: M::Client,
}

/// The secrets of one query.
pub struct Pending<M: Method>(<M::Client as MatrixClient<M>>::Pending);

impl<M: Method> sotto_core::Client<MatrixScheme<M>> for Client<M> {
    type Pending = Pending<M>;

    fn keys(&self) -> M::Keys {
        M::Keys::of(&self.half)
    }

    fn query(
        &mut self,
        index: RecordIndex,
        rng: &mut dyn CryptoRng,
    ) -> Result<(OneServer<Query>, Pending<M>)> {
        let len = self.params.records();
        if index.0 >= len {
            return Err(Misuse::IndexPastEnd { index: index.0, len }.into());
        }
        let (query, pending) = self.half.query(&self.params, index.0, rng)?;
        Ok((OneServer(query), Pending(pending)))
    }

    fn recover(
        &mut self,
        Pending(pending): Pending<M>,
        OneServer(Answer(answer)): OneServer<Answer>,
    ) -> Result<Record> {
        self.ensure_own(&answer)?;
        Ok(self.record(self.half.recover(&self.params, pending, answer)?))
    }
}

impl<M: Method> Client<M> {
    /// Refuses an answer to a query under other parameters.
    fn ensure_own(&self, answer: &[Vec<u64>]) -> Result<()> {
        if self.params.answer().fits(answer) {
            Ok(())
        } else {
            Err(Misuse::ForeignValue("pending query").into())
        }
    }

    /// A record of its bytes and more.
    fn record(&self, mut bytes: Vec<u8>) -> Record {
        bytes.truncate(self.params.record_bytes() as usize);
        Record::new(bytes)
    }
}

impl<M: Method<Client: BatchClient<M>>> BatchScheme for MatrixScheme<M> {
    fn buckets(params: &Params<M>) -> u64 {
        params.buckets()
    }

    fn query_buckets(
        client: &mut Client<M>,
        places: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(OneServer<Query>, Pending<M>)> {
        check_bucket_places(places, client.params.buckets(), client.params.bucket_records())?;
        let (query, pending) = client.half.query_buckets(&client.params, places, rng)?;
        Ok((OneServer(query), Pending(pending)))
    }

    fn recover_buckets(
        client: &mut Client<M>,
        Pending(pending): Pending<M>,
        OneServer(Answer(answer)): OneServer<Answer>,
    ) -> Result<Vec<Record>> {
        client.ensure_own(&answer)?;
        let records = client.half.recover_buckets(&client.params, pending, answer)?;
        Ok(records.into_iter().map(|bytes| client.record(bytes)).collect())
    }
}

impl<M: Method<Client: SumClient<M>>> SumScheme for MatrixScheme<M> {
    const UNIT: SumElement = M::Client::UNIT;

    fn query_sum(
        client: &mut Client<M>,
        first: RecordIndex,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(OneServer<Query>, Pending<M>)> {
        let len = client.params.records();
        if first.0 >= len {
            return Err(Misuse::IndexPastEnd { index: first.0, len }.into());
        }
        let (query, pending) = client.half.query_sum(&client.params, first.0, ones, rng)?;
        Ok((OneServer(query), Pending(pending)))
    }
}

impl<M: PatchMethod> PatchArtifact for MatrixScheme<M> {
    fn patch(params: &Params<M>, artifact: Artifact, held: &mut [u8], delta: &[u8]) -> Result<()> {
        if artifact != Artifact::Hint {
            return Err(Misuse::UnexpectedArtifact(artifact.name()).into());
        }
        wire::exact("hint", held, usize::try_from(M::hint_bytes(params)).unwrap_or(usize::MAX))?;
        M::patch(params, held, delta)
    }
}
