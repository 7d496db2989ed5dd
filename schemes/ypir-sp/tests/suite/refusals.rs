//! Refusals of servers and clients, and the party at fault.

use crate::setup::{Table, bytes, literal};
use sotto_core::{
    Error, Image as _, Misuse, Params as _, ParamsError, PeerMisbehaved, RecordChange, Section, UpdateImage,
    Wire,
};
use sotto_math::bits::pack_words;
use sotto_silent::lattice::N;
use sotto_silent::unit_vector::largest;
use sotto_testkit::memory::MemorySink;
use sotto_ypir_sp::YpirSp;
use sotto_ypir_sp::message::{Answer, Query};
use sotto_ypir_sp::params::Params;

fn table() -> Table {
    Table::checked(literal(5000, 9, [50, 50], [37, 30]), bytes(5000 * 9))
}

#[test]
fn words_that_no_residue_is_cut_to_are_refused() {
    let table = table();
    let params = &table.params;
    let (asked, answer, _) = table.lookup(&mut table.client("prepare"), 3, "query");
    assert!(Query::take(params, &asked).is_ok());
    let mut word = Vec::new();
    pack_words(&[largest(50) + 1], 50, &mut word);
    let refused = |bytes: &[u8]| {
        matches!(Query::take(params, bytes), Err(Error::Peer(PeerMisbehaved::NotCanonical(_))))
    };
    // The first word of the vector, and the first coefficient of a key.
    for at in [0, asked.len() - N * 50 / 8] {
        let mut bad = asked.clone();
        bad[at..at + word.len() - 1].copy_from_slice(&word[..word.len() - 1]);
        bad[at + word.len() - 1] |= word[word.len() - 1];
        assert!(refused(&bad), "{at}");
    }
    // Nine words of 50 bits leave six bits of their last byte.
    let mut bad = asked.clone();
    bad[(9usize * 50).div_ceil(8) - 1] |= 0x80;
    assert!(refused(&bad));
    for len in [0, asked.len() - 1, asked.len() + 1] {
        let mut bad = asked.clone();
        bad.resize(len, 0);
        assert!(matches!(Query::take(params, &bad), Err(Error::Peer(PeerMisbehaved::Length { .. }))));
    }
    let mut sent = Vec::new();
    answer.put(params, &mut sent);
    assert_eq!(Answer::take(params, &sent).unwrap(), answer);
    assert!(matches!(Answer::take(params, &sent[1..]), Err(Error::Peer(PeerMisbehaved::Length { .. }))));
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let refused = |literal| match Params::check(literal) {
        Err(Error::Params(error)) => error,
        other => panic!("{other:?}"),
    };
    let good = || literal(4096, 1000, [42, 46], [26, 18]);
    assert!(Params::check(good()).is_ok());
    let wide = literal(4096, 1 << 20, [42, 46], [26, 18]);
    assert!(matches!(refused(wide), ParamsError::Unreliable { .. }));
    for (name, bad) in [
        ("set", sotto_ypir_sp::literal::ParamsLiteral { set: "n1024".into(), ..good() }),
        ("seed", sotto_ypir_sp::literal::ParamsLiteral { seed: sotto_prg::PublicSeed([1; 32]), ..good() }),
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
    let literal = literal(5 * 4096, 3, [50, 50], [37, 30]);
    let table = Table::checked(literal, bytes(5 * 4096 * 3));
    let matrix = table.params.literal().matrix_bytes() as usize;
    let mut first = table.rows[..5 * 4096].to_vec();
    first[4 * 4096 + 7] ^= 1;
    let change = RecordChange { record: 0, offset: 4 * 4096 + 7, bytes: vec![first[4 * 4096 + 7]] };
    let sink = MemorySink::holding(table.image.clone());
    YpirSp::revise(&table.params, &[change], &sink).unwrap();
    let revised = sink.into_image();
    let (old, new) = (&table.image, &revised);
    let of = |image: &sotto_testkit::memory::MemoryImage| {
        image.section(Section::Resident).unwrap()[matrix..].to_vec()
    };
    let (old, new) = (of(old), of(new));
    // Three rows for each of 2048 numbers, with a byte for each of 4096 coefficients of a key.
    let group = 3 * 2048 * 4096;
    assert!(old[..4 * group] == new[..4 * group]);
    assert!(old[4 * group..5 * group] != new[4 * group..5 * group]);
    let rows = [first, table.rows[5 * 4096..].to_vec()].concat();
    let changed = Table::opened(table.params.clone(), rows, revised);
    for index in 0..3 {
        let (_, _, record) = changed.lookup(&mut changed.client("prepare"), index, "changed");
        assert_eq!(record, changed.row(index));
    }
    let past = RecordChange { record: 3, offset: 0, bytes: vec![0] };
    let sink = MemorySink::holding(changed.image.clone());
    let refused = YpirSp::revise(&changed.params, &[past], &sink);
    assert!(matches!(refused, Err(Error::Misuse(Misuse::IndexPastEnd { .. }))));
}
