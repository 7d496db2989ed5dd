//! A table in parts: all of it, its front, or one part next to an existing front.

use super::{EncodeJob, replace};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::{Screen, grid, units};
use serde_json::json;
use sotto_core::PartIndex;
use sotto_db::ingest::SourceLayout;
use sotto_db::mask::RowMasker;
use sotto_db::{IngestedTable, PiecesToWrite, TableDir, encode_part};

/// The value of `--part`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartArg {
    Front,
    Part(u32),
}

/// Parses `--part`.
pub(super) fn parse_part(text: &str) -> Result<PartArg, String> {
    match text {
        "front" => Ok(PartArg::Front),
        number => number
            .parse()
            .map(PartArg::Part)
            .map_err(|_| "expected the number of a part, or front".to_owned()),
    }
}

/// Combines `--parts` and `--part`; a single part is returned separately.
pub(super) fn combine(
    parts: Option<u32>,
    part: Option<PartArg>,
) -> Result<(PiecesToWrite, Option<PartIndex>)> {
    match (parts, part) {
        (None, _) => Ok((PiecesToWrite::Whole, None)),
        (Some(parts), None) => Ok((PiecesToWrite::All(parts), None)),
        (Some(parts), Some(PartArg::Front)) => Ok((PiecesToWrite::Front(parts), None)),
        (Some(parts), Some(PartArg::Part(part))) => match PartIndex::new(part, parts) {
            Some(cut) => Ok((PiecesToWrite::Whole, Some(cut))),
            None => Err(Failure::usage(format!("part {part} does not exist among {parts} parts"))
                .fix("give a smaller number; parts are counted from 0")),
        },
    }
}

impl EncodeJob<'_> {
    /// Encodes one part, next to an existing front.
    pub(super) fn run_part(self, cut: PartIndex, screen: Screen) -> Result<()> {
        std::fs::metadata(self.input).map_err(|error| Failure::file("reading", self.input, &error))?;
        replace::check_set(self.scheme, self.set.as_deref())?;
        if let SourceLayout::Keyword(_) = self.source.layout {
            let text =
                "--part does not apply to keyword tables, whose rows differ with each reading of a file";
            return Err(Failure::usage(text).fix("omit --part to make all parts at once"));
        }
        let dir = TableDir::open(self.out).map_err(exit_mapping::db)?;
        let _held = dir.share().map_err(exit_mapping::db)?;
        let front = dir.open_latest().map_err(exit_mapping::db)?;
        let found = &front.catalog().scheme;
        if *found != self.scheme.id.to_string() {
            return Err(Failure::usage(format!("the front in this directory has scheme {found}"))
                .fix("give the front's --scheme"));
        }
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        let IngestedTable { mut table, .. } =
            sotto_db::ingest(self.input, &self.source, self.out, &watch).map_err(exit_mapping::db)?;
        if self.symmetric {
            let key = dir.oprf_key().map_err(exit_mapping::db)?;
            let masker = RowMasker { table: &self.name, epoch: front.catalog().epoch, key: &key };
            let masked =
                masker.table(table.as_ref(), self.out, self.threads, &watch).map_err(exit_mapping::db)?;
            table = Box::new(masked);
        }
        let made = encode_part(self.scheme, table.as_ref(), &front, cut, self.threads, &watch);
        let made = made.map_err(exit_mapping::db)?;
        bars.finish();
        screen.say(format!("{} ({})\n", made.image.display(), units::bytes(made.image_bytes)))?;
        let did = if made.was_there { "already complete" } else { "made" };
        let lines = vec![
            ("part", format!("{} of {}, counted from 0", cut.part(), cut.parts())),
            ("epoch", made.epoch.to_string()),
            ("time", format!("{:.1} s: {did}", made.seconds)),
        ];
        screen.say(grid::facts(lines))?;
        screen.report(&json!({ "part": made }))
    }
}
