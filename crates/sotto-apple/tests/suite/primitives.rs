use crate::recorded::{read};
use sotto_apple::drbg::{Drbg, uniform};
use sotto_math::modulus::Modulus;

#[test]
fn seeds() {
    let seed: Vec<u8> = (0..32).collect();
    let _ = (&seed, read("a/packing.json"));
    let mut drbg = Drbg::new(seed.as_array().unwrap());
    let mut out = [[0; 16]; 256];
    let mut stream = Vec::new();
    for _ in 0..3 { drbg.request(&mut out); stream.extend_from_slice(out.as_flattened()); }
    assert_eq!(stream, read("a/drbg_stream.bin"));
    let _ = uniform(seed.as_array().unwrap(), 8, &[Modulus::new(131249).unwrap()]);
}
