//! Parameters: the selected ones, and refused ones.

use crate::bound;
use crate::two_server::params::{Params, ParamsLiteral, select};
use sotto_core::{Error, Goal, Params as _, TableShape};

fn checked(shape: &TableShape) -> Params {
    Params::check(select(shape).unwrap()).unwrap()
}

#[test]
fn the_papers_tables() {
    for (log2_rows, side, supply) in
        [(20, 1 << 10, 512 << 10), (24, 1 << 12, 2 << 20), (28, 1 << 14, 4 << 20)]
    {
        let params = checked(&TableShape::new(1 << log2_rows, 32, 1));
        let one = params.one();
        assert_eq!((one.partitions(), one.partition_rows()), (side, side));
        assert!((80 * side..96 * side).contains(&one.backups()), "{} pairs", one.backups());
        assert!(params.response_bytes() <= supply && params.response_bytes() > supply * 3 / 4);
        // The number that the bound requires, and no more than rounding adds.
        let least = bound::min_hints(one.backups() as u64, -40.0, side as u64, |_| side as u64) as usize;
        assert!((least..least + least / 100).contains(&one.hints()), "{} hints of {least}", one.hints());
    }
}

#[test]
fn every_table_fits_by_every_goal_and_set() {
    let rows = (1..200).chain([(1 << 20) - 1, 3 << 19, 1 << 32]);
    for rows in rows {
        for row_bytes in [1, 33, 4096, 1 << 20] {
            let mut shape = TableShape::new(rows, row_bytes, 1000);
            for goal in Goal::ALL {
                shape.goal = goal;
                checked(&shape);
            }
            for set in Params::sets() {
                shape.set = Some(set.name.into());
                let params = checked(&shape);
                assert_eq!(params.ids_of(params.blocks()), params.one().ids());
                assert!(
                    (0..=params.blocks()).all(|blocks| params.blocks_of(params.ids_of(blocks)) == blocks)
                );
            }
        }
    }
}

#[test]
fn blocks_are_whole_and_bounded() {
    let good = select(&TableShape::new(1000, 32, 1)).unwrap();
    let refused = |change: fn(&mut ParamsLiteral)| {
        let mut literal = good.clone();
        change(&mut literal);
        let refused = matches!(Params::check(literal.clone()), Err(Error::Params(_)));
        assert!(refused, "{literal:?}");
    };
    refused(|literal| literal.block = 0);
    refused(|literal| literal.block = u64::MAX);
    refused(|literal| literal.block /= 2 * literal.block);
    refused(|literal| literal.block += 8);
    refused(|literal| literal.block = literal.hints * 2);
    refused(|literal| literal.hints += 16);
    refused(|literal| literal.pairs += 1);
    refused(|literal| (literal.row_bytes, literal.block) = (1 << 20, 32));
}
