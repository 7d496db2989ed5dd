//! Rows in records, and bits in rows; and both through the blocking client around a scheme: from a
//! lookup to a request, and from the answer to the value. Its random values are not marked, since it
//! draws them itself; the lookup is.

use super::Case;
use super::server::{self, Server, server_of, value};
use crate::secret::{bytes_of, hidden, pick, show, shown, timed};
use sotto_catalog::rows_root::{self, LeafHasher, NODE_BYTES, Node};
use sotto_catalog::{BitPosition, Packing, RowsRoot};
use sotto_client::Table;
use sotto_client::transport::{InProcessTransport, Request};
use sotto_core::{Record, RecordIndex};

const ROWS: u64 = 300;
/// Bytes of a row.
const WIDE: usize = 8;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("packing/narrow", 3, || row(Packing::new(100, 7, 5, 150))),
        Case::new("packing/wide", 3, || row(Packing::new(10, 40, 30, 16))),
        Case::new("rows-root/verifies", 3, verified),
        Case::new("bit/of", 1, || |_| bit()),
        Case::new("client/row", 2, || {
            let mut table = opened();
            move |round| {
                let row = pick([17, ROWS - 1][round], ROWS);
                let mut got = timed(|| table.get(hidden(row))).expect("a row of the table");
                show(got.as_mut_slice());
                assert!(got == value(row, WIDE));
            }
        }),
        Case::new("client/bit", 2, || {
            let mut table = opened();
            move |round| {
                let bits = ROWS * 8 * WIDE as u64;
                let bit = pick([17 * 64 + 5, bits - 1][round], bits);
                let mut got = timed(|| table.get_bits(&[hidden(bit)])).expect("a bit of the table");
                show(got.as_mut_slice());
                let (row, within) = (value(bit / 64, WIDE), bit % 64);
                assert!(got == [row[within as usize / 8] >> (within % 8) & 1 == 1]);
            }
        }),
    ]
}

/// A row's records, and the row out of them.
fn row(packing: sotto_core::Result<Packing>) -> impl FnMut(usize) {
    let packing = packing.expect("rows that fit");
    let wide = packing.record_bytes() as usize;
    move |round| {
        let row = pick([0, 8, packing.rows() - 1][round], packing.rows());
        let records: Vec<Record> = timed(|| packing.records_of(hidden(row)))
            .into_iter()
            .map(|RecordIndex(record)| {
                let record = shown(record);
                Record::new((0..wide).map(|at| hidden(record as u8 ^ at as u8)).collect())
            })
            .collect();
        let extracted = timed(|| packing.extract(hidden(row), &records));
        let got = Record::new(extracted.expect("a row that there is"));
        let places = packing.places(row).expect("a row that there is");
        let want = places.iter().flat_map(|place| {
            (place.offset as u8..).take(place.bytes.len()).map(|at| place.record as u8 ^ at)
        });
        assert!(bytes_of(&got).into_iter().eq(want), "row {row}");
    }
}

/// Whether a row is the one that was signed: of eight leaves of two rows, one node above each beside, and a tree of four nodes.
fn verified() -> impl FnMut(usize) {
    let leaf = |leaf: u8| vec![leaf ^ 0x5A; 14];
    let leaves: Vec<Node> = (0..8).map(|number| LeafHasher::of(&leaf(number))).collect();
    let tree: Vec<u8> = leaves.chunks(2).flat_map(|pair| rows_root::parent(&pair[0], &pair[1])).collect();
    let root = RowsRoot { root: rows_root::root(&tree), leaf_rows: 2, path: Some(1) };
    let packing = Packing::new(16, 7, 8, 50).and_then(|packing| packing.with_paths(2, root.path_bytes()));
    let packing = packing.expect("rows that fit, with a node");
    move |round| {
        let row = pick([0, 9, 15][round], packing.rows());
        let number = row as u8 / 2;
        let mut record = leaf(number);
        record.resize(50 - NODE_BYTES, 0);
        record.extend(leaves[usize::from(number ^ 1)]);
        let records = [Record::new(record.into_iter().map(hidden).collect())];
        let found = timed(|| root.verifies(&packing, hidden(row), &records, &tree));
        assert!(shown(found.expect("a table with proofs")), "row {row}");
    }
}

fn bit() {
    let at = pick(19, 32);
    let bit = timed(|| BitPosition::locate(hidden(at), 4, 2)).expect("a bit of the table");
    let row = shown(bit.row());
    // Bits of a row count from the low end of its first byte.
    let within = at % 16;
    assert!(row == at / 16);
    let bytes = (1u16 << within).to_le_bytes();
    assert!(shown(timed(|| bit.of(&hidden(bytes)))));
}

/// A table whose server reads its public input.
fn opened() -> Table {
    let server: Server = server_of("simplepir/1", ROWS, WIDE as u64);
    let transport = InProcessTransport::new(move |request: &Request| {
        let mut request = request.clone();
        show(request.body.as_mut_slice());
        server.with(|world| world.call(&request))
    });
    Table::over(transport, server::NAME).open().expect("an honest server")
}
