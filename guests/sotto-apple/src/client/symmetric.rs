//! Client of symmetric tables: requests evaluations, and then the rows that they open.
//!
//! ```text
//! Client::ask_openings -> /queries -> Client::openings -> Client::ask_opened -> /queries -> Client::open
//! ```
//!
//! A blinded element is uniform whatever was blinded, so the first request reveals only the number
//! of keys. The second request is like that for any table: it is computed from the rows' names, not
//! from their keys.

use super::table_info::wrong;
use super::{Client, PendingRequest};
use crate::proto::{OprfRequest, Request, Requests, Responses};
use crate::symmetric::RowKey;
use bytes::Bytes;
use prost::Message;
use rand_core::CryptoRng;
use sotto_core::{Misuse, PeerMisbehaved, Result};
use sotto_oprf::OprfError;
use sotto_oprf::p384::{BlindedInput, MAX_INPUT, PublicKey, blind};
use zeroize::Zeroizing;

/// Blinded keys, with the secrets that unblind their evaluations.
#[derive(Debug)]
pub struct BlindedKeys(Vec<(BlindedInput, bool)>);

/// Keys that open rows, each with whether a table may contain its lookup key.
#[derive(Debug)]
pub struct RowKeys(Vec<(RowKey, bool)>);

impl Client {
    /// Whether a lookup requires an evaluation first.
    pub fn is_symmetric(&self) -> bool {
        self.info.oprf.is_some()
    }

    fn oprf(&self) -> Result<&PublicKey> {
        Ok(self
            .info
            .oprf
            .as_ref()
            .ok_or(Misuse::Rule("this table is not symmetric: look up its rows directly"))?)
    }

    /// Body of a request for an evaluation of each of these keys. A key that is longer than any key
    /// of a table is replaced by another one.
    ///
    /// # Errors
    /// [`Misuse`] for a table that is not symmetric. No error depends on a key.
    pub fn ask_openings(&self, keys: &[&[u8]], rng: &mut dyn CryptoRng) -> Result<(Vec<u8>, BlindedKeys)> {
        self.oprf()?;
        let (mut requests, mut all) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        for key in keys {
            let fits = key.len() <= MAX_INPUT;
            let key = if fits { key } else { &b""[..] };
            let blinded = blind(Zeroizing::new(key.to_vec()), rng);
            let blinded = blinded.map_err(|_| Misuse::Rule("the key is not a valid input of the OPRF"))?;
            let oprf_request = Some(OprfRequest {
                query_element: blinded.element().to_vec().into(),
                // Makes the server evaluate with the key that this client knows.
                config_id: self.info.config_id.clone(),
            });
            requests.push(Request { usecase: self.use_case.clone(), oprf_request, ..Default::default() });
            all.push((blinded, fits));
        }
        Ok((Requests { requests }.encode_to_vec(), BlindedKeys(all)))
    }

    /// Verifies the evaluations in an answer, and returns the keys that open the rows.
    ///
    /// # Errors
    /// [`Peer`](sotto_core::Error::Peer) if this is not an answer to the request.
    pub fn openings(&self, blindings: BlindedKeys, answer: Bytes) -> Result<RowKeys> {
        let public = self.oprf()?;
        let answer = Responses::decode(answer).map_err(|why| wrong(why.to_string()))?;
        let (got, want) = (answer.responses.len() as u64, blindings.0.len() as u64);
        if got != want {
            return Err(PeerMisbehaved::Count { what: "evaluations", got, want }.into());
        }
        let mut out = Vec::with_capacity(blindings.0.len());
        for ((blinded, fits), response) in blindings.0.into_iter().zip(answer.responses) {
            let evaluated = response.oprf_response.ok_or(wrong("lacks an evaluation"))?;
            let output = blinded.finish(&evaluated.evaluated_element, &evaluated.proof, public);
            let output = output.map_err(|why| match why {
                OprfError::Proof => wrong(UNPROVED),
                why => wrong(why.to_string()),
            })?;
            out.push((RowKey::of(output), fits));
        }
        Ok(RowKeys(out))
    }

    /// Body of a request for the values of rows that can be opened.
    ///
    /// # Errors
    /// [`Misuse`] for a table that is not symmetric.
    pub fn ask_opened(
        &self,
        openings: RowKeys,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<u8>, PendingRequest)> {
        self.oprf()?;
        let lookup =
            |(opening, is_there): (RowKey, bool)| self.lookup(opening.hash(), is_there, Some(opening));
        self.request(openings.0.into_iter().map(lookup).collect::<Result<_>>()?, rng)
    }
}

const UNPROVED: &str =
    "has an evaluation without a valid proof under the configuration's key: tell the operator";
