//! Parameter sets by Apple's names.
//!
//! Those of its library whose numbers have 32 bits; the others' primes have up to 60, and are not served. All pass the gate.

use crate::proto::EncryptionParameters;
use sotto_bfv::mulpir::RingContext;
use sotto_core::{ParamsError, Security};

/// A parameter set: a name for its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParamsSet {
    /// What Apple's library calls it.
    pub name: &'static str,
    /// N.
    pub degree: usize,
    /// t.
    pub plain: u64,
    /// The primes, the last of which only keys have.
    pub primes: [u64; 3],
}

/// What is done with a set of less than 128 bits of security.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeakParams {
    /// It is refused.
    Reject,
    /// It is used all the same, because somebody said so.
    Allow,
}

const fn set(name: &'static str, plain: u64) -> ParamsSet {
    ParamsSet { name, degree: 4096, plain, primes: [134_176_769, 268_369_921, 268_361_729] }
}

/// Every set.
pub const SETS: [ParamsSet; 6] = [
    set("n_4096_logq_27_28_28_logt_4", 11),
    set("n_4096_logq_27_28_28_logt_5", 17),
    set("n_4096_logq_27_28_28_logt_6", 37),
    set("n_4096_logq_27_28_28_logt_13", 4099),
    set("n_4096_logq_27_28_28_logt_16", 40961),
    set("n_4096_logq_27_28_28_logt_17", 65537),
];

/// The set of that name.
///
/// # Errors
/// [`ParamsError::Field`] with the names there are.
pub fn find(name: &str) -> Result<ParamsSet, ParamsError> {
    SETS.into_iter().find(|set| set.name == name).ok_or_else(|| ParamsError::Field {
        field: "parameter set",
        why: format!("must be one of {}", SETS.map(|set| set.name).join(", ")),
    })
}

impl ParamsSet {
    /// The tools of the set, and its security, if it is enough or need not be.
    ///
    /// # Errors
    /// [`ParamsError::Insecure`] below 128 bits, with the figure, unless weak sets are allowed; [`ParamsError::Field`] if the
    /// numbers are no ring.
    pub fn kit(&self, weak: WeakParams) -> Result<(RingContext, Option<Security>), ParamsError> {
        let kit = RingContext::new(self.degree, self.plain, &self.primes)?;
        match (kit.security(), weak) {
            (Ok(security), _) => Ok((kit, Some(security))),
            (Err(ParamsError::Insecure { .. }), WeakParams::Allow) => Ok((kit, None)),
            (Err(refused), _) => Err(refused),
        }
    }

    /// The set as messages name it: by its numbers.
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
        assert!(refused.to_string().contains("bits of security, 128 are required"), "{refused}");
        assert!(weak.kit(WeakParams::Allow).unwrap().1.is_none());
        assert!(ParamsSet { degree: 8, ..SETS[1] }.kit(WeakParams::Allow).is_err());
    }
}
