//! `sotto merkle verify`: proofs, and copies of logs as they are found, a Go module cache among them.

use crate::harness::{Folder, Outcome, sotto};
use sotto_tlog::key::GO_ORIGIN;
use sotto_tlog::{Checkpoint, DirectorySource, InclusionProof, LogKey, LogLayout, LogSigner, VerifiedLog};
use std::path::Path;

/// A log of 700 entries; its folder, and its public key.
fn log(folder: &Folder, layout: &str) -> (String, String) {
    let (log, key) = (folder.text("log"), folder.text("log.pub"));
    let args =
        ["merkle", "generate", &log, "--entries", "700", "--origin", "example.org", "--layout", layout];
    assert_eq!(sotto(&args).code, 0);
    (log, key)
}

fn verify(path: &str, key: &str, more: &[&str]) -> Outcome {
    sotto(&[&["merkle", "verify", path, "--log-key", key][..], more].concat())
}

#[test]
fn a_proof_is_checked_against_its_entry_and_its_key() {
    let folder = Folder::new();
    let (log, public) = log(&folder, "tlog-tiles");
    let note = std::fs::read_to_string(Path::new(&log).join("checkpoint")).unwrap();
    let key: LogKey = std::fs::read_to_string(&public).unwrap().parse().unwrap();
    let checkpoint = Checkpoint::open(note.as_bytes(), &key).unwrap();
    let mut tiles = VerifiedLog::open(DirectorySource(log.into()), LogLayout::Tiles, &checkpoint).unwrap();
    let hashes = tiles.prove(77).unwrap();
    let proof = InclusionProof { extra: None, index: 77, hashes, checkpoint: note };
    let file = folder.write("77.proof", proof.to_string());
    let entry = folder.write("77.entry", "example.org: entry 77\n");

    let seen = verify(&file, &public, &["--entry", &entry, "--json"]).json();
    assert_eq!(
        (&seen["verified"], &seen["index"], &seen["entries"]),
        (&true.into(), &77.into(), &700.into())
    );
    let leaf = seen["leaf"].as_str().unwrap();
    assert_eq!(
        verify(&file, &public, &["--leaf", leaf]).stdout,
        "verified: entry 77 of example.org, 700 entries\n"
    );
    let other = folder.write("78.entry", "example.org: entry 78\n");
    verify(&file, &public, &["--entry", &other]).fails(3, &["do not trust the proof"]);
    verify(&file, &public, &[]).fails(2, &["--entry FILE"]);
    let changed = folder.write("changed", proof.to_string().replace("index 77", "index 78"));
    verify(&changed, &public, &["--entry", &entry]).fails(3, &["do not trust the proof"]);
    verify(&entry, &public, &["--entry", &entry]).fails(3, &["inclusion proof"]);
}

/// As the `go` command leaves a database it looked into: some tiles, and the checkpoint elsewhere, which does not name the log.
#[test]
fn a_go_module_cache_needs_no_options_and_says_all_that_is_missing() {
    let folder = Folder::new();
    let (log, public) = log(&folder, "sumdb");
    let signer = LogSigner::from_file(&std::fs::read_to_string(folder.at("log.key")).unwrap()).unwrap();
    let note = std::fs::read(Path::new(&log).join("latest")).unwrap();
    let checkpoint = Checkpoint::open(&note, signer.public()).unwrap();
    let gos = signer.sign(&Checkpoint { origin: GO_ORIGIN.into(), ..checkpoint }).to_string();
    let cache = folder.text("pkg/mod/cache/download/sumdb");
    let tiles = Path::new(&cache).join("example.org");
    std::fs::create_dir_all(&cache).unwrap();
    std::fs::rename(&log, &tiles).unwrap();
    std::fs::remove_file(tiles.join("latest")).unwrap();
    std::fs::create_dir_all(folder.at("pkg/sumdb/example.org")).unwrap();
    std::fs::write(folder.at("pkg/sumdb/example.org/latest"), gos).unwrap();

    let seen = verify(&cache, &public, &["--entries", "--json"]).json();
    assert_eq!((&seen["origin"], &seen["layout"]), (&GO_ORIGIN.into(), &"sumdb".into()));
    assert_eq!((&seen["tiles"], &seen["entries_checked"]), (&4.into(), &true.into()));
    let planned = sotto(&["merkle", "plan", &cache, "--log-key", &public, "--json"]).json();
    assert_eq!(planned["leaves"], 700);

    let list = folder.text("missing.txt");
    assert!(verify(&cache, &public, &["--missing", &list]).stdout.contains("all tiles: 4"));
    assert_eq!(std::fs::read_to_string(&list).unwrap(), "");
    for path in ["tile/8/0/001", "tile/8/0/002.p/188"] {
        std::fs::remove_file(tiles.join(path)).unwrap();
    }
    verify(&cache, &public, &[]).fails(7, &["2 of 4 tiles", "tile/8/0/001", "--missing FILE"]);
    let out = folder.text("out");
    let build = ["merkle", "build", &cache, "--log-key", &public, "--out", &out, "--missing", &list];
    sotto(&build).fails(7, &["2 of 4 tiles", &list]);
    assert_eq!(std::fs::read_to_string(&list).unwrap(), "tile/8/0/001\ntile/8/0/002.p/188\n");
}

#[test]
fn a_copy_that_is_damaged_is_named() {
    let folder = Folder::new();
    let (log, public) = log(&folder, "tlog-tiles");
    let bundle = Path::new(&log).join("tile/entries/001");
    let mut bytes = std::fs::read(&bundle).unwrap();
    bytes[9] ^= 1;
    std::fs::write(&bundle, bytes).unwrap();
    assert_eq!(verify(&log, &public, &[]).code, 0);
    verify(&log, &public, &["--entries"]).fails(3, &["tile/entries/001"]);
    let tile = Path::new(&log).join("tile/0/001");
    std::fs::write(&tile, [1; 8192]).unwrap();
    verify(&log, &public, &[]).fails(3, &["tile/0/001"]);
    verify(&log, &public, &["--leaf", "00"]).fails(2, &["apply to a proof"]);
}
