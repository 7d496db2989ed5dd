//! Folders of logs: which layout, which checkpoint, which tiles are missing.

use super::sample_log::SampleLog;
use sotto_tlog::key::GO_ORIGIN;
use sotto_tlog::log_folder::missing;
use sotto_tlog::{Checkpoint, DirectorySource, LogError, LogFolder, LogLayout, LogSigner};
use std::fs;

#[test]
fn a_folder_tells_its_layout_and_where_its_checkpoint_is() {
    for layout in LogLayout::ALL {
        let made = SampleLog::new(layout, "log", 300);
        let found = LogFolder::at(&made.folder, None, "log");
        let want =
            LogFolder { folder: made.folder.clone(), layout, checkpoint: made.path(layout.checkpoint()) };
        assert_eq!(found, want);
    }
    // A layout that is given is not guessed.
    let made = SampleLog::new(LogLayout::Tiles, "log", 5);
    assert_eq!(LogFolder::at(&made.folder, Some(LogLayout::StaticCt), "log").layout, LogLayout::StaticCt);
}

/// A folder as the `go` command leaves it, with tiles in one place and the checkpoint in another.
#[test]
fn a_go_module_cache_is_a_log() {
    let made = SampleLog::new(LogLayout::SumDb, "sum.example.org", 700);
    let home = tempfile::tempdir().unwrap();
    let cache = home.path().join("pkg/mod/cache/download/sumdb");
    let latest = home.path().join("pkg/sumdb/sum.example.org/latest");
    let folder = cache.join("sum.example.org");
    fs::create_dir_all(&cache).unwrap();
    fs::create_dir_all(latest.parent().unwrap()).unwrap();
    fs::rename(&made.folder, &folder).unwrap();
    fs::rename(folder.join("latest"), &latest).unwrap();
    for at in [&folder, &cache] {
        let found = LogFolder::at(at, None, "sum.example.org");
        assert_eq!((&found.folder, found.layout), (&folder, LogLayout::SumDb));
        assert_eq!(found.checkpoint, latest.canonicalize().unwrap());
    }
    // A checkpoint in the folder of the tiles takes precedence.
    fs::copy(&latest, folder.join("latest")).unwrap();
    assert_eq!(LogFolder::at(&folder, None, "sum.example.org").checkpoint, folder.join("latest"));
    // A name cannot lead out of the folder.
    assert_eq!(LogFolder::at(&cache, None, "../sumdb/sum.example.org").folder, cache);
}

#[test]
fn a_key_opens_the_checkpoint_of_a_go_database() {
    let made = SampleLog::new(LogLayout::Tiles, "sum.example.org", 5);
    let secret = fs::read_to_string(made.folder.with_extension("key")).unwrap();
    let signer = LogSigner::from_file(&secret).unwrap();
    let sign = |origin: &str| {
        let checkpoint = Checkpoint { origin: origin.into(), ..made.checkpoint() };
        signer.sign(&checkpoint).to_string()
    };
    let (gos, other) = (sign(GO_ORIGIN), sign("go.sum database trees"));
    assert_eq!(
        Checkpoint::open(gos.as_bytes(), &made.key.clone().for_checkpoint(gos.as_bytes())).unwrap().size,
        5
    );
    for key in [made.key.clone(), made.key.clone().for_checkpoint(other.as_bytes())] {
        assert!(matches!(Checkpoint::open(other.as_bytes(), &key), Err(LogError::WrongOrigin { .. })));
    }
    // An origin that was given is kept.
    let given = made.key.clone().with_origin("else").for_checkpoint(gos.as_bytes());
    assert!(matches!(Checkpoint::open(gos.as_bytes(), &given), Err(LogError::WrongOrigin { .. })));
}

#[test]
fn every_missing_tile_is_listed() {
    let made = SampleLog::new(LogLayout::Tiles, "log", 66_000);
    let source = DirectorySource(made.folder.clone());
    let list = || missing(&source, LogLayout::Tiles, 66_000, |_| ()).unwrap();
    assert!(list().is_empty());
    for path in ["tile/0/001", "tile/2/000.p/1", "tile/0/257.p/208", "tile/1/001.p/1"] {
        fs::remove_file(made.path(path)).unwrap();
    }
    assert_eq!(list(), ["tile/2/000.p/1", "tile/1/001.p/1", "tile/0/001", "tile/0/257.p/208"]);
    // The log has grown since the checkpoint.
    fs::write(made.path("tile/0/257"), b"").unwrap();
    assert_eq!(list().len(), 3);
    // A checkpoint may claim any length.
    assert!(matches!(
        missing(&source, LogLayout::Tiles, u64::MAX, |_| ()),
        Err(LogError::TooManyTiles { .. })
    ));
}
