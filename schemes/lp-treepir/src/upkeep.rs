//! Ordering hints, block after block, before the first query.

use crate::TreePir;
use crate::client::{Client, KNOWN};
use crate::journal::Record;
use crate::message::{Order, Supply};
use sotto_core::{Misuse, Result};

impl Client {
    /// The order that is due.
    pub(crate) fn due(&self) -> Option<Order> {
        let block = self.stocked;
        (block < self.params.blocks()).then(|| Order { key: self.key.clone(), block })
    }

    /// Takes the parities of the next block.
    pub(crate) fn take_block(&mut self, supply: &[u8]) {
        let (width, hints) = (self.params.row_bytes(), self.params.block_hints());
        let first = self.stocked as usize * hints;
        let kept = self.parities.iter_mut().take(self.params.hints() * width).skip(first * width);
        kept.zip(supply).for_each(|(byte, new)| *byte = *new);
        let slots = self.hints.iter_mut().take(self.params.hints()).skip(first).take(hints);
        slots.for_each(|hint| hint.standing = KNOWN);
        self.stocked += 1;
    }
}

impl sotto_core::Upkeep for TreePir {
    const HELPER: usize = 1;
    type Order = Order;
    type Supply = Supply;

    fn order(client: &mut Client) -> Result<Option<Order>> {
        let due = client.due();
        client.ordered = due.is_some();
        Ok(due)
    }

    fn stock(client: &mut Client, supply: Supply) -> Result<()> {
        let block = client.stocked;
        // A supply does not say of which block it is: one that came twice would be taken for the next.
        if !std::mem::take(&mut client.ordered) {
            return Err(Misuse::Rule("a supply is taken once, after it was ordered").into());
        }
        client.take_block(&supply.0);
        client.note(Record::Stocked { block, parities: &supply.0 });
        Ok(())
    }
}
