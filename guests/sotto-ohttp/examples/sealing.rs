//! Measures the times of a gateway and a client for messages of given sizes: `cargo run -p
//! sotto-ohttp --example sealing -- BYTES ...`.
#![allow(clippy::unwrap_used, reason = "a measurement may stop")]

use sotto_ohttp::config::KeyConfig;
use sotto_ohttp::gateway::{GatewayKey, open};
use sotto_ohttp::suite::Aead;
use sotto_testkit::rng::seeded;
use std::time::Instant;

const REPEATS: usize = 200;

fn main() {
    let rng = &mut seeded("speed");
    let key = GatewayKey::generate(1, rng).unwrap();
    for bytes in std::env::args().skip(1).map(|word| word.parse::<usize>().unwrap()) {
        for aead in Aead::ALL {
            let config = KeyConfig { aeads: vec![aead], ..key.config() };
            let message = vec![7; bytes];
            let mut times: [Vec<f64>; 4] = Default::default();
            for _ in 0..REPEATS {
                let mut began = Instant::now();
                let mut took = |times: &mut Vec<f64>| {
                    times.push(began.elapsed().as_secs_f64() * 1e6);
                    began = Instant::now();
                };
                let (sealed, pending) = sotto_ohttp::client::seal(&config, &message, rng).unwrap();
                took(&mut times[0]);
                let opened = open([&key].into_iter(), &sealed).unwrap();
                took(&mut times[1]);
                let answer = opened.reply.seal(&message, rng).unwrap();
                took(&mut times[2]);
                assert_eq!(pending.open(&answer).unwrap(), message);
                took(&mut times[3]);
            }
            let median = |times: &mut Vec<f64>| {
                times.sort_by(f64::total_cmp);
                times[times.len() / 2]
            };
            let [seal, open, answer, read] = times.each_mut().map(median);
            println!("{bytes} bytes, {aead:?}, microseconds:");
            println!(
                "  client seals {seal:.0}, gateway opens {open:.0}, gateway seals {answer:.0}, client opens {read:.0}"
            );
        }
    }
}
