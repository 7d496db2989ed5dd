//! Absurd numbers in literals and absurd tables are refused, or they work.

use fspiral::FSpiral;
use onionpir::OnionPir;
use proptest::prelude::*;
use sotto_core::{Goal, Params as _, TableShape};
use sotto_cube::literal::{GadgetTriple, NO_TABLES_MASK};
use sotto_cube::{Family, Literal, Params, TableForm, Upload, rings};
use spiral::Spiral;

/// Any number; small ones and powers of two come up as often as all others.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..10_000u64, (0..64u32).prop_map(|i| 1 << i), Just(u64::MAX)]
}

/// Any triple, some of which are gadgets.
fn triple() -> impl Strategy<Value = GadgetTriple> {
    prop_oneof![any::<[u8; 3]>(), Just([0; 3]), (1..12u8, 1..40u8, 0..60u8).prop_map(|(l, b, a)| [l, b, a])]
}

fn literal() -> impl Strategy<Value = Literal> {
    let kind = (
        prop::sample::select(vec![rings::LARGE, rings::SMALL, rings::FSPIRAL, rings::SPIRAL]),
        prop::sample::select(vec![Upload::Expanded, Upload::Direct]),
        prop::sample::select(vec![TableForm::Plain, TableForm::Packed, TableForm::Matrix]),
        prop_oneof![any::<u8>(), 1..5u8],
    );
    let nu2 = prop_oneof![any::<u8>(), 0..17u8];
    let numbers = (number(), number(), prop_oneof![any::<u8>(), 1..21u8], any::<u32>(), any::<bool>(), nu2);
    let gadgets = (triple(), triple(), triple(), triple(), triple());
    let bits = prop_oneof![Just([50, 50, 50, 28, 18]), any::<[u8; 5]>()];
    (kind, numbers, gadgets, bits).prop_map(
        |((ring, upload, form, n), (records, record_bytes, p_log2, rows, fill, nu2), gadgets, bits)| {
            let (expand, expand_right, convert, fold, pack) = gadgets;
            let [query_bits, key_bits, pack_key_bits, mask, body] = bits;
            // Half of them get past the first checks.
            let full = records.div_ceil(1 << (nu2 % 17)).min(u64::from(u32::MAX)) as u32;
            Literal {
                ring: ring.to_owned(),
                upload,
                form,
                n: if fill && form == TableForm::Plain { 1 } else { n },
                records,
                record_bytes,
                p_log2,
                rows: if fill { full } else { rows },
                nu2,
                expand,
                expand_right,
                convert,
                fold,
                pack,
                query_bits,
                key_bits,
                pack_key_bits,
                answer_bits: [mask, body],
                written: rows / 9,
                mask: NO_TABLES_MASK,
            }
        },
    )
}

/// Checks that the parameters selected for a table pass the check, with sizes that can be counted.
fn chosen_is_checked<F: Family>(shape: &TableShape) {
    if let Ok(literal) = Params::<F>::select(shape) {
        let params = Params::<F>::check(literal).unwrap();
        assert!(params.report().failure_log2 <= -40.0, "{shape:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn checks_and_reports_are_total(literal in literal()) {
        let _ = Params::<FSpiral>::check(literal.clone()).map(|params| params.report());
        let _ = Params::<OnionPir>::check(literal.clone()).map(|params| params.report());
        let _ = Params::<Spiral>::check(literal).map(|params| params.report());
    }

    #[test]
    fn what_is_chosen_is_checked(rows in number(), row_bytes in number(), goal in 0..4usize) {
        let shape = TableShape { goal: Goal::ALL[goal], ..TableShape::new(rows, row_bytes, 1) };
        chosen_is_checked::<FSpiral>(&shape);
        chosen_is_checked::<OnionPir>(&shape);
        chosen_is_checked::<Spiral>(&shape);
    }
}
