//! The steps of an answer, one by one, on the recorded ciphertexts.

use crate::recorded::{CODEC, kit, read, words};
use prost::Message;
use sotto_apple::proto::{
    CiphertextForm, FullCiphertext, SerializedCiphertext, SerializedEvaluationKey, SerializedKeySwitchKey,
};
use sotto_lattice::bgv::bfv::galois::{GaloisKey, PackedSwitchKey, relinearize};
use sotto_lattice::bgv::bfv::product::BaseExtension;
use sotto_lattice::bgv::mod_down::lower;
use sotto_lattice::bgv::{Ciphertext, Level, Scratch, SlotRing};

/// All parts of a ciphertext, as coefficients.
fn coefficients(c: &Ciphertext) -> Vec<u64> {
    let part = |part| {
        let mut x = c.part(part).to_vec();
        kit().ring().inverse(c.level(), &mut x);
        x
    };
    (0..c.parts()).flat_map(part).collect()
}

fn values(c: &Ciphertext) -> Vec<u64> {
    (0..c.parts()).flat_map(|part| CODEC.theirs(c.part(part))).collect()
}

fn fresh(name: &str) -> Ciphertext {
    CODEC.take_fresh(&SerializedCiphertext::decode(&*read(name)).unwrap()).unwrap()
}

fn keys() -> SerializedEvaluationKey {
    SerializedEvaluationKey::decode(&*read("a/evaluation_key.pb")).unwrap()
}

fn rows(key: &SerializedKeySwitchKey) -> Vec<Ciphertext> {
    let rows = &key.key_switch_key.as_ref().unwrap().ciphertexts;
    rows.iter().map(|row| CODEC.take_row(row).unwrap()).collect()
}

fn one_less(c: &Ciphertext) -> Ciphertext {
    let mut out = Ciphertext::zero(kit().ring(), kit().ring().level(1).unwrap(), 2);
    lower(kit().ring(), c, &mut out, &mut Scratch::new(kit().ring()));
    out
}

fn answered(c: &Ciphertext) -> SerializedCiphertext {
    let all = coefficients(c);
    CODEC.put_answer(&[all[..4096].to_vec(), all[4096..].to_vec()])
}

#[test]
#[ignore = "needs every recording"]
fn fresh_ciphertexts() {
    let c = fresh("a/ct_seeded.pb");
    assert_eq!(coefficients(&c), words("a/ct_fresh.coeff.u32le"));
    assert_eq!(values(&c), words("a/ct_fresh.eval.u32le"));
    let message = SerializedCiphertext::decode(&*read("a/ct_seeded.pb")).unwrap();
    let Some(CiphertextForm::Seeded(seeded)) = &message.form else { panic!("no seed") };
    let seed = seeded.seed.as_array().unwrap();
    assert_eq!(CODEC.put_fresh(c.part(0), seed).encode_to_vec(), read("a/ct_seeded.pb"));
}

#[test]
#[ignore = "needs every recording"]
fn one_prime_less_and_some_bits() {
    let c = one_less(&fresh("a/ct_seeded.pb"));
    assert_eq!(coefficients(&c), words("a/ct_switched.coeff.u32le"));
    let answer = answered(&c);
    assert_eq!(answer.encode_to_vec(), read("a/ct_switched_for_decryption.pb"));
    let read = CODEC.take_answer(&answer).unwrap();
    assert_eq!(read.concat(), words("a/ct_switched_for_decryption.coeff.u32le"));
    let whole = SerializedCiphertext::decode(&*self::read("a/ct_switched_full.pb")).unwrap();
    let Some(CiphertextForm::Full(whole)) = whole.form else { panic!("no polynomials") };
    let whole = FullCiphertext { skip_lsbs: vec![0, 0], ..whole };
    let whole = SerializedCiphertext { form: Some(CiphertextForm::Full(whole)) };
    assert_eq!(CODEC.take_answer(&whole).unwrap().concat(), words("a/ct_switched.coeff.u32le"));
}

#[test]
#[ignore = "needs every recording"]
fn keys_and_automorphisms() {
    let (c, keys) = (fresh("a/ct_seeded.pb"), keys());
    for element in [3, 4097, 8191] {
        let rows = rows(&keys.galois_key.as_ref().unwrap().key_switch_keys[&element]);
        if element == 3 {
            for (i, row) in rows.iter().enumerate() {
                assert_eq!(values(row), words(&format!("a/galois_key_3.row{i}.eval.u32le")));
            }
        }
        let key = GaloisKey::of_rows(kit().ring(), element as usize, &rows).unwrap();
        let mut out = Ciphertext::zero(kit().ring(), c.level(), 2);
        key.apply(kit().ring(), &c, &mut out, &mut Scratch::new(kit().ring()));
        assert_eq!(coefficients(&out), words(&format!("a/ct_galois_{element}.coeff.u32le")));
    }
    let square = keys.relin_key.unwrap().relin_key.unwrap();
    for (i, row) in rows(&square).iter().enumerate() {
        assert_eq!(values(row), words(&format!("a/relin_key.row{i}.eval.u32le")));
    }
}

#[test]
#[ignore = "needs every recording"]
fn products() {
    let ring = kit().ring();
    let extension = BaseExtension::new(ring).unwrap();
    let raised = |name| extension.raise(ring, fresh(name));
    let [a, b] = ["a/ct_seeded.pb", "a/ct2_seeded.pb"].map(raised);
    let mut sum = extension.zero(ring);
    extension.add_product(ring, &a, &b, &mut sum);
    let product = extension.divided(ring, sum);
    assert_eq!(coefficients(&product), words("a/ct_product3.coeff.u32le"));
    let mut sum = extension.zero(ring);
    extension.add_product(ring, &a, &b, &mut sum);
    extension.add_product(ring, &b, &a, &mut sum);
    assert_eq!(coefficients(&extension.divided(ring, sum)), words("a/ct_inner_product3.coeff.u32le"));

    let square = rows(&keys().relin_key.unwrap().relin_key.unwrap());
    let square = PackedSwitchKey::of_rows(ring, &square).unwrap();
    let mut out = Ciphertext::zero(ring, top(), 2);
    relinearize(ring, &square, &product, &mut out, &mut Scratch::new(ring));
    assert_eq!(coefficients(&out), words("a/ct_product_relin.coeff.u32le"));
    assert_eq!(coefficients(&one_less(&out)), words("a/ct_product_switched.coeff.u32le"));
}

fn top() -> Level {
    assert_eq!(kit().ring().ring().primes(), 2);
    kit().ring().top()
}
