//! The tree that rows are verified by, which comes before all else that the catalog calls for.

use super::{SessionSetup, SetupStage};
use crate::Result;

impl SessionSetup {
    /// Whether the tree is still wanted that rows are verified by.
    pub fn wants_tree(&self) -> bool {
        self.tree.is_some()
    }

    /// Leaves the tree behind once it is there. One that is not that of the rows ends the opening.
    pub(super) fn install_tree(&mut self) -> Result<()> {
        let Some(tree) = &mut self.tree else { return Ok(()) };
        self.patched = tree.patched.take().or(self.patched.take());
        if !tree.is_done() {
            return Ok(());
        }
        let nodes = self.tree.take().map(|tree| tree.into_taker());
        let kept = nodes.zip(self.agreed.as_mut()).map_or(Ok(()), |(nodes, agreed)| agreed.keep(nodes));
        if kept.is_err() {
            (self.stage, self.agreed) = (SetupStage::default(), None);
        }
        kept
    }
}
