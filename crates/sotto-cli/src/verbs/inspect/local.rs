//! Inspection of a directory or an image file.

use super::{Inspect, stack};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::{Screen, grid, units};
use crate::verbs::table_summary;
use sotto_catalog::TableNameError;
use sotto_core::Epoch;
use sotto_db::image::FileKind;
use sotto_db::parts::open_parts;
use sotto_db::residency::PageKind;
use sotto_db::{DbError, ImageFile, ImageProblem, Inspection, StackDir, TableDir};
use std::path::Path;
use std::sync::Arc;

pub(super) fn inspect(args: &Inspect, screen: Screen) -> Result<()> {
    let target = Path::new(&args.target);
    let image = match (StackDir::find(target), &args.table) {
        (Some(dir), Some(name)) => {
            let name = name.parse().map_err(|e: TableNameError| Failure::usage(e.to_string()))?;
            open(&dir.table(&name), args.epoch)?
        }
        (Some(_), None) if args.epoch.is_some() => {
            return Err(Failure::usage(
                "--epoch does not apply to a stack, which names the epochs of its tables",
            )
            .fix("give --table too, or omit --epoch"));
        }
        (Some(dir), None) => return stack::inspect(&dir, args.verify, screen),
        (None, Some(_)) => {
            let text = "--table does not apply to a file";
            return Err(Failure::usage(text).fix("omit --table"));
        }
        (None, None) => open(target, args.epoch)?,
    };
    let entry = sotto_registry::find(&image.catalog().scheme);
    let found = sotto_db::inspect(&image, entry).map_err(exit_mapping::db)?;
    if args.verify {
        let bars = screen.bars();
        let parts = open_parts(&image).map_err(exit_mapping::db)?;
        for file in parts.iter().chain([&image]) {
            file.verify(&|at| bars.watch(None, at)).map_err(exit_mapping::db)?;
        }
    }
    print(&found, args.verify, screen)
}

fn open(path: &Path, epoch: Option<u64>) -> Result<Arc<ImageFile>> {
    if !path.exists() {
        return Err(Failure::missing(format!("no such file or directory: {}", path.display()))
            .fix("give the directory of a table, an image file, or an address that starts with http"));
    }
    if path.is_file() {
        if epoch.is_some() {
            return Err(Failure::usage("--epoch does not apply to an image file"));
        }
        return match ImageFile::open(path) {
            Err(DbError::Image { problem: ImageProblem::Piece { .. }, .. }) => ImageFile::open_part(path),
            opened => opened,
        }
        .map_err(exit_mapping::db);
    }
    let dir = TableDir::open(path).map_err(exit_mapping::db)?;
    match epoch {
        Some(epoch) => dir.open_epoch(Epoch(epoch)),
        None => dir.open_latest(),
    }
    .map_err(exit_mapping::db)
}

fn print(found: &Inspection, verified: bool, screen: Screen) -> Result<()> {
    screen.say(format!("{} ({})\n", found.path.display(), units::bytes(found.bytes)))?;
    let lines = table_summary::lines(&found.catalog, found.scheme.as_ref(), &found.public_key);
    screen.say(grid::facts(lines))?;
    if let Some(text) = table_summary::parameters(found.scheme.as_ref()) {
        screen.say(text)?;
    }
    if found.piece != FileKind::Whole.to_string() {
        screen.say(format!("\nThis is {}", found.piece))?;
    }
    for part in &found.parts {
        let name = part.path.file_name().unwrap_or_default().to_string_lossy();
        screen.say(match (&part.held, &part.problem) {
            (Some((bytes, digest)), _) => format!("  {name}  {}  {digest}", units::bytes(*bytes)),
            (None, problem) => format!("  {name}: {}", problem.as_deref().unwrap_or("empty")),
        })?;
    }
    screen.say("")?;
    let columns = [("section", false), ("offset", true), ("bytes", true), ("BLAKE3", false)];
    let rows = found.sections.iter().map(|section| {
        let (offset, bytes) = (units::count(section.offset), units::count(section.bytes));
        vec![section.name.to_owned(), offset, bytes, section.digest.clone()]
    });
    screen.say(grid::grid(&columns, rows))?;
    if let Some(share) = found.huge_share {
        let pages = PageKind::of(share);
        screen.say(format!("\npages when mapped here: {pages}"))?;
    }
    screen.say(match verified {
        true => "\nverified: every section matches its digest, and the catalog its signature",
        false => "\nheader, catalog and signature are valid; --verify compares every section with its digest",
    })?;
    let mut value = serde_json::to_value(found)
        .map_err(|error| Failure::internal(format!("cannot serialize a description: {error}")))?;
    if let Some(object) = value.as_object_mut() {
        object
            .insert("scheme".to_owned(), table_summary::scheme_json(&found.catalog, found.scheme.as_ref())?);
        object.insert("snapshot".to_owned(), table_summary::snapshot(found.catalog.digest()).into());
        object.insert("verified".to_owned(), verified.into());
    }
    screen.report(&value)
}
