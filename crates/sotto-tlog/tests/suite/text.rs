//! Keys, notes, checkpoints, tree heads, proofs and bundles from untrusted bytes.

use proptest::prelude::*;
use sotto_tlog::entries::BundleEntries;
use sotto_tlog::note::NoteSignature;
use sotto_tlog::{
    Checkpoint, InclusionProof, LogError, LogKey, LogLayout, LogSigner, SignedNote, SignedTreeHead,
};

/// The example of `c2sp.org/tlog-checkpoint`.
const EXAMPLE: &str = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\
    — example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n";

/// The example of `c2sp.org/tlog-proof`, with complete signatures.
fn proof() -> String {
    format!(
        "c2sp.org/tlog-proof@v1\nextra YWdl\nindex 73894\ngSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=\n\
         B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=\n\n{EXAMPLE}"
    )
}

#[test]
fn examples_are_read_and_written_again() {
    let note = SignedNote::parse(EXAMPLE.as_bytes()).unwrap();
    assert_eq!((note.to_string().as_str(), note.signatures[0].id), (EXAMPLE, 0x033d_e0ae));
    let checkpoint = Checkpoint::parse_text(&note.text).unwrap();
    assert_eq!((checkpoint.size, checkpoint.to_string()), (20_852_163, note.text));
    let read = InclusionProof::parse(proof().as_bytes()).unwrap();
    assert_eq!((read.extra.as_deref(), read.index, read.hashes.len()), (Some(&b"age"[..]), 73894, 2));
    assert_eq!(read.to_string(), proof());
    // A text may contain empty lines; the last one ends it.
    let poem = EXAMPLE.replacen("20852163\n", "\n\n", 1);
    assert_eq!(SignedNote::parse(poem.as_bytes()).unwrap().to_string(), poem);
}

#[test]
fn notes_in_other_forms_are_refused() {
    let signature = EXAMPLE.split_once("\n\n").unwrap().1;
    for (what, text) in [
        ("nothing", String::new()),
        ("no signature", "a\n1\n".into()),
        ("no signature after the empty line", "a\n\n".into()),
        ("no newline at the end", EXAMPLE.trim_end().into()),
        ("a hyphen for a dash", EXAMPLE.replace('—', "-")),
        ("a tab", EXAMPLE.replacen("example", "\texample", 1)),
        ("a carriage return", EXAMPLE.replacen('\n', "\r\n", 1)),
        ("a plus in the name", EXAMPLE.replace("— example", "— ex+mple")),
        ("no name", EXAMPLE.replace("— example.com/behind-the-sofa", "— ")),
        ("no base64", EXAMPLE.replace("Az3g", "!z3g")),
        ("no bytes after the key's number", "a\n\n— b AAAAAA==\n".into()),
        ("a line of something else", format!("{EXAMPLE}x\n")),
        ("an empty line at the end", format!("{EXAMPLE}\n")),
        ("too much", format!("a\n\n{}", signature.repeat(4000))),
    ] {
        assert!(SignedNote::parse(text.as_bytes()).is_err(), "{what}");
    }
    assert!(SignedNote::parse(b"a\xff\n\n\xe2\x80\x94 b AAAAAAA=\n").is_err(), "no UTF-8");
    assert!(SignedNote::parse(format!("a\n\n{}", signature.repeat(16)).as_bytes()).is_ok());
    let long = |bytes: usize| {
        let text = "a".repeat(bytes - signature.len() - 2);
        SignedNote::parse(format!("{text}\n\n{signature}").as_bytes())
    };
    assert!(long(256 << 10).is_ok());
    assert!(matches!(long((256 << 10) + 1), Err(LogError::TooLarge { limit: 262_144, .. })));
}

#[test]
fn checkpoints_in_other_forms_are_refused() {
    let root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";
    assert!(Checkpoint::parse_text(&format!("a b\n0\n{root}\n")).is_ok());
    assert!(Checkpoint::parse_text(&format!("a\n18446744073709551615\n{root}\nmore\n")).is_ok());
    for text in [
        String::new(),
        format!("\n1\n{root}\n"),
        format!("a\n\n{root}\n"),
        format!("a\n1\n{root}"),
        "a\n1\n".into(),
        format!("a\n01\n{root}\n"),
        format!("a\n+1\n{root}\n"),
        format!("a\n-1\n{root}\n"),
        format!("a\n1 \n{root}\n"),
        format!("a\n18446744073709551616\n{root}\n"),
        format!("a\n1\n{}\n", &root[..43]),
        format!("a\n1\n{}\n", root.replace("q2I=", "q2J=")),
        format!("a\n1\n{root}\n\n"),
        format!("a\n1\n{root}\n\nmore\n"),
        "a\n1\nAAAA\n".into(),
    ] {
        assert!(Checkpoint::parse_text(&text).is_err(), "{text:?}");
    }
}

#[test]
fn keys_in_other_forms_are_refused() {
    // The key of the documentation of golang.org/x/mod/sumdb/note.
    let good = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    assert_eq!(good.parse::<LogKey>().unwrap().to_string(), good);
    for bad in [
        "",
        "PeterNeumann",
        "PeterNeumann+c74f20a3",
        "+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "Peter Neumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+AhpcAQcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy",
        "PeterNeumann+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "log+MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEuWDgNB415GUAk0+QCb1a7ETdjA/O7RE+KllGmjG2x5n33O89zY+GwjWlPtwpurvyVOKoDIMIUQbeIW02UI44TA==",
    ] {
        assert!(bad.parse::<LogKey>().is_err(), "{bad}");
    }
    let why = |text: &str| text.parse::<LogKey>().unwrap_err().to_string();
    let other_number = why(&good.replace("c74f20a3", "c74f20a4"));
    assert_eq!(why(&good.replace("c74f20a3", "c74f20a")), other_number, "a number that lost a digit");
    let no_key = why("PeterNeumann");
    for text in ["c74f20ax", "c74f20a33", ""].map(|number| good.replace("c74f20a3", number)) {
        assert_eq!(why(&text), no_key, "{text}");
    }
}

#[test]
fn a_tree_head_has_4096_bytes_and_no_more() {
    assert!(matches!(SignedTreeHead::parse(&[b' '; 4096]), Err(LogError::Malformed { .. })));
    for bytes in [4097, 5000] {
        let refused = SignedTreeHead::parse(&vec![b' '; bytes]);
        assert!(matches!(refused, Err(LogError::TooLarge { limit: 4096, .. })));
    }
}

#[test]
fn keys_and_paths_are_told_apart() {
    for key in ["log+c74f20a3+AR", " log+1+\n", "log+MFkw"] {
        assert!(LogKey::has_form(key), "{key}");
    }
    for path in ["", "log", "log/key", "a+b", "a+1f", "a++b", "a+1g+b", "a+g1+b", "a+key+MFkw"] {
        assert!(!LogKey::has_form(path), "{path}");
    }
}

#[test]
fn signing_keys_are_kept_as_text() {
    let mut rng: rand_chacha::ChaCha20Rng = rand_chacha::rand_core::SeedableRng::seed_from_u64(7);
    let signer = LogSigner::generate("example.com/log", &mut rng).unwrap();
    let file = signer.to_file();
    let again = LogSigner::from_file(&file).unwrap();
    assert_eq!(again.public(), signer.public());
    assert_eq!(again.to_file(), file);
    assert!(!format!("{signer:?}").contains(&file[file.len() - 20..file.len() - 2]));
    assert!(LogSigner::generate("a b", &mut rng).is_err());
    for bad in ["", "PRIVATE+KEY+", &file[..file.len() - 5], &file.replace("example", "exempla"), &file[12..]]
    {
        assert!(LogSigner::from_file(bad).is_err(), "{bad}");
    }
    // Its checkpoints are read with the public key's text.
    let checkpoint =
        Checkpoint { origin: "example.com/log".into(), size: 5, root: [7; 32], extensions: vec!["x".into()] };
    let key: LogKey = signer.public().to_string().parse().unwrap();
    assert_eq!(Checkpoint::open(again.sign(&checkpoint).to_string().as_bytes(), &key).unwrap(), checkpoint);
}

#[test]
fn proofs_in_other_forms_are_refused() {
    let many = "B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=\n";
    for (what, text) in [
        ("nothing", String::new()),
        ("another version", proof().replace("@v1", "@v2")),
        ("no index", proof().replace("index 73894\n", "")),
        ("a leading zero", proof().replace("73894", "073894")),
        ("an index past 64 bits", proof().replace("73894", "18446744073709551616")),
        ("extra data that are no base64", proof().replace("YWdl", "YWd")),
        ("a hash that is cut", proof().replace("PlQ=", "P")),
        ("more hashes than levels", proof().replace(many, &many.repeat(64))),
        ("no checkpoint", proof().split_once("\n\n").unwrap().0.into()),
        ("too much", proof() + &" ".repeat(1 << 20)),
    ] {
        assert!(InclusionProof::parse(text.as_bytes()).is_err(), "{what}");
    }
    assert!(InclusionProof::parse(proof().replace(many, &many.repeat(63)).as_bytes()).is_ok());
}

#[test]
fn bundles_in_other_forms_are_refused() {
    let count = |layout, bytes: &[u8]| {
        let mut entries = BundleEntries::new(layout, bytes, 9, "");
        let whole = entries.by_ref().take_while(Result::is_ok).count();
        assert!(entries.next().is_none(), "nothing comes after an error");
        whole
    };
    assert_eq!(count(LogLayout::Tiles, b"\0\x01a\0\0\0\x02bc"), 3);
    assert_eq!(count(LogLayout::Tiles, b"\0\x01a\0\x03bc"), 1);
    assert_eq!(count(LogLayout::SumDb, b"9\na\nb\n\n10\nc\n\n"), 2);
    for bad in ["9\na\n", "8\na\n\n", "09\na\n\n", "9\n\n", "9\n\n\n", "9\na\x01\n\n", "9", "-9\na\n\n"] {
        assert_eq!(count(LogLayout::SumDb, bad.as_bytes()), 0, "{bad:?}");
    }
    let time = [0; 8];
    let x509 = [&time[..], &[0, 0, 0, 0, 1, b'c', 0, 0, 0, 0]].concat();
    assert_eq!(count(LogLayout::StaticCt, &x509.repeat(2)), 2);
    let mut other_type = x509.clone();
    other_type[9] = 2;
    assert_eq!(count(LogLayout::StaticCt, &other_type), 0);
    let half_a_fingerprint = [&x509[..14], &[0, 0, 0, 16], &[1; 16]].concat();
    assert_eq!(count(LogLayout::StaticCt, &half_a_fingerprint), 0);
    assert_eq!(count(LogLayout::StaticCt, &[&x509[..14], &[0, 0, 0, 32], &[1; 32]].concat()), 1);
}

proptest! {
    #[test]
    fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = (SignedNote::parse(&bytes), Checkpoint::parse_text(&text), SignedTreeHead::parse(&bytes));
        let _ = (InclusionProof::parse(&bytes), text.parse::<LogKey>(), LogSigner::from_file(&text));
        for layout in LogLayout::ALL {
            let entries = BundleEntries::new(layout, &bytes, 0, "").map_while(Result::ok);
            let taken: usize = entries.map(|entry| entry.written.len()).sum();
            prop_assert!(taken <= bytes.len());
        }
    }

    #[test]
    fn no_changed_byte_does_harm(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = proof().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Ok(read) = InclusionProof::parse(&bytes) {
            prop_assert_eq!(read.to_string().into_bytes(), bytes.clone());
        }
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = to;
        if let Ok(note) = SignedNote::parse(&bytes) {
            prop_assert_eq!(note.to_string().into_bytes(), bytes);
            let _ = Checkpoint::parse_text(&note.text);
        }
    }

    #[test]
    fn notes_are_read_as_written(
        text in "[^\\p{C}]{1,40}",
        name in "[a-z./]{1,20}",
        id: u32,
        bytes in proptest::collection::vec(any::<u8>(), 1..80),
    ) {
        let note = SignedNote { text: format!("{text}\n"), signatures: vec![NoteSignature { name, id, bytes }] };
        prop_assert_eq!(SignedNote::parse(note.to_string().as_bytes()).unwrap(), note);
    }
}
