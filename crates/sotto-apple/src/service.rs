//! What a server answers: a function of a request, the use cases that it serves, and the keys that were sent to it.
//!
//! No socket is here, and no clock. Bodies are limited before they are decoded, and decoded part by part: there are so many parts
//! at most, and a part takes some forty times its bytes, when it is all empty itself.

use crate::config::{ConfigDigest, dialect};
use crate::keys::most_bytes;
use crate::proto::{
    Config, ConfigForm, ConfigRequest, ConfigResponse, EvaluationKey, KeyStatus, Request, Response,
    Responses, UrlFilterReport,
};
pub use crate::refusal::Refusal;
use crate::refusal::{LACKING, refused};
use crate::request_part::EvaluationTask;
pub use crate::request_part::RequestPart;
use crate::use_case::RequestKeys;
pub use crate::use_case::{LookupTask, UseCase};
use bytes::{Buf, Bytes};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use prost::{DecodeError, Message};
use rand_core::CryptoRng;
use sotto_bfv::mulpir::Keys;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes of a request for lookups at most, as of Apple's service.
const MAX_QUERIES_BYTES: usize = 10 << 20;

/// Lookups and evaluations of one message at most. Fewer lookups fit into its bytes.
const MAX_REQUESTS: usize = 1024;

/// Evaluations of one message at most: where tokens bound what a user opens of symmetric tables, a token is good for so many.
const MAX_EVALUATIONS: usize = 64;

/// Bytes of a report at most.
const MAX_REPORT_BYTES: usize = 1 << 20;

/// Evaluation keys of one message at most.
const MAX_KEYS: usize = 64;

/// Bytes of a request for configurations at most.
const MAX_CONFIG_BYTES: usize = 64 << 10;

/// Bytes of a user's name at most.
const MAX_NAME: usize = 128;

const NOT_SERVED: &str = "a use case that is not served";

/// A request: its path, two headers, and its body.
#[derive(Debug, Clone)]
pub struct HttpRequest<'a> {
    /// `/config`, `/key`, `/queries` or `/report`.
    pub path: &'a str,
    /// The header `User-Identifier`.
    pub user: Option<&'a str>,
    /// The header `User-Agent`.
    pub agent: Option<&'a str>,
    /// The body.
    pub body: Bytes,
}

/// A client's keys, and what it calls them.
#[derive(Debug, Clone)]
pub struct StoredKeys {
    /// When the client made them, by its own clock.
    pub timestamp: u64,
    /// The keys.
    pub keys: Arc<Keys>,
    /// Bytes that they take in memory, about.
    pub bytes: usize,
}

/// What makes keys of the message that they came in.
pub type DecodeKeys<'a> = dyn Fn(&[u8]) -> Option<StoredKeys> + 'a;

/// Where keys are kept: under a user's name, and the digest of what they are for.
pub trait KeyStore: Send + Sync {
    /// When the keys of a user were made, by its own clock. No keys are read for it.
    fn timestamp(&self, user: &str, id: &ConfigDigest) -> Option<u64>;

    /// The keys of a user. A store that keeps messages has `read` make keys of them.
    fn get(&self, user: &str, id: &ConfigDigest, read: &DecodeKeys<'_>) -> Option<StoredKeys>;

    /// Keeps the keys of a user, in place of those there were, and the message that they came in.
    fn put(&self, user: &str, id: ConfigDigest, keys: StoredKeys, sent: &[u8]);
}

/// The use cases that are served, by name: the configurations of each, the newest first.
#[derive(Debug, Default, Clone)]
pub struct Service {
    use_cases: BTreeMap<String, Vec<Arc<UseCase>>>,
}

impl Service {
    /// A service without use cases.
    pub fn new() -> Self {
        Service::default()
    }

    /// Serves a table under this name. `kept` of the configurations that were served before go on answering clients that know
    /// them. A table of the same configuration takes the place of the one before: clients of that are answered from this one.
    pub fn serve(&mut self, name: &str, use_case: impl Into<Arc<UseCase>>, kept: usize) {
        let (all, use_case) = (self.use_cases.entry(name.into()).or_default(), use_case.into());
        all.retain(|before| !before.is_told_as(&use_case));
        all.insert(0, use_case);
        all.truncate(1 + kept);
    }

    /// The use cases by name, each with its configurations, the newest first.
    pub fn use_cases(&self) -> impl Iterator<Item = (&str, &[Arc<UseCase>])> {
        self.use_cases.iter().map(|(name, all)| (name.as_str(), all.as_slice()))
    }

    /// Bytes of a body at most, for a path that there is.
    pub fn most_bytes(&self, path: &str) -> Option<usize> {
        match path {
            "/config" => Some(MAX_CONFIG_BYTES),
            "/key" => Some(self.most_key_bytes()),
            "/queries" => Some(MAX_QUERIES_BYTES),
            "/report" => Some(MAX_REPORT_BYTES),
            _ => None,
        }
    }

    /// Answers a request with the body of a success, or a refusal. Proofs of evaluations take randomness, and nothing else does.
    ///
    /// # Errors
    /// [`Refusal`] with the status: 400 for what is no request, 404 for another path or an unknown use case, 410 for a
    /// configuration that is not served any more, 413 for a body that is too long.
    pub fn answer(
        &self,
        asked: &HttpRequest<'_>,
        store: &dyn KeyStore,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, Refusal> {
        match asked.path {
            "/config" => self.config(asked, store),
            "/key" => self.key(asked, store).map(|_| Vec::new()),
            "/queries" => {
                let all = self.asked_for(asked, store)?;
                Ok(responses(all.iter().map(|work| work.answer(rng)).collect::<Result<_, _>>()?))
            }
            _ => refused(404, "there is /config, /key and /queries"),
        }
    }

    /// The user, the system, and the body of a request, which is not too long.
    fn checked<'a>(&self, asked: &HttpRequest<'a>) -> Result<(&'a str, &'a str, Bytes), Refusal> {
        let (Some(user), Some(agent)) = (asked.user, asked.agent) else {
            return refused(400, "the headers User-Identifier and User-Agent are needed");
        };
        if user.is_empty() || user.len() > MAX_NAME {
            return refused(400, "the header User-Identifier has no name, or too long a one");
        }
        Ok((user, agent, limited(&asked.body, self.most_bytes(asked.path).unwrap_or(0))?))
    }

    fn all(&self) -> impl Iterator<Item = &Arc<UseCase>> {
        self.use_cases.values().flatten()
    }

    /// Bytes of one lookup at most, with the names of its use case and of its keys, and with these if it brings them.
    fn most_query_bytes(&self) -> usize {
        self.all().map(|use_case| use_case.most_query_bytes()).max().unwrap_or(0) + self.most_key_bytes()
    }

    fn most_key_bytes(&self) -> usize {
        // One of each kind that there is.
        let kinds: BTreeMap<ConfigDigest, usize> = self
            .all()
            .map(|use_case| {
                (use_case.key_id, most_bytes(&use_case.codec, use_case.keys.galois_elements.len()))
            })
            .collect();
        kinds.values().sum::<usize>() + 1024
    }

    /// Answers `/config`.
    ///
    /// # Errors
    /// As [`Service::answer`].
    pub fn config(&self, asked: &HttpRequest<'_>, store: &dyn KeyStore) -> Result<Vec<u8>, Refusal> {
        let (user, agent, body) = self.checked(asked)?;
        let request: ConfigRequest = decoded(body)?;
        let mut response = ConfigResponse::default();
        let (mut known, every) = (BTreeSet::new(), request.usecases.is_empty());
        let names: Vec<&String> =
            if every { self.use_cases.keys().collect() } else { request.usecases.iter().collect() };
        for name in names {
            // A name that comes twice is answered once.
            if response.configs.contains_key(name) {
                continue;
            }
            let Some(use_case) = self.use_cases.get(name).and_then(|all| all.first()) else {
                return refused(404, NOT_SERVED);
            };
            let (config, config_id) = (use_case.config(dialect(agent)), use_case.config_id());
            let same = request.existing_config_ids.iter().any(|existing| **existing == *config_id);
            let config = match same {
                true => Config { config: Some(ConfigForm::ReuseExistingConfig(true)), ..Default::default() },
                false => Config {
                    config: Some(ConfigForm::PirConfig(config.clone())),
                    config_id: config_id.to_vec().into(),
                },
            };
            response.configs.insert(name.clone(), config);
            if known.insert(use_case.key_id) {
                let timestamp = store.timestamp(user, &use_case.key_id).unwrap_or(0);
                response.key_info.push(KeyStatus { timestamp, key_config: Some(use_case.keys.clone()) });
            }
        }
        Ok(response.encode_to_vec())
    }

    /// Answers `/key`, with nothing: gives how many keys were kept.
    ///
    /// # Errors
    /// As [`Service::answer`].
    pub fn key(&self, asked: &HttpRequest<'_>, store: &dyn KeyStore) -> Result<usize, Refusal> {
        let (user, _, body) = self.checked(asked)?;
        let mut all = Vec::new();
        for part in parts(body, MAX_KEYS)? {
            let key: EvaluationKey = decoded(part.clone())?;
            let Some(metadata) = &key.metadata else { return refused(400, LACKING) };
            let Some(use_case) = self.all().find(|use_case| metadata.identifier == use_case.key_id[..])
            else {
                return refused(400, "an evaluation key for no configuration that is served");
            };
            all.push((use_case.key_id, use_case.stored(&key)?, part));
        }
        let count = all.len();
        all.into_iter().for_each(|(id, stored, part)| store.put(user, id, stored, &part));
        Ok(count)
    }

    /// What `/queries` asks for: lookups, each with its keys, and evaluations. Nothing is calculated yet.
    ///
    /// # Errors
    /// As [`Service::answer`].
    pub fn asked_for(
        &self,
        asked: &HttpRequest<'_>,
        store: &dyn KeyStore,
    ) -> Result<Vec<RequestPart>, Refusal> {
        let (user, _, body) = self.checked(asked)?;
        let all = parts(body, MAX_REQUESTS)?;
        let mut works = Vec::with_capacity(all.len());
        let (mut keys, mut evaluations) = (RequestKeys::new(user, store), 0);
        for part in all {
            let request: Request = decoded(limited(&part, self.most_query_bytes())?)?;
            works.push(match (request.pir_request, request.oprf_request) {
                (Some(asked), None) => {
                    let use_case = self.asked(&request.usecase, &asked.configuration_hash)?.clone();
                    RequestPart::Lookup(use_case.lookup(request.usecase, asked, &mut keys)?)
                }
                (None, Some(asked)) => {
                    evaluations += 1;
                    if evaluations > MAX_EVALUATIONS {
                        return refused(400, format!("at most {MAX_EVALUATIONS} evaluations in one message"));
                    }
                    // Apple's library names no configuration here, and means the newest.
                    let use_case = match asked.config_id.is_empty() {
                        true => self.newest(&request.usecase)?,
                        false => self.asked(&request.usecase, &asked.config_id)?,
                    };
                    RequestPart::Evaluation(EvaluationTask::read(use_case.clone(), request.usecase, &asked)?)
                }
                _ => return refused(400, "a request is for one lookup, or for one evaluation"),
            });
        }
        Ok(works)
    }

    /// The newest table of a use case.
    fn newest(&self, name: &str) -> Result<&Arc<UseCase>, Refusal> {
        let newest = self.use_cases.get(name).and_then(|all| all.first());
        newest.ok_or(Refusal { status: 400, why: NOT_SERVED.into() })
    }

    /// The table that a request has the configuration of.
    fn asked(&self, name: &str, config_id: &[u8]) -> Result<&Arc<UseCase>, Refusal> {
        let Some(all) = self.use_cases.get(name) else { return refused(400, NOT_SERVED) };
        let found = all.iter().find(|use_case| use_case.config_id()[..] == *config_id);
        found.ok_or(Refusal { status: 410, why: "that configuration is retired".into() })
    }
}

/// The body of an answer to `/queries`: the answers to its parts, in their order.
pub fn responses(responses: Vec<Response>) -> Vec<u8> {
    Responses { responses }.encode_to_vec()
}

fn limited(body: &Bytes, most: usize) -> Result<Bytes, Refusal> {
    if body.len() > most {
        return refused(413, format!("a body of at most {most} bytes"));
    }
    Ok(body.clone())
}

/// The addresses that a report of a URL filter names. It names no user.
///
/// # Errors
/// [`Refusal`] with 400 for what is no report, 413 for one that is too long.
pub fn reported(body: &Bytes) -> Result<Vec<String>, Refusal> {
    Ok(decoded::<UrlFilterReport>(limited(body, MAX_REPORT_BYTES)?)?.urls)
}

/// The parts of a message, each still in bytes: all that it has of field 1. They are counted as they come, so that a list of
/// empty ones takes no memory.
fn parts(mut body: Bytes, most: usize) -> Result<Vec<Bytes>, Refusal> {
    let malformed = |why: DecodeError| Refusal { status: 400, why: why.to_string() };
    let mut parts = Vec::new();
    while body.has_remaining() {
        let (tag, kind) = decode_key(&mut body).map_err(malformed)?;
        if (tag, kind) != (1, WireType::LengthDelimited) {
            skip_field(kind, tag, &mut body, DecodeContext::default()).map_err(malformed)?;
            continue;
        }
        let bytes = decode_varint(&mut body).map_err(malformed)?;
        let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes <= body.len());
        let Some(bytes) = bytes else { return refused(400, "a part ends behind its message") };
        if parts.len() == most {
            return refused(400, format!("at most {most} parts in one message"));
        }
        parts.push(body.split_to(bytes));
    }
    Ok(parts)
}

fn decoded<M: Message + Default>(body: Bytes) -> Result<M, Refusal> {
    M::decode(body).map_err(|why| Refusal { status: 400, why: why.to_string() })
}
