//! A known answer: RFC 9497, A.1.2.3, through this crate's own functions, with the random values of
//! the RFC.

use crate::{Input, PublicKey, SecretKey, blind};
use std::convert::Infallible;

/// A generator that returns given scalars, and nothing else: 64 bytes are drawn for each and
/// reduced modulo the group's order.
struct Scalars(Vec<[u8; 32]>);

impl rand_core::TryRng for Scalars {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        panic!("no words are drawn")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        panic!("no words are drawn")
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        assert_eq!(out.len(), 64);
        out.fill(0);
        out[..32].copy_from_slice(&self.0.remove(0));
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Scalars {}

fn hex<const N: usize>(digits: &str) -> [u8; N] {
    let bytes: Vec<u8> =
        (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect();
    bytes.try_into().unwrap()
}

#[test]
fn the_standard_s_batch_of_two() {
    let secret = "e6f73f344b79b379f1a0dd37e07ff62e38d9f71345ce62ae3a9bc60b04ccd909";
    let public = hex("c803e2cc6b05fc15064549b5920659ca4a77b2cca6f04f6b357009335476ad4e");
    let file = format!("{}sotto-oprf-sk:{secret}\n", header());
    let key = SecretKey::from_file(&file).unwrap();
    assert_eq!(key.public(), PublicKey::from_bytes(public).unwrap());

    let blinds = [
        "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706",
        "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e",
    ];
    let inputs = vec![Input::raw(&[0]), Input::raw(&[0x5a; 17])];
    let blinded = blind(inputs, &mut Scalars(blinds.map(hex).to_vec())).unwrap();
    assert_eq!(
        blinded.elements(),
        [
            "863f330cc1a1259ed5a5998a23acfd37fb4351a793a5b3c090b642ddc439b945",
            "90a0145ea9da29254c3a56be4fe185465ebb3bf2a1801f7124bbbadac751e654",
        ]
        .map(hex::<32>)
    );

    let of_proof = hex("419c4f4f5052c53c45f3da494d2b67b220d02118e0857cdbcf037f9ea84bbe0c");
    let answer = key.evaluate(blinded.elements(), &mut Scalars(vec![of_proof])).unwrap();
    assert_eq!(
        answer.elements,
        [
            "aa8fa048764d5623868679402ff6108d2521884fa138cd7f9c7669a9a014267e",
            "cc5ac221950a49ceaa73c8db41b82c20372a4c8d63e5dded2db920b7eee36a2a",
        ]
        .map(hex::<32>)
    );
    let proof = hex(concat!(
        "cc203910175d786927eeb44ea847328047892ddf8590e723c37205cb74600b0a",
        "5ab5337c8eb4ceae0494c2cf89529dcf94572ed267473d567aeed6ab873dee08"
    ));
    assert_eq!(answer.proof, proof);

    let output = hex(concat!(
        "b58cfbe118e0cb94d79b5fd6a6dafb98764dff49c14e1770b566e42402da1a7d",
        "a4d8527693914139caee5bd03903af43a491351d23b430948dd50cde10d32b3c"
    ));
    let outputs = blinded.finish(&answer.elements, &proof, &key.public()).unwrap();
    assert_eq!(*outputs[0].bytes(), output);
    assert_eq!(*key.at(&Input::raw(&[0])).unwrap().bytes(), output);
}

fn header() -> String {
    let file = SecretKey::generate(&mut sotto_prg::system_rng().unwrap()).unwrap().to_file();
    format!("{}\n", file.lines().next().unwrap())
}
