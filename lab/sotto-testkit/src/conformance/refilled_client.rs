//! A client that requests its hints as soon as they are due, from a server of its own.

use crate::memory::MemoryImage;
use sotto_core::{
    AnyBatch, AnyClient, AnyHintClient, AnyPending, AnyServer, AnyState, AnyStreamClient, AnySum, Budget,
    CryptoRng, Record, RecordIndex, Result, SchemeEntry,
};
use std::sync::Arc;

/// A client with a server that makes its hints. Hints that are due are requested at once.
pub(crate) struct RefilledClient {
    client: Box<dyn AnyClient>,
    helper: Box<dyn AnyServer>,
}

impl RefilledClient {
    /// A client of a scheme, with all hints that are due at first; unchanged if its scheme has no
    /// hint server.
    pub(crate) fn of(
        entry: &SchemeEntry,
        params: &[u8],
        image: &MemoryImage,
        client: Box<dyn AnyClient>,
    ) -> Result<Box<dyn AnyClient>> {
        if entry.hint_server.is_none() {
            return Ok(client);
        }
        let helper = (entry.server.open)(params, Arc::new(image.clone()))?;
        let mut refilled = RefilledClient { client, helper };
        refilled.refill()?;
        Ok(Box::new(refilled))
    }

    fn refill(&mut self) -> Result<()> {
        refill_hints(self.client.as_mut(), self.helper.as_ref())
    }
}

impl AnyClient for RefilledClient {
    fn keys(&self) -> Vec<u8> {
        self.client.keys()
    }
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(Vec<Vec<u8>>, AnyPending)> {
        let queries = self.client.query(index, rng)?;
        self.refill()?;
        Ok(queries)
    }
    fn recover(&mut self, ticket: AnyPending, answers: &[Vec<u8>]) -> Result<Record> {
        self.client.recover(ticket, answers)
    }
    fn budget(&self) -> Budget {
        self.client.budget()
    }
    fn units(&mut self) -> Option<&mut dyn AnyStreamClient> {
        self.client.units()
    }
    fn batch(&mut self) -> Option<&mut dyn AnyBatch> {
        self.client.batch()
    }
    fn sum(&mut self) -> Option<&mut dyn AnySum> {
        self.client.sum()
    }
    fn state(&mut self) -> Option<&mut dyn AnyState> {
        self.client.state()
    }
    fn hint_client(&mut self) -> Option<&mut dyn AnyHintClient> {
        self.client.hint_client()
    }
}

/// Has all hints made that a client can request, where a server makes them.
///
/// # Errors
/// Those of the scheme.
pub fn refill_hints(client: &mut dyn AnyClient, server: &dyn AnyServer) -> Result<()> {
    let (Some(hint_client), Some(supplier)) = (client.hint_client(), server.supplier()) else {
        return Ok(());
    };
    while let Some(order) = hint_client.next_hint_request()? {
        hint_client.apply_hint_response(&supplier.supply(&order)?)?;
    }
    Ok(())
}
