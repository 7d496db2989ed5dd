//! Both halves of the protocol together: refusals, and what requests look like.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use sotto_oprf::{
    BlindedInputs, Element, Evaluations, Input, MaskVersion, OprfError, PublicKey, RowMask, SecretKey, blind,
};
use sotto_prg::{SystemRng, system_rng};

fn rng() -> SystemRng {
    system_rng().unwrap()
}

fn key() -> SecretKey {
    SecretKey::generate(&mut rng()).unwrap()
}

fn row(row: u64) -> Input {
    Input::row("t", row, MaskVersion(3)).unwrap()
}

fn asked(rows: &[u64]) -> BlindedInputs {
    blind(rows.iter().copied().map(row).collect(), &mut rng()).unwrap()
}

/// The error with which an answer is refused.
fn refused(asked: BlindedInputs, answer: &Evaluations, key: &PublicKey) -> OprfError {
    asked.finish(&answer.elements, &answer.proof, key).unwrap_err()
}

#[test]
fn a_client_gets_the_output_that_the_key_gives() {
    let key = key();
    for rows in [&[5][..], &[5, 5, 6], &(0..64).collect::<Vec<_>>()] {
        let asked = asked(rows);
        let answer = key.evaluate(asked.elements(), &mut rng()).unwrap();
        let outputs = asked.finish(&answer.elements, &answer.proof, &key.public()).unwrap();
        for (of, output) in rows.iter().zip(&outputs) {
            assert_eq!(output.bytes(), key.at(&row(*of)).unwrap().bytes());
            let masked = RowMask::new(&key.at(&row(*of)).unwrap()).close(MaskVersion(3), b"item");
            assert_eq!(RowMask::new(output).open(&masked).unwrap().as_slice(), b"item");
        }
    }
}

#[test]
fn what_another_key_evaluated_is_refused() {
    let (key, other) = (key(), key());
    let asked = || asked(&[1, 2]);
    let (first, second) = (asked(), asked());
    let answer = other.evaluate(first.elements(), &mut rng()).unwrap();
    assert_eq!(refused(first, &answer, &key.public()), OprfError::Proof);
    // One of two evaluations under another key: a server cannot mark a client with a part of an
    // answer either.
    let mut answer = key.evaluate(second.elements(), &mut rng()).unwrap();
    answer.elements[1] = other.evaluate(&second.elements()[1..], &mut rng()).unwrap().elements[0];
    assert_eq!(refused(second, &answer, &key.public()), OprfError::Proof);
}

#[test]
fn forged_proofs_are_refused() {
    let key = key();
    for (at, with) in [(0, 1), (31, 0x80), (32, 1), (63, 0x80)] {
        let asked = asked(&[1]);
        let mut answer = key.evaluate(asked.elements(), &mut rng()).unwrap();
        answer.proof[at] ^= with;
        assert_eq!(refused(asked, &answer, &key.public()), OprfError::Proof, "{at}");
    }
    for proof in [[0; 64], [0xff; 64]] {
        let asked = asked(&[1]);
        let answer = Evaluations { proof, ..key.evaluate(asked.elements(), &mut rng()).unwrap() };
        assert_eq!(refused(asked, &answer, &key.public()), OprfError::Proof);
    }
}

#[test]
fn an_answer_to_another_request_is_refused() {
    let key = key();
    let (before, now) = (asked(&[1]), asked(&[1]));
    let old = key.evaluate(before.elements(), &mut rng()).unwrap();
    assert_eq!(refused(now, &old, &key.public()), OprfError::Proof, "an evaluation that was replayed");
    let swapped = asked(&[1, 2]);
    let mut answer = key.evaluate(swapped.elements(), &mut rng()).unwrap();
    answer.elements.swap(0, 1);
    assert_eq!(refused(swapped, &answer, &key.public()), OprfError::Proof);
}

/// Encodings of no element: the identity; an unreduced field element; one with the other sign; one
/// without a point.
fn no_elements() -> [Element; 4] {
    let mut unreduced = [0xff; 32];
    (unreduced[0], unreduced[31]) = (0xee, 0x7f);
    let mut negative = [0; 32];
    negative[0] = 1;
    [[0; 32], unreduced, negative, [0xff; 32]]
}

#[test]
fn bytes_that_are_no_element_are_refused_by_both_ends() {
    let key = key();
    for wrong in no_elements() {
        let good = asked(&[1]).elements()[0];
        for elements in [vec![wrong], vec![good, wrong]] {
            assert_eq!(key.evaluate(&elements, &mut rng()).unwrap_err(), OprfError::Element);
        }
        let asked = asked(&[1]);
        let mut answer = key.evaluate(asked.elements(), &mut rng()).unwrap();
        answer.elements[0] = wrong;
        assert_eq!(refused(asked, &answer, &key.public()), OprfError::Element);
    }
}

#[test]
fn counts_are_checked_by_both_ends() {
    let key = key();
    let one = asked(&[1]).elements()[0];
    for count in [0, 65] {
        let error = key.evaluate(&vec![one; count], &mut rng()).unwrap_err();
        assert_eq!(error, OprfError::Count { got: count, want: 64 });
    }
    let answer = key.evaluate(&[one], &mut rng()).unwrap();
    assert_eq!(refused(asked(&[1, 2]), &answer, &key.public()), OprfError::Count { got: 1, want: 2 });
    assert_eq!(refused(asked(&[]), &answer, &key.public()), OprfError::Count { got: 1, want: 0 });
}

/// Requests for two rows, and two requests for one row, differ alike: all elements are fresh, and
/// their shape is the same.
#[test]
fn requests_say_nothing_of_the_row() {
    let requests: Vec<_> = [1, 1, 2, u64::MAX].map(|row| asked(&[row]).elements().to_vec()).to_vec();
    for (i, request) in requests.iter().enumerate() {
        assert_eq!((request.len(), request[0].len()), (1, 32));
        assert!(!requests[..i].contains(request));
        assert!(PublicKey::from_bytes(request[0]).is_ok(), "an element in its one form");
    }
}
