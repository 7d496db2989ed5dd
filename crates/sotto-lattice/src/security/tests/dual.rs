//! The dual attacks against the estimator's own figures.

use super::super::dual::{DualAttack, DualAttackCost, attack, fourier, hybrid};
use super::*;

/// Estimator 27a581b, three digits: `dual_hybrid` without a transform, and `matzov`.
#[rustfmt::skip]
const ESTIMATOR: &[(&str, f64, f64)] = &[
    ("n1024-q32-s11", 132.703, 134.025), ("n1216-q32-t", 132.487, 130.743), ("n1275-q32-t", 139.113, 137.336),
    ("n1408-q32-t", 154.488, 152.181), ("n1774-q32-tt", 179.518, 176.047), ("n1024-q32-s6.4", 125.188, 126.305),
    ("n1024-q32-s6.4-gauss", 125.188, 126.305), ("n1024-q32-t", 111.156, 110.288),
    ("n2048-q56-s6.4", 133.944, 134.195), ("n2048-q56-t-s6.4", 125.026, 124.182),
    ("n1024-q27-t", 128.243, 126.180), ("n2048-q41-t", 170.902, 168.648), ("n2048-q42-t", 166.475, 164.400),
    ("n2048-q54-t", 127.406, 126.388), ("n2048-q55-t", 125.026, 124.182), ("n2048-q56-t", 122.494, 121.826),
    ("n4096-q83-t", 169.086, 167.851), ("n4096-q101-t", 136.738, 136.167), ("n4096-q109-t", 126.187, 125.718),
    ("n4096-q112-t", 122.715, 122.208), ("n4096-q116-t", 118.281, 117.995), ("n8192-q165-t", 170.959, 170.384),
    ("n8192-q202-t", 137.275, 136.989), ("n8192-q218-t", 126.828, 126.541), ("n8190-q140-t", 205.263, 204.114),
    ("n8190-q160-t", 176.844, 176.267), ("n8190-q178-t", 157.335, 156.774), ("n8190-q200-t", 138.710, 138.422),
    ("n8190-q210-t", 131.839, 131.552), ("n8190-q220-t", 125.399, 125.208), ("n1024-q26-t", 133.390, 131.307),
    ("n2048-q53-t", 130.035, 128.909), ("n4096-q106-t", 129.873, 129.581), ("n8190-q214-t", 129.258, 128.972),
    ("n16384-q430-t", 129.356, 129.213),
];

fn on(
    set: &LweSet,
    attack: fn(usize, f64, SecretDistribution, f64) -> Option<DualAttackCost>,
) -> DualAttackCost {
    attack(set.n, set.log2_q, set.secret, set.sigma).unwrap()
}

#[test]
fn the_hybrid_attack_is_the_estimators() {
    for &(name, figure, _) in ESTIMATOR {
        let found = on(certified(name).unwrap(), hybrid).matzov;
        assert!((found - figure).abs() < 0.003, "{name}: {found} and {figure}");
    }
}

#[test]
fn the_transforming_attack_is_the_estimators_or_a_little_cheaper() {
    // The estimator stops its search at the first step that is no better; two steps find up to 0.3
    // bits more.
    for &(name, _, figure) in ESTIMATOR {
        let gap = figure - on(certified(name).unwrap(), fourier).matzov;
        assert!((-0.003..0.3).contains(&gap), "{name}: {gap}");
    }
}

#[test]
fn the_cost_is_never_above_a_certified_one_and_close_below() {
    for set in certified_sets() {
        let Some(figure) = set.certified.dual else { continue };
        let gap = figure - on(set, attack).matzov_below();
        assert!((0.0..0.4).contains(&gap), "{}: {gap}", set.name);
    }
}

#[test]
fn no_certified_set_falls_to_a_dual_attack() {
    // The largest moduli by degree, too, for which no dual attack was run when they were certified.
    for set in certified_sets().iter().filter(|set| set.certified.bits() >= 128.0) {
        let bits = on(set, attack).matzov_below();
        assert!(bits >= 128.0 && bits >= set.certified.bits() - 0.3, "{}: {bits}", set.name);
    }
}

#[test]
fn transforms_beat_guesses_on_ternary_secrets_and_lose_to_them_on_wide_ones() {
    let of = |name| on(certified(name).unwrap(), attack);
    let ternary = of("n1216-q32-t");
    assert_eq!((ternary.kind, ternary.beta), (DualAttack::Fourier, 349));
    assert_eq!((ternary.guessed, ternary.transformed), (20, 40));
    let gaussian = of("n1024-q32-s11");
    assert_eq!((gaussian.kind, gaussian.beta, gaussian.guessed), (DualAttack::Hybrid, 356, 5));
}

#[test]
fn the_gate_takes_the_dual_attack_where_it_is_the_cheapest() {
    let (n, log2_q, sigma) = (1024, 24.0, 3.0);
    let verdict = gate(n, log2_q, &SecretDistribution::Ternary, sigma).unwrap();
    let bits = attack(n, log2_q, SecretDistribution::Ternary, sigma).unwrap().matzov_below();
    assert_eq!(verdict.bits, bits);
    assert!(verdict.model.contains("dual"), "{}", verdict.model);
    assert!(
        usvp::attack(n, log2_q, SecretDistribution::Ternary.sigma(sigma), sigma).unwrap().matzov_below()
            - 2.0
            > bits
    );
}

/// Core-SVP of the parameters that schemes use, from the smallest block size on, as in the README.
#[test]
fn core_svp_of_what_is_in_use() {
    let readme = include_str!("../../../README.md");
    let primes = |all: &[u64]| -> f64 { all.iter().map(|q| (*q as f64).log2()).sum() };
    let mut last = 0.0;
    for (n, log2_q, secret, sigma, name) in [
        (
            4096,
            primes(&[34_359_697_409, 34_359_451_649, 68_719_403_009]),
            SecretDistribution::Ternary,
            3.2,
            "| `n4096-t2^10-q70` |",
        ),
        (
            4096,
            primes(&[55_968_817_153, 74_625_089_537, 8_589_852_673]),
            SecretDistribution::Ternary,
            3.2,
            "| `n4096`, LinPIR |",
        ),
        (1024, 32.0, SecretDistribution::Gaussian(11.0), 11.0, "| `n1024-q32-s11` | s"),
        (
            2048,
            primes(&[268_369_921, 249_561_089]),
            SecretDistribution::Gaussian(6.4),
            6.4,
            "| `n2048-q56` |",
        ),
        (8192, 200.0, SecretDistribution::Ternary, 3.2, "| `pow2`, 4 primes |"),
        (8190, 200.0, SecretDistribution::Ternary, 3.2, "| `m8191`, 4 primes |"),
        (4096, 100.0, SecretDistribution::Ternary, 3.2, "| `n4096-q50-q50` "),
        (2048, 50.0, SecretDistribution::Ternary, 3.2, "| `n2048-q50` |"),
    ] {
        let core = gate(n, log2_q, &secret, sigma).unwrap().core_svp.unwrap();
        let beta = (core / 0.292).round();
        let row = readme.lines().find(|line| line.starts_with(name)).unwrap();
        let want = format!("| {beta} | {core:.1} | {:.1} |", 0.265 * beta);
        assert!(row.ends_with(&want), "{row}: {want}");
        assert!(last <= core, "{row}");
        last = core;
    }
    // hintless's vectors, kspir, vbpir and pirana, Apple's.
    let others = [
        (1408, 32.0, SecretDistribution::Ternary, 6.4),
        (4096, 79.9, SecretDistribution::Ternary, 3.2),
        (8192, 150.0, SecretDistribution::Ternary, 3.2),
        (4096, 83.0, SecretDistribution::Ternary, 3.2),
    ];
    for (n, log2_q, secret, sigma) in others {
        assert!(gate(n, log2_q, &secret, sigma).unwrap().core_svp.unwrap() > 128.0);
    }
}

#[test]
fn core_svp_stands_beside_every_verdict() {
    // 0.292 times the estimator's block size, whichever way the instance was accepted.
    let core = |n, log2_q, secret: SecretDistribution, sigma| {
        gate(n, log2_q, &secret, sigma).unwrap().core_svp.unwrap()
    };
    assert_eq!(core(1024, 32.0, SecretDistribution::Gaussian(11.0), 11.0), 0.292 * 351.0);
    assert_eq!(core(2048, 56.0, SecretDistribution::Gaussian(6.4), 6.4), 0.292 * 354.0);
    // Not the certified set's figure but the instance's own.
    assert!(
        core(2048, 50.0, SecretDistribution::Ternary, 3.2)
            > core(2048, 53.0, SecretDistribution::Ternary, 3.2)
    );
    assert!(core(1024, 24.0, SecretDistribution::Ternary, 3.0) < 128.0);
}
