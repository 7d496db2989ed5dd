//! The client's half of lookups by key or by number, as functions from bytes to bytes: what is sent, and what is read of answers.
//!
//! ```text
//! config_request -> /config -> Client::learn    key_request -> /key    ask -> /queries -> open
//! ```
//!
//! A symmetric table takes evaluations before: see `client/symmetric.rs`.
//!
//! A server tells its tables' shapes, so they are looked at before anything is made of them. A request says which shard a key is
//! in, and that is all it says of the key. Until it has left, nothing depends on the key but that.

mod kept;
mod symmetric;
mod told;

pub use symmetric::{Blindings, Openings};

use crate::keyword::table::{asked, found};
use crate::keyword::{hash, shard};
use crate::proto::{
    ConfigRequest, EvaluationKey, EvaluationKeyMetadata, EvaluationKeys, PirRequest, Request, Requests,
    Responses,
};
use crate::sets::Weak;
use crate::symmetric::Opening;
use bytes::Bytes;
use prost::Message;
use rand_core::CryptoRng;
use sotto_catalog::RowForm;
use sotto_core::{Error, Misuse, PeerMisbehaved, Result};
use sotto_lattice::bgv::Secret;
use told::{Told, wrong};
use zeroize::Zeroizing;

/// A client of one use case, with a secret of its own.
#[derive(Debug)]
pub struct Client {
    use_case: String,
    told: Told,
    /// When the keys were made, as the caller has it: it names them.
    timestamp: u64,
    secret: Secret,
}

/// What a client remembers of a request.
#[derive(Debug)]
pub struct Pending {
    wishes: Vec<Wish>,
}

/// A key or a row: its shard, the entries that were asked for, and what tells the row among them.
#[derive(Debug)]
struct Wish {
    at: usize,
    entries: Vec<usize>,
    /// Of a key.
    hash: Option<u64>,
    /// False for the number of a row that there is not.
    is_there: bool,
    /// Of a symmetric table.
    opening: Option<Opening>,
}

/// The body of a request for the configuration of a use case.
pub fn config_request(use_case: &str) -> Vec<u8> {
    // One identifier without bytes is what phones send that know none.
    ConfigRequest { usecases: vec![use_case.into()], existing_config_ids: vec![Bytes::new()] }.encode_to_vec()
}

impl Client {
    /// A client of what `/config` answered, with a new secret.
    ///
    /// # Errors
    /// [`Params`](sotto_core::Error::Params) if the set is unknown, weak, or fails too often; [`Peer`](sotto_core::Error::Peer)
    /// if this is no configuration of a table, or contradicts itself.
    pub fn learn(
        use_case: &str,
        answer: Bytes,
        weak: Weak,
        timestamp: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        Client::again(use_case, answer, weak, None, timestamp, rng)
    }

    /// The same, with the secret that was kept of an earlier one ([`Client::kept`]), if the keys are for the same.
    ///
    /// # Errors
    /// As [`Client::learn`].
    pub fn again(
        use_case: &str,
        answer: Bytes,
        weak: Weak,
        kept: Option<&[u8]>,
        timestamp: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let told = Told::read(use_case, answer, weak)?;
        let kept = kept.and_then(|kept| kept::read(kept, &told));
        let (timestamp, secret) =
            kept.unwrap_or_else(|| (timestamp, Secret::sample(told.codec.kit().ring(), rng)));
        Ok(Client { use_case: use_case.into(), told, timestamp, secret })
    }

    /// What to keep of it, so that later calls ask with the same keys. It is secret.
    pub fn kept(&self) -> Zeroizing<Vec<u8>> {
        kept::write(&self.told.key_id, self.timestamp, &self.secret)
    }

    /// Whether the server said that it has its keys.
    pub fn has_sent_keys(&self) -> bool {
        self.told.there == self.timestamp
    }

    /// Whether rows are asked for by number, and how many there are.
    pub fn rows(&self) -> Option<u64> {
        let [shape] = self.told.shapes.as_slice() else { return None };
        (shape.batch() == 1).then_some(shape.entries() as u64)
    }

    /// Whether rows by number say how long they are; else all have one length.
    pub fn says_lengths(&self) -> bool {
        self.told.form != RowForm::Whole
    }

    /// Shards of the table: which one a key is in, a request says.
    pub fn shards(&self) -> usize {
        self.told.shapes.len()
    }

    fn metadata(&self) -> Option<EvaluationKeyMetadata> {
        let identifier = Bytes::copy_from_slice(&self.told.key_id);
        Some(EvaluationKeyMetadata { timestamp: self.timestamp, identifier })
    }

    /// The body of a request that hands over the keys.
    pub fn key_request(&self, rng: &mut dyn CryptoRng) -> Vec<u8> {
        let evaluation_key = Some(self.told.codec.make_keys(&self.secret, &self.told.elements, rng));
        let key = EvaluationKey { metadata: self.metadata(), evaluation_key };
        EvaluationKeys { keys: vec![key] }.encode_to_vec()
    }

    /// The body of a request for the values of these keys.
    ///
    /// # Errors
    /// [`Misuse`] of a table whose rows are asked for by number. None that depends on a key.
    pub fn ask(&self, keys: &[&[u8]], rng: &mut dyn CryptoRng) -> Result<(Vec<u8>, Pending)> {
        if self.rows().is_some() {
            return Err(Misuse::Rule("this table is asked by the number of a row").into());
        }
        if self.is_symmetric() {
            return Err(Misuse::Rule("this table is symmetric: ask for what opens the rows first").into());
        }
        let wish = |key: &&[u8]| {
            let hash = hash(key);
            let at = shard(hash, self.told.shapes.len());
            let shape = self.told.shapes.get(at).ok_or(wrong("has no shards"))?;
            Ok(Wish {
                at,
                entries: asked(shape, hash).to_vec(),
                hash: Some(hash),
                is_there: true,
                opening: None,
            })
        };
        self.request(keys.iter().map(wish).collect::<Result<_>>()?, rng)
    }

    /// The body of a request for these rows by number. One that the table has not is asked for all the same, as another.
    ///
    /// # Errors
    /// [`Misuse`] of a table that is asked by key.
    pub fn ask_rows(&self, rows: &[u64], rng: &mut dyn CryptoRng) -> Result<(Vec<u8>, Pending)> {
        let Some(count) = self.rows() else {
            return Err(Misuse::Rule("this table is asked by key").into());
        };
        let wish = |row: &u64| {
            let is_there = *row < count;
            let entry = if is_there { *row as usize } else { 0 };
            Wish { at: 0, entries: vec![entry], hash: None, is_there, opening: None }
        };
        self.request(rows.iter().map(wish).collect(), rng)
    }

    fn request(&self, wishes: Vec<Wish>, rng: &mut dyn CryptoRng) -> Result<(Vec<u8>, Pending)> {
        let mut requests = Vec::with_capacity(wishes.len());
        for wish in &wishes {
            let shape = self.told.shapes.get(wish.at).ok_or(wrong("has no shards"))?;
            let pir_request = PirRequest {
                shard_index: wish.at as u32,
                query: Some(self.told.codec.ask(&self.secret, shape, &wish.entries, rng)?),
                evaluation_key_metadata: self.metadata(),
                configuration_hash: self.told.config_id.clone(),
                ..Default::default()
            };
            let pir_request = Some(pir_request);
            requests.push(Request { usecase: self.use_case.clone(), pir_request, ..Default::default() });
        }
        Ok((Requests { requests }.encode_to_vec(), Pending { wishes }))
    }

    /// The values of the keys or rows that were asked for; `None` for those that the table has not.
    ///
    /// # Errors
    /// [`Peer`](sotto_core::Error::Peer) if this is no answer to the request; `Unreadable` if a bucket is damaged, or a row that
    /// was sealed does not open.
    pub fn open(&self, pending: Pending, answer: Bytes) -> Result<Vec<Option<Vec<u8>>>> {
        let answer = Responses::decode(answer).map_err(|why| wrong(why.to_string()))?;
        let (got, want) = (answer.responses.len() as u64, pending.wishes.len() as u64);
        if got != want {
            return Err(PeerMisbehaved::Count { what: "responses", got, want }.into());
        }
        let mut out = Vec::with_capacity(pending.wishes.len());
        for (wish, response) in pending.wishes.iter().zip(&answer.responses) {
            let (Some(shape), Some(response)) = (self.told.shapes.get(wish.at), &response.pir_response)
            else {
                return Err(wrong("lacks a response").into());
            };
            let mut entries = self.told.codec.open(&self.secret, shape, &wish.entries, response)?;
            out.push(match wish.hash {
                Some(hash) => {
                    let value = found(hash, &entries)?.filter(|_| wish.is_there);
                    match (value, &wish.opening) {
                        (Some(sealed), Some(opening)) => {
                            let mut value = opening.open(&sealed).map_err(|_| Error::Unreadable)?;
                            Some(std::mem::take(&mut *value))
                        }
                        (value, _) => value,
                    }
                }
                None => {
                    let row = entries.pop().map(|mut row| std::mem::take(&mut *row)).unwrap_or_default();
                    Some(self.told.form.value(row)?).filter(|_| wish.is_there)
                }
            });
        }
        Ok(out)
    }
}
