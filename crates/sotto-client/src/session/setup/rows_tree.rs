//! The tree that rows are verified with, which precedes everything else that the catalog requires.

use super::{SessionSetup, SetupStage};
use crate::Result;

impl SessionSetup {
    /// Whether the tree that rows are verified with is still missing.
    pub fn wants_tree(&self) -> bool {
        self.tree.is_some()
    }

    /// Installs the tree once it is complete. A tree with another root than the rows' ends the
    /// setup.
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
