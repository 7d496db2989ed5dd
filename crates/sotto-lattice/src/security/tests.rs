//! The dual attacks have tests of their own, in [`dual`].

mod dual;
use super::*;
use sotto_core::ParamsError;

/// Block sizes the estimator gave, by set: its core-SVP column divided by 0.292, which is exact to one
/// block, together with the thirteen it prints itself.
#[rustfmt::skip]
const BETAS: &[(&str, u32)] = &[
    ("n1024-q27-t", 347), ("n2048-q54-t", 337), ("n2048-q56-t", 320), ("n4096-q109-t", 327),
    ("n8192-q218-t", 325), ("n8192-q165-t", 485), ("n1024-q32-t", 284), ("n1024-q32-s6.4", 326),
    ("n1024-q32-s6.4-gauss", 326), ("n8190-q178-t", 435), ("n8190-q220-t", 320), ("n2048-q41-t", 496),
    ("n1774-q32-tt", 528),
    ("n2048-q42-t", 480), ("n2048-q55-t", 328), ("n2048-q56-t-s6.4", 328), ("n2048-q56-s6.4", 354),
    ("n4096-q83-t", 483), ("n4096-q101-t", 366), ("n4096-q112-t", 314), ("n4096-q116-t", 298),
    ("n8192-q202-t", 363), ("n8190-q140-t", 608), ("n8190-q160-t", 506), ("n8190-q200-t", 368),
    ("n8190-q210-t", 343), ("n1024-q32-s11", 351), ("n1216-q32-t", 361), ("n1275-q32-t", 385),
    ("n1408-q32-t", 440),
];

fn attack_on(set: &LweSet) -> usvp::PrimalAttackCost {
    usvp::attack(set.n, set.log2_q, set.secret.sigma(set.sigma), set.sigma).unwrap()
}

#[test]
fn block_sizes_are_the_estimators() {
    for &(name, beta) in BETAS {
        assert_eq!(attack_on(certified(name).unwrap()).beta, beta, "{name}");
    }
}

#[test]
fn cost_is_never_above_the_estimators_and_close_below() {
    for &(name, _) in BETAS {
        let set = certified(name).unwrap();
        let gap = set.certified.usvp - attack_on(set).matzov_below();
        assert!((0.0..0.3).contains(&gap), "{name}: {gap}");
    }
}

#[test]
fn the_allowance_for_bdd_covers_the_table() {
    for &(name, _) in BETAS {
        let set = certified(name).unwrap();
        assert!(attack_on(set).matzov_below() - 2.0 <= set.certified.bdd, "{name}");
    }
}

#[test]
fn the_gate_agrees_with_every_certificate() {
    for set in certified_sets() {
        let verdict = gate(set.n, set.log2_q, &set.secret, set.sigma);
        if set.certified.bits() >= 128.0 {
            assert!(verdict.unwrap().bits >= set.certified.bits(), "{}", set.name);
        } else {
            let ParamsError::Insecure { bits, .. } = verdict.unwrap_err() else { panic!("{}", set.name) };
            assert!(bits <= set.certified.bits(), "{}", set.name);
        }
    }
}

#[test]
fn names_are_unique() {
    for set in certified_sets() {
        assert_eq!(certified(set.name), Some(set));
    }
}

#[test]
fn simplepir_as_published_is_refused_and_sigma_11_accepted() {
    assert!(gate(1024, 32.0, &SecretDistribution::Uniform, 6.4).is_err());
    let ours = gate(1024, 32.0, &SecretDistribution::Gaussian(11.0), 11.0).unwrap();
    assert_eq!(ours.bits, 128.4);
    assert!(ours.model.contains("27a581b"), "{}", ours.model);
}

#[test]
fn whatever_is_harder_than_a_certified_set_is_accepted() {
    for (n, log2_q, secret, sigma) in [
        (1024, 31.99, SecretDistribution::Gaussian(11.0), 11.0),
        (1100, 32.0, SecretDistribution::Gaussian(11.0), 11.0),
        (1024, 32.0, SecretDistribution::Gaussian(12.0), 11.5),
        (1024, 32.0, SecretDistribution::Uniform, 11.0),
        (2048, 53.0, SecretDistribution::Ternary, 6.4),
    ] {
        assert!(gate(n, log2_q, &secret, sigma).is_ok(), "{n} {log2_q} {secret:?} {sigma}");
    }
}

#[test]
fn whatever_is_easier_in_one_coordinate_is_refused_here() {
    for (n, log2_q, secret, sigma) in [
        (1023, 32.0, SecretDistribution::Gaussian(11.0), 11.0),
        (1024, 32.1, SecretDistribution::Gaussian(11.0), 11.0),
        (1024, 32.0, SecretDistribution::Gaussian(10.9), 11.0),
        (1024, 32.0, SecretDistribution::Gaussian(11.0), 10.9),
        (1024, 32.0, SecretDistribution::Ternary, 11.0),
        (2048, 53.5, SecretDistribution::Ternary, 3.2),
        (2048, 53.0, SecretDistribution::Ternary, 3.1),
    ] {
        let verdict = gate(n, log2_q, &secret, sigma);
        assert!(matches!(verdict, Err(ParamsError::Insecure { bits, .. }) if bits < 128.0), "{verdict:?}");
    }
}

#[test]
fn sets_without_a_certificate_need_room_to_spare() {
    // No Gaussian set is certified at this size; the estimate accepts any other attack.
    let verdict = gate(4096, 90.0, &SecretDistribution::Gaussian(3.2), 3.2).unwrap();
    assert!(verdict.model.contains("primal uSVP") && verdict.model.contains("beta"), "{}", verdict.model);
    assert!(verdict.bits >= 128.0 && verdict.bits.is_finite());
}

#[test]
fn a_secret_wider_than_the_error_counts_as_one_drawn_like_it() {
    for (n, log2_q, sigma) in [(1024, 26.0, 0.9), (2048, 52.0, 0.9), (1024, 25.5, 1.0), (4096, 100.0, 3.2)] {
        let alike = gate(n, log2_q, &SecretDistribution::Gaussian(sigma), sigma);
        for wide in [2.0 * sigma, 1e3, 1e9] {
            let verdict = gate(n, log2_q, &SecretDistribution::Gaussian(wide), sigma);
            assert_eq!(format!("{verdict:?}"), format!("{alike:?}"), "{n} {log2_q} {wide} {sigma}");
        }
    }
    // Taken at its width, this secret would count as 128 bits.
    assert!(usvp::attack(1024, 26.0, 1e3, 0.9).unwrap().matzov_below() - 4.0 >= 128.0);
    assert!(gate(1024, 26.0, &SecretDistribution::Gaussian(1e3), 0.9).is_err());
}

#[test]
fn numbers_that_describe_no_instance_are_refused() {
    for (n, log2_q, sigma) in [
        (0, 32.0, 11.0),
        ((1 << 20) + 1, 32.0, 11.0),
        (usize::MAX, 32.0, 11.0),
        (1024, f64::NAN, 11.0),
        (1024, f64::INFINITY, 11.0),
        (1024, 0.0, 11.0),
        (1024, -1.0, 11.0),
        (1024, 32.0, f64::NAN),
        (1024, 32.0, 0.0),
        (1024, 32.0, 0.5),
        (1024, 32.0, f64::INFINITY),
    ] {
        for secret in
            [SecretDistribution::Ternary, SecretDistribution::Gaussian(sigma), SecretDistribution::Uniform]
        {
            let verdict = gate(n, log2_q, &secret, sigma);
            assert!(matches!(verdict, Err(ParamsError::Field { .. })), "{n} {log2_q} {secret:?} {sigma}");
        }
    }
    assert!(gate(1024, 32.0, &SecretDistribution::Gaussian(f64::NAN), 11.0).is_err());
}

proptest::proptest! {
    #[test]
    fn more_noise_or_less_modulus_never_turns_yes_into_no(
        n in 64usize..5000, log2_q in 10.0f64..120.0, sigma in 0.8f64..64.0, law in 0..3,
        d_n in 0usize..500, d_q in 0.0f64..5.0, d_sigma in 0.0f64..8.0,
    ) {
        let secret = |s: f64| match law {
            0 => SecretDistribution::Ternary,
            1 => SecretDistribution::Gaussian(s),
            _ => SecretDistribution::Uniform,
        };
        let before = gate(n, log2_q, &secret(sigma), sigma);
        let after = gate(n + d_n, (log2_q - d_q).max(1.0), &secret(sigma + d_sigma), sigma + d_sigma);
        proptest::prop_assert!(before.is_err() || after.is_ok(), "{before:?} {after:?}");
    }

    #[test]
    fn every_verdict_is_total(n in 0usize..3_000_000, log2_q: f64, sigma: f64) {
        for secret in [SecretDistribution::Ternary, SecretDistribution::Gaussian(sigma), SecretDistribution::Uniform] {
            if let Ok(security) = gate(n, log2_q, &secret, sigma) {
                proptest::prop_assert!(security.bits >= 128.0);
            }
        }
    }
}

#[test]
fn the_limits_themselves_are_instances() {
    let narrowest = SecretDistribution::Gaussian(NARROWEST);
    assert!(gate(4096, 60.0, &narrowest, NARROWEST).is_ok());
    assert!(gate(1 << 20, 400.0, &SecretDistribution::Ternary, 3.2).is_ok());
}

#[test]
fn the_largest_modulus_is_that_of_the_next_smaller_degree() {
    for (n, limit) in [(1023, 0.0), (1024, 26.0), (4095, 53.0), (4096, 106.0), (1 << 20, 430.0)] {
        assert_eq!(ternary_limit(n), limit, "{n}");
    }
    // The estimate alone would accept both; it is trusted up to the limit of degree 2048.
    let narrower = |log2_q| gate(3072, log2_q, &SecretDistribution::Ternary, 3.1);
    assert!(narrower(53.0).is_ok());
    assert!(matches!(narrower(54.0), Err(ParamsError::Insecure { bits: 127.9, .. })));
}
