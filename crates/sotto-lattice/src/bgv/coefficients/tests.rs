use super::*;
use crate::bgv::fixture::{on_every_ring, plaintexts};
use crate::bgv::{M8191, Pow2, RnsRing};

on_every_ring!(plaintexts_come_back);

fn plaintexts_come_back<R: SlotRing>(rns: &RnsRing<R>) {
    let (ring, stored) = (rns.ring(), CoefficientFormat::new(rns.ring()));
    for mut plaintext in plaintexts(rns) {
        // What is rare among numbers modulo 65537.
        plaintext[3] = ring.plain() - 1;
        let mut bytes = Vec::new();
        stored.put(&plaintext, &mut bytes);
        assert_eq!(bytes.len(), stored.bytes());
        let mut out = vec![7; ring.words()];
        stored.take(&bytes, &mut out);
        assert_eq!(out, plaintext);
        let level = rns.top();
        let values = rns.from_plain(level, &plaintext);
        for ((prime, plan), values) in rns.plans(level).enumerate().zip(values.chunks(ring.words())) {
            stored.residues(&bytes, plan.modulus().value(), &mut out);
            ring.forward(prime, &mut out);
            assert_eq!(out, values);
        }
    }
}

#[test]
fn bytes_are_few() {
    assert_eq!(CoefficientFormat::new(&Pow2::standard(2).unwrap()).bytes(), 17 * 1024);
    assert_eq!(CoefficientFormat::new(&M8191::standard(2).unwrap()).bytes(), 1024);
}

#[test]
fn layouts_are_as_drawn() {
    let mut x = vec![0; 64];
    (x[0], x[1], x[63]) = (65536, 0x1234, 0xabcd);
    let mut bytes = Vec::new();
    CoefficientFormat::of(64, 65537).put(&x, &mut bytes);
    let mut drawn = vec![0; 136];
    (drawn[2], drawn[3], drawn[126], drawn[127], drawn[128]) = (0x34, 0x12, 0xcd, 0xab, 1);
    assert_eq!(bytes, drawn);
    // Of a damaged image: 65536 + 0x1234 is no number modulo 65537.
    bytes[128] = 3;
    CoefficientFormat::of(64, 65537).take(&bytes, &mut x);
    assert_eq!(x[1], 65536);
}
