//! Security estimates of LWE and ring-LWE instances. One function decides: [`gate`].
//!
//! | module | contents |
//! |---|---|
//! | [`usvp`] | the primal attack's block size, and a cost that stays below the estimator's |
//! | [`dual`] | the dual attacks: plain, with guessing, and with a Fourier transform |
//! | `reduction` | the costs of lattice reduction and sieving |
//!
//! Ring instances are judged as plain LWE of the same dimension: no attack on power-of-two
//! cyclotomic rings at these parameters is known to do better. [`SecretDistribution`] cannot
//! express sparse secrets, because hybrid attacks on them are outside what the calculator covers.
//!
//! [Certified sets](certified_sets) have figures of the lattice estimator. Figures are log2 of ring
//! operations under the MATZOV cost model, from malb/lattice-estimator at commit 27a581b; `dual` is
//! the cheapest of its dual attacks, plain, hybrid and MATZOV's. The table includes sets that fall
//! short, so that the gate refuses them, and everything easier, by name and figure.

pub mod dual;
mod reduction;
pub mod usvp;

use sotto_core::params::REQUIRED_SECURITY_BITS;
use sotto_core::{ParamsError, Security};

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

/// Source of the figures.
const ESTIMATOR: &str = "lattice-estimator 27a581b, MATZOV";
/// Source of the floors of the degree table.
const FLOOR: &str = "lattice-estimator 27a581b, MATZOV: largest q with usvp and bdd at least 128";

/// Costs of attacks, in bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CertifiedCosts {
    /// Cost of the primal attack, unique shortest vector.
    pub usvp: f64,
    /// Cost of the primal attack, bounded distance decoding.
    pub bdd: f64,
    /// Cost of the cheapest dual attack; `None` if none was estimated.
    pub dual: Option<f64>,
    /// The program and commit that gave the figures.
    pub source: &'static str,
}

impl CertifiedCosts {
    /// Cost of the cheapest attack.
    pub fn bits(&self) -> f64 {
        self.usvp.min(self.bdd).min(self.dual.unwrap_or(f64::INFINITY))
    }
}

/// An LWE instance with its certified costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LweSet {
    /// Short name, which never changes.
    pub name: &'static str,
    /// Dimension of the secret.
    pub n: usize,
    /// log2 of the modulus.
    pub log2_q: f64,
    /// Distribution of the secret.
    pub secret: SecretDistribution,
    /// Standard deviation of the error.
    pub sigma: f64,
    /// Certified costs of attacks.
    pub certified: CertifiedCosts,
}

impl LweSet {
    /// Whether an attacker on `self` is not better off than on `other` in any coordinate.
    ///
    /// A larger dimension, a smaller modulus, a wider error and a wider secret each only add work,
    /// so the certificate of `other` then holds for `self`, and a shortfall of `self` holds for
    /// `other`.
    fn at_least_as_hard_as(&self, other: &LweSet) -> bool {
        self.n >= other.n
            && self.log2_q <= other.log2_q
            && self.sigma >= other.sigma
            && self.secret.at_least_as_hard_as(other.secret, self.sigma)
    }
}

/// Finds the set of a name.
pub fn certified(name: &str) -> Option<&'static LweSet> {
    SETS.iter().find(|set| set.name == name)
}

/// All sets of the table, including those that fall short of 128 bits.
pub fn certified_sets() -> &'static [LweSet] {
    SETS
}

/// Largest log2 q at which a ternary secret with sigma 3.2 has 128 bits, by degree; a degree
/// between two of the table is rounded down.
fn ternary_limit(n: usize) -> f64 {
    SETS.iter()
        .filter(|set| set.certified.source == FLOOR && set.n <= n)
        .map(|set| set.log2_q)
        .fold(0.0, f64::max)
}

const fn set(
    name: &'static str,
    n: usize,
    log2_q: f64,
    secret: SecretDistribution,
    sigma: f64,
    [usvp, bdd]: [f64; 2],
    dual: Option<f64>,
) -> LweSet {
    LweSet {
        name,
        n,
        log2_q,
        secret,
        sigma,
        certified: CertifiedCosts { usvp, bdd, dual, source: ESTIMATOR },
    }
}

const fn ternary(name: &'static str, n: usize, log2_q: f64, usvp: f64, bdd: f64, dual: f64) -> LweSet {
    set(name, n, log2_q, SecretDistribution::Ternary, 3.2, [usvp, bdd], Some(dual))
}

const fn floor(name: &'static str, n: usize, log2_q: f64) -> LweSet {
    let certified = CertifiedCosts { usvp: 128.0, bdd: 128.0, dual: None, source: FLOOR };
    LweSet { name, n, log2_q, secret: SecretDistribution::Ternary, sigma: 3.2, certified }
}

const TERNARY_SIGMA: f64 = 0.816_496_580_927_726; // sqrt(2/3)

#[rustfmt::skip]
static SETS: &[LweSet] = &[
    // Plain LWE modulo 2^32, as SimplePIR-like schemes use it.
    set("n1024-q32-s11", 1024, 32.0, SecretDistribution::Gaussian(11.0), 11.0, [130.1, 128.4], Some(132.7)),
    set("n1216-q32-t", 1216, 32.0, SecretDistribution::Ternary, 6.4, [133.0, 131.3], Some(130.7)),
    set("n1275-q32-t", 1275, 32.0, SecretDistribution::Ternary, 6.4, [139.7, 138.0], Some(137.3)),
    set("n1408-q32-t", 1408, 32.0, SecretDistribution::Ternary, 6.4, [155.1, 153.3], Some(152.2)),
    set("n1774-q32-tt", 1774, 32.0, SecretDistribution::Ternary, TERNARY_SIGMA, [180.0, 178.3], Some(176.0)),
    // SimplePIR's published set, and the same with a ternary secret.
    set("n1024-q32-s6.4", 1024, 32.0, SecretDistribution::Uniform, 6.4, [123.2, 121.5], Some(125.2)),
    set("n1024-q32-s6.4-gauss", 1024, 32.0, SecretDistribution::Gaussian(6.4), 6.4, [123.2, 121.5], Some(125.2)),
    set("n1024-q32-t", 1024, 32.0, SecretDistribution::Ternary, 6.4, [111.5, 110.0], Some(110.3)),
    // The ring of Spiral and YPIR.
    set("n2048-q56-s6.4", 2048, 56.0, SecretDistribution::Gaussian(6.4), 6.4, [132.1, 131.2], Some(133.9)),
    set("n2048-q56-t-s6.4", 2048, 56.0, SecretDistribution::Ternary, 6.4, [124.7, 123.8], Some(124.2)),
    // Rings with a ternary secret, sigma 3.2, by degree.
    ternary("n1024-q27-t", 1024, 27.0, 128.8, 127.0, 126.2),
    ternary("n2048-q41-t", 2048, 41.0, 171.3, 169.9, 168.6),
    ternary("n2048-q42-t", 2048, 42.0, 166.9, 165.5, 164.4),
    ternary("n2048-q54-t", 2048, 54.0, 127.2, 126.3, 126.4),
    ternary("n2048-q55-t", 2048, 55.0, 124.7, 123.8, 124.2),
    ternary("n2048-q56-t", 2048, 56.0, 122.5, 121.5, 121.8),
    ternary("n4096-q83-t", 4096, 83.0, 168.8, 168.1, 167.9),
    ternary("n4096-q101-t", 4096, 101.0, 136.3, 135.8, 136.2),
    ternary("n4096-q109-t", 4096, 109.0, 125.6, 125.1, 125.7),
    ternary("n4096-q112-t", 4096, 112.0, 122.0, 121.6, 122.2),
    ternary("n4096-q116-t", 4096, 116.0, 117.5, 117.2, 118.0),
    ternary("n8192-q165-t", 8192, 165.0, 170.4, 169.9, 170.4),
    ternary("n8192-q202-t", 8192, 202.0, 136.6, 136.3, 137.0),
    ternary("n8192-q218-t", 8192, 218.0, 126.0, 125.7, 126.5),
    ternary("n8190-q140-t", 8190, 140.0, 204.7, 204.2, 204.1),
    ternary("n8190-q160-t", 8190, 160.0, 176.3, 175.8, 176.3),
    ternary("n8190-q178-t", 8190, 178.0, 156.6, 156.3, 156.8),
    ternary("n8190-q200-t", 8190, 200.0, 138.0, 137.7, 138.4),
    ternary("n8190-q210-t", 8190, 210.0, 131.0, 130.7, 131.6),
    ternary("n8190-q220-t", 8190, 220.0, 124.6, 124.4, 125.2),
    // Largest log2 q by degree: at least 128 bits are known; by how much more was not recorded.
    floor("n1024-q26-t", 1024, 26.0),
    floor("n2048-q53-t", 2048, 53.0),
    floor("n4096-q106-t", 4096, 106.0),
    floor("n8190-q214-t", 8190, 214.0),
    floor("n16384-q430-t", 16384, 430.0),
];

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
    let requested = LweSet { name: "", n, log2_q, secret, sigma, certified: unknown };
    let required = f64::from(REQUIRED_SECURITY_BITS);

    let best = certified_sets()
        .iter()
        .filter(|set| requested.at_least_as_hard_as(set))
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
        .filter(|set| set.at_least_as_hard_as(&requested))
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

#[cfg(test)]
mod tests;
