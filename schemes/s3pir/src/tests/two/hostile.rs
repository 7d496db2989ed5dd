//! Bytes that nobody should have sent or kept.

use super::Served;
use crate::S3pir;
use crate::tests::setup::Table;
use crate::two::S3pirTwo;
use crate::two::message::{Order, Supply};
use sotto_core::{Error, Misuse, Stateful, Upkeep, Wire};
use sotto_testkit::rng::seeded;
use zeroize::Zeroizing;

#[test]
fn a_supply_that_was_not_ordered_is_misuse() {
    let served = Served::new(10, 2);
    let mut client = served.fresh(1);
    let nothing = || Supply(Zeroizing::new(vec![0; served.params.supply_bytes()]));
    let misuse = |result| assert!(matches!(result, Err(Error::Misuse(Misuse::Rule(_)))), "{result:?}");
    misuse(S3pirTwo::stock(&mut client, nothing()));
    assert!(S3pirTwo::order(&mut client).unwrap().is_some());
    S3pirTwo::stock(&mut client, nothing()).unwrap();
    misuse(S3pirTwo::stock(&mut client, nothing()));
    let mut client = served.client(1);
    assert!(S3pirTwo::order(&mut client).unwrap().is_none());
    misuse(S3pirTwo::stock(&mut client, nothing()));
}

#[test]
fn orders_are_of_blocks_that_exist() {
    let served = Served::new(10, 2);
    let blocks = served.params.blocks() as u32;
    let order = |block: u32| [&[9; 16], &block.to_le_bytes()[..]].concat();
    for block in [0, 1, blocks - 1] {
        let read = Order::take(&served.params, &order(block)).unwrap();
        let mut out = Vec::new();
        read.put(&served.params, &mut out);
        assert_eq!((out, read.block), (order(block), block));
    }
    for block in [blocks, blocks + 1, u32::MAX] {
        assert!(matches!(Order::take(&served.params, &order(block)), Err(Error::Peer(_))), "block {block}");
    }
}

/// States of clients with no hints, some, all, and some of the second block of pairs.
#[test]
fn damaged_states_are_refused_or_harmless() {
    let served = Served::new(2, 2);
    let rng = &mut seeded("damaged states");
    let mut some = served.fresh(2);
    served.supply(&mut some);
    let mut asked = served.client(3);
    for index in 0..5 {
        served.fetch(&mut asked, index % 2, rng).unwrap();
        let _ = served.ask(&mut asked, index % 2, rng);
        served.supply(&mut asked);
    }
    for client in [&served.fresh(1), &some, &served.client(1), &asked] {
        let state = served.saved(client);
        for len in 0..state.len() {
            let short = S3pirTwo::load(&served.params, &mut &state[..len]).map(|_| "a client");
            assert!(matches!(short, Err(Error::Peer(_))), "{len} of {}: {short:?}", state.len());
        }
        for at in 0..state.len().min(400) {
            for flip in [1, 0x80, 0xFF] {
                let mut damaged = state.clone();
                damaged[at] ^= flip;
                damaged.resize(2 * state.len(), 0);
                match S3pirTwo::load(&served.params, &mut damaged.as_slice()) {
                    Err(error) => assert!(matches!(error, Error::Peer(_)), "byte {at}: {error:?}"),
                    Ok(mut client) => {
                        let _ = S3pirTwo::order(&mut client).unwrap();
                        let _ = sotto_core::Client::query(&mut client, sotto_core::RecordIndex(1), rng);
                        served.saved(&client);
                    }
                }
            }
        }
    }
}

#[test]
fn damaged_journals_are_refused_or_harmless() {
    let served = Served::new(2, 1);
    let rng = &mut seeded("damaged journals");
    let mut client = served.fresh(1);
    let base = served.saved(&client);
    served.supply(&mut client);
    let first = S3pirTwo::journal(&mut client);
    while served.supply(&mut client) {}
    for index in [0, 1] {
        served.fetch(&mut client, index, rng).unwrap();
        served.supply(&mut client);
    }
    let rest = S3pirTwo::journal(&mut client);
    let replay = |entry: &[u8]| S3pirTwo::replay(&mut served.loaded(&base), entry);
    assert!(matches!(replay(&rest), Err(Error::Peer(_))), "a block before the first was taken");
    assert!(replay(&[&first[..], &first, &rest].concat()).is_ok(), "a block that is there is passed over");
    let whole = [&first[..], &rest].concat();
    for len in 1..whole.len() {
        // At the end of a record there is nothing amiss.
        if let Err(error) = replay(&whole[..len]) {
            assert!(matches!(error, Error::Peer(_)), "{len}: {error:?}");
        }
    }
    for at in (0..whole.len()).filter(|at| at % 3 == 0 || *at < 40) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        if let Err(error) = replay(&damaged) {
            assert!(matches!(error, Error::Peer(_)), "{at}: {error:?}");
        }
    }
    // More blocks than are due: pairs that were promoted would be written over.
    let mut full = served.client(1);
    let base = served.saved(&full);
    assert!(!served.supply(&mut full));
    let block = served.params.blocks_of(full.one.hints.stocked) as u64;
    let more = [&[4], &block.to_le_bytes()[..], &vec![0; served.params.supply_bytes()]].concat();
    assert!(matches!(S3pirTwo::replay(&mut served.loaded(&base), &more), Err(Error::Peer(_))));
}

/// A client that streams the table has no blocks.
#[test]
fn a_supply_in_the_journal_of_one_server_is_refused() {
    let table = Table::new(10, 2, 64);
    let mut client = table.client(1);
    let entry = [&[4], &[0; 8][..], &[0; 64]].concat();
    assert!(matches!(S3pir::replay(&mut client, &entry), Err(Error::Peer(_))));
}
