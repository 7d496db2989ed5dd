//! Streamed rows: whole, interrupted and resumed, refused.
use crate::common::{Server, server, server_of, value};
use crate::watched::Breaking;
use sotto_catalog::rows_root::{self, LeafHasher};
use sotto_catalog::{ArtifactEntry, RowsRoot};
use sotto_client::table::{Stage, Table};
use sotto_client::transport::{Request, Response};
use sotto_core::{Artifact, Image, Section};
use sotto_wire::{Problem, ProblemCode, stream};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// A server of three rows that a client can stream.
fn streams(row_bytes: u64) -> Server {
    server_of("clear-stream/1", 3, row_bytes)
}

/// The bytes of a row: `0xEE` throughout, since a wrong unit would not show among zeros.
fn marked(server: &Server, row: u64) {
    server.with(|world| world.update(&[row]));
}

fn stream_of(table: &mut Table, row: u64) -> Result<Vec<u8>, (&'static str, Vec<u8>)> {
    let mut out = Vec::new();
    match table.stream(row, &mut out) {
        Ok(_) => Ok(out),
        Err(error) => Err((error.code(), out)),
    }
}

/// The stream requests that a server received: the first unit and the query of each.
fn asked(server: &Server) -> Vec<(u64, Vec<u8>)> {
    let received = server.received();
    let streams = received.iter().filter(|request| request.path.ends_with("/stream"));
    let head = |request: &Request| stream::StreamHead::parse(&request.body).unwrap();
    streams.map(|request| (head(request).first, request.body[stream::HEAD_BYTES..].to_vec())).collect()
}

/// A transport that breaks after each of these numbers of bytes in turn.
fn breaking_line(server: &Server, after: &[usize]) -> Breaking {
    // Pieces of a length that divides nothing.
    Breaking::new(server, after, 37)
}

/// A table over such a transport.
fn breaking(server: &Server, after: &[usize]) -> Table {
    Table::over(breaking_line(server, after), crate::common::NAME)
        .resolve(crate::common::resolve)
        .open()
        .unwrap()
}

#[test]
fn a_row_comes_whole_and_without_its_padding() {
    for row_bytes in [17, 4096, 4099, 300_001] {
        let server = streams(row_bytes);
        let mut table = server.table().open().unwrap();
        for row in 0..3 {
            assert_eq!(stream_of(&mut table, row).unwrap(), value(row, row_bytes as usize));
        }
        marked(&server, 2);
        assert_eq!(stream_of(&mut table, 2).unwrap(), vec![0xEE; row_bytes as usize]);
        assert_eq!(table.get(2).unwrap(), vec![0xEE; row_bytes as usize], "asks go on");
    }
}

#[test]
fn every_stream_looks_the_same() {
    let server = streams(4096);
    let mut table = server.table().open().unwrap();
    server.received();
    let mut shapes = Vec::new();
    for row in [0, 1, 2, 0] {
        let stats = table.stream(row, &mut io::sink()).unwrap();
        let received = server.received();
        assert_eq!(received.len(), 1);
        assert_eq!((stats.requests, stats.up), (1, received[0].body.len() as u64));
        assert_eq!((stats.row_bytes, stats.epoch), (4096, 1));
        assert!(stats.down > 4096 && stats.units > 1);
        shapes.push((
            received[0].path.clone(),
            received[0].body[..stream::HEAD_BYTES].to_vec(),
            received[0].limit,
        ));
    }
    assert!(shapes.iter().all(|one| *one == shapes[0]));
    assert_eq!(table.stats().streams.requests, 4);
}

#[test]
fn progress_goes_to_the_end_and_never_back() {
    let server = streams(4096);
    let steps = Arc::new(Mutex::new(Vec::new()));
    let sink = steps.clone();
    let builder = server.table().progress(move |at| {
        if at.stage == Stage::Row {
            sink.lock().unwrap().push((at.done, at.total));
        }
    });
    builder.open().unwrap().stream(1, &mut io::sink()).unwrap();
    let steps = steps.lock().unwrap();
    assert!(steps.windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!(steps.last(), Some(&(4096, 4096)));
}

#[test]
fn a_stream_that_breaks_goes_on_where_it_broke_off() {
    let server = streams(4096);
    marked(&server, 1);
    // A unit of 1024 bytes is answered by 1032, after a head of 48: in the head, between head and units, inside a
    // unit, between two.
    for (after, starts) in [
        (&[0][..], &[0, 0][..]),
        (&[47], &[0, 0]),
        (&[48], &[0, 0]),
        (&[48 + 1031], &[0, 0]),
        (&[48 + 1032], &[0, 1]),
        (&[48 + 1032 + 5, 48 + 2 * 1032, 20, 20, 48], &[0, 1, 3, 3, 3, 3]),
    ] {
        let mut table = breaking(&server, after);
        server.received();
        assert_eq!(stream_of(&mut table, 1).unwrap(), vec![0xEE; 4096], "cut after {after:?}");
        let asked = asked(&server);
        assert_eq!(asked.iter().map(|(first, _)| *first).collect::<Vec<_>>(), starts);
        assert!(asked.iter().all(|(_, query)| *query == asked[0].1), "the same query, bit for bit");
    }
}

#[test]
fn a_line_that_breaks_without_end_ends() {
    let server = streams(4096);
    let mut table = breaking(&server, &[48 + 1032 + 9, 9, 9, 9, 9, 9]);
    server.received();
    assert_eq!(stream_of(&mut table, 1), Err(("connection-lost", value(1, 4096)[..1024].to_vec())));
    assert_eq!(asked(&server).len(), 5);
    assert_eq!(stream_of(&mut table, 1).unwrap(), value(1, 4096), "the next one is a new one");
}

#[test]
fn keys_the_server_has_dropped_are_registered_again_in_the_middle() {
    let server = streams(4096);
    let mut line = breaking_line(&server, &[48 + 2 * 1032]);
    line.forgets = Some(server.clone());
    let mut table = Table::over(line, crate::common::NAME).resolve(crate::common::resolve).open().unwrap();
    server.received();
    assert_eq!(stream_of(&mut table, 1).unwrap(), value(1, 4096));
    assert_eq!(table.stats().keys.requests, 2);
    let asked = asked(&server);
    assert_eq!(asked.iter().map(|(first, _)| *first).collect::<Vec<_>>(), [0, 2, 2]);
    assert!(asked.iter().all(|(_, query)| *query == asked[0].1));
    // A server that drops keys at once is given up.
    let forgotten = || Problem::new(ProblemCode::SessionExpired, "who are you?").to_bytes();
    server.tamper(move |request, honest| {
        Ok(if request.path.ends_with("/stream") { Response::new(410, forgotten()) } else { honest })
    });
    server.received();
    assert_eq!(stream_of(&mut table, 1), Err(("session-expired", vec![])));
    assert_eq!(server.received().len(), 4, "asked, registered, asked; and the keys that were for nothing");
}

#[test]
fn rows_of_two_epochs_do_not_mix() {
    // Before any unit has arrived, the new epoch is queried.
    let server = streams(4096);
    let mut table = server.table().open().unwrap();
    marked(&server, 1);
    assert_eq!(stream_of(&mut table, 1).unwrap(), vec![0xEE; 4096]);
    assert_eq!(table.stats().keys.requests, 1, "with the keys of the old");

    // Later it is an error.
    let mut table = breaking(&server, &[48 + 1032]);
    let stale = || Problem::new(ProblemCode::StaleEpoch, "over").to_bytes();
    let mut first = true;
    server.tamper(move |request, honest| {
        let over = request.path.ends_with("/stream") && !std::mem::replace(&mut first, false);
        Ok(if over { Response::new(409, stale()) } else { honest })
    });
    assert_eq!(stream_of(&mut table, 1), Err(("epoch-changed", vec![0xEE; 1024])));
}

#[test]
fn a_damaged_unit_ends_the_stream_and_is_not_told() {
    let server = streams(4096);
    let mut table = server.table().open().unwrap();
    server.tamper(|request, mut response| {
        if request.path.ends_with("/stream") {
            response.body[48 + 1032 + 100] ^= 1;
        }
        Ok(response)
    });
    server.received();
    assert_eq!(stream_of(&mut table, 1), Err(("unreadable", value(1, 4096)[..1024].to_vec())));
    assert_eq!(server.received().len(), 1, "a retry would tell the server");

    // Every response is read to its end, and every broken stream is resumed.
    let mut table = breaking(&server, &[48 + 2 * 1032]);
    server.received();
    assert_eq!(stream_of(&mut table, 1), Err(("unreadable", value(1, 4096)[..1024].to_vec())));
    assert_eq!(asked(&server).iter().map(|(first, _)| *first).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(table.stats().streams.down, 2 * (48 + 2 * 1032));
}

#[test]
fn every_bit_of_the_head_counts_and_so_does_the_length() {
    for bit in 0..48 * 8 {
        let server = streams(4096);
        let mut table = server.table().open().unwrap();
        server.tamper(move |request, mut response| {
            if request.path.ends_with("/stream") {
                response.body[bit / 8] ^= 1 << (bit % 8);
            }
            Ok(response)
        });
        assert_eq!(stream_of(&mut table, 1), Err(("bad-answer", vec![])), "bit {bit}");
    }
    let server = streams(4096);
    let mut table = server.table().open().unwrap();
    server.tamper(|request, mut response| {
        if request.path.ends_with("/stream") {
            response.body.push(0);
        }
        Ok(response)
    });
    assert_eq!(stream_of(&mut table, 1), Err(("response-too-large", vec![])));
}

#[test]
fn what_cannot_be_streamed_is_not_asked_for() {
    for (server, why) in [
        (server(3, 4096), "whole records"),
        (server_of("simplepir/1", 300, 8), "whole records"),
        (streams(8), "share a record"),
    ] {
        let mut table = server.table().open().unwrap();
        server.received();
        let error = table.stream(1, &mut io::sink()).unwrap_err();
        assert_eq!(error.code(), "cannot-stream");
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(server.received(), []);
    }
}

/// A writer that is full after the given number of bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_stream() {
    let server = streams(4096);
    let mut table = server.table().open().unwrap();
    server.received();
    assert_eq!(table.stream(1, &mut Full(2000)).unwrap_err().code(), "output");
    assert_eq!(server.received().len(), 1);
}

/// Gives the table a tree over its rows, each of which is a leaf.
fn proved(server: &Server, row_bytes: usize) {
    server.with(|world| {
        let tree: Vec<u8> = (0..3).flat_map(|row| LeafHasher::of(&value(row, row_bytes))).collect();
        world.catalog.rows_root = RowsRoot { root: rows_root::root(&tree), leaf_rows: 1, path: Some(0) };
        let entry = ArtifactEntry::of(Artifact::Tree, &tree, None);
        world.artifacts.insert(entry.digest.to_string(), tree);
        world.catalog.artifacts.push(entry);
    });
}

#[test]
fn a_streamed_row_is_compared_with_what_was_signed_once_it_is_there() {
    let server = streams(5000);
    proved(&server, 5000);
    let mut table = server.table().require_row_proofs().open().unwrap();
    for row in 0..3 {
        assert_eq!(stream_of(&mut table, row).unwrap(), value(row, 5000));
    }
    // The server changes the last byte of row 1: the bytes before are passed on, and the row is
    // refused.
    server.with(|world| {
        let mut bytes = world.image.section(Section::Resident).unwrap().to_vec();
        bytes[2 * 5000 - 1] ^= 1;
        world.image = world.image.with(Section::Resident, &bytes);
    });
    let (code, handed_on) = stream_of(&mut table, 1).unwrap_err();
    assert_eq!((code, handed_on.len()), ("row-proof-invalid", 5000));
    assert_eq!(stream_of(&mut table, 0).unwrap(), value(0, 5000));
}
