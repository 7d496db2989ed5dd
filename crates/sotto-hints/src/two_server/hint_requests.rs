//! Requesting hints, block by block, before the first query.

use super::client::KNOWN;
use super::journal::JournalEvent;
use super::{Client, Family, HintRequest, HintResponse, TwoServerScheme};
use sotto_core::{HintScheme, Misuse, Result};

impl<F: Family> Client<F> {
    /// Stores the parities of the next block.
    pub(super) fn take_block(&mut self, supply: &[u8]) {
        let (width, hints) = (self.params.row_bytes(), self.params.block_hints());
        let first = self.blocks_received as usize * hints;
        let kept = self.parities.iter_mut().take(self.params.hints() * width).skip(first * width);
        kept.zip(supply).for_each(|(byte, new)| *byte = *new);
        let slots = self.hints.iter_mut().take(self.params.hints()).skip(first).take(hints);
        slots.for_each(|hint| hint.standing = KNOWN);
        self.blocks_received += 1;
    }
}

impl<F: Family> HintScheme for TwoServerScheme<F> {
    const HINT_SERVER: usize = 1;
    type HintRequest = HintRequest;
    type HintResponse = HintResponse;

    fn next_hint_request(client: &mut Client<F>) -> Result<Option<HintRequest>> {
        let block = client.blocks_received;
        client.ordered = block < client.params.blocks();
        Ok(client.ordered.then(|| HintRequest { key: client.key.clone(), block }))
    }

    fn apply_hint_response(client: &mut Client<F>, supply: HintResponse) -> Result<()> {
        let block = client.blocks_received;
        // A hint response does not name its block: one that came twice would be taken for the next.
        if !std::mem::take(&mut client.ordered) {
            return Err(Misuse::Rule("a supply is taken once, after it was ordered").into());
        }
        client.take_block(&supply.0);
        client.note(JournalEvent::Stocked { block, parities: &supply.0 });
        Ok(())
    }
}
