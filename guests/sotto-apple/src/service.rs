//! Answers requests: a function of a request, the use cases that are served, and the stored keys.
//!
//! This module has no sockets and no clock. The sizes of bodies are limited before they are
//! decoded, and they are decoded part by part: the number of parts is limited, and a part whose own
//! parts are empty takes about forty times its bytes.

use crate::config::{ConfigDigest, dialect};
use crate::keys::most_bytes;
pub use crate::keys::{DecodeKeys, KeyStore, StoredKeys};
use crate::proto::{
    Config, ConfigForm, ConfigRequest, ConfigResponse, EvaluationKey, KeyStatus, Request, Response,
    Responses, UrlFilterReport,
};
use crate::use_case::{LACKING, RequestKeys, refused};
pub use crate::use_case::{Refusal, RequestPart, UseCase, answer_bytes};
use bytes::{Buf, Bytes};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use prost::{DecodeError, Message};
use rand_core::CryptoRng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Largest size in bytes of a request for lookups, as in Apple's service.
const MAX_QUERIES_BYTES: usize = 10 << 20;

/// Largest number of lookups and evaluations in one message. Fewer lookups fit into its bytes.
const MAX_REQUESTS: usize = 1024;

/// Largest number of evaluations in one message. Where tokens bound what a user opens of symmetric
/// tables, a token is valid for this many.
const MAX_EVALUATIONS: usize = 64;

/// Largest size of a report in bytes.
const MAX_REPORT_BYTES: usize = 1 << 20;

/// Largest number of evaluation keys in one message.
const MAX_KEYS: usize = 64;

/// Largest size in bytes of a request for configurations.
const MAX_CONFIG_BYTES: usize = 64 << 10;

/// Largest length of a user's name in bytes.
const MAX_NAME: usize = 128;

const NOT_SERVED: &str = "the use case is not served";

/// An HTTP request: its path, two headers, and its body.
#[derive(Debug, Clone)]
pub struct HttpRequest<'a> {
    /// Path of the request: `/config`, `/key`, `/queries` or `/report`.
    pub path: &'a str,
    /// Value of the `User-Identifier` header.
    pub user: Option<&'a str>,
    /// Value of the `User-Agent` header.
    pub agent: Option<&'a str>,
    /// Body of the request.
    pub body: Bytes,
}

/// The use cases that are served, by name: the configurations of each, newest first.
#[derive(Debug, Default, Clone)]
pub struct Service {
    use_cases: BTreeMap<String, Vec<Arc<UseCase>>>,
}

impl Service {
    /// Makes a service without use cases.
    pub fn new() -> Self {
        Service::default()
    }

    /// Serves a table under this name. The number `kept` of earlier configurations continue to
    /// answer clients that know them. A table with an unchanged configuration replaces the one
    /// before: that table's clients are then answered from the new one.
    pub fn serve(&mut self, name: &str, use_case: impl Into<Arc<UseCase>>, kept: usize) {
        let (all, use_case) = (self.use_cases.entry(name.into()).or_default(), use_case.into());
        all.retain(|before| !before.has_config_of(&use_case));
        all.insert(0, use_case);
        all.truncate(1 + kept);
    }

    /// Use cases by name, each with its configurations, newest first.
    pub fn use_cases(&self) -> impl Iterator<Item = (&str, &[Arc<UseCase>])> {
        self.use_cases.iter().map(|(name, all)| (name.as_str(), all.as_slice()))
    }

    /// Largest size of a body in bytes, for a path that exists.
    pub fn most_bytes(&self, path: &str) -> Option<usize> {
        match path {
            "/config" => Some(MAX_CONFIG_BYTES),
            "/key" => Some(self.most_key_bytes()),
            "/queries" => Some(MAX_QUERIES_BYTES),
            "/report" => Some(MAX_REPORT_BYTES),
            _ => None,
        }
    }

    /// Answers a request with the body of a success, or a refusal. Only the proofs of evaluations
    /// use the randomness.
    ///
    /// # Errors
    /// [`Refusal`] with the status: 400 for an invalid request, 404 for another path or an unknown
    /// use case, 410 for a configuration that is not served any more, 413 for a body that is too
    /// long.
    pub fn answer(
        &self,
        request: &HttpRequest<'_>,
        store: &dyn KeyStore,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, Refusal> {
        match request.path {
            "/config" => self.config(request, store),
            "/key" => self.key(request, store).map(|_| Vec::new()),
            "/queries" => {
                let all = self.asked_for(request, store)?;
                Ok(responses(all.iter().map(|work| work.answer(rng)).collect::<Result<_, _>>()?))
            }
            _ => refused(404, "expected /config, /key or /queries"),
        }
    }

    /// User, agent, and body of a request, after checking the body's size.
    fn checked<'a>(&self, request: &HttpRequest<'a>) -> Result<(&'a str, &'a str, Bytes), Refusal> {
        let (Some(user), Some(agent)) = (request.user, request.agent) else {
            return refused(400, "the headers User-Identifier and User-Agent are needed");
        };
        if user.is_empty() || user.len() > MAX_NAME {
            return refused(400, "the header User-Identifier has no name, or too long a one");
        }
        Ok((user, agent, limited(&request.body, self.most_bytes(request.path).unwrap_or(0))?))
    }

    fn all(&self) -> impl Iterator<Item = &Arc<UseCase>> {
        self.use_cases.values().flatten()
    }

    /// Largest size in bytes of one lookup with the names of its use case and of its keys,
    /// including keys that it contains.
    fn most_query_bytes(&self) -> usize {
        self.all().map(|use_case| use_case.most_query_bytes()).max().unwrap_or(0) + self.most_key_bytes()
    }

    fn most_key_bytes(&self) -> usize {
        // One key of each kind that exists.
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
    /// The errors of [`Service::answer`].
    pub fn config(&self, request: &HttpRequest<'_>, store: &dyn KeyStore) -> Result<Vec<u8>, Refusal> {
        let (user, agent, body) = self.checked(request)?;
        let request: ConfigRequest = decoded(body)?;
        let mut response = ConfigResponse::default();
        let (mut known, every) = (BTreeSet::new(), request.usecases.is_empty());
        let names: Vec<&String> =
            if every { self.use_cases.keys().collect() } else { request.usecases.iter().collect() };
        for name in names {
            // A repeated name is answered once.
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

    /// Answers `/key` with an empty body, and returns the number of stored keys.
    ///
    /// # Errors
    /// The errors of [`Service::answer`].
    pub fn key(&self, request: &HttpRequest<'_>, store: &dyn KeyStore) -> Result<usize, Refusal> {
        let (user, _, body) = self.checked(request)?;
        let mut all = Vec::new();
        for part in parts(body, MAX_KEYS)? {
            let key: EvaluationKey = decoded(part.clone())?;
            let Some(metadata) = &key.metadata else { return refused(400, LACKING) };
            let Some(use_case) = self.all().find(|use_case| metadata.identifier == use_case.key_id[..])
            else {
                return refused(400, "the evaluation key is for no served configuration");
            };
            all.push((use_case.key_id, use_case.stored(&key)?, part));
        }
        let count = all.len();
        all.into_iter().for_each(|(id, stored, part)| store.put(user, id, stored, &part));
        Ok(count)
    }

    /// Parses the parts of a `/queries` request: lookups, each with its keys, and evaluations.
    /// Nothing is computed yet.
    ///
    /// # Errors
    /// The errors of [`Service::answer`].
    pub fn asked_for(
        &self,
        request: &HttpRequest<'_>,
        store: &dyn KeyStore,
    ) -> Result<Vec<RequestPart>, Refusal> {
        let (user, _, body) = self.checked(request)?;
        let all = parts(body, MAX_REQUESTS)?;
        let mut works = Vec::with_capacity(all.len());
        let (mut keys, mut evaluations) = (RequestKeys::new(user, store), 0);
        for part in all {
            let request: Request = decoded(limited(&part, self.most_query_bytes())?)?;
            works.push(match (request.pir_request, request.oprf_request) {
                (Some(lookup), None) => {
                    let use_case = self.with_config(&request.usecase, &lookup.configuration_hash)?.clone();
                    use_case.lookup(request.usecase, lookup, &mut keys)?
                }
                (None, Some(evaluation)) => {
                    evaluations += 1;
                    if evaluations > MAX_EVALUATIONS {
                        return refused(
                            400,
                            format!("expected at most {MAX_EVALUATIONS} evaluations in one message"),
                        );
                    }
                    // Apple's library names no configuration here, and means the newest.
                    let use_case = match evaluation.config_id.is_empty() {
                        true => self.newest(&request.usecase)?,
                        false => self.with_config(&request.usecase, &evaluation.config_id)?,
                    };
                    use_case.clone().evaluation(request.usecase, &evaluation)?
                }
                _ => return refused(400, "expected one lookup or one evaluation in a request"),
            });
        }
        Ok(works)
    }

    /// The newest table of a use case.
    fn newest(&self, name: &str) -> Result<&Arc<UseCase>, Refusal> {
        let newest = self.use_cases.get(name).and_then(|all| all.first());
        newest.ok_or(Refusal { status: 400, why: NOT_SERVED.into() })
    }

    /// The table of a use case with the request's configuration.
    fn with_config(&self, name: &str, config_id: &[u8]) -> Result<&Arc<UseCase>, Refusal> {
        let Some(all) = self.use_cases.get(name) else { return refused(400, NOT_SERVED) };
        let found = all.iter().find(|use_case| use_case.config_id()[..] == *config_id);
        found.ok_or(Refusal { status: 410, why: "the configuration is retired".into() })
    }
}

/// Body of a response to `/queries`: the answers to its parts, in order.
pub fn responses(responses: Vec<Response>) -> Vec<u8> {
    Responses { responses }.encode_to_vec()
}

fn limited(body: &Bytes, most: usize) -> Result<Bytes, Refusal> {
    if body.len() > most {
        return refused(413, format!("expected a body of at most {most} bytes"));
    }
    Ok(body.clone())
}

/// Addresses that a URL filter's report names. The report names no user.
///
/// # Errors
/// [`Refusal`] with 400 for an invalid report, 413 for one that is too long.
pub fn reported(body: &Bytes) -> Result<Vec<String>, Refusal> {
    Ok(decoded::<UrlFilterReport>(limited(body, MAX_REPORT_BYTES)?)?.urls)
}

/// The parts of a message, each still encoded: all that it contains of field 1. They are counted
/// while they are read, so that a list of empty ones takes no memory.
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
        let Some(bytes) = bytes else { return refused(400, "a part is longer than its message") };
        if parts.len() == most {
            return refused(400, format!("expected at most {most} parts in one message"));
        }
        parts.push(body.split_to(bytes));
    }
    Ok(parts)
}

fn decoded<M: Message + Default>(body: Bytes) -> Result<M, Refusal> {
    M::decode(body).map_err(|why| Refusal { status: 400, why: why.to_string() })
}
