//! With the schemes of the registry: a table opened, asked, updated and asked again.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

#[allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]
mod common;

use common::{NAME, server_of, value};
use sotto_client::Table;

#[test]
fn every_scheme_of_the_registry_looks_rows_up() {
    for entry in sotto_registry::SCHEMES.iter().filter(|entry| entry.servers == 1) {
        let server = server_of(entry.id.0, 3000, 5);
        let dir = tempfile::tempdir().unwrap();
        let pin = server.with(|world| world.pin());
        let mut table = Table::over(server.transport(), NAME).pin(pin).cache_dir(dir.path()).open().unwrap();
        for row in [0, 1, 1234, 2999] {
            assert_eq!(table.get(row).unwrap(), value(row, 5), "{}", entry.id);
        }
        assert_eq!(table.get_many(&[5, 5, 6]).unwrap(), [value(5, 5), value(5, 5), value(6, 5)]);
        let (first, again) = {
            server.heard();
            table.get(5).unwrap();
            table.get(5).unwrap();
            let heard = server.heard();
            (heard[0].body.clone(), heard[1].body.clone())
        };
        assert_eq!(first.len(), again.len());
        assert_ne!(first, again, "two queries for one row differ");
        if entry.server.revise.is_some() {
            server.with(|world| world.update(&[1234]));
            assert_eq!(table.get(1234).unwrap(), [0xEE; 5]);
            assert_eq!(table.get(1235).unwrap(), value(1235, 5));
            assert!(entry.patch.is_none() || table.stats().patched_bytes > 0);
        }
    }
}
