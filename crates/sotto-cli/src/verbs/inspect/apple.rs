//! Inspection of a table of Apple's lookups: a directory's newest epoch, another one, or a file.

use super::Inspect;
use crate::exit_mapping;
use crate::failure::Result;
use crate::screen::{Screen, grid, units};
use crate::verbs::apple_summary::{self, facts};
use sotto_apple::image::open;
use sotto_apple::sets::WeakParams;
use sotto_core::Epoch;
use sotto_db::PathKind;
use std::path::{Path, PathBuf};

/// The file to inspect, if it is a table of Apple's lookups.
pub(super) fn find(args: &Inspect) -> Result<Option<PathBuf>> {
    let target = Path::new(&args.target);
    Ok(match PathKind::of(target).map_err(exit_mapping::db)? {
        PathKind::Foreign(dir, newest) => {
            Some(args.epoch.map_or(newest, |epoch| dir.image_path(Epoch(epoch))))
        }
        PathKind::ForeignFile => Some(target.to_owned()),
        _ => None,
    })
}

pub(super) fn inspect(path: &Path, verify: bool, screen: Screen) -> Result<()> {
    // A weak table may be inspected, though not served.
    let opened = open(path, WeakParams::Allow).map_err(exit_mapping::apple)?;
    let file = opened.image.file();
    if verify {
        let bars = screen.bars();
        file.verify(&|at| bars.watch(None, at)).map_err(exit_mapping::db)?;
    }
    screen.say(format!("{} ({})\n", path.display(), units::bytes(file.header().file_bytes)))?;
    screen.say(grid::facts(facts(&opened)))?;
    screen.say(match verify {
        true => "\nverified: every section matches its digest",
        false => "\nheader and description are valid; --verify compares every section with its digest",
    })?;
    let mut value = apple_summary::json(&opened);
    if let Some(object) = value.as_object_mut() {
        object.insert("verified".to_owned(), verify.into());
    }
    screen.report(&value)
}
