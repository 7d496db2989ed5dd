use super::*;
use crate::params::ParamsLiteral;
use crate::prf::VOID;
use crate::prf::naive::{cut, extra, ranks};
use crate::{HalfSets, Params};
use halves::{cuts, extras};
use sotto_core::{Params as _, TableShape};
use sotto_hints::one_server::{PartitionPlace, Prf};
use std::ops::Range;

/// Parameters for `rows` rows, in partitions of another size than would be selected.
fn params(rows: u64, row_bytes: u64, partition_rows: u64) -> Params {
    let shape = TableShape::new(rows, row_bytes, 1);
    let literal = Params::select(&shape).unwrap();
    let partitions = rows.div_ceil(partition_rows).next_multiple_of(2);
    let hints = 200 * partition_rows + 1000;
    Params::check(ParamsLiteral { partition_rows, partitions, hints, ..literal }).unwrap()
}

fn noise(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (z ^ z >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 7
}

/// A table, and its sets by definition.
struct Case {
    params: Params,
    prf: Prf<HalfSets>,
    table: Vec<u8>,
}

impl Case {
    fn new(rows: u64, row_bytes: u64, partition_rows: u64) -> Self {
        let params = params(rows, row_bytes, partition_rows);
        let prf = Prf::new(&params, &[rows as u8 ^ 0x5A; 16]);
        let table = (0..rows * row_bytes).map(|i| noise(i) as u8).collect();
        Case { params, prf, table }
    }

    fn add(&self, sum: &mut [u8], place: PartitionPlace) {
        let row = usize::from(place.partition) * self.params.partition_rows() + usize::from(place.offset);
        // Rows past the end are zero.
        if let Some(row) = self.table.chunks_exact(self.params.row_bytes()).nth(row) {
            sum.iter_mut().zip(row).for_each(|(sum, byte)| *sum ^= byte);
        }
    }

    /// The parities of an id's half and of the other partitions.
    fn halves(&self, id: u32, cut: u32) -> [Vec<u8>; 2] {
        let mut sums = [vec![0; self.params.row_bytes()], vec![0; self.params.row_bytes()]];
        for (k, rank) in (0..).zip(ranks(&self.prf, id)) {
            let place = PartitionPlace { partition: k, offset: self.prf.offset(id, k) };
            self.add(&mut sums[usize::from(rank >= cut)], place);
        }
        sums
    }

    fn check(&self, hints: Range<u32>, pairs: Range<u32>, (found, backup): &(HintOutput, BackupOutput)) {
        let row_bytes = self.params.row_bytes();
        assert_eq!(found.cuts.len(), hints.len());
        assert_eq!(found.parities.len(), hints.len() * row_bytes);
        assert_eq!(backup.halves.len(), pairs.len() * row_bytes);
        assert_eq!(backup.others.len(), pairs.len() * row_bytes);
        for (i, id) in hints.enumerate() {
            let cut = cut(&self.prf, id);
            assert_eq!(found.cuts[i], cut, "cut of {id}");
            let [mut parity, _] = self.halves(id, cut);
            let extra = extra(&self.prf, id, cut);
            assert_eq!(found.extras[i], extra, "extra entry of {id}");
            self.add(&mut parity, extra);
            assert_eq!(found.parities[i * row_bytes..][..row_bytes], parity, "hint {id}");
        }
        for (i, id) in pairs.enumerate() {
            let cut = cut(&self.prf, id);
            assert_eq!(backup.cuts[i], cut, "cut of {id}");
            let [half, other] = self.halves(id, cut);
            assert_eq!(backup.halves[i * row_bytes..][..row_bytes], half, "half of {id}");
            assert_eq!(backup.others[i * row_bytes..][..row_bytes], other, "other half of {id}");
        }
    }

    fn pass(&self, hints: Range<u32>, pairs: Range<u32>, chunk: usize) -> (HintOutput, BackupOutput) {
        let mut pass = fold(&self.prf, self.params.row_bytes(), hints, pairs).unwrap();
        let mut absorbed = 0;
        for chunk in self.table.chunks(chunk) {
            assert_eq!(pass.absorb(&self.prf, chunk), chunk.len());
            absorbed += chunk.len() as u64;
            assert_eq!(pass.absorbed(), absorbed);
        }
        pass.finish(&self.prf).finish()
    }
}

#[test]
fn parities_are_those_of_the_definition() {
    // Rows, their bytes, rows of a partition: partitions of one row and of the maximum, numbers of
    // partitions that are no multiple of 16, tables that lack most of their last partition or all
    // of it.
    let shapes = [
        (1, 1, 1),
        (2, 8, 1),
        (3, 5, 1),
        (37, 3, 1),
        (40, 32, 2),
        (64, 32, 4),
        (65, 33, 4),
        (1000, 7, 8),
        (1024, 32, 32),
        (1037, 16, 32),
        (3000, 40, 64),
        (2000, 64, 16),
        (700, 300, 16),
        (129, 9, 128),
    ];
    for (rows, row_bytes, w) in shapes {
        let case = Case::new(rows, row_bytes, w);
        let hints = 0..case.params.hints().min(300) as u32;
        let pairs = hints.end..hints.end + 75;
        for chunk in [1, 13, 1 << 20] {
            case.check(
                hints.clone(),
                pairs.clone(),
                &case.pass(hints.clone(), pairs.clone(), chunk * w as usize),
            );
        }
    }
}

#[test]
fn partitions_of_the_most_rows() {
    let case = Case::new(200_000, 1, 1 << 16);
    case.check(3..9, 9..14, &case.pass(3..9, 9..14, 50_000));
}

#[test]
fn ids_of_any_range_give_what_they_give_among_all() {
    let case = Case::new(900, 6, 16);
    for (hints, pairs) in
        [(5..6, 0..0), (0..0, 13..29), (7..8, 8..8), (100_000..104_500, 4_000_000_001..4_000_000_004)]
    {
        case.check(hints.clone(), pairs.clone(), &case.pass(hints, pairs, 1000));
    }
}

#[test]
fn threads_change_nothing() {
    let case = Case::new(900, 6, 16);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let (alone, backup) = case.pass(0..9000, 9000..14_000, 1000);
    let (together, pairs) = pool.install(|| case.pass(0..9000, 9000..14_000, 1000));
    assert_eq!(
        (&alone.cuts, &alone.extras, &alone.parities),
        (&together.cuts, &together.extras, &together.parities)
    );
    assert_eq!((&backup.cuts, &backup.halves, &backup.others), (&pairs.cuts, &pairs.halves, &pairs.others));
}

/// Among few partitions many ids have two ranks whose top bytes are equal at the cut, so lower bits
/// decide.
#[test]
fn cuts_and_extra_entries_are_those_of_the_definition() {
    for (rows, w) in [(2, 1), (4, 2), (16, 1), (15, 1), (100, 4), (1000, 4), (9000, 1), (5000, 2)] {
        let case = Case::new(rows, 1, w);
        let mut found = vec![VOID; 3000];
        cuts(&case.prf, 77, &mut found);
        let mut places = vec![PartitionPlace { partition: 0, offset: 0 }; 3000];
        extras(&case.prf, 77, &found, &mut places);
        let step = (case.params.partitions() / 100).max(1);
        for (i, id) in (0..3000).zip(77..).step_by(step) {
            assert_eq!(found[i], cut(&case.prf, id), "{rows} rows by {w}: cut of {id}");
            assert_eq!(places[i], extra(&case.prf, id, found[i]), "{rows} rows by {w}: extra entry of {id}");
        }
    }
}

#[test]
fn a_pass_goes_on_from_a_checkpoint() {
    for (rows, row_bytes, w) in [(1000, 5, 8), (2000, 32, 16), (3000, 70, 16)] {
        let case = Case::new(rows, row_bytes, w);
        let (hints, pairs) = (3..40, 40..60);
        let mut live = fold(&case.prf, case.params.row_bytes(), hints.clone(), pairs.clone()).unwrap();
        for chunk in case.table.chunks(case.table.len() / 7) {
            live.absorb(&case.prf, chunk);
            let mut saved = Vec::new();
            live.save(&mut saved).unwrap();
            let mut again = fold(&case.prf, case.params.row_bytes(), hints.clone(), pairs.clone()).unwrap();
            let mut from = &saved[..];
            again.resume(&mut from).unwrap();
            assert!(from.is_empty());
            assert_eq!(again.kept(), live.kept());
            assert_eq!(again.absorbed(), live.kept());
            assert_eq!(
                again.absorb(&case.prf, &case.table[live.kept() as usize..]) as u64,
                case.table.len() as u64 - live.kept()
            );
            case.check(hints.clone(), pairs.clone(), &again.finish(&case.prf).finish());
        }
    }
}

#[test]
fn a_checkpoint_that_is_none_is_refused() {
    let case = Case::new(1000, 5, 8);
    let begin = || fold(&case.prf, 5, 0..10, 10..20).unwrap();
    let mut saved = Vec::new();
    begin().save(&mut saved).unwrap();
    assert_eq!(saved.len(), 8 + 30 * 5);
    assert!(begin().resume(&mut &saved[..]).is_ok());
    assert!(begin().resume(&mut &saved[..saved.len() - 1]).is_err());
    // 126 partitions, sixteen to a window.
    for (done, is) in [(16u64, true), (112, true), (8, false), (128, false), (u64::MAX, false)] {
        saved[..8].copy_from_slice(&done.to_le_bytes());
        assert_eq!(begin().resume(&mut &saved[..]).is_ok(), is, "{done}");
    }
}

#[test]
fn no_more_is_taken_than_the_partitions_hold() {
    let case = Case::new(1000, 5, 8);
    let mut pass = fold(&case.prf, 5, 0..10, 10..20).unwrap();
    let all = case.params.partitions() * 8 * 5;
    assert_eq!(pass.absorb(&case.prf, &vec![0; all + 100]), all);
    assert_eq!(pass.absorb(&case.prf, &[0; 10]), 0);
}

#[test]
fn memory_that_is_not_there_is_an_error() {
    let case = Case::new(1000, 5, 8);
    assert!(fold(&case.prf, usize::MAX / 1000, 0..1000, 1000..1001).is_err());
}
