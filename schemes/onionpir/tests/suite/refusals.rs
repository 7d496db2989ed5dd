//! Refused parameters: the published sets, and those of another scheme.

use sotto_core::{Error, Params as _, ParamsError, TableShape};
use sotto_cube::{Literal, Params, TableForm, Upload, rings};
use sotto_lattice::security::{SecretDistribution, gate};
use sotto_onionpir::OnionPir;

/// N, log2 of a modulus that version 2's program encrypts under, and the bits that the gate finds at ternary secrets and sigma
/// 3.2: the moduli of queries, as published, and then those of the keys of expansion, which have one prime of 60 bits more.
const PUBLISHED: [(usize, f64, f64); 4] =
    [(2048, 60.0, 111.8), (4096, 120.0, 111.5), (2048, 120.0, 56.0), (4096, 180.0, 73.7)];

#[test]
fn the_published_sets_have_too_few_bits() {
    let found = PUBLISHED.map(|(n, log2_q, _)| match gate(n, log2_q, &SecretDistribution::Ternary, 3.2) {
        Err(ParamsError::Insecure { bits, .. }) => (n, log2_q, (bits * 10.0).round() / 10.0),
        other => panic!("{n}, 2^{log2_q}: {other:?}"),
    });
    assert_eq!(found, PUBLISHED);
}

#[test]
fn what_is_not_onionpirs_is_refused() {
    let shape = TableShape::new(1 << 16, 256, 1000);
    let ours = Params::<OnionPir>::select(&shape).unwrap();
    for literal in [
        Literal { ring: rings::LARGE.to_owned(), ..ours.clone() },
        Literal { upload: Upload::Direct, ..ours.clone() },
        Literal { form: TableForm::Packed, n: 2, ..ours.clone() },
    ] {
        let error = Params::<OnionPir>::check(literal).map(|params| params.report()).unwrap_err();
        let field = matches!(error, Error::Params(ParamsError::Field { field: "ring, upload, form", .. }));
        assert!(field, "{error}");
    }
    assert!(Params::<OnionPir>::check(ours).is_ok());
}
