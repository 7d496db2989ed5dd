//! Tests of whole logs in temporary folders.
//!
//! | module | contents |
//! |---|---|
//! | [`bad`] | logs that are damaged, cut, mixed up, forked or growing: each is distinguished, and the file is named |

mod bad;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use sotto_tlog::entries::BundleEntries;
use sotto_tlog::key::GO_ORIGIN;
use sotto_tlog::log_folder::missing;
use sotto_tlog::{
    Checkpoint, DirectorySource, InclusionProof, LogError, LogFolder, LogKey, LogLayout, LogSigner,
    LogWriter, Result, Tile, VerifiedLog, generate,
};
use sotto_tree::log::{Hash, Peaks, hash, verify};
use std::fs;
use std::path::{Path, PathBuf};

/// A log in a folder that is removed on drop.
pub(crate) struct SampleLog {
    _dir: tempfile::TempDir,
    pub(crate) folder: PathBuf,
    pub(crate) layout: LogLayout,
    pub(crate) key: LogKey,
}

impl SampleLog {
    pub(crate) fn new(layout: LogLayout, name: &str, entries: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("log");
        let mut rng = ChaCha20Rng::seed_from_u64(name.len() as u64);
        let (key, _) = generate::create(&folder, layout, name, entries, &mut rng).unwrap();
        SampleLog { _dir: dir, folder, layout, key }
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        let bytes = std::fs::read(self.path(self.layout.checkpoint())).unwrap();
        Checkpoint::open(&bytes, &self.key).unwrap()
    }

    pub(crate) fn open_at(&self, checkpoint: &Checkpoint) -> Result<VerifiedLog<DirectorySource>> {
        VerifiedLog::open(DirectorySource(self.folder.clone()), self.layout, checkpoint)
    }

    pub(crate) fn open(&self) -> Result<VerifiedLog<DirectorySource>> {
        self.open_at(&self.checkpoint())
    }

    /// Reads the whole log: hashes, or entries with their hashes.
    pub(crate) fn read(&self, entries: bool) -> Result<Vec<Hash>> {
        let mut log = self.open()?;
        let mut leaves = Vec::new();
        for index in 0..log.tiles() {
            if entries {
                log.entries(index, |at, entry| {
                    assert_eq!(at, leaves.len() as u64);
                    leaves.push(entry.leaf);
                    Ok(())
                })?;
            } else {
                leaves.extend_from_slice(log.leaves(index)?);
            }
        }
        Ok(leaves)
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// Changes a file.
    pub(crate) fn change(&self, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(self.path(path)).unwrap();
        change(&mut bytes);
        std::fs::write(self.path(path), bytes).unwrap();
    }
}

/// Peaks over these leaves, added one by one.
pub(crate) fn peaks(leaves: &[Hash]) -> Peaks {
    let mut peaks = Peaks::new();
    leaves.iter().for_each(|leaf| peaks.append(*leaf, |_| {}));
    peaks
}

/// Files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|below| format!("{name}/{below}")));
        } else {
            found.push(name);
        }
    }
    found.sort();
    found
}

/// The leaves of a synthetic log.
fn leaves(layout: LogLayout, name: &str, count: u64) -> Vec<Hash> {
    let leaf = |index| {
        let written = generate::entry(layout, name, index);
        let entry = BundleEntries::new(layout, &written, index, "").next().unwrap().unwrap();
        assert_eq!(entry.written, written);
        entry.leaf
    };
    (0..count).map(leaf).collect()
}

#[test]
fn entries_are_hashed_as_their_layouts_say() {
    let text = b"log: entry 70000\n";
    let hashes = [
        hash::leaf(text),
        hash::leaf(
            &[
                &[0, 0][..],
                &[0; 8],
                &[0, 0],
                &[0, 0, text.len() as u8],
                text,
                &[0, 8],
                &[0, 0, 5, 0, 0, 1, 0x11, 0x70],
            ]
            .concat(),
        ),
        hash::leaf(text),
    ];
    for (layout, want) in LogLayout::ALL.into_iter().zip(hashes) {
        let written = generate::entry(layout, "log", 70_000);
        let entry = BundleEntries::new(layout, &written, 70_000, "").next().unwrap().unwrap();
        assert_eq!(entry.leaf, want, "{layout}");
    }
}

#[test]
fn every_length_is_read_as_it_was_written() {
    for layout in LogLayout::ALL {
        for count in [0, 1, 2, 255, 256, 257, 511, 512, 778] {
            let made = SampleLog::new(layout, "log", count);
            let want = leaves(layout, "log", count);
            assert_eq!(made.checkpoint().size, count);
            assert_eq!(made.checkpoint().root, peaks(&want).root());
            assert_eq!(made.read(false).unwrap(), want, "{layout}, {count}");
            assert_eq!(made.read(true).unwrap(), want, "{layout}, {count}");
            assert_eq!(made.open().unwrap().peaks(), &peaks(&want));
        }
    }
}

/// Three levels of tiles, whose paths the specification gives as its example.
#[test]
fn a_log_of_70_000_has_the_files_of_the_specification() {
    let made = SampleLog::new(LogLayout::Tiles, "log", 70_000);
    let found = files(&made.folder);
    let hashes: Vec<&String> = found.iter().filter(|path| !path.contains("entries")).collect();
    assert_eq!(hashes.len(), 273 + 1 + 1 + 1 + 1 + 1);
    for path in [
        "checkpoint",
        "tile/0/000",
        "tile/0/272",
        "tile/0/273.p/112",
        "tile/1/000",
        "tile/1/001.p/17",
        "tile/2/000.p/1",
        "tile/entries/273.p/112",
    ] {
        assert!(found.iter().any(|there| there == path), "{path}");
    }
    let want = leaves(LogLayout::Tiles, "log", 70_000);
    assert_eq!(made.read(false).unwrap(), want);
    let mut log = made.open().unwrap();
    let root = made.checkpoint().root;
    for leaf in [0, 1, 255, 256, 65_535, 65_536, 69_887, 69_888, 69_999] {
        let proof = log.prove(leaf).unwrap();
        verify(&want[leaf as usize], leaf, 70_000, &proof, &root).unwrap();
    }
    assert!(matches!(log.prove(70_000), Err(LogError::Tree(_))));
    assert!(matches!(log.leaves(274), Err(LogError::Tree(_))));
    for size in [0, 1, 255, 256, 257, 65_535, 65_536, 65_537, 69_999, 70_000] {
        assert_eq!(log.peaks_at(size).unwrap(), peaks(&want[..size as usize]), "{size}");
    }
    assert!(matches!(log.peaks_at(70_001), Err(LogError::Older { known: 70_001, found: 70_000 })));
}

#[test]
fn a_log_grown_in_steps_is_the_log_written_at_once() {
    for layout in LogLayout::ALL {
        let made = SampleLog::new(layout, "log", 3);
        let mut known = vec![made.checkpoint()];
        for count in [3, 255, 256, 600, 1024, 1030] {
            known.push(generate::grow(&made.folder, layout, count).unwrap());
            assert_eq!(made.checkpoint().size, count);
            assert_eq!(made.read(true).unwrap(), leaves(layout, "log", count), "{layout}, {count}");
            known.iter().for_each(|older| made.open().unwrap().extends(older).unwrap());
        }
        assert!(matches!(generate::grow(&made.folder, layout, 1029), Err(LogError::Older { .. })));
        // The folder is served, so the key must not be in it.
        assert!(!files(&made.folder).iter().any(|path| path.contains("key") || path.contains("new")));
        let again = generate::create(&made.folder, layout, "log", 1, &mut rng());
        assert!(matches!(again, Err(LogError::Storage { .. })));
    }
}

fn rng() -> rand_chacha::ChaCha20Rng {
    rand_chacha::rand_core::SeedableRng::seed_from_u64(1)
}

#[test]
fn a_writer_takes_single_entries_of_its_layout() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LogWriter::create(dir.path().into(), LogLayout::Tiles).unwrap();
    for wrong in [&b""[..], b"\0", b"\0\x02a", b"\0\x01ab", b"\0\x01a\0\x01b"] {
        assert!(matches!(writer.append(wrong), Err(LogError::Entry { .. })), "{wrong:?}");
    }
    writer.append(b"\0\0").unwrap();
    let signer = LogSigner::generate("log", &mut rng()).unwrap();
    assert_eq!(writer.publish(&signer).unwrap().root, hash::leaf(b""));
}

#[test]
fn proofs_are_written_and_checked_as_text() {
    let made = SampleLog::new(LogLayout::Tiles, "example.com/log", 300);
    let want = leaves(LogLayout::Tiles, "example.com/log", 300);
    let checkpoint = std::fs::read_to_string(made.path("checkpoint")).unwrap();
    for index in [0, 255, 256, 299] {
        let hashes = made.open().unwrap().prove(index).unwrap();
        let proof = InclusionProof { extra: None, index, hashes, checkpoint: checkpoint.clone() };
        let text = proof.to_string();
        assert!(
            text.starts_with(&format!("c2sp.org/tlog-proof@v1\nindex {index}\n"))
                && text.ends_with(&checkpoint)
        );
        let read = InclusionProof::parse(text.as_bytes()).unwrap();
        assert_eq!(read, proof);
        let leaf = &want[index as usize];
        assert_eq!(read.verify(leaf, &made.key).unwrap(), made.checkpoint());
        assert!(matches!(read.verify(&hash::leaf(b"another"), &made.key), Err(LogError::Tree(_))));
        let other = LogSigner::generate("example.com/log", &mut rng()).unwrap();
        assert!(matches!(read.verify(leaf, other.public()), Err(LogError::NotSigned { .. })));
        let elsewhere = InclusionProof { index: (index + 1) % 300, ..read };
        assert!(elsewhere.verify(leaf, &made.key).is_err());
    }
}

#[test]
fn paths_are_those_of_the_specifications() {
    let tile = |level, index, width| Tile { level, index, width };
    assert_eq!(LogLayout::Tiles.tile(tile(0, 1_234_067, 256)), "tile/0/x001/x234/067");
    assert_eq!(LogLayout::StaticCt.tile(tile(2, 999, 17)), "tile/2/999.p/17");
    assert_eq!(LogLayout::SumDb.tile(tile(1, 1000, 255)), "tile/8/1/x001/000.p/255");
    assert_eq!(LogLayout::Tiles.tile(tile(0, u64::MAX, 256)), "tile/0/x018/x446/x744/x073/x709/x551/615");
    assert_eq!(LogLayout::Tiles.bundle(5, 1), "tile/entries/005.p/1");
    assert_eq!(LogLayout::StaticCt.bundle(1_000_000, 256), "tile/data/x001/x000/000");
    assert_eq!(LogLayout::SumDb.bundle(0, 256), "tile/8/data/000");
    for layout in LogLayout::ALL {
        assert_eq!(layout.to_string().parse::<LogLayout>().unwrap(), layout);
    }
    assert!("tiles".parse::<LogLayout>().is_err());
}

/// No memory is reserved for leaves that do not exist.
#[test]
fn a_checkpoint_of_any_length_is_looked_for() {
    let made = SampleLog::new(LogLayout::Tiles, "log", 3);
    for size in [4, 1 << 40, u64::MAX] {
        let checkpoint = Checkpoint { size, ..made.checkpoint() };
        assert!(matches!(made.open_at(&checkpoint), Err(LogError::Missing { .. })), "{size}");
    }
}

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
