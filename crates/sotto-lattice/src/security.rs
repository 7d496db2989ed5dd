//! Security estimates of LWE and ring-LWE instances. One function decides: [`gate`].
//!
//! | module | contents |
//! |---|---|
//! | [`certified`](self::certified()) | sets with figures of the lattice estimator, accepted and refused |
//! | [`usvp`] | the primal attack's block size, and a cost that stays below the estimator's |
//! | [`dual`] | the dual attacks: plain, with guessing, and with a Fourier transform |
//! | `reduction` | the costs of lattice reduction and sieving |
//!
//! Ring instances are judged as plain LWE of the same dimension: no attack on power-of-two
//! cyclotomic rings at these parameters is known to do better. [`SecretDistribution`] cannot
//! express sparse secrets, because hybrid attacks on them are outside what the calculator covers.

mod certified;
pub mod dual;
mod gate;
mod reduction;
#[cfg(test)]
mod tests;
pub mod usvp;

pub use certified::{CertifiedCosts, LweSet, certified, certified_sets};
pub use gate::gate;

/// The distribution of the secret's coefficients. There is no sparse variant, on purpose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SecretDistribution {
    /// Uniform in {-1, 0, 1}.
    Ternary,
    /// Discrete Gaussian of this standard deviation.
    Gaussian(f64),
    /// Uniform modulo q.
    Uniform,
}

impl SecretDistribution {
    /// The standard deviation that an attacker has to work against, given the error's.
    ///
    /// No secret, uniform or wide, is harder than one drawn like the error: n samples turn the
    /// first into the second (Applebaum, Cash, Peikert, Sahai, CRYPTO 2009, lemma 2). For a
    /// Gaussian, [`gate`] ensures it.
    fn sigma(self, error: f64) -> f64 {
        match self {
            SecretDistribution::Ternary => (2.0_f64 / 3.0).sqrt(),
            SecretDistribution::Gaussian(sigma) => sigma,
            SecretDistribution::Uniform => error,
        }
    }

    /// Whether this distribution gives an attacker no more than `other` does, at error width
    /// `error`.
    fn at_least_as_hard_as(self, other: SecretDistribution, error: f64) -> bool {
        match (self, other) {
            (SecretDistribution::Ternary, SecretDistribution::Ternary)
            | (SecretDistribution::Uniform, SecretDistribution::Uniform) => true,
            (SecretDistribution::Gaussian(ours), SecretDistribution::Gaussian(theirs)) => ours >= theirs,
            (SecretDistribution::Uniform, SecretDistribution::Gaussian(theirs)) => error >= theirs,
            _ => false,
        }
    }
}
