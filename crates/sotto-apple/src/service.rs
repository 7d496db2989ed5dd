//! What a server answers: a function of a request, the use cases that it serves, and the keys that were sent to it.
//!
//! No socket is here, and no clock. Bodies are limited before they are decoded, and decoded part by part: a part takes some forty
//! times its bytes at most, when it is all empty itself, and the list of parts sixteen times.

use crate::config::{Id, dialect};
use crate::keys::most_bytes;
use crate::proto::{
    Config, ConfigForm, ConfigRequest, ConfigResponse, EvaluationKey, KeyStatus, Parts, PirRequest,
    PirResponse, Request, Response, Responses,
};
pub use crate::use_case::{Lookup, UseCase};
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

/// What is said to a client that sends half of an evaluation key.
pub(crate) const LACKING: &str = "an evaluation key lacks its metadata, or itself";

pub(crate) fn refused<T>(status: u16, why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused { status, why: why.into() })
}

/// What is said to a client whose keys are not here. Phones look at the status, ask for the configuration, and send them again.
pub(crate) const NO_KEYS: &str = "that evaluation key is not here: send it again";

impl Refused {
    /// What became of the request, in a word: for metrics.
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

/// What makes keys of the message that they came in.
pub type Reading<'a> = dyn Fn(&[u8]) -> Option<Stored> + 'a;

/// Where keys are kept: under a user's name, and the digest of what they are for.
pub trait KeyStore: Send + Sync {
    /// When the keys of a user were made, by its own clock. No keys are read for it.
    fn timestamp(&self, user: &str, id: &Id) -> Option<u64>;

    /// The keys of a user. A store that keeps messages has `read` make keys of them.
    fn get(&self, user: &str, id: &Id, read: &Reading<'_>) -> Option<Stored>;

    /// Keeps the keys of a user, in place of those there were, and the message that they came in.
    fn put(&self, user: &str, id: Id, keys: Stored, sent: &[u8]);
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
            "/config" => Some(MOST_CONFIG_BYTES),
            "/key" => Some(self.most_key_bytes()),
            "/queries" => Some(MOST_REQUESTS * self.most_query_bytes()),
            _ => None,
        }
    }

    /// Answers a request with the body of a success, or a refusal.
    ///
    /// # Errors
    /// [`Refused`] with the status: 400 for what is no request, 404 for another path or an unknown use case, 410 for a
    /// configuration that is not served any more, 413 for a body that is too long.
    pub fn answer(&self, asked: &Asked<'_>, store: &dyn KeyStore) -> Result<Vec<u8>, Refused> {
        match asked.path {
            "/config" => self.config(asked, store),
            "/key" => self.key(asked, store).map(|_| Vec::new()),
            "/queries" => {
                let lookups = self.lookups(asked, store)?;
                Ok(responses(lookups.iter().map(Lookup::answer).collect::<Result<_, _>>()?))
            }
            _ => refused(404, "there is /config, /key and /queries"),
        }
    }

    /// The user, the system, and the body of a request, which is not too long.
    fn checked<'a>(&self, asked: &Asked<'a>) -> Result<(&'a str, &'a str, Bytes), Refused> {
        let (Some(user), Some(agent)) = (asked.user, asked.agent) else {
            return refused(400, "the headers User-Identifier and User-Agent are needed");
        };
        if user.is_empty() || user.len() > MOST_NAME {
            return refused(400, "the header User-Identifier has no name, or too long a one");
        }
        Ok((user, agent, limited(&asked.body, self.most_bytes(asked.path).unwrap_or(0))?))
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

    /// Answers `/config`.
    ///
    /// # Errors
    /// As [`Service::answer`].
    pub fn config(&self, asked: &Asked<'_>, store: &dyn KeyStore) -> Result<Vec<u8>, Refused> {
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
    pub fn key(&self, asked: &Asked<'_>, store: &dyn KeyStore) -> Result<usize, Refused> {
        let (user, _, body) = self.checked(asked)?;
        let mut all = Vec::new();
        for part in parts(body, MOST_KEYS)? {
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

    /// The lookups that `/queries` asks for, each with its keys. Nothing is calculated yet.
    ///
    /// # Errors
    /// As [`Service::answer`].
    pub fn lookups(&self, asked: &Asked<'_>, store: &dyn KeyStore) -> Result<Vec<Lookup>, Refused> {
        let (user, _, body) = self.checked(asked)?;
        let all = parts(body, MOST_REQUESTS)?;
        let mut lookups = Vec::with_capacity(all.len());
        for part in all {
            let request: Request = decoded(limited(&part, self.most_query_bytes())?)?;
            let Some(asked) = request.pir_request else { return refused(400, "a request without a lookup") };
            let use_case = self.asked(&request.usecase, &asked)?.clone();
            lookups.push(use_case.lookup(request.usecase, user, asked, store)?);
        }
        Ok(lookups)
    }

    /// The table that a request has the configuration of.
    fn asked(&self, name: &str, asked: &PirRequest) -> Result<&Arc<UseCase>, Refused> {
        let Some(all) = self.use_cases.get(name) else {
            return refused(400, "a use case that is not served");
        };
        let found = all.iter().find(|use_case| use_case.is_named(&asked.configuration_hash));
        found.ok_or(Refused { status: 410, why: "that configuration is retired".into() })
    }
}

/// The body of an answer to `/queries`: the answers to its lookups, in their order.
pub fn responses(answers: Vec<PirResponse>) -> Vec<u8> {
    let response = |answer| Response { pir_response: Some(answer) };
    Responses { responses: answers.into_iter().map(response).collect() }.encode_to_vec()
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
