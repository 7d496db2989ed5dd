//! Cosignatures made by other tools, and logs that a witness refuses.

use crate::logs::SampleLog;
use sotto_tlog::witness::consistent;
use sotto_tlog::{
    Checkpoint, Cosigner, DirectorySource, LogError, LogLayout, SignedNote, WitnessKey, generate,
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
    assert_eq!(cosigner().cosign(&note.text, TIME), note.signatures[1]);
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
    assert_eq!(Cosigner::from_file(&file).unwrap().public(), cosigner().public());
    assert!(Cosigner::from_file(&file.replace("e75f", "e75e")).is_err());
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
    both.signatures.push(cosigner().cosign(&note.text, TIME + 9));
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
