//! Kushilevitz and Ostrovsky (FOCS 1997) over quadratic residues: the yardstick of the BGV-PIR paper, and of nothing else.
//!
//! A table of bits is a matrix. A query has a number modulo `N = p q` for each column: a square for all but the wanted
//! one, which gets a number that is none, though its Jacobi symbol is 1 (Goldwasser and Micali, 1984). The server
//! multiplies, for each row, the number of a column where its bit is one, and the number's square where it is zero. The
//! product is a square exactly if the wanted bit is zero, which who knows the factors can tell. So a table of n bits
//! takes n multiplications modulo N.
//!
//! `examples/residues` measures it: one multiplication takes so long, times n. It is for that alone: the client's time
//! depends on what it asks for.

use crypto_bigint::modular::{FixedMontyForm, FixedMontyParams};
use crypto_bigint::{JacobiSymbol, NonZero, Odd, RandomMod, Uint};
use crypto_primes::{Flavor, random_prime};
use sotto_core::CryptoRng;

/// Words of a modulus of 3,072 bits: 128 bits of security by NIST SP 800-57, as the lattice schemes have.
pub(crate) const LIMBS_3072: usize = 3072 / 64;

/// A client's key: a modulus and its factors.
pub(crate) struct Key<const LIMBS: usize> {
    params: FixedMontyParams<LIMBS>,
    factors: [Odd<Uint<LIMBS>>; 2],
}

/// A number of a query or of an answer.
pub(crate) type Number<const LIMBS: usize> = FixedMontyForm<LIMBS>;

impl<const LIMBS: usize> Key<LIMBS> {
    /// Draws a key.
    pub(crate) fn generate(rng: &mut dyn CryptoRng) -> Self {
        let bits = Uint::<LIMBS>::BITS / 2;
        let mut last: Option<Odd<Uint<LIMBS>>> = None;
        loop {
            let prime: Uint<LIMBS> = random_prime(&mut *rng, Flavor::Any, bits);
            // With p = q = 3 mod 4, -1 is no square modulo either, and its Jacobi symbol is 1.
            let is_blum = prime.as_words().first().is_some_and(|word| word % 4 == 3);
            let Some(factor) = Odd::new(prime).into_option().filter(|_| is_blum) else { continue };
            let Some(other) = last.replace(factor).filter(|other| *other != factor) else { continue };
            if let Some(modulus) = Odd::new(other.get().wrapping_mul(&prime)).into_option() {
                return Key { params: FixedMontyParams::new_vartime(modulus), factors: [other, factor] };
            }
        }
    }

    /// A random square, or minus one.
    fn encrypt(&self, bit: bool, rng: &mut dyn CryptoRng) -> Number<LIMBS> {
        let modulus: NonZero<Uint<LIMBS>> = *self.params.modulus().as_nz_ref();
        let square = Number::new(&Uint::random_mod_vartime(rng, &modulus), &self.params).square();
        if bit { -square } else { square }
    }

    /// A query for one of so many columns.
    pub(crate) fn query(&self, column: usize, columns: usize, rng: &mut dyn CryptoRng) -> Vec<Number<LIMBS>> {
        (0..columns).map(|at| self.encrypt(at == column, rng)).collect()
    }

    /// The bit a number of an answer holds: whether it is no square.
    pub(crate) fn open(&self, number: &Number<LIMBS>) -> bool {
        let number = number.retrieve();
        self.factors.iter().any(|factor| number.jacobi_symbol(factor) == JacobiSymbol::MinusOne)
    }
}

/// The answer about a matrix of bits, row after row in bytes, least significant bit first: a number for each row.
pub(crate) fn answer<const LIMBS: usize>(matrix: &[u8], query: &[Number<LIMBS>]) -> Vec<Number<LIMBS>> {
    let squares: Vec<Number<LIMBS>> = query.iter().map(Number::square).collect();
    let product = |row: &[u8]| {
        let bits = row.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
        let factors = bits.zip(query.iter().zip(&squares));
        let factors = factors.map(|(bit, (number, square))| if bit { *number } else { *square });
        factors.reduce(|product, factor| product.mul(&factor))
    };
    matrix.chunks_exact(query.len().div_ceil(8).max(1)).filter_map(product).collect()
}

/// Bytes of a query for n bits, and of its answer, in a square matrix: sqrt(n) numbers each.
pub(crate) fn bytes<const LIMBS: usize>(bits: u64) -> [u64; 2] {
    let columns = bits.isqrt().max(1);
    [columns, bits.div_ceil(columns)].map(|numbers| numbers * u64::from(Uint::<LIMBS>::BITS) / 8)
}

/// Numbers of 512 bits: the same code on numbers that are quicker to make.
#[test]
fn every_bit_of_a_small_table_comes_back() {
    let mut rng = sotto_prg::system_rng().unwrap();
    let key = Key::<8>::generate(&mut rng);
    let matrix: Vec<u8> = (0..24u32).map(|i| (i * 151 + 37) as u8).collect();
    let columns = 16;
    for column in [0, 7, 8, 15] {
        let query = key.query(column, columns, &mut rng);
        let answer = answer(&matrix, &query);
        assert_eq!(answer.len(), 12);
        for (row, number) in answer.iter().enumerate() {
            let bit = matrix[2 * row + column / 8] >> (column % 8) & 1 == 1;
            assert_eq!(key.open(number), bit, "row {row}, column {column}");
        }
    }
}

#[test]
fn queries_show_nothing_to_who_has_no_factors() {
    let mut rng = sotto_prg::system_rng().unwrap();
    let key = Key::<8>::generate(&mut rng);
    for number in key.query(3, 8, &mut rng) {
        assert_eq!(number.retrieve().jacobi_symbol(key.params.modulus()), JacobiSymbol::One);
    }
}

#[test]
fn a_query_and_its_answer_are_as_long_as_a_side_of_the_table() {
    assert_eq!(bytes::<LIMBS_3072>(1 << 20), [1024 * 384, 1024 * 384]);
    assert_eq!(bytes::<LIMBS_3072>(1 << 25), [5792 * 384, 5794 * 384]);
}
