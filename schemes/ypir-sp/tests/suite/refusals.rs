//! Refused literals and words, and what a change touches.

use crate::setup::{Table, bytes, literal};
use sotto_core::{
    Error, Image as _, Params as _, ParamsError, PeerMisbehaved, RecordChange, Section, UpdateImage, Wire,
};
use sotto_math::bits::pack_words;
use sotto_silent::lattice::N;
use sotto_silent::message::Query;
use sotto_silent::unit_vector::largest;
use sotto_silent::{MatrixScheme, Params};
use sotto_testkit::memory::MemorySink;
use sotto_ypir_sp::YpirSp;
use sotto_ypir_sp::literal::ParamsLiteral;

#[test]
fn words_that_no_residue_is_cut_to_are_refused() {
    let table = Table::checked(literal(5000, 9, [50, 50], [37, 30]), bytes(5000 * 9));
    let (asked, _, _) = table.lookup(&mut table.client("prepare"), 3, "query");
    let mut word = Vec::new();
    pack_words(&[largest(50) + 1], 50, &mut word);
    let refused = |bytes: &[u8]| {
        let taken = Query::take(&table.params, bytes);
        matches!(taken, Err(Error::Peer(PeerMisbehaved::NotCanonical(_))))
    };
    // The first word of the vector, and the first coefficient of a key.
    for at in [0, asked.len() - N * 50 / 8] {
        let mut bad = asked.clone();
        bad[at..at + word.len() - 1].copy_from_slice(&word[..word.len() - 1]);
        bad[at + word.len() - 1] |= word[word.len() - 1];
        assert!(refused(&bad), "{at}");
    }
    // Nine words of 50 bits leave six bits of their last byte.
    let mut bad = asked;
    bad[(9usize * 50).div_ceil(8) - 1] |= 0x80;
    assert!(refused(&bad));
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let refused = |literal| match Params::<YpirSp>::check(literal) {
        Err(Error::Params(error)) => error,
        other => panic!("{other:?}"),
    };
    let good = || literal(4096, 1000, [42, 46], [26, 18]);
    assert!(Params::<YpirSp>::check(good()).is_ok());
    let wide = literal(4096, 1 << 20, [42, 46], [26, 18]);
    assert!(matches!(refused(wide), ParamsError::Unreliable { .. }));
    for (name, bad) in [
        ("set", ParamsLiteral { set: "n1024".into(), ..good() }),
        ("seed", ParamsLiteral { seed: sotto_prg::PublicSeed([1; 32]), ..good() }),
        ("record_bytes", literal(0, 10, [42, 46], [26, 18])),
        ("record_bytes", literal((1 << 20) + 1, 10, [42, 46], [26, 18])),
        ("records", literal(4096, (1 << 20) + 1, [42, 46], [26, 18])),
        ("query_bits", literal(4096, 10, [51, 46], [26, 18])),
        ("key_bits", literal(4096, 10, [42, 39], [26, 18])),
        ("answer_bits", literal(4096, 10, [42, 46], [38, 18])),
        ("answer_bits", literal(4096, 10, [42, 46], [26, 27])),
        ("answer_bits", literal(4096, 10, [42, 46], [26, 17])),
    ] {
        match refused(bad) {
            ParamsError::Field { field, .. } => assert_eq!(field, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// One byte changes the weights of its group, and no others.
#[test]
fn a_change_touches_its_group_alone() {
    let table = Table::checked(literal(5 * 4096, 3, [50, 50], [37, 30]), bytes(5 * 4096 * 3));
    let mut rows = table.rows.clone();
    rows[4 * 4096 + 7] ^= 1;
    let change = RecordChange { record: 0, offset: 4 * 4096 + 7, bytes: vec![rows[4 * 4096 + 7]] };
    let sink = MemorySink::holding(table.image.clone());
    MatrixScheme::<YpirSp>::revise(&table.params, &[change], &sink).unwrap();
    let revised = sink.into_image();
    let matrix = table.params.layout().bytes();
    let [old, new] =
        [&table.image, &revised].map(|image| &image.section(Section::Resident).unwrap()[matrix..]);
    // Three rows for each of 2048 numbers, with a byte for each of 4096 coefficients of a key.
    let group = 3 * 2048 * 4096;
    assert!(old[..4 * group] == new[..4 * group]);
    assert!(old[4 * group..5 * group] != new[4 * group..5 * group]);
    let changed = Table::opened(table.params.clone(), rows, revised.clone());
    for index in 0..3 {
        let (_, _, record) = changed.lookup(&mut changed.client("prepare"), index, "changed");
        assert_eq!(record, changed.row(index));
    }
}
