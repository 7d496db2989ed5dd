//! Policies: what is read, what is refused with its line, and when a quorum holds.

use sotto_catalog::MlDsaSigningKey;
use sotto_tlog::policy::{MAX_CLOCK_SKEW, MAX_POLICY_LINES};
use sotto_tlog::{Checkpoint, Cosigner, LogError, LogSigner, Policy, SignedNote, WitnessKey};

fn cosigner(number: u8) -> Cosigner {
    Cosigner::new(&format!("w{number}.example"), &[number; 32]).unwrap()
}

/// The ML-DSA-44 key of the witness with the same name.
fn second(number: u8) -> Cosigner {
    Cosigner::ml_dsa_44(&format!("w{number}.example"), MlDsaSigningKey::from_seed(&[number; 32])).unwrap()
}

fn witness(name: &str, key: &WitnessKey) -> String {
    format!("witness {name} {key}\n")
}

fn witnesses(numbers: std::ops::RangeInclusive<u8>) -> String {
    numbers.map(|number| witness(&format!("X{number}"), cosigner(number).public())).collect()
}

fn read(text: &str) -> Policy {
    Policy::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Line and reason of the refusal.
fn refused(text: &str) -> (usize, String) {
    match Policy::parse(text.as_bytes()) {
        Err(LogError::Policy { line, why }) => (line, why),
        other => panic!("{other:?}: {text}"),
    }
}

/// Times of witnesses 1 to 6, of which those in `signed` have cosigned at ten times their number.
fn times(signed: &[u64]) -> Vec<Option<u64>> {
    (1..=6).map(|number| signed.contains(&number).then_some(10 * number)).collect()
}

/// The example of `c2sp.org/tlog-policy`.
#[test]
fn a_quorum_of_groups_holds_if_each_does() {
    let text = format!(
        "{}group X-witnesses 2 X1 X2 X3\n\n  # half\ngroup\tY-witnesses any X4 X5 X6 \ngroup X-and-Y all X-witnesses \
         Y-witnesses\nquorum X-and-Y\n",
        witnesses(1..=6)
    );
    let policy = read(&text);
    assert_eq!((policy.witnesses().len(), policy.logs().len(), policy.quorum_size()), (6, 0, (2, 2)));
    for (signed, time, there) in [
        (&[][..], None, 0),
        (&[1, 2, 3], None, 2),
        (&[1, 4, 5, 6], None, 2),
        (&[1, 3, 4], Some(10), 3),
        (&[1, 2, 3, 4], Some(20), 3),
        (&[1, 2, 3, 4, 5, 6], Some(20), 3),
    ] {
        assert_eq!(policy.quorum_time(&times(signed)), time, "{signed:?}");
        assert_eq!(policy.quorum_count(&times(signed)), (3, there), "{signed:?}");
    }
}

#[test]
fn a_quorum_is_a_witness_or_nobody() {
    let one = read(&format!("quorum none\n{}", witnesses(1..=2)));
    assert_eq!(
        (one.quorum_time(&[]), one.quorum_count(&[]), one.quorum_size()),
        (Some(u64::MAX), (0, 0), (0, 2))
    );
    let one = read(&format!("{}quorum X2\n", witnesses(1..=2)));
    assert_eq!((one.quorum_time(&times(&[1])), one.quorum_time(&times(&[2]))), (None, Some(20)));
    assert_eq!(one.quorum_count(&times(&[1])), (1, 0));
}

#[test]
fn a_wrong_line_is_named() {
    let two = witnesses(1..=2);
    let key = cosigner(3).public().to_string();
    let log = LogSigner::new("log", &[1; 32]).unwrap().public().to_string();
    for (more, line, why) in [
        ("quorum X3\n", 3, "no line above defines \"X3\""),
        ("group g all X1 X3\n", 3, "no line above defines \"X3\""),
        ("group g 3 X1 X2\n", 3, "a number from 1 to 2"),
        ("group g 0 X1\n", 3, "a number from 1 to 1"),
        ("group g 01 X1\n", 3, "a number from 1 to 1"),
        ("group g 18446744073709551617 X1\n", 3, "a number from 1 to 1"),
        ("group g all\n", 3, "expected: group NAME"),
        ("group X1 all X1\n", 3, "a line above defines"),
        ("group none all X1\n", 3, "reserved"),
        ("group g all g\n", 3, "no line above defines \"g\""),
        ("group g all none\n", 3, "no line above defines \"none\""),
        ("group g any X1 X1\n", 3, "is a member of a group already"),
        ("group g any X1\ngroup h any X1\n", 4, "is a member of a group already"),
        ("quorum X1\nquorum X1\n", 4, "has the quorum"),
        ("\n#\nquorum\n", 5, "expected: quorum NAME"),
        ("quorum X1 X2\n", 3, "expected: quorum NAME"),
        ("trust X1\n", 3, "got \"trust\""),
        ("quorum X1\r\n", 3, "control characters"),
        ("quorum X1", 3, "the file was cut"),
        ("group g any X1\n", 3, "has no quorum line"),
        (&format!("witness X1 {key}\n"), 3, "a line above defines"),
        (&format!("witness X3 {key} u v\n"), 3, "nothing after the URL"),
        (&format!("witness X3 {}\n", cosigner(1).public()), 3, "the same key of a witness"),
        (&format!("witness X3 {}\n", &key[..40]), 3, "copy the whole text"),
        (&format!("witness X3 {log}\n"), 3, "signature type 4 or 6"),
        (&format!("log {key}\n"), 3, "unknown key type"),
        (&format!("log {log}\nlog {log} url\n"), 4, "the same key of a log"),
        ("log\n", 3, "expected: log VKEY"),
        ("witness X3\n", 3, "expected: witness NAME"),
    ] {
        let (found, text) = refused(&format!("{two}{more}"));
        assert!(found == line && text.contains(why), "line {found}: {text}, expected {line}: {why}");
    }
    assert_eq!(refused("").0, 1);
    assert!(Policy::parse(&[b"quorum none\n#".as_slice(), &[0xff, 0x80], b"\n"].concat()).is_ok());
    assert!(Policy::parse(b"quorum \x80\n").is_err());
    assert!(matches!(Policy::parse(&vec![b'\n'; (1 << 18) + 1]), Err(LogError::TooLarge { .. })));
}

#[test]
fn a_policy_has_64_of_each_and_no_more() {
    let all = witnesses(1..=MAX_POLICY_LINES as u8);
    // Groups of one, each around the one before: as deep as there can be.
    let deep: String = (1..MAX_POLICY_LINES).map(|at| format!("group g{at} all g{}\n", at - 1)).collect();
    let deep = format!("{all}group g0 any X1 X2\n{deep}");
    let policy = read(&format!("{deep}quorum g63\n"));
    assert_eq!(policy.quorum_time(&times(&[2])), Some(20));
    assert_eq!(refused(&format!("{deep}group more any g63\n")).1, "more than 64 groups");
    assert_eq!(
        refused(&format!("{all}{}", witness("X65", cosigner(65).public()))).1,
        "more than 64 witnesses"
    );
}

/// A witness with two keys counts once, in a file and on a command line.
#[test]
fn a_witness_with_two_keys_counts_once() {
    let (ed25519, ml_dsa) = (cosigner(1).public().clone(), second(1).public().clone());
    let three =
        format!("{}{}{}", witness("e", &ed25519), witness("m", &ml_dsa), witness("X2", cosigner(2).public()));
    let (line, why) = refused(&format!("{three}group g 2 e m X2\nquorum g\n"));
    assert!(line == 4 && why.contains("count twice"), "{why}");
    let (line, why) =
        refused(&format!("{three}group a any e X2\ngroup b any m\ngroup g all a b\nquorum g\n"));
    assert!(line == 5 && why.contains("another group"), "{why}");
    let both = read(&format!("{three}group w1 all e m\ngroup g 1 w1 X2\nquorum g\n"));
    assert_eq!(both.quorum_time(&[Some(5), None, None]), None);
    assert_eq!(both.quorum_time(&[Some(5), Some(3), None]), Some(3));

    let keys = [ed25519.clone(), ml_dsa, cosigner(2).public().clone(), ed25519];
    let policy = Policy::threshold(&keys, 2);
    assert_eq!((policy.quorum_size(), policy.witnesses().len()), ((2, 2), 3));
    assert_eq!(policy.quorum_time(&[Some(9), None, Some(8)]), None, "Ed25519 alone is not enough");
    assert_eq!(policy.quorum_time(&[None, Some(9), Some(8)]), None);
    assert_eq!(policy.quorum_time(&[Some(7), Some(9), Some(8)]), Some(7));
    // Two keys of one kind are an old and a new one.
    let rotated = Cosigner::new("w2.example", &[99; 32]).unwrap().public().clone();
    let policy = Policy::threshold(&[cosigner(2).public().clone(), rotated], 1);
    assert_eq!((policy.quorum_size(), policy.quorum_time(&[None, Some(4)])), ((1, 1), Some(4)));
}

#[test]
fn a_listed_log_signs_with_all_its_keys() {
    let signer = LogSigner::new("log.example", &[4; 32]).unwrap();
    let plain = signer.public().clone();
    let both = signer.with_ml_dsa(Some(&MlDsaSigningKey::from_seed(&[5; 32]))).unwrap();
    let lines: String = both.public().vkeys().iter().map(|key| format!("log {key} https://x\n")).collect();
    let checkpoint =
        Checkpoint { origin: "log.example".into(), size: 3, root: [1; 32], extensions: Vec::new() };
    let note = both.sign(&checkpoint);
    let stripped = SignedNote { signatures: note.signatures[..1].to_vec(), ..note.clone() };
    let (strict, lenient) =
        (read(&format!("{lines}quorum none\n")), read(&format!("log {plain}\nquorum none\n")));
    let any = read("quorum none\n");
    assert_eq!([&strict, &lenient, &any].map(|policy| policy.logs().len()), [2, 1, 0]);
    let verify = |policy: &Policy, note: &SignedNote| policy.verify_log(note.to_string().as_bytes());
    for policy in [&strict, &lenient, &any] {
        verify(policy, &note).unwrap();
    }
    assert!(matches!(verify(&strict, &stripped), Err(LogError::NotSigned { .. })));
    assert!(verify(&lenient, &stripped).is_ok());
    let elsewhere = LogSigner::new("other.example", &[4; 32]).unwrap();
    let other = elsewhere.sign(&Checkpoint { origin: "other.example".into(), ..checkpoint });
    assert!(matches!(verify(&lenient, &other), Err(LogError::NotListed(name)) if name == "other.example"));
    // Who has cosigned when, and not after now.
    let policy = read(&format!("{}quorum X1\n", witnesses(1..=2)));
    let mut note = note;
    note.signatures.push(cosigner(1).cosign(&note.text, 100).unwrap());
    assert_eq!(policy.cosigned(&note, 100).unwrap(), [Some(100), None]);
    assert_eq!(policy.cosigned(&note, 99).unwrap(), [None, None]);
    note.signatures.push(second(1).cosign(&note.text, 100).unwrap());
    assert_eq!(
        policy.cosigned(&note, 100).unwrap(),
        [Some(100), None],
        "a key that is not listed is ignored"
    );
}

#[test]
fn a_policy_has_256_kib_and_no_more() {
    let text = format!("{}quorum X1\n", witnesses(1..=1));
    let padded =
        |bytes: usize| Policy::parse(format!("{text}#{}\n", "x".repeat(bytes - text.len() - 2)).as_bytes());
    assert!(padded(256 << 10).is_ok());
    assert!(matches!(padded((256 << 10) + 1), Err(LogError::TooLarge { limit: 262_144, .. })));
    assert_eq!(MAX_CLOCK_SKEW.as_secs(), 300);
}
