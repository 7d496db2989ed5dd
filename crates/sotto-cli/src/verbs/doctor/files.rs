//! Checks of a table's folder, an image, or a signing key.

use crate::failure::{Failure, Result};
use crate::screen::progress::ProgressLine;
use crate::screen::units;
use crate::verbs::doctor::Findings;
use crate::{apple, table_summary};
use sotto_catalog::{Catalog, SigningKey};
use sotto_db::epoch::KEY;
use sotto_db::inspect::describe;
use sotto_db::residency::PageKind;
use sotto_db::{ImageFile, PathKind, TableDir};
use std::fs;
use std::path::Path;

pub(crate) fn check(path: &Path, verify: bool, bars: &ProgressLine, findings: &mut Findings) -> Result<()> {
    if !path.exists() {
        let text = format!("no such file or folder: {}", path.display());
        return Err(Failure::missing(text)
            .fix("give the directory of a table, an image, a signing key, or an address"));
    }
    match PathKind::of(path)? {
        PathKind::Stack(dir) => {
            match dir.read() {
                Ok((_, stack)) => {
                    findings
                        .good(path.display(), format!("a stack of {} tables, signed", stack.shards.len()));
                    for shard in &stack.shards {
                        folder(&dir.table(&shard.table), verify, bars, findings);
                    }
                }
                Err(error) => findings.failure(path.display(), error),
            }
            signing_key(path, findings);
            return Ok(());
        }
        PathKind::Foreign(_, newest) => {
            writable_by_others(path, "other users can replace the table", findings);
            apple(&newest, verify, bars, findings);
            return Ok(());
        }
        PathKind::ForeignFile => {
            apple(path, verify, bars, findings);
            return Ok(());
        }
        PathKind::Missing | PathKind::Table(_) | PathKind::File => {}
    }
    if path.is_dir() {
        folder(path, verify, bars, findings);
    } else if fs::read(path)
        .is_ok_and(|bytes| bytes.len() < 4096 && bytes.windows(9).any(|part| part == b"sotto-sk:"))
    {
        key(path, findings);
    } else {
        match ImageFile::open(path) {
            Ok(opened) => image(&opened, verify, bars, findings),
            Err(error) => findings.failure(path.display(), error),
        }
    }
    Ok(())
}

fn folder(path: &Path, verify: bool, bars: &ProgressLine, findings: &mut Findings) {
    let about = path.display();
    let dir = match TableDir::open(path) {
        Ok(dir) => dir,
        Err(error) => return findings.failure(&about, error),
    };
    writable_by_others(path, "other users can replace the table", findings);
    if let Ok(remnants) = dir.remnants()
        && !remnants.is_empty()
    {
        let list: Vec<String> = remnants.iter().map(|epoch| epoch.0.to_string()).collect();
        let found = format!("holds incomplete images of epochs {}", list.join(", "));
        findings.note(&about, found, "encode or update again, which completes or replaces them");
    }
    match dir.open_latest() {
        Ok(opened) => image(&opened, verify, bars, findings),
        Err(error) => return findings.failure(&about, error),
    }
    signing_key(path, findings);
}

/// Checks the key in a folder, if there is one.
fn signing_key(folder: &Path, findings: &mut Findings) {
    let path = folder.join(KEY);
    if path.exists() {
        key(&path, findings);
    }
}

fn apple(path: &Path, verify: bool, bars: &ProgressLine, findings: &mut Findings) {
    let about = path.display();
    let opened = match apple::open(path) {
        Ok(opened) => opened,
        Err(failure) => return findings.failure(&about, failure),
    };
    let (use_case, epoch, rows) = (&opened.name, opened.epoch, units::count(opened.description.rows()));
    findings.good(
        &about,
        format!("Apple's private lookups, use case {use_case}, epoch {epoch}: {rows} rows, not signed"),
    );
    writable_by_others(path, "other users can change it while it is served", findings);
    match apple::check_oprf_key(path, &opened) {
        None => {}
        Some(Ok(())) => findings.good(&about, "a symmetric table, with its key beside it"),
        Some(Err(error)) => {
            findings.problem(&about, error, "restore its key, which a server needs for evaluations");
        }
    }
    let file = opened.image.file();
    if verify {
        verified(path, file.verify(&|at| bars.watch(None, at)), findings);
    }
    free_space(path, file.header().file_bytes, findings);
}

fn verified(path: &Path, result: sotto_db::Result<()>, findings: &mut Findings) {
    match result {
        Ok(()) => findings.good(path.display(), "every byte matches its digest"),
        Err(error) => findings.failure(path.display(), error),
    }
}

fn image(image: &ImageFile, verify: bool, bars: &ProgressLine, findings: &mut Findings) {
    let (about, catalog) = (image.path().display(), image.catalog());
    writable_by_others(image.path(), "other users can change it while it is served", findings);
    self::catalog(&about.to_string(), catalog, findings);
    if verify {
        verified(image.path(), image.verify(&|at| bars.watch(None, at)), findings);
    }
    if let Some(share) = image.huge_share() {
        findings.good(&about, format!("pages when mapped here: {}", PageKind::of(share)));
    }
    let (bytes, memory) = (image.header().file_bytes, sotto_pages::memory::available());
    if memory.is_some_and(|memory| memory < bytes) {
        findings.problem(
            &about,
            format!("{} exceed the free memory: each pass reads the disk", units::bytes(bytes)),
            "use a machine with more memory, or cut the table into partitions",
        );
    }
    free_space(image.path(), bytes, findings);
}

/// Checks whether a catalog can be used, now and here.
pub(crate) fn catalog(about: &str, catalog: &Catalog, findings: &mut Findings) {
    let Some(entry) = sotto_registry::find(&catalog.scheme) else {
        let found = format!("scheme {} is not in this build", catalog.scheme);
        return findings.problem(about, found, "use a build that has the scheme");
    };
    match describe(catalog, entry) {
        Ok(scheme) => findings.good(
            about,
            format!(
                "table {}, epoch {}, {}: signed, {} of security, a lookup fails with {}",
                catalog.table,
                catalog.epoch,
                catalog.scheme,
                units::security(scheme.security_bits),
                units::at_most(scheme.failure_log2)
            ),
        ),
        Err(error) => findings.failure(about, error),
    }
    let now = crate::unix_time();
    if catalog.created > now + 300 {
        findings.problem(
            about,
            "the catalog was created in the future, by this machine's clock",
            "set the clock",
        );
    }
    match catalog.expires {
        Some(expires) if expires <= now => {
            findings.problem(
                about,
                format!("the catalog is valid until {}", table_summary::until(expires)),
                "encode or update it again",
            );
        }
        Some(expires) if expires < now + 24 * 3600 => {
            findings.note(
                about,
                format!("the catalog is valid until {}", table_summary::until(expires)),
                "encode or update it before it expires",
            );
        }
        _ => {}
    }
}

fn key(path: &Path, findings: &mut Findings) {
    let about = path.display();
    match fs::read_to_string(path).map_err(|error| error.to_string()) {
        Ok(text) => match SigningKey::from_file(&text) {
            Ok(key) => findings.good(&about, format!("signs as {}", key.public())),
            Err(error) => findings.problem(
                &about,
                error.to_string(),
                "restore it from a copy, since clients know this key",
            ),
        },
        Err(error) => findings.problem(&about, format!("cannot be read: {error}"), "check its permissions"),
    }
    readable_by_others(path, "other users can publish in your name", findings);
}

/// Adds a finding if others can change a file.
fn writable_by_others(path: &Path, why: &str, findings: &mut Findings) {
    open_to_others(path, 0o022, "chmod go-w", why, findings);
}

/// Adds a finding if others can read a file.
pub(crate) fn readable_by_others(path: &Path, why: &str, findings: &mut Findings) {
    open_to_others(path, 0o077, "chmod go-rwx", why, findings);
}

/// Adds a finding if others have these bits of a file's mode.
fn open_to_others(path: &Path, bits: u32, command: &str, why: &str, findings: &mut Findings) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let Ok(meta) = fs::metadata(path) else { return };
        let mode = meta.permissions().mode() & 0o777;
        if mode & bits != 0 {
            let found = format!("has mode {mode:03o}: {why}");
            findings.problem(path.display(), found, format!("{command} {}", path.display()));
        }
    }
}

/// Checks whether there is space for another epoch.
fn free_space(path: &Path, bytes: u64, findings: &mut Findings) {
    #[cfg(unix)]
    {
        let Ok(disk) = rustix::fs::statvfs(path) else { return };
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free < bytes {
            findings.problem(
                path.display(),
                format!(
                    "the disk has {} free, and the next epoch needs {}",
                    units::bytes(free),
                    units::bytes(bytes)
                ),
                "free space before the next update, which otherwise fails and keeps this epoch",
            );
        }
    }
}
