//! Logs that are damaged, cut, mixed up, forked or growing: each is distinguished, and the file is
//! named.

use super::SampleLog;
use sotto_tlog::{Checkpoint, LogError, LogKey, LogLayout, LogSigner, Tile, generate};
use std::fs;

/// A log with two full tiles of leaves and a partial one, and more than one level of full tiles.
fn made() -> SampleLog {
    SampleLog::new(LogLayout::Tiles, "log", 600)
}

fn path_of(error: LogError) -> String {
    match error {
        LogError::Missing(path) => format!("missing {path}"),
        LogError::TileLength { path, .. } => format!("length {path}"),
        LogError::TileHash { path, parent } => format!("hash {path} of {parent}"),
        LogError::Edge { tiles, size } => format!("edge {tiles} at {size}"),
        LogError::Entry { path, index, .. } => format!("entry {path} {index}"),
        LogError::EntryHash { path, index } => format!("entry hash {path} {index}"),
        LogError::TooLarge { what, .. } => format!("too large {what}"),
        other => format!("{other:?}"),
    }
}

fn refused(made: &SampleLog, entries: bool) -> String {
    path_of(made.read(entries).unwrap_err())
}

#[test]
fn tiles_that_are_missing_or_cut_are_named() {
    for (path, partial) in [("tile/0/000", false), ("tile/0/002.p/88", true), ("tile/1/000.p/2", true)] {
        let made = made();
        for (what, change) in
            [("a byte less", -1), ("a hash less", -32), ("a byte more", 1), ("a hash more", 32)]
        {
            let whole = fs::read(made.path(path)).unwrap();
            made.change(path, |bytes| bytes.resize((bytes.len() as isize + change) as usize, 0));
            assert_eq!(refused(&made, false), format!("length {path}"), "{what}");
            fs::write(made.path(path), whole).unwrap();
        }
        made.change(path, |bytes| bytes.resize(1 << 20, 0));
        assert_eq!(refused(&made, false), format!("too large {path}"));
        made.change(path, Vec::clear);
        assert_eq!(refused(&made, false), format!("length {path}"));
        fs::remove_file(made.path(path)).unwrap();
        assert_eq!(refused(&made, false), format!("missing {path}"));
        // What can be checked without the file still can.
        assert_eq!(made.open().is_err(), partial);
    }
}

#[test]
fn files_that_a_mirror_kept_compressed_are_named() {
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0];
    let zstd = [0x28, 0xb5, 0x2f, 0xfd, 4, 0, 0, 0];
    for layout in LogLayout::ALL {
        for (magic, codec) in [(gzip, "gzip"), (zstd, "zstd")] {
            let made = SampleLog::new(layout, "log", 300);
            let tiles = [layout.tile(Tile::full(0, 0)), layout.tile(Tile { level: 0, index: 1, width: 44 })];
            for path in tiles.into_iter().chain([layout.bundle(0, 256), layout.bundle(1, 44)]) {
                let whole = fs::read(made.path(&path)).unwrap();
                made.change(&path, |bytes| *bytes = [&magic[..], &bytes[9..]].concat());
                let error = made.read(true).unwrap_err();
                assert!(
                    matches!(&error, LogError::Compressed { path: of, codec: with, .. } if *of == path && *with == codec),
                    "{error}"
                );
                fs::write(made.path(&path), whole).unwrap();
            }
            let note = Checkpoint::open(&magic, &made.key).unwrap_err();
            assert!(matches!(note, LogError::Compressed { .. }), "{note}");
        }
    }
}

#[test]
fn tiles_of_another_place_or_another_log_are_named() {
    let (ours, other) = (made(), SampleLog::new(LogLayout::Tiles, "other", 600));
    let edge = "edge tile/0/002.p/88, tile/1/000.p/2 at 600";
    let below = |path: &str| format!("hash {path} of tile/1/000.p/2");
    // Swapped.
    let (first, second) = (ours.path("tile/0/000"), ours.path("tile/0/001"));
    fs::rename(&first, ours.path("kept")).unwrap();
    fs::rename(&second, &first).unwrap();
    fs::rename(ours.path("kept"), &second).unwrap();
    assert_eq!(refused(&ours, false), below("tile/0/000"));
    assert_eq!(path_of(ours.open().unwrap().leaves(1).map(drop).unwrap_err()), below("tile/0/001"));
    assert_eq!(ours.open().unwrap().leaves(2).unwrap().len(), 88);
    for (path, what) in [
        ("tile/0/000", below("tile/0/000")),
        ("tile/0/002.p/88", edge.to_string()),
        ("tile/1/000.p/2", edge.to_string()),
    ] {
        let ours = made();
        fs::copy(other.path(path), ours.path(path)).unwrap();
        assert_eq!(refused(&ours, false), what);
        let ours = made();
        ours.change(path, |bytes| bytes[40] ^= 1);
        assert_eq!(refused(&ours, false), what);
    }
    // Another whole log, with its checkpoint.
    let ours = made();
    fs::copy(other.path("checkpoint"), ours.path("checkpoint")).unwrap();
    let bytes = fs::read(ours.path("checkpoint")).unwrap();
    assert!(matches!(Checkpoint::open(&bytes, &ours.key), Err(LogError::WrongOrigin { .. })));
    assert_eq!(path_of(ours.open_at(&other.checkpoint()).unwrap_err()), edge);
}

/// In a tree of three levels of tiles, the error names the wrong tile, and not one below it.
#[test]
fn a_parent_that_does_not_match_is_named_itself() {
    let made = SampleLog::new(LogLayout::Tiles, "log", 65_536 + 300);
    made.change("tile/1/000", |bytes| bytes[8191] ^= 1);
    assert_eq!(refused(&made, false), "hash tile/1/000 of tile/2/000.p/1");
    fs::remove_file(made.path("tile/1/000")).unwrap();
    assert_eq!(refused(&made, false), "missing tile/1/000");
}

#[test]
fn entries_that_are_not_those_hashed_are_named() {
    for layout in LogLayout::ALL {
        let full = layout.bundle(1, 256);
        let part = layout.bundle(2, 88);
        let other = SampleLog::new(layout, "gol", 600);
        let fresh = || SampleLog::new(layout, "log", 600);

        let made = fresh();
        fs::remove_file(made.path(&full)).unwrap();
        assert_eq!(refused(&made, true), format!("missing {full}"));
        fs::copy(other.path(&full), made.path(&full)).unwrap();
        assert_eq!(refused(&made, true), format!("entry hash {full} 256"));

        let made = fresh();
        made.change(&part, |bytes| bytes.truncate(bytes.len() - 1));
        assert_eq!(refused(&made, true), format!("entry {part} 599"), "{layout}");
        let made = fresh();
        made.change(&part, |bytes| bytes.extend(generate::entry(layout, "log", 600)));
        assert_eq!(refused(&made, true), format!("entry {part} 600"));
        let made = fresh();
        made.change(&full, |bytes| bytes.clear());
        assert_eq!(refused(&made, true), format!("entry {full} 256"));

        let made = fresh();
        let last = generate::entry(layout, "log", 511).len();
        made.change(&full, |bytes| {
            let at = bytes.len() - last + 12;
            bytes[at] ^= 1;
        });
        let why = refused(&made, true);
        assert!(why == format!("entry hash {full} 511") || why == format!("entry {full} 511"), "{why}");
        // The hashes can be read nevertheless.
        assert_eq!(made.read(false).unwrap().len(), 600);
    }
}

#[test]
fn a_log_that_grows_while_it_is_read_is_read_as_it_was() {
    for layout in LogLayout::ALL {
        let made = SampleLog::new(layout, "log", 600);
        let old = made.checkpoint();
        let want = made.read(true).unwrap();
        generate::grow(&made.folder, layout, 66_000).unwrap();
        // Partial tiles may be removed once they are full.
        for folder in [
            layout.tile(sotto_tlog::Tile::full(0, 2)),
            layout.tile(sotto_tlog::Tile::full(1, 0)),
            layout.bundle(2, 256),
        ] {
            fs::remove_dir_all(made.path(&format!("{folder}.p"))).unwrap();
        }
        let mut log = made.open_at(&old).unwrap();
        assert_eq!(log.size(), 600);
        let mut found = Vec::new();
        for tile in 0..log.tiles() {
            log.entries(tile, |_, entry| {
                found.push(entry.leaf);
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(found, want);
        made.open().unwrap().extends(&old).unwrap();
        made.change(&layout.tile(sotto_tlog::Tile::full(0, 2)), |bytes| bytes.truncate(88 * 32));
        let why = path_of(made.open_at(&old).unwrap_err());
        assert_eq!(why, format!("length {}", layout.tile(sotto_tlog::Tile::full(0, 2))));
    }
}

#[test]
fn checkpoints_of_another_key_are_refused() {
    let made = made();
    let bytes = fs::read(made.path("checkpoint")).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let mut rng = rand_chacha::rand_core::SeedableRng::seed_from_u64(99);
    let signer: &mut rand_chacha::ChaCha20Rng = &mut rng;
    let other = LogSigner::generate("log", signer).unwrap();
    assert!(matches!(Checkpoint::open(&bytes, other.public()), Err(LogError::NotSigned { .. })));
    // A line with the name and id of our key, signed by another key.
    let forged = other.sign(&made.checkpoint()).to_string();
    let mut lines = sotto_tlog::SignedNote::parse(forged.as_bytes()).unwrap();
    lines.signatures[0].id = made.key.id();
    assert!(matches!(
        Checkpoint::open(lines.to_string().as_bytes(), &made.key),
        Err(LogError::BadSignature { .. })
    ));
    // A valid signature beside a forged one does not help; a signature of an unknown key does no
    // harm.
    let ours = sotto_tlog::SignedNote::parse(&bytes).unwrap().signatures;
    lines.signatures.extend(ours.clone());
    assert!(matches!(
        Checkpoint::open(lines.to_string().as_bytes(), &made.key),
        Err(LogError::BadSignature { .. })
    ));
    let mut lines = sotto_tlog::SignedNote::parse(forged.as_bytes()).unwrap();
    lines.signatures.extend(ours);
    assert!(Checkpoint::open(lines.to_string().as_bytes(), &made.key).is_ok());
    let changed = text.replacen("600", "601", 1);
    assert!(matches!(Checkpoint::open(changed.as_bytes(), &made.key), Err(LogError::BadSignature { .. })));
    let renamed: LogKey = made.key.clone().with_origin("gol");
    assert!(matches!(Checkpoint::open(&bytes, &renamed), Err(LogError::WrongOrigin { .. })));
}

#[test]
fn a_log_that_shrank_or_forked_is_found_out() {
    let (ours, other) = (made(), SampleLog::new(LogLayout::Tiles, "other", 700));
    let known = ours.checkpoint();
    // An older copy of the log.
    let older = SampleLog::new(LogLayout::Tiles, "log", 599);
    assert!(matches!(older.open().unwrap().extends(&known), Err(LogError::Older { known: 600, found: 599 })));
    // A log with the same leaves and more.
    let longer = SampleLog::new(LogLayout::Tiles, "log", 601);
    longer.open().unwrap().extends(&known).unwrap();
    // A log with other leaves: longer, or of the same length.
    assert!(matches!(other.open().unwrap().extends(&known), Err(LogError::Fork { size: 600 })));
    let forked = SampleLog::new(LogLayout::Tiles, "other", 600);
    assert!(matches!(forked.open().unwrap().extends(&known), Err(LogError::Fork { size: 600 })));
    // A damaged tile is no fork.
    longer.change("tile/0/001", |bytes| bytes[0] ^= 1);
    let at_300 = Checkpoint { size: 300, ..known };
    assert_eq!(
        path_of(longer.open().unwrap().extends(&at_300).unwrap_err()),
        "hash tile/0/001 of tile/1/000.p/2"
    );
}
