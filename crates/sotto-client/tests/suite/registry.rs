//! The schemes of the registry: a table is opened, queried, updated and queried again.
use crate::common::{NAME, boxed, server_of, value};
use sotto_client::Table;

#[test]
fn every_scheme_of_the_registry_looks_rows_up() {
    // Those that have proofs in every table are in `verified`.
    for entry in sotto_registry::SCHEMES.iter().filter(|entry| !entry.proven) {
        let servers: Vec<_> = (0..entry.servers).map(|_| server_of(entry.id.0, 3000, 5)).collect();
        for (role, server) in (0..).zip(&servers) {
            server.with(|world| world.role = role);
        }
        let server = &servers[0];
        let dir = tempfile::tempdir().unwrap();
        let pin = server.with(|world| world.pin());
        let transports = servers.iter().map(|server| boxed(server.transport())).collect();
        let mut table = Table::over_all(transports, NAME)
            .pin(pin)
            .cache_dir(dir.path())
            .state_dir(dir.path().join("state"))
            .anchor_dir(dir.path().join("anchors"))
            .open()
            .unwrap();
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
            servers.iter().for_each(|server| server.with(|world| world.update(&[1234])));
            assert_eq!(table.get(1234).unwrap(), [0xEE; 5]);
            assert_eq!(table.get(1235).unwrap(), value(1235, 5));
            assert!(entry.patch.is_none() || table.stats().patched_bytes > 0);
        }
    }
}
