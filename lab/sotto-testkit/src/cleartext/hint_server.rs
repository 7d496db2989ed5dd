//! Hints that the second server makes, each good for three lookups.
//!
//! An answer is masked with the sum of the whole table, which a client has from its hints alone:
//! one that missed an epoch reads wrong rows. Queries and hint requests name the client and the
//! slot that they use up, so that an observer can detect what must never happen: one slot of a
//! client in two different queries ([`used`]), or one hint in two different requests.

use super::client::{ClientState, STOCKED};
use super::message::{HintRequest, HintResponse, slot_name, word};
use super::params::RESPONSE_LOOKUPS;
use super::server::Table;
use super::{Clear, SchemeKind};
use sotto_core::{Budget, Client, HintScheme, HintServer, PeerMisbehaved, Result};

/// The slot that an encoded query of [`super::CLEAR_HELPED`] uses; `None` if it is malformed.
pub fn used(query: &[u8]) -> Option<u64> {
    word(query, 1).filter(|_| query.len() == 16)
}

impl<K: SchemeKind> HintScheme for Clear<K> {
    const HINT_SERVER: usize = 1;
    type HintRequest = HintRequest;
    type HintResponse = HintResponse;

    fn next_hint_request(client: &mut ClientState<K>) -> Result<Option<HintRequest>> {
        let is_due = matches!(client.budget(), Budget::Left(left) if left < RESPONSE_LOOKUPS);
        Ok(is_due.then(|| HintRequest::of(&[slot_name(client.key, client.supplies)])))
    }

    fn apply_hint_response(client: &mut ClientState<K>, response: HintResponse) -> Result<()> {
        let number = client.supplies;
        if response.word(0) != slot_name(client.key, number) {
            return Err(PeerMisbehaved::NotCanonical("hint response").into());
        }
        client.enter(STOCKED, number, response.word(1))
    }
}

impl<K: SchemeKind> HintServer for Clear<K> {
    fn answer_hint_request(server: &Table<K>, request: HintRequest) -> Result<HintResponse> {
        Ok(HintResponse::of(&[request.word(0), server.sum()]))
    }
}
