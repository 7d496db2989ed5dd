//! A table that is served: its shards, its configuration for clients, and the answers to parts of
//! requests, which are lookups and evaluations.

use crate::codec::Codec;
use crate::config::{ConfigDialect, ConfigDigest, ConfigExtras, id, key_config};
use crate::keys::{KeyStore, StoredKeys};
use crate::keyword::table::Shard;
use crate::proto::{
    EncryptedIndices, EvaluationKey, EvaluationKeyConfig, EvaluationKeyMetadata, OprfRequest, OprfResponse,
    PirConfig, PirRequest, Response, SerializedEvaluationKey,
};
use crate::sets::{ParamsSet, WeakParams};
use crate::symmetric::OTHER_KEY;
use crate::{config, keys, lookup};
use prost::Message;
use rand_core::CryptoRng;
use sotto_bfv::mulpir::{Compression, EntryShape, Keys};
use sotto_core::{Error, ParamsError};
use sotto_oprf::OprfError;
use sotto_oprf::p384::{Element, PublicKey, SecretKey};
use std::sync::Arc;

/// A table under one configuration. Clients with that configuration may query it as long as it is
/// served.
#[derive(Debug)]
pub struct UseCase {
    pub(crate) codec: Arc<Codec>,
    shards: Vec<Shard>,
    pub(crate) keys: EvaluationKeyConfig,
    pub(crate) key_id: ConfigDigest,
    /// Configuration messages for clients.
    messages: ConfigMessages,
    extras: ConfigExtras,
    /// Key that evaluates for clients of a symmetric table.
    evaluator: Option<Arc<SecretKey>>,
    whole: IntegrityCheck,
}

/// Configuration of a table in each supported dialect, and its id in all of them. As in Apple's
/// service, the id is the digest of the newest dialect's configuration, which is adapted to older
/// systems after that. So a phone whose system is upgraded continues with the configuration that it
/// knows.
#[derive(Debug)]
struct ConfigMessages {
    configs: [(ConfigDialect, PirConfig); 2],
    id: ConfigDigest,
}

/// Configuration messages for shards of these shapes.
fn config_messages(
    keys: &EvaluationKeyConfig,
    shapes: &[EntryShape],
    extras: &ConfigExtras,
) -> ConfigMessages {
    let config = |dialect| config::config(keys, shapes, extras, dialect);
    let newest = config(ConfigDialect::RepeatedShard);
    let id = id(&newest);
    ConfigMessages {
        configs: [
            (ConfigDialect::RepeatedShard, newest),
            (ConfigDialect::ShardList, config(ConfigDialect::ShardList)),
        ],
        id,
    }
}

/// Approximate sizes of a client's messages, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageSizes {
    /// Bytes of a client's evaluation keys, sent once.
    pub keys: usize,
    /// Bytes of a query.
    pub query: usize,
    /// Bytes of an answer.
    pub answer: usize,
}

/// Checks that the bytes from which answers are computed are unchanged.
struct IntegrityCheck(Arc<dyn Fn() -> bool + Send + Sync>);

impl std::fmt::Debug for IntegrityCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Whole")
    }
}

impl UseCase {
    /// Makes a use case of these shards, which must be of the codec's ring.
    ///
    /// # Errors
    /// [`ParamsError::Unreliable`] if a lookup would fail more often than once in 2^40.
    pub fn new(
        set: ParamsSet,
        codec: Arc<Codec>,
        shards: Vec<Shard>,
        compression: Compression,
    ) -> Result<Self, ParamsError> {
        shards.iter().try_for_each(|shard| codec.check(shard.shape(), compression))?;
        let keys = key_config(&set, &codec, &shards, compression);
        let shapes: Vec<EntryShape> = shards.iter().map(|shard| *shard.shape()).collect();
        let extras = ConfigExtras::default();
        let (messages, whole) = (config_messages(&keys, &shapes, &extras), IntegrityCheck(Arc::new(|| true)));
        Ok(UseCase { key_id: id(&keys), keys, codec, shards, messages, extras, evaluator: None, whole })
    }

    /// Adds properties besides the shapes to the configuration.
    fn with_extras(mut self, extras: ConfigExtras) -> Self {
        let shapes: Vec<EntryShape> = self.shards.iter().map(|shard| *shard.shape()).collect();
        (self.messages, self.extras) = (config_messages(&self.keys, &shapes, &extras), extras);
        self
    }

    /// Declares that entries of this index table follow their [lengths](mod@crate::length_prefix).
    /// The configuration says so in a field that older clients do not know.
    pub fn with_lengths(self) -> Self {
        let extras = ConfigExtras { has_lengths: true, ..self.extras };
        self.with_extras(extras)
    }

    /// Declares that the rows of this keyword table are [sealed](mod@crate::symmetric) with the
    /// secret key of `public`.
    pub fn symmetric(self, public: PublicKey) -> Self {
        let extras = ConfigExtras { oprf: Some(public), ..self.extras };
        self.with_extras(extras)
    }

    /// Adds the secret key that evaluates for clients of a symmetric table.
    ///
    /// # Errors
    /// [`OprfError::KeyText`] unless the rows are sealed with this key.
    pub fn evaluated_by(mut self, key: SecretKey) -> Result<Self, OprfError> {
        if self.extras.oprf != Some(key.public()) {
            return Err(OTHER_KEY);
        }
        self.evaluator = Some(Arc::new(key));
        Ok(self)
    }

    /// Secret key that evaluates for clients.
    pub(crate) fn evaluator(&self) -> Result<&SecretKey, Refusal> {
        match (&self.evaluator, self.extras.oprf) {
            (Some(key), _) => Ok(key),
            (None, None) => refused(400, "this table is not symmetric: look up its rows directly"),
            (None, Some(_)) => refused(500, "the OPRF key is not here"),
        }
    }

    /// Adds an integrity check, for tables in a file that may be written to: before an answer is
    /// returned, `whole` says whether everything that it was computed from is unchanged.
    pub fn checked(self, whole: Arc<dyn Fn() -> bool + Send + Sync>) -> Self {
        UseCase { whole: IntegrityCheck(whole), ..self }
    }

    /// Codec of a parameter set.
    ///
    /// # Errors
    /// [`ParamsError::Insecure`] below 128 bits, unless weak sets are allowed.
    pub fn codec(set: &ParamsSet, weak: WeakParams) -> Result<Arc<Codec>, ParamsError> {
        Ok(Arc::new(Codec::new(set.kit(weak)?.0)?))
    }

    /// Shards of the table.
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// Approximate sizes of a client's messages.
    pub fn costs(&self) -> MessageSizes {
        let (elements, codec) = (self.keys.galois_elements.len(), &self.codec);
        let most = |bytes: &dyn Fn(&EntryShape) -> usize| {
            self.shards.iter().map(|shard| bytes(shard.shape())).max().unwrap_or(0)
        };
        MessageSizes {
            keys: keys::most_bytes(codec, elements),
            query: most(&|shape| lookup::most_bytes(codec, shape)),
            answer: most(&|shape| lookup::answer_bytes(codec, shape)),
        }
    }

    /// Digest of the configuration, by which clients identify the table.
    pub fn config_id(&self) -> &ConfigDigest {
        &self.messages.id
    }

    /// Configuration in a dialect, or in the newest one where this dialect is not supported.
    pub(crate) fn config(&self, dialect: ConfigDialect) -> &PirConfig {
        let [newest, _] = &self.messages.configs;
        let (_, config) =
            self.messages.configs.iter().find(|(spoken, _)| *spoken == dialect).unwrap_or(newest);
        config
    }

    /// Automorphisms of the evaluation keys.
    pub(crate) fn elements(&self) -> Vec<usize> {
        self.keys.galois_elements.iter().map(|element| *element as usize).collect()
    }

    /// Largest size of a query in bytes.
    pub(crate) fn most_query_bytes(&self) -> usize {
        self.shards.iter().map(|shard| lookup::most_bytes(&self.codec, shard.shape())).max().unwrap_or(0)
    }

    /// Whether another table has the same configuration.
    pub(crate) fn has_config_of(&self, other: &UseCase) -> bool {
        self.messages.id == other.messages.id
    }

    /// Digest of the configuration of the required evaluation keys.
    pub fn key_id(&self) -> &ConfigDigest {
        &self.key_id
    }

    /// Decodes evaluation keys from their message.
    pub(crate) fn stored(&self, key: &EvaluationKey) -> Result<StoredKeys, Refusal> {
        let (Some(metadata), Some(evaluation_key)) = (&key.metadata, &key.evaluation_key) else {
            return refused(400, LACKING);
        };
        Ok(StoredKeys {
            timestamp: metadata.timestamp,
            keys: self.keys(evaluation_key)?,
            bytes: self.key_bytes(),
        })
    }

    fn keys(&self, sent: &SerializedEvaluationKey) -> Result<Arc<Keys>, Refusal> {
        let keys = self.codec.take_keys(sent, &self.elements());
        Ok(Arc::new(keys.map_err(|why| Refusal { status: 400, why: why.to_string() })?))
    }

    /// Bytes of a client's evaluation keys in memory.
    fn key_bytes(&self) -> usize {
        Keys::bytes(self.codec.kit(), self.keys.galois_elements.len())
    }

    /// Prepares a user's lookup.
    pub(crate) fn lookup(
        self: Arc<Self>,
        name: String,
        request: PirRequest,
        keys: &mut RequestKeys<'_>,
    ) -> Result<RequestPart, Refusal> {
        let Some(query) = request.query else { return refused(400, "the lookup has no query") };
        let shard = request.shard_index as usize;
        let Some(tables) = self.shards.get(shard) else {
            return refused(400, format!("expected a shard below {}", self.shards.len()));
        };
        let counted = self.codec.count(&query, tables.shape());
        counted.map_err(|why| Refusal { status: 400, why: why.to_string() })?;
        let metadata = request.evaluation_key_metadata.as_ref();
        let (keys, key_bytes) = match request.evaluation_key {
            Some(sent) => keys.sent(&self, metadata, sent)?,
            None => (keys.stored(&self, metadata)?, 0),
        };
        Ok(RequestPart { use_case: self, name, task: PartTask::Lookup { shard, query, keys, key_bytes } })
    }

    /// Prepares an evaluation, if the table is symmetric and the bytes may be an element.
    pub(crate) fn evaluation(
        self: Arc<Self>,
        name: String,
        request: &OprfRequest,
    ) -> Result<RequestPart, Refusal> {
        self.evaluator()?;
        match (&*request.query_element).try_into() {
            Ok(element) => Ok(RequestPart { use_case: self, name, task: PartTask::Evaluation(element) }),
            Err(_) => refused(400, NO_ELEMENT),
        }
    }

    /// Checks that the metadata of keys fits this use case.
    fn wants(&self, metadata: &EvaluationKeyMetadata) -> Result<(), Refusal> {
        match metadata.identifier == self.key_id[..] {
            true => Ok(()),
            false => refused(400, "the evaluation key is for another configuration"),
        }
    }
}

/// Evaluation keys of the lookups in one request: from the request itself, or else from the user's
/// stored keys.
pub(crate) struct RequestKeys<'a> {
    user: &'a str,
    store: &'a dyn KeyStore,
    /// Keys that the request contained, each once.
    sent: Vec<(ConfigDigest, SerializedEvaluationKey, Arc<Keys>)>,
}

impl<'a> RequestKeys<'a> {
    pub(crate) fn new(user: &'a str, store: &'a dyn KeyStore) -> Self {
        RequestKeys { user, store, sent: Vec::new() }
    }

    /// Keys that a lookup contains, and the bytes that they take in memory in addition to those of
    /// earlier lookups.
    fn sent(
        &mut self,
        use_case: &UseCase,
        metadata: Option<&EvaluationKeyMetadata>,
        sent: EvaluationKey,
    ) -> Result<(Arc<Keys>, usize), Refusal> {
        metadata.into_iter().chain(&sent.metadata).try_for_each(|metadata| use_case.wants(metadata))?;
        let Some(message) = sent.evaluation_key else { return refused(400, LACKING) };
        let known = self.sent.iter().find(|(id, known, _)| *id == use_case.key_id && *known == message);
        if let Some((.., keys)) = known {
            return Ok((keys.clone(), 0));
        }
        let keys = use_case.keys(&message)?;
        self.sent.push((use_case.key_id, message, keys.clone()));
        Ok((keys, use_case.key_bytes()))
    }

    /// Stored keys that a lookup identifies by their time of creation.
    fn stored(
        &self,
        use_case: &UseCase,
        metadata: Option<&EvaluationKeyMetadata>,
    ) -> Result<Arc<Keys>, Refusal> {
        let Some(metadata) = metadata else {
            return refused(400, "the lookup names no evaluation key");
        };
        use_case.wants(metadata)?;
        // The stored bytes were decoded as keys once, by this build or another.
        let read = |sent: &[u8]| EvaluationKey::decode(sent).ok().and_then(|key| use_case.stored(&key).ok());
        let stored = self.store.get(self.user, &use_case.key_id, &read);
        let stored = stored.filter(|stored| stored.timestamp == metadata.timestamp);
        stored.map(|stored| stored.keys).ok_or_else(|| Refusal { status: 400, why: NO_KEYS.into() })
    }
}

/// A part of a request, with everything that its answer needs: a lookup in a table, or an evaluation
/// of the function that opens a row of a symmetric one.
#[derive(Debug)]
pub struct RequestPart {
    use_case: Arc<UseCase>,
    name: String,
    task: PartTask,
}

#[derive(Debug)]
enum PartTask {
    Lookup {
        shard: usize,
        query: EncryptedIndices,
        keys: Arc<Keys>,
        /// Bytes of the keys, if the lookup contained them.
        key_bytes: usize,
    },
    /// A blinded element. The server cannot tell which row it is for.
    Evaluation(Element),
}

impl RequestPart {
    /// Name of the use case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the part is an evaluation, which opens a row of a symmetric table. The number of
    /// evaluations bounds what a client learns.
    pub fn is_evaluation(&self) -> bool {
        matches!(self.task, PartTask::Evaluation(_))
    }

    /// Bytes of the query.
    pub fn query_bytes(&self) -> usize {
        match &self.task {
            PartTask::Lookup { query, .. } => query.encoded_len(),
            PartTask::Evaluation(element) => element.len(),
        }
    }

    /// Bytes of the keys in memory, if the part contained them and no earlier part did.
    pub fn key_bytes(&self) -> usize {
        match self.task {
            PartTask::Lookup { key_bytes, .. } => key_bytes,
            PartTask::Evaluation(_) => 0,
        }
    }

    /// Approximate upper bound on the bytes of the answer.
    pub fn answer_bytes(&self) -> usize {
        match self.task {
            PartTask::Lookup { shard, .. } => {
                let shard = self.use_case.shards.get(shard);
                shard.map_or(0, |shard| lookup::answer_bytes(&self.use_case.codec, shard.shape()))
            }
            PartTask::Evaluation(_) => EVALUATION_BYTES,
        }
    }

    /// Computes the answer on the current thread pool. The randomness is for the proofs of
    /// evaluations.
    ///
    /// # Errors
    /// [`Refusal`] with the status: 400 for a query that does not fit this table.
    pub fn answer(&self, rng: &mut dyn CryptoRng) -> Result<Response, Refusal> {
        let use_case = &self.use_case;
        let (shard, query, keys) = match &self.task {
            PartTask::Lookup { shard, query, keys, .. } => (*shard, query, keys),
            PartTask::Evaluation(element) => {
                let evaluated = use_case.evaluator()?.evaluate(element, rng);
                let evaluated = evaluated.map_err(|_| Refusal { status: 400, why: NO_ELEMENT.into() })?;
                let oprf_response = Some(OprfResponse {
                    evaluated_element: evaluated.element.to_vec().into(),
                    proof: evaluated.proof.to_vec().into(),
                });
                return Ok(Response { oprf_response, ..Default::default() });
            }
        };
        let Some(shard) = use_case.shards.get(shard) else {
            return refused(400, format!("expected a shard below {}", use_case.shards.len()));
        };
        let answer = use_case.codec.answer(keys, query, &shard.tables());
        let answer = answer.map_err(|why| match why {
            Error::Peer(why) => Refusal { status: 400, why: why.to_string() },
            other => Refusal { status: 500, why: other.to_string() },
        })?;
        match (use_case.whole.0)() {
            true => Ok(Response { pir_response: Some(answer), ..Default::default() }),
            false => refused(503, "the table was written to while it was served"),
        }
    }
}

/// Bytes of an answer.
pub fn answer_bytes(answer: &Response) -> usize {
    answer.encoded_len()
}

/// Bytes of an element and a proof, with the tags and lengths of a message.
const EVALUATION_BYTES: usize = 256;

const NO_ELEMENT: &str = "the bytes to evaluate are not an element of the group";

/// Refusal of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status of the response.
    pub status: u16,
    /// Reason for the refusal.
    pub why: String,
}

/// Message for a client that sends half of an evaluation key.
pub(crate) const LACKING: &str = "the evaluation key or its metadata is missing";

/// Message for a client whose keys are not stored. Phones read the status, request the
/// configuration, and send their keys again.
pub(crate) const NO_KEYS: &str = "the evaluation key is not stored here: send it again";

pub(crate) fn refused<T>(status: u16, why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { status, why: why.into() })
}

impl Refusal {
    /// Outcome of the request in one word, for metrics.
    pub fn outcome(&self) -> &'static str {
        match self.status {
            400 if self.why == NO_KEYS => "no-keys",
            400 => "malformed",
            404 => "no-such-use-case",
            410 => "retired",
            413 => "too-large",
            503 => "not-ready",
            _ => "internal",
        }
    }
}
