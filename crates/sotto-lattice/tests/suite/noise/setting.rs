//! Parameters that schemes use, with the keys and ciphertexts that the tests need.

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_lattice::automorphism::AutomorphismKey;
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::encrypt::{ErrorSource, MaskSource, encrypt, mask, phase, restore, truncate};
use sotto_lattice::expand::element;
use sotto_lattice::keyswitch::SwitchKey;
use sotto_lattice::noise::steps::{self, GadgetNoise};
use sotto_lattice::rgsw_conversion::ConversionKey;
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_lattice::secret::{Distribution, SecretKey};
use sotto_math::gadget::Gadget;
use sotto_math::modulus::Modulus;
use sotto_math::sample::Gaussian;
use sotto_prg::PublicSeed;

pub(crate) const SEED: PublicSeed = PublicSeed([8; 32]);
pub(crate) const SIGMA: f64 = 3.2;

/// A ring, its secret, and the gadgets of its steps.
pub(crate) struct Setting {
    pub(crate) ring: Ring,
    pub(crate) secret: SecretKey,
    pub(crate) norm: f64,
    /// Gadgets of expansion on the left, of expansion on the right and conversion, and of folding.
    pub(crate) left: Gadget,
    pub(crate) right: Gadget,
    pub(crate) fold: Gadget,
    /// Number of bits that are cut off the bodies of keys.
    pub(crate) dropped: u32,
    pub(crate) rng: ChaCha20Rng,
}

fn gadget((digits, base, drop): (u32, u32, u32)) -> Gadget {
    Gadget::new(digits, base, drop).unwrap()
}

pub(crate) fn digits(gadget: &Gadget) -> GadgetNoise {
    GadgetNoise { count: gadget.digits(), base_log2: gadget.base_log2(), drop_log2: gadget.drop_log2() }
}

impl Setting {
    pub(crate) fn new(ring: Ring, law: Distribution, gadgets: [(u32, u32, u32); 3], dropped: u32) -> Self {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let [left, right, fold] = gadgets.map(gadget);
        let norm = ring.n() as f64 * law.variance();
        let secret = SecretKey::sample(&ring, law, &mut rng);
        Setting { ring, secret, norm, left, right, fold, dropped, rng }
    }

    /// The variance of the rows of this setting's keys, modulo Q.
    pub(crate) fn row(&self) -> f64 {
        steps::truncated(SIGMA, self.dropped)
    }

    /// Returns bodies as the server restores them from the wire.
    pub(crate) fn on_the_wire(&self, bodies: Vec<Vec<u64>>) -> Vec<Vec<u64>> {
        let kept = self.ring.bits(ModulusLevel::Full) - self.dropped;
        let cut = |b: &Vec<u64>| truncate(&self.ring, ModulusLevel::Full, b, kept);
        bodies.iter().map(|b| restore(&self.ring, ModulusLevel::Full, &cut(b), kept).unwrap()).collect()
    }

    pub(crate) fn encrypt(&mut self, level: ModulusLevel, message: &[u64], index: u64) -> Ciphertext {
        let a = mask(&self.ring, level, &SEED, "cipher", index);
        let law = Gaussian::new(SIGMA);
        let b = encrypt(&self.ring, level, &[&self.secret], &a, &[message], &law, &mut self.rng);
        Ciphertext::new(&self.ring, level, &a, b.iter().map(Vec::as_slice))
    }

    pub(crate) fn predicted_switch(&self, gadget: &Gadget, source_norm: f64) -> f64 {
        let log2_q = self.ring.log2_q(ModulusLevel::Full);
        steps::key_switch(self.ring.n(), &digits(gadget), log2_q, self.row(), source_norm)
    }

    pub(crate) fn automorphism(&mut self, gadget: &Gadget, round: u32, first: u64) -> AutomorphismKey {
        let (level, k) = (ModulusLevel::Full, element(self.ring.n(), round));
        let masks = MaskSource { seed: &SEED, label: "automorphism", first: first + 200 * u64::from(round) };
        let mut errors = ErrorSource { law: &Gaussian::new(SIGMA), rng: &mut self.rng };
        let b = AutomorphismKey::generate(&self.ring, level, gadget, k, &self.secret, masks, &mut errors);
        AutomorphismKey::assemble(&self.ring, level, gadget, k, &self.on_the_wire(b), masks).unwrap()
    }

    pub(crate) fn conversion(&mut self) -> ConversionKey {
        let (ring, s, gadget) = (&self.ring, &self.secret, self.right);
        let masks = MaskSource { seed: &SEED, label: "conversion", first: 0 };
        let mut errors = ErrorSource { law: &Gaussian::new(SIGMA), rng: &mut self.rng };
        let b = ConversionKey::generate(ring, ModulusLevel::Full, &gadget, s, &[s], masks, &mut errors);
        let b = self.on_the_wire(b);
        ConversionKey::plain(SwitchKey::assemble(&self.ring, ModulusLevel::Full, &gadget, 1, &b, masks))
            .unwrap()
    }

    /// The mean square of a ciphertext's error.
    pub(crate) fn measured(&self, c: &Ciphertext, message: &[u64]) -> f64 {
        self.measured_under(&self.secret, c, 1, message)
    }

    pub(crate) fn measured_under(
        &self,
        secret: &SecretKey,
        c: &Ciphertext,
        place: usize,
        message: &[u64],
    ) -> f64 {
        let level = c.level();
        let mut b = c.comp(place).to_vec();
        self.ring.sub(level, &mut b, message);
        let errors = phase(&self.ring, level, secret, c.comp(0), &b);
        errors.iter().map(|x| (*x as f64).powi(2)).sum::<f64>() / errors.len() as f64
    }

    /// Slots of a constant.
    pub(crate) fn constant(&self, level: ModulusLevel, x: u128) -> Vec<u64> {
        let mut coefficients = vec![0; self.ring.n()];
        coefficients[0] = x;
        self.ring.from_integers(level, &coefficients)
    }

    pub(crate) fn special(&self) -> u64 {
        self.ring.special_plan().map_or(1, |plan| plan.modulus().value())
    }

    pub(crate) fn lowered(&self, variance: f64) -> f64 {
        if self.ring.pair().is_some() {
            steps::lowered(variance, (self.special() as f64).log2(), self.norm)
        } else {
            variance
        }
    }
}

pub(crate) fn settings() -> Vec<(&'static str, Setting)> {
    let prime = |q| Modulus::new(q).unwrap();
    let narrow = prime(1125899904679937);
    let composite = Modulus::composite(prime(268369921), prime(249561089)).unwrap();
    let ring = |n, q, special| Ring::new(n, q, special).unwrap();
    let law = Distribution::Ternary;
    vec![
        (
            "4096, 50 + 50 bits",
            Setting::new(
                ring(4096, narrow, Some(prime(1125899903991809))),
                law,
                [(2, 31, 38), (2, 31, 38), (2, 17, 16)],
                28,
            ),
        ),
        (
            "4096, 56 + 24 bits",
            Setting::new(
                ring(4096, composite, Some(prime(16760833))),
                law,
                [(6, 14, 0), (7, 10, 10), (4, 14, 0)],
                2,
            ),
        ),
        (
            "2048, 50 bits",
            Setting::new(ring(2048, narrow, None), law, [(10, 5, 0), (25, 2, 0), (6, 9, 0)], 0),
        ),
        (
            "2048, 56 bits, Gaussian secret",
            Setting::new(
                ring(2048, composite, None),
                Distribution::Gaussian(2.55),
                [(8, 7, 0), (56, 1, 0), (5, 10, 6)],
                1,
            ),
        ),
    ]
}
