use super::*;
use crate::one_hot::OneHot;
use sotto_math::matrix::PanelLayout;
use sotto_testkit::rng::seeded;

const SEED: PublicSeed = PublicSeed([7; 32]);
const SETS: [DenseLwe; 2] = [FRODO, HINTLESS];

#[test]
fn the_gate_takes_the_published_dimensions_and_not_the_narrower_errors() {
    for (set, least) in [(FRODO, 176.0), (HINTLESS, 152.0)] {
        assert!(set.security().unwrap().bits >= least);
    }
    // HintlessPIR's program: the estimate accepts its errors, and no certificate does.
    assert!(DenseLwe { errors: Distribution::Gaussian(8f64.sqrt()), ..HINTLESS }.security().is_err());
}

#[test]
fn ternary_numbers_have_their_variance_as_proxy() {
    // The bound is checked where it could be wrong: moment generating functions against a
    // Gaussian's of the same variance.
    for u in (1..200).map(|i| f64::from(i) / 20.0) {
        assert!(((1.0 + 2.0 * u.cosh()) / 3.0).ln() <= u * u / 3.0);
    }
    assert!((HINTLESS.product_proxy().log2() / 2.0 - 35.937).abs() < 1e-3);
}

#[test]
fn the_bound_by_hand() {
    // FrodoPIR's largest table: 128 2^10 sqrt(2/3) = 107020, and 2^23 is 78 of these.
    let (deviation, margin) = FRODO.deviation_and_margin(1 << 20, 32);
    assert!((deviation - 107_020.6).abs() < 1.0 && margin == 8_388_608.0);
    assert!(FRODO.failure_log2(1024, 1 << 20, 32) < -4000.0);
    assert!(FRODO.failure_log2(1, 1, 8) == 0.0);
    // 128 6.4 2^10 = 838861 for 2^20 records, and the margin is exactly ten of these.
    let by_hand = 1.0 + 15.0 - 50.0 * std::f64::consts::LOG2_E;
    assert!((HINTLESS.failure_log2(1 << 15, 1 << 20, 32) - by_hand).abs() < 0.01);
}

/// Words, hint and mask of a small table: each row of `D c - H s` is the requested byte and an
/// error.
#[test]
fn a_hint_takes_masks_off() {
    for set in SETS {
        let (l, m, requested) = (130, BLOCK + 77, BLOCK as u32 + 3);
        let layout = PanelLayout::new(l, m);
        let mut panels = vec![0u8; layout.bytes()];
        let mut table = vec![0; l * m];
        rand_core::Rng::fill_bytes(&mut seeded("table"), &mut table);
        let byte_at = |row: usize, column: usize| table[row * m + column];
        for (row, column) in (0..l).flat_map(|row| (0..m).map(move |column| (row, column))) {
            panels[layout.offset(row, column)] = byte_at(row, column);
        }
        let read = |at: u64, out: &mut [u8]| {
            out.copy_from_slice(&panels[at as usize..][..out.len()]);
            Ok(())
        };
        let hint = set.hint(&SEED, layout, 0..l, read, |_| ()).unwrap();
        assert_eq!(hint.len(), l * set.n);
        assert_eq!(set.hint(&SEED, layout, 64..l, read, |_| ()).unwrap(), hint[64 * set.n..]);
        let rows: Vec<Vec<u32>> = (0..2)
            .map(|k| {
                let mut rows = vec![0; BLOCK.min(m - k * BLOCK) * set.n];
                set.rows(&SEED, k, &mut rows);
                rows
            })
            .collect();
        let a = |row: usize, j: usize| rows[row / BLOCK][row % BLOCK * set.n + j];
        for (row, j) in [(0, 0), (65, 7), (129, set.n - 1)] {
            let sum = (0..m).fold(0u32, |sum, column| {
                sum.wrapping_add((byte_at(row, column) as i8 as u32).wrapping_mul(a(column, j)))
            });
            assert_eq!(hint[row * set.n + j], sum, "{row}, {j}");
        }
        let mut rng = seeded("unit");
        let s = set.secret(&mut rng);
        let words = set.sum(&SEED, m, OneHot::new(requested, 1), &s, &mut rng);
        let mask = set.mask(&hint, &s);
        let mut squares = 0.0;
        for row in 0..l {
            let product = (0..m).fold(0u32, |sum, column| {
                sum.wrapping_add((byte_at(row, column) as i8 as u32).wrapping_mul(words[column]))
            });
            let phase = product.wrapping_sub(mask[row]);
            let exact = byte_at(row, requested as usize);
            assert_eq!(byte(phase), exact);
            squares += f64::from(phase.wrapping_sub((exact as i8 as u32) << 24) as i32).powi(2);
        }
        // All bytes occur equally, so their mean square is (256^2 + 2) / 12.
        let predicted = m as f64 * 65538.0 / 12.0 * set.errors.variance();
        let apart = (squares / l as f64 / predicted).log2() / 2.0;
        assert!(apart.abs() < 0.3, "{}: {apart} bits", set.name);
    }
}
