//! Transparency logs: keys, checkpoints, proofs and bundles of entries. What is taken is written again as it was.

use sotto_testkit::rng::seeded;
use sotto_tlog::entries::BundleEntries;
use sotto_tlog::layout::LogFile;
use sotto_tlog::{
    Checkpoint, CosignatureKind, Cosigner, InclusionProof, LogEntry, LogHistory, LogKey, LogLayout,
    LogSigner, Policy, SignedNote, SignedTreeHead, Tile, WitnessKey, generate,
};

/// A signed checkpoint.
pub(crate) fn log_checkpoint(data: &[u8]) -> bool {
    let Ok(note) = SignedNote::parse(data) else { return false };
    assert_eq!(note.to_string().as_bytes(), data);
    let Ok(checkpoint) = Checkpoint::parse_text(&note.text) else { return false };
    assert_eq!(checkpoint.to_string(), note.text);
    // Nobody forges a signature by changing bytes: what opens is what was signed.
    if let Ok(opened) = Checkpoint::open(data, signer().public()) {
        assert!(signed().contains(&opened));
    }
    true
}

pub(crate) fn checkpoints() -> Vec<Vec<u8>> {
    signed().map(|checkpoint| signer().sign(&checkpoint).to_string().into_bytes()).into()
}

/// A public or a signing key.
pub(crate) fn log_key(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    if let Ok(signer) = LogSigner::from_file(&text) {
        assert!(LogSigner::from_file(&signer.to_file()).is_ok_and(|again| again.public() == signer.public()));
        return true;
    }
    let Ok(key) = text.parse::<LogKey>() else { return false };
    assert!(key.to_string().parse::<LogKey>().is_ok_and(|again| again == key));
    true
}

/// Keys of all kinds.
pub(crate) fn keys() -> Vec<Vec<u8>> {
    let rfc6962 = "a+MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEuWDgNB415GUAk0+QCb1a7ETdjA/O7RE+KllGmjG2x5n33O89zY+GwjWlPtwp\
        urvyVOKoDIMIUQbeIW02UI44TQ==";
    let signer = signer();
    vec![rfc6962.into(), signer.public().to_string().into_bytes(), signer.to_file().as_bytes().to_vec()]
}

/// A signed tree head of RFC 6962.
pub(crate) fn log_head(data: &[u8]) -> bool {
    let Ok(head) = SignedTreeHead::parse(data) else { return false };
    let key = keys().swap_remove(0);
    let key: LogKey = String::from_utf8_lossy(&key).parse().expect("a seed is a key");
    if let Ok(note) = head.to_note(&key) {
        assert!(Checkpoint::open(note.to_string().as_bytes(), &key).is_ok());
    }
    true
}

/// A signed tree head that verifies.
pub(crate) fn heads() -> Vec<Vec<u8>> {
    vec![include_bytes!("../../../crates/sotto-tlog/tests/data/xenon2024-sth.json").to_vec()]
}

/// An inclusion proof.
pub(crate) fn log_proof(data: &[u8]) -> bool {
    let Ok(proof) = InclusionProof::parse(data) else { return false };
    assert_eq!(proof.to_string().as_bytes(), data);
    let _ = proof.verify(&[0; 32], signer().public());
    true
}

/// Inclusion proofs, without hashes and with all that there can be.
pub(crate) fn proofs() -> Vec<Vec<u8>> {
    let [checkpoint, _] = signed().map(|checkpoint| signer().sign(&checkpoint).to_string());
    let short = InclusionProof { extra: None, index: 0, hashes: Vec::new(), checkpoint };
    let long =
        InclusionProof { extra: Some(vec![1; 9]), index: 299, hashes: vec![[7; 32]; 64], ..short.clone() };
    [short, long].map(|proof| proof.to_string().into_bytes()).into()
}

/// A bundle of entries, in any layout: whatever is taken lies in it side by side.
pub(crate) fn log_entries(data: &[u8]) -> bool {
    let mut whole = false;
    for layout in LogLayout::ALL {
        let entries: Vec<_> = BundleEntries::new(layout, data, 0, "").map_while(Result::ok).collect();
        let written = entries.iter().map(|entry| entry.written).collect::<Vec<_>>().concat();
        assert!(data.starts_with(&written));
        whole |= written.len() == data.len();
    }
    whole
}

/// Bundles of all layouts.
pub(crate) fn bundles() -> Vec<Vec<u8>> {
    let bundle = |layout| (0..3).flat_map(|index| generate::entry(layout, "fuzz", index)).collect();
    LogLayout::ALL.map(bundle).into()
}

/// An entry of a log of catalogs.
pub(crate) fn log_line(data: &[u8]) -> bool {
    let Ok(entry) = LogEntry::parse(data) else { return false };
    assert_eq!(entry.to_string().as_bytes(), data);
    true
}

/// Entries of both kinds.
pub(crate) fn lines() -> Vec<Vec<u8>> {
    let line = |kind: &str| {
        let [digest, leaf, key] = ["ab", "ef", "cd"].map(|byte| byte.repeat(32));
        let previous = if kind == "stack" { "-" } else { &leaf };
        format!("sotto-log/2 {kind} words 7 {digest} {previous} sotto-pk:{key}\n").into_bytes()
    };
    ["catalog", "stack"].map(line).into()
}

/// What was read of a log of catalogs: written again as it was.
pub(crate) fn log_history(data: &[u8]) -> bool {
    let Ok(history) = LogHistory::parse(data) else { return false };
    assert_eq!(history.to_string().as_bytes(), data);
    true
}

/// Histories of all names and of one.
pub(crate) fn histories() -> Vec<Vec<u8>> {
    let [root, key] = ["ef", "cd"].map(|byte| byte.repeat(32));
    let text = |only: &str, first: u64| {
        format!("sotto-log-history/1\nsotto-pk:{key}\n{only}\n{first} 300 {root}\ncatalog words 7 {root}\n")
            .into_bytes()
    };
    vec![text("*", 0), text("catalog words", 256)]
}

/// The path of a log's file: whatever is taken stays in the log's folder.
pub(crate) fn log_path(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let Some(place) = LogLayout::place(&text) else { return false };
    assert_eq!(LogLayout::Tiles.path(place), text);
    assert!(!text.contains("..") && !text.starts_with('/'));
    true
}

/// Paths of all kinds.
pub(crate) fn paths() -> Vec<Vec<u8>> {
    let tile = Tile { level: 1, index: 1_234_067, width: 17 };
    let places = [LogFile::Checkpoint, LogFile::Tile(tile), LogFile::Bundle(3, 256)];
    places.map(|place| LogLayout::Tiles.path(place).into_bytes()).into()
}

/// A witness's public or signing key.
pub(crate) fn witness_key(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    if let Ok(cosigners) = Cosigner::all_from_file(&text) {
        for cosigner in cosigners {
            let again = Cosigner::from_file(&cosigner.to_file());
            assert!(again.is_ok_and(|again| again.public() == cosigner.public()));
        }
        return true;
    }
    let Ok(key) = text.parse::<WitnessKey>() else { return false };
    assert!(key.to_string().parse::<WitnessKey>().is_ok_and(|again| again == key));
    true
}

/// Keys of both kinds.
pub(crate) fn witnesses() -> Vec<Vec<u8>> {
    let all = cosigners();
    let file: String = all.iter().map(|cosigner| cosigner.to_file().to_string()).collect();
    all.iter().map(|cosigner| cosigner.public().to_string().into_bytes()).chain([file.into_bytes()]).collect()
}

/// A checkpoint with cosignatures.
pub(crate) fn witness_note(data: &[u8]) -> bool {
    let Ok(note) = SignedNote::parse(data) else { return false };
    // Nobody forges a cosignature by changing bytes.
    let [ed25519, ml_dsa] = cosigners();
    if let Ok(Some(time)) = ed25519.public().cosigned(&note) {
        assert!(time == 7 && signed().iter().any(|signed| signed.to_string() == note.text));
    }
    // Extension lines are not signed under ML-DSA-44.
    let head = |text: &str| Checkpoint::parse_text(text).map(|head| (head.origin, head.size, head.root)).ok();
    if let Ok(Some(time)) = ml_dsa.public().cosigned(&note) {
        assert!(time == 7 && signed().iter().any(|signed| head(&signed.to_string()) == head(&note.text)));
    }
    true
}

/// Cosigned checkpoints.
pub(crate) fn cosigned() -> Vec<Vec<u8>> {
    let cosigned = signed().map(|checkpoint| {
        let mut note = signer().sign(&checkpoint);
        let lines = cosigners().map(|cosigner| cosigner.cosign(&note.text, 7).expect("a checkpoint"));
        note.signatures.extend(lines);
        note.to_string().into_bytes()
    });
    cosigned.into()
}

/// A policy of logs and witnesses.
pub(crate) fn log_policy(data: &[u8]) -> bool {
    let Ok(policy) = Policy::parse(data) else { return false };
    let all: Vec<Option<u64>> = (1..=policy.witnesses().len() as u64).map(Some).collect();
    let (needed, there) = policy.quorum_count(&all);
    // If everybody has cosigned, the quorum has, and it has not without anybody unless nobody is needed.
    assert!(policy.quorum_time(&all).is_some() && needed == there && needed <= all.len());
    assert_eq!(policy.quorum_time(&[]).is_some(), policy.quorum_size().0 == 0);
    true
}

/// Policies with and without groups.
pub(crate) fn policies() -> Vec<Vec<u8>> {
    let [ed25519, ml_dsa] = cosigners().map(|cosigner| cosigner.public().to_string());
    let log = signer().public().to_string();
    let other = Cosigner::new("other", &[8; 32]).expect("a good name").public().to_string();
    let long = format!(
        "# a policy\nlog {log} https://log.example\nwitness w1 {ed25519} url\nwitness\tw2 {ml_dsa}\n\
         witness w3 {other}\ngroup w all w1 w2\ngroup all 1 w w3\nquorum all\n"
    );
    [long, "quorum none\n".to_owned(), format!("witness w {other}\nquorum w\n")]
        .map(String::into_bytes)
        .into()
}

/// A witness's keys of both kinds.
fn cosigners() -> [Cosigner; 2] {
    [CosignatureKind::Ed25519, CosignatureKind::MlDsa44]
        .map(|kind| Cosigner::generate(kind, "witness", &mut seeded("witness")).expect("a good name"))
}

fn signer() -> LogSigner {
    LogSigner::generate("fuzz", &mut seeded("fuzz")).expect("a good name")
}

fn signed() -> [Checkpoint; 2] {
    let plain = Checkpoint { origin: "fuzz".into(), size: 300, root: [5; 32], extensions: Vec::new() };
    [plain.clone(), Checkpoint { size: 0, extensions: vec!["more".into()], ..plain }]
}
