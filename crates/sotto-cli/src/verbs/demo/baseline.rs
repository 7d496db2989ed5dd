//! The two alternatives to a private lookup: downloading everything, or querying in the clear. Both
//! run over a bare TCP connection on loopback, the least that any protocol could cost.

use sotto_core::ExpectOrDefault;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The cost of an alternative.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    pub(super) up: u64,
    pub(super) down: u64,
    pub(super) time: Duration,
}

/// Queries row `row` of `table` in the clear, with `row_bytes` bytes to a row; returns the row as
/// well.
pub(super) fn in_the_clear(
    table: &Arc<Vec<u8>>,
    row: u32,
    row_bytes: usize,
) -> std::io::Result<(Cost, Vec<u8>)> {
    let table = Arc::clone(table);
    let address = once(move |mut stream| {
        let mut row = [0; 4];
        stream.read_exact(&mut row)?;
        let start = u32::from_le_bytes(row) as usize * row_bytes;
        stream.write_all(
            table.get(start..start + row_bytes).expect_or_default("the demo looks up a row of the table"),
        )
    })?;
    let began = Instant::now();
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.write_all(&row.to_le_bytes())?;
    let mut answer = Vec::with_capacity(row_bytes);
    stream.read_to_end(&mut answer)?;
    let cost = Cost { up: 4, down: answer.len() as u64, time: began.elapsed() };
    Ok((cost, answer))
}

/// Downloads all of `table`.
pub(super) fn download(table: &Arc<Vec<u8>>) -> std::io::Result<Cost> {
    let bytes = table.len();
    let table = Arc::clone(table);
    let address = once(move |mut stream| stream.write_all(&table))?;
    let began = Instant::now();
    let mut all = Vec::with_capacity(bytes);
    TcpStream::connect(address)?.read_to_end(&mut all)?;
    Ok(Cost { up: 0, down: all.len() as u64, time: began.elapsed() })
}

/// Serves one connection on loopback, and ends.
fn once(
    serve: impl FnOnce(TcpStream) -> std::io::Result<()> + Send + 'static,
) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    // An error at this end appears to the reader at the other end as too few bytes.
    std::thread::spawn(move || listener.accept().and_then(|(stream, _)| serve(stream)));
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_bring_the_bytes_they_count() {
        let table = Arc::new((0..=255u8).collect::<Vec<_>>());
        let (cost, row) = in_the_clear(&table, 3, 2).unwrap();
        assert_eq!((cost.up, cost.down, row), (4, 2, vec![6, 7]));
        assert_eq!(download(&table).unwrap().down, 256);
    }
}
