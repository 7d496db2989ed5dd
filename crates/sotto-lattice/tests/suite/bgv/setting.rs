//! A ring at the size that schemes use, its keys, and measurements of noise.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sotto_lattice::bgv::encrypt::{encrypt, errors};
use sotto_lattice::bgv::keyswitch::SwitchKey;
use sotto_lattice::bgv::noise::Noise;
use sotto_lattice::bgv::{Ciphertext, Level, M8191, Pow2, RnsRing, RotationKey, SecretKey, SlotRing};
use sotto_lattice::encrypt::{ErrorSource, MaskSource};
use sotto_lattice::noise::margin_for;
use sotto_math::sample::Gaussian;
use sotto_prg::PublicSeed;

const SEED: PublicSeed = PublicSeed([8; 32]);
const SIGMA: f64 = 3.2;
const TOLERANCE: f64 = 0.3;
const LARGEST_LOG2: f64 = -20.0;

pub(crate) struct Setting<R: SlotRing> {
    pub(crate) rns: RnsRing<R>,
    pub(crate) secret: SecretKey,
    /// Noise models: averages and bounds.
    pub(crate) models: [Noise; 2],
    pub(crate) rng: ChaCha20Rng,
    masks: u64,
}

pub(crate) fn pow2() -> Setting<Pow2> {
    Setting::new(Pow2::standard(4).unwrap())
}

pub(crate) fn m8191() -> Setting<M8191> {
    Setting::new(M8191::standard(4).unwrap())
}

impl<R: SlotRing> Setting<R> {
    pub(crate) fn new(ring: R) -> Self {
        let rns = RnsRing::new(ring).unwrap();
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let secret = SecretKey::sample(&rns, &mut rng);
        let models = [Noise::average(&rns, SIGMA), Noise::bound(&rns, SIGMA, -40.0)];
        Setting { rns, secret, models, rng, masks: 0 }
    }

    /// Draws a uniform plaintext.
    pub(crate) fn plain(&mut self) -> Vec<u64> {
        let ring = self.rns.ring();
        let mut out = vec![0; ring.words()];
        out[..ring.degree()].iter_mut().for_each(|x| *x = self.rng.next_u64() % ring.plain());
        out
    }

    pub(crate) fn encrypt(&mut self, level: Level, plain: &[u64]) -> Ciphertext {
        self.masks += 1;
        let mask = self.rns.mask(level, &SEED, "ciphertext", self.masks);
        let mut errors = ErrorSource { law: &Gaussian::new(SIGMA), rng: &mut self.rng };
        let body = encrypt(&self.rns, level, &self.secret, &mask, plain, &mut errors);
        Ciphertext::new(&self.rns, level, &[&body, &mask])
    }

    pub(crate) fn rotation_key(&mut self, by: usize) -> RotationKey<R> {
        let masks = MaskSource { seed: &SEED, label: "rotation", first: 0 };
        let mut errors = ErrorSource { law: &Gaussian::new(SIGMA), rng: &mut self.rng };
        let bodies = RotationKey::generate(&self.rns, by, &self.secret, masks, &mut errors);
        RotationKey::assemble(&self.rns, self.rns.ring().rotation(by), &bodies, masks).unwrap()
    }

    pub(crate) fn square_key(&mut self) -> SwitchKey {
        let masks = MaskSource { seed: &SEED, label: "square", first: 0 };
        let mut errors = ErrorSource { law: &Gaussian::new(SIGMA), rng: &mut self.rng };
        let bodies = SwitchKey::generate_square(&self.rns, &self.secret, masks, &mut errors);
        SwitchKey::assemble(&self.rns, &bodies, masks).unwrap()
    }

    /// Returns the plaintext of a ciphertext of three parts in the body of one of two, without any
    /// error of its own.
    pub(crate) fn opened_square(&self, c: &Ciphertext) -> Ciphertext {
        let (rns, level) = (&self.rns, c.level());
        let wide: Vec<i64> = self.secret.coefficients().iter().map(|x| i64::from(*x)).collect();
        let s = rns.from_small(level, &wide);
        let mut phase = c.part(2).to_vec();
        for part in [1, 0] {
            rns.mul(level, &mut phase, &s);
            rns.add(level, &mut phase, c.part(part));
        }
        Ciphertext::new(rns, level, &[&phase, &vec![0; rns.words(level)]])
    }

    /// Compares a ciphertext's error with its variance, on average and at most.
    #[track_caller]
    pub(crate) fn check(&self, step: &str, c: &Ciphertext, variances: [f64; 2]) {
        self.check_errors(step, &errors(&self.rns, &self.secret, c), variances);
    }

    #[track_caller]
    pub(crate) fn check_errors(&self, step: &str, errors: &[f64], [average, bound]: [f64; 2]) {
        let ring = self.rns.ring();
        let off = (self.mean_square(errors).log2() - average.log2()) / 2.0;
        let largest = errors.iter().fold(0f64, |largest, x| largest.max(x.abs()));
        let margin = margin_for(LARGEST_LOG2, bound * ring.spread(), ring.degree() as f64);
        let predicted = average.log2() / 2.0;
        println!(
            "{step:28} 2^{predicted:6.2} off by {off:+.2}, largest 2^{:.2} of 2^{:.2}",
            largest.log2(),
            margin.log2()
        );
        assert!(off.abs() <= TOLERANCE, "{step}: off by {off:.2} bits");
        assert!(largest < margin, "{step}: {largest} is beyond {margin}");
    }

    /// The variance of errors.
    ///
    /// It is the mean square of the coefficients; where only differences matter, as in a cyclotomic
    /// ring of prime index, of their differences from the mean, including the last coefficient,
    /// which is zero.
    fn mean_square(&self, errors: &[f64]) -> f64 {
        let squares = errors.iter().map(|x| x * x).sum::<f64>();
        if self.rns.ring().spread() == 1.0 {
            return squares / errors.len() as f64;
        }
        let count = errors.len() as f64 + 1.0;
        let mean = errors.iter().sum::<f64>() / count;
        squares / count - mean * mean
    }
}
