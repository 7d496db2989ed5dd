//! Seeds, packing, parameters, and the choice of automorphisms.

use crate::recorded::{CODEC, json, kit, longs, read};
use prost::Message;
use sha2::{Digest, Sha256};
use sotto_apple::drbg::{Drbg, uniform};
use sotto_apple::sets::SETS;
use sotto_bfv::mulpir::Compression;
use sotto_bfv::mulpir::keys::elements;
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
