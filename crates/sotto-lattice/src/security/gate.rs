//! The decision whether an instance is secure enough.

use super::certified::{CertifiedCosts, LweSet, certified_sets, ternary_limit};
use super::{SecretDistribution, dual, usvp};
use sotto_core::params::REQUIRED_SECURITY_BITS;
use sotto_core::{ParamsError, Security};

/// Smallest block size accepted without a certificate.
const MIN_BETA: u32 = 342;

/// Smallest standard deviation of a secret or an error: just under that of a ternary one.
const NARROWEST: f64 = 0.8;

/// Bits between the two primal attacks, uSVP and BDD: 1.8 at most in the table of certified sets.
/// There is no calculator for BDD here, so this is subtracted from uSVP where no certificate backs
/// the figure.
const BDD: f64 = 2.0;

/// Accepts an LWE instance of at least [`REQUIRED_SECURITY_BITS`] bits, and returns its security.
///
/// An instance is accepted if a certified set that is at least as easy has enough bits. Without
/// one, three conditions must hold at once: a primal block size of at least 342, a modulus within
/// the largest that is certified for ternary secrets at this degree, and an estimate that is
/// enough: the cheapest of the dual attacks, uSVP, and uSVP less the largest distance that BDD has
/// shown from it.
///
/// ```
/// use sotto_lattice::security::{SecretDistribution, gate};
///
/// let security = gate(2048, 50.0, &SecretDistribution::Ternary, 3.2)?;
/// assert!(security.bits >= 128.0);
/// assert!(gate(1024, 50.0, &SecretDistribution::Ternary, 3.2).is_err());
/// # Ok::<(), sotto_core::ParamsError>(())
/// ```
///
/// # Errors
/// [`ParamsError::Insecure`] with the figure found; [`ParamsError::Field`] for numbers that
/// describe no instance.
pub fn gate(n: usize, log2_q: f64, secret: &SecretDistribution, sigma: f64) -> Result<Security, ParamsError> {
    let in_range = |x: f64, most: f64| x.is_finite() && x > 0.0 && x <= most;
    let secret_sigma = secret.sigma(sigma);
    if n == 0 || n > 1 << 20 || !in_range(log2_q, 65536.0) {
        return Err(field("n, log2 q", "n must be in 1..=2^20, log2 q in (0, 65536]"));
    }
    // Narrower than ternary is sparse in effect, and the formulas do not cover sparse vectors.
    if !in_range(sigma, 1e9) || !in_range(secret_sigma, 1e9) || sigma.min(secret_sigma) < NARROWEST {
        return Err(field("sigma", "secret and error must have standard deviations in [0.8, 1e9]"));
    }

    // A secret that is wider than the error is worth no more than one drawn like it: see
    // `SecretDistribution::sigma`.
    let secret = match *secret {
        SecretDistribution::Gaussian(wide) if wide > sigma => SecretDistribution::Gaussian(sigma),
        other => other,
    };
    let unknown = CertifiedCosts { usvp: 0.0, bdd: 0.0, dual: None, source: "" };
    let asked = LweSet { name: "", n, log2_q, secret, sigma, certified: unknown };
    let required = f64::from(REQUIRED_SECURITY_BITS);

    let best = certified_sets()
        .iter()
        .filter(|set| asked.at_least_as_hard_as(set))
        .max_by(|a, b| a.certified.bits().total_cmp(&b.certified.bits()));
    let primal = usvp::attack(n, log2_q, secret.sigma(sigma), sigma);
    let core_svp = primal.map(|attack| attack.core_svp());
    if let Some(set) = best.filter(|set| set.certified.bits() >= required) {
        let model = format!("{}; set {}", set.certified.source, set.name);
        return Ok(Security { bits: set.certified.bits(), model, core_svp });
    }

    let by_primal = primal.map_or(f64::INFINITY, |attack| attack.matzov_below() - BDD);
    let by_dual =
        dual::attack(n, log2_q, secret, sigma).map_or(f64::INFINITY, |attack| attack.matzov_below());
    // A harder set that is known to fall short decides, whatever the estimate is.
    let bits = certified_sets()
        .iter()
        .filter(|set| set.at_least_as_hard_as(&asked))
        .map(|set| set.certified.bits())
        .filter(|bits| *bits < required)
        .fold(by_primal.min(by_dual), f64::min);
    let beta = primal.map_or(u32::MAX, |attack| attack.beta);
    if bits >= required && beta >= MIN_BETA && log2_q <= ternary_limit(n) {
        let which =
            if by_dual < by_primal { "dual".into() } else { format!("primal uSVP less {BDD} bits for BDD") };
        return Ok(Security { bits, model: format!("MATZOV, {which}; primal beta {beta}"), core_svp });
    }
    // An estimate above the requirement that fails one of the other two conditions is not trusted.
    Err(ParamsError::Insecure { bits: bits.min(required - 0.1), required: REQUIRED_SECURITY_BITS })
}

fn field(field: &'static str, why: &str) -> ParamsError {
    ParamsError::Field { field, why: why.into() }
}
