use super::*;
use crate::bgv::fixture::{encrypted, on_every_ring, plaintexts, secret};

on_every_ring!(answers_hold_the_plaintext, bytes_are_read_whole_or_not_at_all, bits_that_fit);

/// A width at which rounding errors stay far below half a step.
fn width<R: SlotRing>(rns: &RnsRing<R>) -> u32 {
    let rounding = (rns.ring().degree() as f64).sqrt() * rns.ring().spread();
    (rns.ring().plain() as f64 * rounding * 8.0).log2().ceil() as u32
}

fn answers_hold_the_plaintext<R: SlotRing>(rns: &RnsRing<R>) {
    let secret = secret(rns);
    let last = rns.level(1).unwrap();
    let mask = width(rns);
    for (body, mask) in [(mask, mask), (mask - 3, mask), (mask, mask + 3)] {
        let bits = AnswerBits::new(rns, body, mask).unwrap();
        for plaintext in plaintexts(rns) {
            let c = encrypted(rns, last, &secret, &plaintext, 0);
            let answer = Answer::new(rns, bits, &c);
            let mut bytes = Vec::new();
            answer.put(bits, &mut bytes);
            assert_eq!(bytes.len(), bits.bytes(rns));
            let taken = Answer::take(rns, bits, &bytes).unwrap();
            assert_eq!(taken, answer);
            assert_eq!(*taken.decrypt(rns, bits, &secret), plaintext);
            let half_step = f64::from(mask).exp2() / rns.ring().plain() as f64 / 2.0;
            assert!(taken.errors(rns, bits, &secret).iter().all(|x| x.abs() < half_step));
        }
    }
}

fn bytes_are_read_whole_or_not_at_all<R: SlotRing>(rns: &RnsRing<R>) {
    let bits = AnswerBits::new(rns, 3, 9).unwrap();
    let bytes = vec![0xFF; bits.bytes(rns)];
    assert!(Answer::take(rns, bits, &bytes[1..]).is_none());
    assert!(Answer::take(rns, bits, &[&bytes[..], &[0]].concat()).is_none());
    assert!(Answer::take(rns, bits, &[]).is_none());
    let degree = rns.ring().degree();
    let padded = [3, 9].iter().any(|bits| !(bits * degree).is_multiple_of(8));
    assert_eq!(Answer::take(rns, bits, &bytes).is_none(), padded);
}

fn bits_that_fit<R: SlotRing>(rns: &RnsRing<R>) {
    assert!(AnswerBits::new(rns, 1, 1).is_some());
    for (body, mask) in [(0, 8), (9, 8), (1, 0), (8, 60), (8, 64), (8, u32::MAX)] {
        assert!(AnswerBits::new(rns, body, mask).is_none(), "{body}, {mask}");
    }
}
