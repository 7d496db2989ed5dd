//! A table that is served: its shards, what clients are told of it, and the answer to one lookup.

use crate::codec::Codec;
use crate::config::{self, Dialect, Id, id, key_config};
use crate::keyword::table::Shard;
use crate::lookup;
use crate::proto::{EvaluationKeyConfig, PirConfig, PirRequest, PirResponse};
use crate::service::{KeyStore, Refused, refused};
use crate::sets::{Set, Weak};
use sotto_bfv::mulpir::{Compression, Shape};
use sotto_core::{Error, ParamsError};
use std::sync::Arc;

/// A table under one configuration. A client that has the configuration may ask it as long as it is served.
#[derive(Debug)]
pub struct UseCase {
    pub(crate) codec: Arc<Codec>,
    shards: Vec<Shard>,
    pub(crate) keys: EvaluationKeyConfig,
    pub(crate) key_id: Id,
    /// What clients are told of it, in each dialect that is spoken, and the digest.
    told: [(Dialect, PirConfig, Id); 2],
    whole: Whole,
}

/// Whether what answers are made of is as it was.
struct Whole(Arc<dyn Fn() -> bool + Send + Sync>);

impl std::fmt::Debug for Whole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Whole")
    }
}

impl UseCase {
    /// A use case of these shards, which are of the codec's ring.
    ///
    /// # Errors
    /// [`ParamsError::Unreliable`] if a lookup would fail more often than once in 2^40.
    pub fn new(
        set: Set,
        codec: Arc<Codec>,
        shards: Vec<Shard>,
        compression: Compression,
    ) -> Result<Self, ParamsError> {
        shards.iter().try_for_each(|shard| codec.check(shard.shape(), compression))?;
        let keys = key_config(&set, &codec, &shards, compression);
        let shapes: Vec<Shape> = shards.iter().map(|shard| *shard.shape()).collect();
        let told = [Dialect::Listed, Dialect::Repeated].map(|dialect| {
            let config = config::config(&set.message(), &keys, &shapes, dialect);
            (dialect, config.clone(), id(&config))
        });
        Ok(UseCase { key_id: id(&keys), keys, codec, shards, told, whole: Whole(Arc::new(|| true)) })
    }

    /// The same, of tables that lie where they may be written to: before an answer is given, `whole` says whether all that it was
    /// made of is as it was.
    pub fn checked(self, whole: Arc<dyn Fn() -> bool + Send + Sync>) -> Self {
        UseCase { whole: Whole(whole), ..self }
    }

    /// The codec of a set.
    ///
    /// # Errors
    /// [`ParamsError::Insecure`] below 128 bits, unless weak sets are allowed.
    pub fn codec(set: &Set, weak: Weak) -> Result<Arc<Codec>, ParamsError> {
        Ok(Arc::new(Codec::new(set.kit(weak)?.0)?))
    }

    /// Its shards.
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// The configuration and its digest; those of the first dialect where this one is not spoken.
    pub(crate) fn config(&self, dialect: Dialect) -> (&PirConfig, &Id) {
        let [first, _] = &self.told;
        let (_, config, id) = self.told.iter().find(|(spoken, ..)| *spoken == dialect).unwrap_or(first);
        (config, id)
    }

    /// Whether a digest names this configuration, in whatever words a client was told it: a system may be new since then.
    pub(crate) fn is_named(&self, digest: &[u8]) -> bool {
        self.told.iter().any(|(_, _, id)| id == digest)
    }

    /// The automorphisms that its keys are of.
    pub(crate) fn elements(&self) -> Vec<usize> {
        self.keys.galois_elements.iter().map(|element| *element as usize).collect()
    }

    /// Bytes of a query at most.
    pub(crate) fn most_query_bytes(&self) -> usize {
        self.shards.iter().map(|shard| lookup::most_bytes(&self.codec, shard.shape())).max().unwrap_or(0)
    }

    /// Answers a lookup of a user.
    pub(crate) fn lookup(
        &self,
        user: &str,
        asked: &PirRequest,
        store: &dyn KeyStore,
    ) -> Result<PirResponse, Refused> {
        let (Some(query), Some(metadata)) = (&asked.query, &asked.evaluation_key_metadata) else {
            return refused(400, "a lookup lacks its query, or says nothing of its evaluation key");
        };
        if metadata.identifier != self.key_id[..] {
            return refused(400, "an evaluation key for another configuration");
        }
        let Some(shard) = self.shards.get(asked.shard_index as usize) else {
            return refused(400, format!("there are {} shards", self.shards.len()));
        };
        let stored = store.get(user, &self.key_id);
        let Some(stored) = stored.filter(|stored| stored.timestamp == metadata.timestamp) else {
            return refused(400, "that evaluation key is not here: send it again");
        };
        let answer = self.codec.answer(&stored.keys, query, &shard.tables()).map_err(|why| match why {
            Error::Peer(why) => Refused { status: 400, why: why.to_string() },
            other => Refused { status: 500, why: other.to_string() },
        })?;
        match (self.whole.0)() {
            true => Ok(answer),
            false => refused(503, "the table was written to while it was served"),
        }
    }
}
