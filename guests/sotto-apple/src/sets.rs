//! Parameter sets by Apple's names.
//!
//! These are the sets of its library whose numbers have 32 bits; the primes of the others have up
//! to 60 bits, and are not served. All sets pass the checks of security.

use crate::proto::EncryptionParameters;
use sotto_bfv::mulpir::RingContext;
use sotto_core::{ParamsError, Security};

/// A named parameter set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParamsSet {
    /// Name in Apple's library.
    pub name: &'static str,
    /// Degree of the ring, N.
    pub degree: usize,
    /// Plaintext modulus, t.
    pub plain: u64,
    /// Primes of the modulus; only keys use the last one.
    pub primes: [u64; 3],
}

/// Policy for parameter sets of less than 128 bits of security.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeakParams {
    /// Weak sets are refused.
    Reject,
    /// Weak sets are used, because the operator or caller allows it.
    Allow,
}

const fn set(name: &'static str, plain: u64) -> ParamsSet {
    ParamsSet { name, degree: 4096, plain, primes: [134_176_769, 268_369_921, 268_361_729] }
}

/// All parameter sets.
pub const SETS: [ParamsSet; 6] = [
    set("n_4096_logq_27_28_28_logt_4", 11),
    set("n_4096_logq_27_28_28_logt_5", 17),
    set("n_4096_logq_27_28_28_logt_6", 37),
    set("n_4096_logq_27_28_28_logt_13", 4099),
    set("n_4096_logq_27_28_28_logt_16", 40961),
    set("n_4096_logq_27_28_28_logt_17", 65537),
];

/// Finds the set with this name.
///
/// # Errors
/// [`ParamsError::Field`] with the names of all sets.
pub fn find(name: &str) -> Result<ParamsSet, ParamsError> {
    SETS.into_iter().find(|set| set.name == name).ok_or_else(|| ParamsError::Field {
        field: "parameter set",
        why: format!("must be one of {}", SETS.map(|set| set.name).join(", ")),
    })
}

impl ParamsSet {
    /// Ring of the set, and its security, after checking it against `weak`.
    ///
    /// # Errors
    /// [`ParamsError::Insecure`] below 128 bits, with the number of bits, unless weak sets are
    /// allowed; [`ParamsError::Field`] if the numbers do not make a ring.
    pub fn kit(&self, weak: WeakParams) -> Result<(RingContext, Option<Security>), ParamsError> {
        let kit = RingContext::new(self.degree, self.plain, &self.primes)?;
        match (kit.security(), weak) {
            (Ok(security), _) => Ok((kit, Some(security))),
            (Err(ParamsError::Insecure { .. }), WeakParams::Allow) => Ok((kit, None)),
            (Err(refused), _) => Err(refused),
        }
    }

    /// Protobuf message of the set, with its numbers.
    pub fn message(&self) -> EncryptionParameters {
        EncryptionParameters {
            polynomial_degree: self.degree as u64,
            plaintext_modulus: self.plain,
            coefficient_moduli: self.primes.to_vec(),
            error_std_dev: 0,
            security_level: 1,
            he_scheme: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_passes_the_gate() {
        for set in SETS {
            let (kit, security) = find(set.name).unwrap().kit(WeakParams::Reject).unwrap();
            assert!(security.unwrap().bits >= 128.0, "{}", set.name);
            assert_eq!((kit.degree(), kit.bits()), (set.degree, set.plain.ilog2()));
        }
        assert!(find("n_8192_logq_3x55_logt_42").is_err());
    }

    #[test]
    fn a_weak_set_is_refused_with_the_figure_unless_it_is_allowed() {
        let weak = ParamsSet { degree: 1024, ..SETS[1] };
        let refused = weak.kit(WeakParams::Reject).unwrap_err();
        assert!(refused.to_string().contains("expected at least 128 bits of security"), "{refused}");
        assert!(weak.kit(WeakParams::Allow).unwrap().1.is_none());
        assert!(ParamsSet { degree: 8, ..SETS[1] }.kit(WeakParams::Allow).is_err());
    }
}
