//! What a server answers: a function of a request, the use cases that it serves, and the keys that were sent to it.
//!
//! No socket is here, and no clock. Bodies are limited before they are decoded, and decoded part by part: a part takes some forty
//! times its bytes at most, when it is all empty itself, and the list of parts sixteen times.

use crate::config::{Id, dialect};
use crate::keys::most_bytes;
use crate::proto::{
    Config, ConfigForm, ConfigRequest, ConfigResponse, EvaluationKey, KeyStatus, Parts, PirRequest, Request,
    Response, Responses,
};
pub use crate::use_case::UseCase;
use bytes::Bytes;
use prost::Message;
use sotto_bfv::mulpir::Keys;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Lookups of one message at most.
const MOST_REQUESTS: usize = 64;

/// Evaluation keys of one message at most.
const MOST_KEYS: usize = 64;

/// Bytes of a request for configurations at most.
const MOST_CONFIG_BYTES: usize = 64 << 10;

/// Bytes of a user's name at most.
const MOST_NAME: usize = 128;

/// A request: its path, two headers, and its body.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// `/config`, `/key` or `/queries`.
    pub path: &'a str,
    /// The header `User-Identifier`.
    pub user: Option<&'a str>,
    /// The header `User-Agent`.
    pub agent: Option<&'a str>,
    /// The body.
    pub body: Bytes,
}

/// Why a request is refused: a status, and words for whoever reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The status of the answer.
    pub status: u16,
    /// Why.
    pub why: String,
}

pub(crate) fn refused<T>(status: u16, why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused { status, why: why.into() })
}

/// A client's keys, and what it calls them.
#[derive(Debug, Clone)]
pub struct Stored {
    /// When the client made them, by its own clock.
    pub timestamp: u64,
    /// The keys.
    pub keys: Arc<Keys>,
    /// Bytes that they take in memory, about.
    pub bytes: usize,
}

/// Where keys are kept: under a user's name, and the digest of what they are for.
pub trait KeyStore: Send + Sync {
    /// The keys of a user.
    fn get(&self, user: &str, id: &Id) -> Option<Stored>;

    /// Keeps the keys of a user, in place of those there were.
    fn put(&self, user: &str, id: Id, keys: Stored);
}

/// The use cases that are served, by name: the configurations of each, the newest first.
#[derive(Debug, Default)]
pub struct Service {
    use_cases: BTreeMap<String, Vec<Arc<UseCase>>>,
}

impl Service {
    /// A service without use cases.
    pub fn new() -> Self {
        Service::default()
    }

    /// Serves a table under this name. `kept` of those that were served before go on answering clients that know their
    /// configuration.
    pub fn serve(&mut self, name: &str, use_case: UseCase, kept: usize) {
        let all = self.use_cases.entry(name.into()).or_default();
        all.insert(0, Arc::new(use_case));
        all.truncate(1 + kept);
    }

    /// Answers a request with the body of a success, or a refusal.
    ///
    /// # Errors
    /// [`Refused`] with the status: 400 for what is no request, 404 for another path or an unknown use case, 410 for a
    /// configuration that is not served any more, 413 for a body that is too long.
    pub fn answer(&self, asked: &Asked<'_>, store: &dyn KeyStore) -> Result<Vec<u8>, Refused> {
        let (Some(user), Some(agent)) = (asked.user, asked.agent) else {
            return refused(400, "the headers User-Identifier and User-Agent are needed");
        };
        if user.is_empty() || user.len() > MOST_NAME {
            return refused(400, "the header User-Identifier has no name, or too long a one");
        }
        match asked.path {
            "/config" => self.config(user, agent, limited(&asked.body, MOST_CONFIG_BYTES)?, store),
            "/key" => self.key(user, limited(&asked.body, self.most_key_bytes())?, store),
            "/queries" => {
                self.queries(user, limited(&asked.body, MOST_REQUESTS * self.most_query_bytes())?, store)
            }
            _ => refused(404, "there is /config, /key and /queries"),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Arc<UseCase>> {
        self.use_cases.values().flatten()
    }

    /// Bytes of one lookup at most, with the names of its use case and of its keys.
    fn most_query_bytes(&self) -> usize {
        self.all().map(|use_case| use_case.most_query_bytes()).max().unwrap_or(0) + 1024
    }

    fn most_key_bytes(&self) -> usize {
        // One of each kind that there is.
        let kinds: BTreeMap<Id, usize> = self
            .all()
            .map(|use_case| {
                (use_case.key_id, most_bytes(&use_case.codec, use_case.keys.galois_elements.len()))
            })
            .collect();
        kinds.values().sum::<usize>() + 1024
    }

    fn config(&self, user: &str, agent: &str, body: Bytes, store: &dyn KeyStore) -> Result<Vec<u8>, Refused> {
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
                return refused(404, "a use case that is not served");
            };
            let (config, config_id) = use_case.config(dialect(agent));
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
                let timestamp = store.get(user, &use_case.key_id).map_or(0, |stored| stored.timestamp);
                response.key_info.push(KeyStatus { timestamp, key_config: Some(use_case.keys.clone()) });
            }
        }
        Ok(response.encode_to_vec())
    }

    fn key(&self, user: &str, body: Bytes, store: &dyn KeyStore) -> Result<Vec<u8>, Refused> {
        let mut all = Vec::new();
        for part in parts(body, MOST_KEYS)? {
            let key: EvaluationKey = decoded(part)?;
            let (Some(metadata), Some(key)) = (key.metadata, key.evaluation_key) else {
                return refused(400, "an evaluation key lacks its metadata, or itself");
            };
            let Some(use_case) = self.all().find(|use_case| metadata.identifier == use_case.key_id[..])
            else {
                return refused(400, "an evaluation key for no configuration that is served");
            };
            let keys = use_case.codec.take_keys(&key, &use_case.elements());
            let keys = keys.map_err(|why| Refused { status: 400, why: why.to_string() })?;
            let bytes = Keys::bytes(use_case.codec.kit(), use_case.keys.galois_elements.len());
            let stored = Stored { timestamp: metadata.timestamp, keys: Arc::new(keys), bytes };
            all.push((use_case.key_id, stored));
        }
        all.into_iter().for_each(|(id, stored)| store.put(user, id, stored));
        Ok(Vec::new())
    }

    fn queries(&self, user: &str, body: Bytes, store: &dyn KeyStore) -> Result<Vec<u8>, Refused> {
        let all = parts(body, MOST_REQUESTS)?;
        let mut responses = Vec::with_capacity(all.len());
        for part in all {
            let request: Request = decoded(limited(&part, self.most_query_bytes())?)?;
            let Some(asked) = &request.pir_request else { return refused(400, "a request without a lookup") };
            let use_case = self.asked(&request.usecase, asked)?;
            let pir_response = Some(use_case.lookup(user, asked, store)?);
            responses.push(Response { pir_response });
        }
        Ok(Responses { responses }.encode_to_vec())
    }

    /// The table that a request has the configuration of.
    fn asked(&self, name: &str, asked: &PirRequest) -> Result<&UseCase, Refused> {
        let Some(all) = self.use_cases.get(name) else {
            return refused(400, "a use case that is not served");
        };
        let found = all.iter().find(|use_case| use_case.is_named(&asked.configuration_hash));
        found
            .map(|found| &**found)
            .ok_or(Refused { status: 410, why: "that configuration is retired".into() })
    }
}

fn limited(body: &Bytes, most: usize) -> Result<Bytes, Refused> {
    if body.len() > most {
        return refused(413, format!("a body of at most {most} bytes"));
    }
    Ok(body.clone())
}

/// The parts of a message, which are not more than so many.
fn parts(body: Bytes, most: usize) -> Result<Vec<Bytes>, Refused> {
    let Parts { parts } = decoded(body)?;
    if parts.len() > most { refused(400, format!("at most {most} parts in one message")) } else { Ok(parts) }
}

fn decoded<M: Message + Default>(body: Bytes) -> Result<M, Refused> {
    M::decode(body).map_err(|why| Refused { status: 400, why: why.to_string() })
}
