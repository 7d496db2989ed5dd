//! A table that is served: its shards, what clients are told of it, and the answer to one lookup.

use crate::codec::Codec;
use crate::config::{self, Beside, Dialect, Id, id, key_config};
use crate::keyword::table::Shard;
use crate::proto::{
    EncryptedIndices, EvaluationKey, EvaluationKeyConfig, PirConfig, PirRequest, PirResponse,
};
use crate::refused::{LACKING, NO_KEYS, Refused, refused};
use crate::service::{KeyStore, Stored};
use crate::sets::{Set, Weak};
use crate::symmetric::OTHER_KEY;
use crate::{keys, lookup};
use prost::Message;
use sotto_bfv::mulpir::{Compression, Keys, Shape};
use sotto_core::{Error, ParamsError};
use sotto_oprf::OprfError;
use sotto_oprf::p384::{PublicKey, SecretKey};
use std::sync::Arc;

/// A table under one configuration. A client that has the configuration may ask it as long as it is served.
#[derive(Debug)]
pub struct UseCase {
    pub(crate) codec: Arc<Codec>,
    shards: Vec<Shard>,
    pub(crate) keys: EvaluationKeyConfig,
    pub(crate) key_id: Id,
    /// What clients are told of it, in each dialect that is spoken, and the digest.
    told: Told,
    beside: Beside,
    /// What evaluates for clients of a symmetric table.
    evaluator: Option<Arc<SecretKey>>,
    whole: Whole,
}

type Told = [(Dialect, PirConfig, Id); 2];

/// What clients are told of such shards.
fn told(keys: &EvaluationKeyConfig, shapes: &[Shape], beside: &Beside) -> Told {
    [Dialect::Listed, Dialect::Repeated].map(|dialect| {
        let config = config::config(keys, shapes, beside, dialect);
        (dialect, config.clone(), id(&config))
    })
}

/// Bytes that a client sends and gets, about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// Its keys, once.
    pub keys: usize,
    /// A query.
    pub query: usize,
    /// An answer.
    pub answer: usize,
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
        let beside = Beside::default();
        let (told, whole) = (told(&keys, &shapes, &beside), Whole(Arc::new(|| true)));
        Ok(UseCase { key_id: id(&keys), keys, codec, shards, told, beside, evaluator: None, whole })
    }

    /// The same, of which clients are told something else besides the shapes.
    fn telling(mut self, beside: Beside) -> Self {
        let shapes: Vec<Shape> = self.shards.iter().map(|shard| *shard.shape()).collect();
        (self.told, self.beside) = (told(&self.keys, &shapes, &beside), beside);
        self
    }

    /// The same, of an index table whose entries have their [lengths](mod@crate::lengths) before them. Clients are told so, and
    /// older ones do not know it.
    pub fn with_lengths(self) -> Self {
        let beside = Beside { has_lengths: true, ..self.beside };
        self.telling(beside)
    }

    /// The same, of a keyword table whose rows are [sealed](mod@crate::symmetric) with a key that has this public half.
    pub fn symmetric(self, public: PublicKey) -> Self {
        let beside = Beside { oprf: Some(public), ..self.beside };
        self.telling(beside)
    }

    /// The same, which evaluates for clients of a symmetric table.
    ///
    /// # Errors
    /// [`OprfError::KeyText`] unless the rows are sealed with this key.
    pub fn evaluated_by(mut self, key: SecretKey) -> Result<Self, OprfError> {
        if self.beside.oprf != Some(key.public()) {
            return Err(OTHER_KEY);
        }
        self.evaluator = Some(Arc::new(key));
        Ok(self)
    }

    /// What evaluates for clients.
    pub(crate) fn evaluator(&self) -> Result<&SecretKey, Refused> {
        match (&self.evaluator, self.beside.oprf) {
            (Some(key), _) => Ok(key),
            (None, None) => refused(400, "this table is not symmetric: ask for its rows"),
            (None, Some(_)) => refused(500, "the key that evaluates is not here"),
        }
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

    /// What clients send and get, about.
    pub fn costs(&self) -> Costs {
        let (elements, codec) = (self.keys.galois_elements.len(), &self.codec);
        let most = |bytes: &dyn Fn(&Shape) -> usize| {
            self.shards.iter().map(|shard| bytes(shard.shape())).max().unwrap_or(0)
        };
        Costs {
            keys: keys::most_bytes(codec, elements),
            query: most(&|shape| lookup::most_bytes(codec, shape)),
            answer: most(&|shape| lookup::answer_bytes(codec, shape)),
        }
    }

    /// The digests of its configuration, in each dialect: what clients know the table by.
    pub fn config_ids(&self) -> Vec<Id> {
        self.told.iter().map(|(_, _, id)| *id).collect()
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

    /// Whether clients are told the same of another table.
    pub(crate) fn is_told_as(&self, other: &UseCase) -> bool {
        self.told.iter().zip(&other.told).all(|((.., one), (.., two))| one == two)
    }

    /// The digest of the keys that it needs.
    pub fn key_id(&self) -> &Id {
        &self.key_id
    }

    /// Makes keys of the message that they come in.
    pub(crate) fn stored(&self, key: &EvaluationKey) -> Result<Stored, Refused> {
        let (Some(metadata), Some(evaluation_key)) = (&key.metadata, &key.evaluation_key) else {
            return refused(400, LACKING);
        };
        let keys = self.codec.take_keys(evaluation_key, &self.elements());
        let keys = keys.map_err(|why| Refused { status: 400, why: why.to_string() })?;
        let bytes = Keys::bytes(self.codec.kit(), self.keys.galois_elements.len());
        Ok(Stored { timestamp: metadata.timestamp, keys: Arc::new(keys), bytes })
    }

    /// A lookup of a user, with its keys.
    pub(crate) fn lookup(
        self: Arc<Self>,
        name: String,
        user: &str,
        asked: PirRequest,
        store: &dyn KeyStore,
    ) -> Result<Lookup, Refused> {
        let (Some(query), Some(metadata)) = (asked.query, asked.evaluation_key_metadata) else {
            return refused(400, "a lookup lacks its query, or says nothing of its evaluation key");
        };
        if metadata.identifier != self.key_id[..] {
            return refused(400, "an evaluation key for another configuration");
        }
        let shard = asked.shard_index as usize;
        let Some(asks) = self.shards.get(shard) else {
            return refused(400, format!("there are {} shards", self.shards.len()));
        };
        let counted = self.codec.count(&query, asks.shape());
        counted.map_err(|why| Refused { status: 400, why: why.to_string() })?;
        // Bytes that were keys once, by this build or another.
        let read = |sent: &[u8]| EvaluationKey::decode(sent).ok().and_then(|key| self.stored(&key).ok());
        let stored = store.get(user, &self.key_id, &read);
        let Some(stored) = stored.filter(|stored| stored.timestamp == metadata.timestamp) else {
            return refused(400, NO_KEYS);
        };
        Ok(Lookup { use_case: self, name, shard, query, keys: stored.keys })
    }
}

/// One lookup, with all that its answer needs.
#[derive(Debug)]
pub struct Lookup {
    use_case: Arc<UseCase>,
    name: String,
    shard: usize,
    query: EncryptedIndices,
    keys: Arc<Keys>,
}

impl Lookup {
    /// The use case that is asked.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of its query.
    pub fn query_bytes(&self) -> usize {
        self.query.encoded_len()
    }

    /// Answers it, on the current pool's threads.
    ///
    /// # Errors
    /// [`Refused`] with the status: 400 for a query that is none of this table.
    pub fn answer(&self) -> Result<PirResponse, Refused> {
        let Some(shard) = self.use_case.shards.get(self.shard) else {
            return refused(400, format!("there are {} shards", self.use_case.shards.len()));
        };
        let answer = self.use_case.codec.answer(&self.keys, &self.query, &shard.tables());
        let answer = answer.map_err(|why| match why {
            Error::Peer(why) => Refused { status: 400, why: why.to_string() },
            other => Refused { status: 500, why: other.to_string() },
        })?;
        match (self.use_case.whole.0)() {
            true => Ok(answer),
            false => refused(503, "the table was written to while it was served"),
        }
    }
}
