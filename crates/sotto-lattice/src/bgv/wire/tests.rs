use super::*;
use crate::bgv::fixture::{SEED, levels, on_every_ring};

on_every_ring!(bodies_come_back_and_nothing_else_does);

fn bodies_come_back_and_nothing_else_does<R: SlotRing>(rns: &RnsRing<R>) {
    for level in levels(rns).chain([rns.full()]) {
        let x = rns.mask(level, &SEED, "body", 0);
        let mut bytes = Vec::new();
        put_body(rns, level, &x, &mut bytes);
        assert_eq!(bytes.len(), body_bytes(rns, level));
        assert_eq!(take_body(rns, level, &bytes).unwrap(), x);

        assert!(take_body(rns, level, &[]).is_none());
        assert!(take_body(rns, level, &bytes[1..]).is_none());
        assert!(take_body(rns, level, &[&bytes[..], &[0]].concat()).is_none());
        if let Some(below) = level.below() {
            assert!(take_body(rns, below, &bytes).is_none());
        }
        // The first and the last word of every limb, just reduced and just not.
        let words = rns.ring().words();
        for (limb, plan) in rns.plans(level).enumerate() {
            for at in [0, rns.ring().degree() - 1] {
                for (over, fits) in [(0, true), (1, false)] {
                    let mut x = x.clone();
                    x[limb * words + at] = plan.modulus().value() - 1 + over;
                    let mut bytes = Vec::new();
                    put_body(rns, level, &x, &mut bytes);
                    assert_eq!(take_body(rns, level, &bytes), fits.then_some(x));
                }
            }
        }
        // Bits that belong to no word, where there are any.
        let bits = rns.plans(level).next().map_or(0, |plan| plan.modulus().bits()) as usize;
        if !(bits * rns.ring().degree()).is_multiple_of(8) {
            let mut bytes = bytes.clone();
            bytes[(bits * rns.ring().degree()) / 8] |= 0x80;
            assert!(take_body(rns, level, &bytes).is_none());
        }
    }
}
