//! Seeds, packing, parameters, the choice of automorphisms, and the steps of an answer, one by one,
//! on the recorded ciphertexts.

use crate::common::{CODEC, json, kit, longs, read, words};
use prost::Message;
use sha2::{Digest, Sha256};
use sotto_apple::drbg::{Drbg, uniform};
use sotto_apple::proto::{
    CiphertextForm, FullCiphertext, SerializedCiphertext, SerializedEvaluationKey, SerializedKeySwitchKey,
};
use sotto_apple::sets::SETS;
use sotto_bfv::mulpir::Compression;
use sotto_bfv::mulpir::elements;
use sotto_lattice::bgv::bfv::product::BaseExtension;
use sotto_lattice::bgv::bfv::{GaloisKey, PackedSwitchKey, relinearize};
use sotto_lattice::bgv::keyswitch::lower;
use sotto_lattice::bgv::{Ciphertext, Level, Scratch, SlotRing};
use sotto_math::bits::highest;
use sotto_math::modulus::Modulus;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &serde_json::Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn number(value: &serde_json::Value) -> u64 {
    value.as_u64().unwrap()
}

fn numbers(value: &serde_json::Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn seed() -> [u8; 32] {
    std::array::from_fn(|i| i as u8)
}

fn moduli(values: &[u64]) -> Vec<Modulus> {
    values.iter().map(|q| Modulus::new(*q).unwrap()).collect()
}

/// Digests of `a/drbg_stream.bin` and of the polynomials that are derived from its seed, of degree
/// 8 and 4096.
#[test]
fn what_follows_from_a_seed() {
    let mut drbg = Drbg::new(&seed());
    let (mut stream, mut request) = (Vec::new(), [[0; 16]; 256]);
    for _ in 0..3 {
        drbg.request(&mut request);
        stream.extend_from_slice(request.as_flattened());
    }
    let digest = |bytes: &[u8]| hex(&Sha256::digest(bytes));
    assert_eq!(digest(&stream), "0255d624ff7a85608121be2e3b7243fcbc051244fcbdcdcc2c6e13a8f2649fb2");
    let words = |n, values: &[u64]| {
        let words = uniform(&seed(), n, &moduli(values));
        digest(&words.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
    };
    assert_eq!(
        words(8, &[131249, 131297, 131441, 131489, 131617]),
        "ceb3cbc3eb1d614f03062ed029acec9027f428f193df46a58a4f9d71c07e9bec"
    );
    assert_eq!(
        words(4096, &[134176769, 268369921, 268361729]),
        "16b8ef14ec8b631be2c99bc2275da4fc6215021da694c5d3ffb66a6537443f94"
    );
}

#[test]
fn words_are_packed_from_the_highest_bit_on() {
    let samples = json("a/packing.json");
    for sample in samples["bytes_to_coefficients_decode_false"].as_array().unwrap() {
        let (bytes, coefficients) = (unhex(&sample["bytes_hex"]), numbers(&sample["coeffs"]));
        let width = number(&sample["bits_per_coeff"]) as u32;
        let whole = bytes.len() * 8 / width as usize;
        let mut padded = bytes.clone();
        padded.resize((coefficients.len() * width as usize).div_ceil(8), 0);
        let mut out = vec![0; coefficients.len()];
        assert_eq!(highest::unpack(&padded, width, &mut out), Some(()), "{width}, {whole}");
        assert_eq!(out, coefficients);
    }
    for sample in samples["coefficients_to_bytes"].as_array().unwrap() {
        let (bytes, coefficients) = (unhex(&sample["bytes_hex"]), numbers(&sample["coeffs"]));
        let (width, skip) = (number(&sample["bits_per_coeff"]) as u32, number(&sample["skip_lsbs"]) as u32);
        let mut out = Vec::new();
        highest::pack(coefficients.iter().map(|x| x >> skip), width - skip, &mut out);
        assert_eq!(out, bytes, "{width} bits without {skip}");
    }
}

#[test]
fn sets_are_those_of_the_library() {
    let recorded = json("a/parameter_sets.json");
    for set in SETS {
        let recorded =
            recorded.as_array().unwrap().iter().find(|recorded| recorded["name"] == set.name).unwrap();
        assert_eq!(hex(&set.message().encode_to_vec()), recorded["protobuf_hex"].as_str().unwrap());
        assert_eq!(set.primes.to_vec(), numbers(&recorded["coefficient_moduli"]));
        assert_eq!(u64::from(set.plain.ilog2()), number(&recorded["plaintext_bits_per_coeff"]));
    }
    let unsupported = recorded.as_array().unwrap().iter().filter(|recorded| recorded["supports_u32"] == true);
    assert_eq!(unsupported.count(), SETS.len() + 1, "all with numbers of 32 bits but the one of degree 8");
    assert_eq!(kit().plaintext_bytes(), 2048);
}

#[test]
fn automorphisms_are_those_that_the_library_asks_for() {
    let recorded = json("a/galois_elements.json");
    let recorded = recorded.as_array().unwrap();
    assert!(recorded.len() > 30);
    for case in recorded {
        let compression = match case["compression"].as_str().unwrap() {
            "noCompression" => Compression::None,
            "hybridCompression" => Compression::Hybrid,
            "maxCompression" => Compression::Most,
            other => panic!("{other}"),
        };
        let outputs = number(&case["expanded_query_count"]) as usize;
        let found = elements(number(&case["degree"]) as usize, outputs, compression);
        let found: Vec<u64> = found.into_iter().map(|element| element as u64).collect();
        assert_eq!(found, numbers(&case["galois_elements"]), "{case}");
    }
}

#[test]
#[ignore = "needs every recording"]
fn values_are_in_the_librarys_order() {
    let ring = kit().ring();
    let mut x = vec![0; ring.words(ring.full())];
    x.chunks_mut(4096).for_each(|limb| (1..).zip(&mut limb[..8]).for_each(|(i, x)| *x = i));
    ring.forward(ring.full(), &mut x);
    assert_eq!(CODEC.theirs(&x), longs("a/ntt_n4096_27_28_28.u64le"));
    assert_eq!(CODEC.ours(&CODEC.theirs(&x)), x);
    // A secret key is encoded as its values, after a count of two bytes.
    let small: Vec<i64> = read("a/secret_key.coeff.i8").iter().map(|x| i64::from(*x as i8)).collect();
    let mut bytes = 1u16.to_le_bytes().to_vec();
    CODEC.put_poly(ring.full(), &CODEC.theirs(&ring.from_small(ring.full(), &small)), &mut bytes);
    assert_eq!(bytes, read("a/secret_key.bin"));
}

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
