//! The blocking client around a scheme: from a lookup to a request, and from the answer to the
//! value. Its random values are not marked, since it draws them itself; the lookup is.

use super::Case;
use super::server::{Server, server_of, value};
use crate::secret::{hidden, show};
use crate::trial::{pick, timed};
use sotto_client::Table;
use sotto_client::transport::InProcessTransport;
use sotto_client::transport::Request;

const ROWS: u64 = 300;
/// Bytes of a row.
const WIDE: usize = 8;

pub(super) fn cases() -> Vec<Case> {
    vec![
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

/// A table whose server reads its public input.
fn opened() -> Table {
    let server: Server = server_of("simplepir/1", ROWS, WIDE as u64);
    let transport = InProcessTransport::new(move |request: &Request| {
        let mut request = request.clone();
        show(request.body.as_mut_slice());
        server.with(|world| world.call(&request))
    });
    Table::over(transport, super::server::NAME).open().expect("an honest server")
}
