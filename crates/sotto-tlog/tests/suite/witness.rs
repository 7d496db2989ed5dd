//! Cosignatures made by other tools, and logs that a witness refuses.

use crate::logs::SampleLog;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::Digest;
use sotto_catalog::MlDsaSigningKey;
use sotto_tlog::witness::consistent;
use sotto_tlog::{
    Checkpoint, CosignatureKind, Cosigner, DirectorySource, LogError, LogKey, LogLayout, LogSigner,
    SignedNote, WitnessKey, generate,
};

/// The checkpoint of `c2sp.org/tlog-checkpoint`, and a cosignature of it that OpenSSL made, with
/// the secret 00 01 .. 1f, of the message that `c2sp.org/tlog-cosignature` describes:
///
/// ```text
/// printf 'cosignature/v1\ntime 1679315147\n...' > m; openssl pkeyutl -sign -inkey k.pem -rawin -in m
/// ```
const EXAMPLE: &str = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\
    — example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n\
    — witness.example/w1 519lMgAAAABkGFDLBuRDazBLVac2NE+Y+IjbjQOcXLfF9CSDZVUIoS83rE1nFZsVE8YiWV6Ngr7lV8H6bdoBQGP/l73euDMQ9k+bBQ==\n";

const KEY: &str = "witness.example/w1+e75f6532+BAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4";
const TIME: u64 = 1_679_315_147;

fn cosigner() -> Cosigner {
    Cosigner::new("witness.example/w1", &std::array::from_fn(|i| i as u8)).unwrap()
}

#[test]
fn a_cosignature_is_the_one_that_openssl_makes() {
    let note = SignedNote::parse(EXAMPLE.as_bytes()).unwrap();
    let key: WitnessKey = KEY.parse().unwrap();
    assert_eq!((key.to_string().as_str(), key.id()), (KEY, 0xe75f_6532));
    assert_eq!(cosigner().public(), &key);
    assert_eq!(cosigner().cosign(&note.text, TIME).unwrap(), note.signatures[1]);
    assert_eq!(key.cosigned(&note).unwrap(), Some(TIME));
}

/// The key of a public witness, as the tests of `transparency-dev/formats` have it.
#[test]
fn the_key_of_another_witness_is_read() {
    let text = "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2";
    let key: WitnessKey = text.parse().unwrap();
    assert_eq!((key.name(), key.id(), key.to_string()), ("remora.n621.de", 0xda77_ade7, text.to_owned()));
}

#[test]
fn keys_in_other_forms_are_refused() {
    for bad in [
        "",
        "remora.n621.de",
        "remora.n621.de+da77ade7",
        // Another id, another type, another length, another name.
        "remora.n621.de+da77ade8+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw=",
        "remora n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
        "remora.n621.dd+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
    ] {
        assert!(bad.parse::<WitnessKey>().is_err(), "{bad}");
    }
    let (file, name) = (cosigner().to_file(), "PRIVATE+KEY+witness.example/w1+e75f6532+");
    assert!(file.starts_with(name));
    assert_eq!(format!("{:?}", cosigner()), format!("Cosigner(for {KEY})"));
    assert_eq!(Cosigner::from_file(&file).unwrap().public(), cosigner().public());
    assert!(Cosigner::from_file(&file.replace("e75f", "e75e")).is_err());
}

/// Digests of the cosignature and the key that a program of 12 lines makes of the same checkpoint with
/// `dilithium-py` 1.4, from the seed 00 01 .. 1f, and of the structure in `c2sp.org/tlog-cosignature`.
#[test]
fn an_ml_dsa_cosignature_is_the_one_that_another_implementation_makes() {
    let seed = std::array::from_fn(|i| i as u8);
    let cosigner = Cosigner::ml_dsa_44("witness.example/w1", MlDsaSigningKey::from_seed(&seed)).unwrap();
    let mut note = SignedNote::parse(EXAMPLE.as_bytes()).unwrap();
    let line = cosigner.cosign(&note.text, TIME).unwrap();
    note.signatures = vec![line.clone()];
    let written = note.to_string();
    let encoded = written.trim_end().rsplit_once(' ').unwrap().1;
    let sha256 =
        |text: &str| sotto_catalog::Hex32::from(<[u8; 32]>::from(sha2::Sha256::digest(text))).to_string();
    assert_eq!((line.id, encoded.len()), (0xdccc_f9ec, 3244));
    assert_eq!(sha256(encoded), "a958b89620a95e590edf1a520ba40af867ade69592c7bf8bed853eb4057c5e2a");
    let key = cosigner.public().to_string();
    assert_eq!(sha256(&key), "d388b5d7c3c9308bace8d0f3aea5c9cafc36f035adbbe72f6aa0298995f100dc");
    let key: WitnessKey = key.parse().unwrap();
    assert_eq!((&key, key.kind()), (cosigner.public(), CosignatureKind::MlDsa44));
    assert_eq!(key.cosigned(&note).unwrap(), Some(TIME));
    assert_eq!(Cosigner::from_file(&cosigner.to_file()).unwrap().public(), &key);
    // Every part is signed: the time, the name of the witness, and of the log what the checkpoint says.
    for at in (0..8).chain((8..2428).step_by(97)) {
        let mut other = note.clone();
        other.signatures[0].bytes[at] ^= 1;
        assert!(matches!(key.cosigned(&other), Err(LogError::BadSignature { .. })), "{at}");
    }
    for (from, to) in [("sofa\n", "sofas\n"), ("20852163", "20852164"), ("CsUY", "CsUZ")] {
        let mut other = note.clone();
        other.text = other.text.replace(from, to);
        assert!(matches!(key.cosigned(&other), Err(LogError::BadSignature { .. })), "{to}");
    }
    let renamed = Cosigner::ml_dsa_44("witness.example/w2", MlDsaSigningKey::from_seed(&seed)).unwrap();
    let mut other = note.clone();
    other.signatures[0].name = "witness.example/w2".to_owned();
    other.signatures[0].id = renamed.public().id();
    assert!(matches!(renamed.public().cosigned(&other), Err(LogError::BadSignature { .. })));
    // A time that the format does not have.
    let late = cosigner.cosign(&note.text, 1 << 63).unwrap();
    other.signatures = vec![late];
    assert!(key.cosigned(&other).is_err());
    assert!(cosigner.cosign("no checkpoint\n", TIME).is_err());
}

#[test]
fn a_key_file_has_the_keys_of_one_witness() {
    let made = |kind, name: &str| Cosigner::generate(kind, name, &mut ChaCha20Rng::seed_from_u64(1)).unwrap();
    let [ed25519, ml_dsa] = [CosignatureKind::Ed25519, CosignatureKind::MlDsa44]
        .map(|kind| made(kind, "w1").to_file().to_string());
    let all = Cosigner::all_from_file(&format!("{ed25519}{ml_dsa}")).unwrap();
    let kinds: Vec<_> = all.iter().map(|cosigner| cosigner.public().kind().name()).collect();
    assert_eq!(kinds, ["Ed25519", "ML-DSA-44"]);
    let other = made(CosignatureKind::MlDsa44, "w2").to_file().to_string();
    let half = &ml_dsa[..ml_dsa.len() / 2];
    for bad in ["", &format!("{ed25519}{ed25519}"), &format!("{ed25519}{other}"), &format!("{ed25519}{half}")]
    {
        assert!(Cosigner::all_from_file(bad).is_err(), "{bad}");
    }
    assert!(
        Cosigner::generate(CosignatureKind::MlDsa44, &"w".repeat(256), &mut ChaCha20Rng::seed_from_u64(1))
            .is_err()
    );
}

/// A log with two keys signs with both, and whoever knows both demands both.
#[test]
fn a_log_with_two_keys_signs_with_both() {
    let second = MlDsaSigningKey::from_seed(&[5; 32]);
    let signer = LogSigner::new("log.example", &[4; 32]).unwrap();
    let plain = signer.public().clone();
    let signer = signer.with_ml_dsa(Some(&second)).unwrap();
    let checkpoint =
        Checkpoint { origin: "log.example".into(), size: 3, root: [1; 32], extensions: Vec::new() };
    let note = signer.sign(&checkpoint);
    let open = |note: &SignedNote, key: &LogKey| Checkpoint::open(note.to_string().as_bytes(), key);
    assert_eq!(note.signatures.len(), 2);
    let alone = LogKey::ml_dsa_44("log.example", second.public().clone()).unwrap();
    let vkeys: Vec<LogKey> = signer.public().vkeys().iter().map(|key| key.parse().unwrap()).collect();
    assert_eq!(vkeys, [plain.clone(), alone.clone()]);
    let public = second.public();
    assert_eq!([&plain, signer.public(), &alone].map(LogKey::ml_dsa), [None, Some(public), Some(public)]);
    for key in [&plain, signer.public(), &alone] {
        assert_eq!(open(&note, key).unwrap(), checkpoint);
    }
    let mut stripped = note.clone();
    stripped.signatures.pop();
    assert!(open(&stripped, &plain).is_ok());
    for key in [signer.public(), &alone] {
        assert!(matches!(open(&stripped, key), Err(LogError::NotSigned { .. })));
    }
    let mut wrong = note;
    wrong.signatures[1].bytes[100] ^= 1;
    assert!(open(&wrong, &plain).is_ok(), "a line of a key that is not known is ignored");
    assert!(matches!(open(&wrong, signer.public()), Err(LogError::BadSignature { .. })));
    // ML-DSA-44 does not sign extension lines, so by itself it vouches for none.
    let more = signer.sign(&Checkpoint { extensions: vec!["more".into()], ..checkpoint });
    assert!(open(&more, signer.public()).is_ok() && open(&more, &alone).is_err());
}

#[test]
fn every_bit_of_a_cosignature_counts() {
    let (note, key) = (SignedNote::parse(EXAMPLE.as_bytes()).unwrap(), cosigner().public().clone());
    for at in 0..note.signatures[1].bytes.len() {
        let mut other = note.clone();
        other.signatures[1].bytes[at] ^= 1;
        assert!(matches!(key.cosigned(&other), Err(LogError::BadSignature { .. })), "{at}");
    }
    let mut other = note.clone();
    other.text = other.text.replace("20852163", "20852164");
    assert!(matches!(key.cosigned(&other), Err(LogError::BadSignature { .. })));
    // The latest of two lines counts, and neither may be invalid; a line of another key is ignored.
    let mut both = note.clone();
    both.signatures.push(cosigner().cosign(&note.text, TIME + 9).unwrap());
    assert_eq!(key.cosigned(&both).unwrap(), Some(TIME + 9));
    both.signatures[1].bytes.pop();
    assert!(key.cosigned(&both).is_err());
    let stranger = Cosigner::new("witness.example/w1", &[7; 32]).unwrap();
    assert_eq!(stranger.public().cosigned(&note).unwrap(), None);
}

#[test]
fn a_witness_cosigns_a_log_that_goes_on_and_no_other() {
    let made = SampleLog::new(LogLayout::Tiles, "log", 300);
    let note = |made: &SampleLog| std::fs::read(made.path("checkpoint")).unwrap();
    let look = |made: &SampleLog, known: Option<&Checkpoint>| {
        let checkpoint = Checkpoint::open(&note(made), &made.key)?;
        consistent(DirectorySource(made.folder.clone()), known, &checkpoint).map(|()| checkpoint)
    };
    let first = look(&made, None).unwrap();
    assert_eq!(look(&made, Some(&first)).unwrap(), first);
    generate::grow(&made.folder, made.layout, 700).unwrap();
    let second = look(&made, Some(&first)).unwrap();
    assert_eq!(second.size, 700);
    // The older copy again.
    let source = DirectorySource(made.folder.clone());
    let older = consistent(source.clone(), Some(&second), &first);
    assert!(matches!(older, Err(LogError::Older { known: 700, found: 300 })));
    // Another log of the same length, and a longer one that does not extend this one.
    let other = Checkpoint { root: [1; 32], ..second.clone() };
    assert!(matches!(consistent(source, Some(&other), &second), Err(LogError::Fork { size: 700 })));
    let forked = Checkpoint { root: [1; 32], ..first };
    assert!(matches!(look(&made, Some(&forked)), Err(LogError::Fork { size: 300 })));
}
