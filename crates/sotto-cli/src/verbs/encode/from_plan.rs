//! The choice of a plan, in place of the options that set it one by one.

use super::{Encode, scheme};
use crate::exit::Exit;
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use sotto_plan::PlanChoice;
use std::io::Read;
use std::path::Path;

/// Maximum bytes of a plan, which has some kilobytes for each layout.
const MAX_BYTES: u64 = 64 << 20;

/// Reads the choice from a plan's file.
pub(super) fn read(path: &Path) -> Result<PlanChoice> {
    let fail = |error| Failure::file("reading", path, &error);
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(fail)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    PlanChoice::parse(&bytes).map_err(|error| {
        let failure = exit_mapping::plan(&error);
        Failure { message: format!("{}: {}", path.display(), failure.message), ..failure }
    })
}

impl Encode {
    /// Applies the choice.
    pub(super) fn take(&mut self, choice: PlanChoice) -> Result<()> {
        self.scheme = scheme(&choice.scheme).map_err(|why| {
            Failure::new(Exit::Params, format!("the plan has scheme {}: {why}", choice.scheme))
                .fix("make the plan again with this build")
        })?;
        self.goal = choice.goal().map_err(|error| exit_mapping::plan(&error))?;
        self.source.arrange(choice.keys)?;
        (self.set, self.lookups, self.batch) = (choice.set, choice.lookups, choice.batch);
        (self.symmetric, self.row_proofs, self.no_row_proofs) =
            (choice.symmetric, choice.verified, !choice.verified);
        Ok(())
    }
}
