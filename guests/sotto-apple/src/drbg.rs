//! Seeds, and the uniform polynomials that are derived from them.
//!
//! The generator is CTR_DRBG of NIST SP 800-90A with AES-128 and without a derivation function, in
//! requests of 4096 bytes. What is derived from a seed is public: it is the uniform half of a
//! ciphertext.

use sotto_math::aes::Aes;
use sotto_math::modulus::Modulus;

/// Bytes of a seed: a key and a counter.
pub const SEED_BYTES: usize = 32;

/// Blocks of one request.
const BLOCKS: usize = 4096 / 16;

/// Random stream of a seed.
pub struct Drbg {
    key: Aes,
    counter: u128,
}

impl Drbg {
    /// Starts the stream of a seed.
    pub fn new(seed: &[u8; SEED_BYTES]) -> Self {
        let mut drbg = Drbg { key: Aes::new(&[0; 16]), counter: 0 };
        drbg.update(seed);
        drbg
    }

    /// Fills in the blocks of the next request.
    pub fn request(&mut self, out: &mut [[u8; 16]; BLOCKS]) {
        self.encrypt(out);
        self.update(&[0; SEED_BYTES]);
    }

    /// Adds the encryptions of the numbers after the counter, and advances the counter.
    fn encrypt(&mut self, out: &mut [[u8; 16]]) {
        let mut numbers = [[0; 16]; BLOCKS];
        let (numbers, _) = numbers.split_at_mut(out.len().min(BLOCKS));
        for number in &mut *numbers {
            self.counter = self.counter.wrapping_add(1);
            *number = self.counter.to_be_bytes();
        }
        self.key.mmo(numbers, out);
        // The cipher adds its input; adding it again removes it.
        out.iter_mut().zip(numbers).for_each(|(out, number)| *out = xor(*out, *number));
    }

    fn update(&mut self, provided: &[u8; SEED_BYTES]) {
        let mut state = [[0; 16]; 2];
        self.encrypt(&mut state);
        let [key, counter] = state;
        let (halves, _) = provided.as_chunks::<16>();
        if let [first, second] = halves {
            self.key = Aes::new(&xor(key, *first));
            self.counter = u128::from_be_bytes(xor(counter, *second));
        }
    }
}

fn xor(a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
    (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes()
}

/// Uniform polynomial of `n` values modulo each of these primes below 2^28, one prime after the
/// other, from sixteen bytes per value.
pub fn uniform(seed: &[u8; SEED_BYTES], n: usize, primes: &[Modulus]) -> Vec<u64> {
    let mut drbg = Drbg::new(seed);
    let (mut blocks, mut used) = ([[0; 16]; BLOCKS], BLOCKS);
    let mut out = Vec::with_capacity(n * primes.len());
    for prime in primes {
        let reduce = Reduce::new(prime.value());
        let mut left = n;
        while left > 0 {
            if used == BLOCKS {
                drbg.request(&mut blocks);
                used = 0;
            }
            let now = left.min(BLOCKS - used);
            out.extend(
                blocks.iter().skip(used).take(now).map(|block| reduce.of(u128::from_le_bytes(*block))),
            );
            (used, left) = (used + now, left - now);
        }
    }
    out
}

/// Reduces 128-bit numbers modulo a number below 2^28 without a division.
struct Reduce {
    q: u64,
    reciprocal: u64,
    /// 2^32, 2^64 and 2^96 modulo the number.
    powers: [u64; 3],
}

impl Reduce {
    fn new(q: u64) -> Self {
        let power = |e: u32| ((1u128 << e) % u128::from(q)) as u64;
        Reduce { q, reciprocal: u64::MAX / q, powers: [32, 64, 96].map(power) }
    }

    fn of(&self, x: u128) -> u64 {
        let word = |i: u32| u64::from((x >> (32 * i)) as u32);
        let [a, b, c] = self.powers;
        // Three products below 2^60, and a word.
        let sum = word(0) + word(1) * a + word(2) * b + word(3) * c;
        let quotient = ((u128::from(sum) * u128::from(self.reciprocal)) >> 64) as u64;
        // The quotient is at most one too low.
        let rest = sum - quotient * self.q;
        rest.min(rest.wrapping_sub(self.q))
    }
}
