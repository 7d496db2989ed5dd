//! Preparing a client: draws a key, which determines all sets, and requests their parities block by
//! block before the first query.

use super::client::JournalEvent;
use super::sets::KNOWN;
use super::{Client, Family, HintRequest, HintResponse, Params, TwoServerScheme};
use sotto_core::{CryptoRng, HintScheme, Misuse, Result};
use zeroize::Zeroizing;

/// A client in preparation.
pub struct Prepare<F> {
    params: Params<F>,
    pub(super) key: Zeroizing<[u8; 16]>,
}

impl<F: Family> Prepare<F> {
    pub(super) fn with_key(params: &Params<F>, key: Zeroizing<[u8; 16]>) -> Self {
        Prepare { params: params.clone(), key }
    }
}

impl<F: Family> sotto_core::Prepare<TwoServerScheme<F>> for Prepare<F> {
    fn begin(params: &Params<F>, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut key = Zeroizing::new([0; 16]);
        rng.fill_bytes(key.as_mut());
        Ok(Prepare::with_key(params, key))
    }

    fn finish(self) -> Result<Client<F>> {
        Client::new(self.params, self.key)
    }
}

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
            return Err(
                Misuse::Rule("a hint response must follow a hint request, and be applied once").into()
            );
        }
        client.take_block(&supply.0);
        client.note(JournalEvent::Stocked { block, parities: &supply.0 });
        Ok(())
    }
}
