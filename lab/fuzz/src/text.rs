//! Files that people write: server configurations and bench definitions.

/// A server configuration.
pub(crate) fn server_config(data: &[u8]) -> bool {
    std::str::from_utf8(data).is_ok_and(|text| sotto_guest_server::GuestConfig::parse(text).is_ok())
}

/// The configuration that shows every key, and the shortest.
pub(crate) fn server_configs() -> Vec<Vec<u8>> {
    vec![
        include_bytes!("../../../guests/sotto-guest-server/example.toml").to_vec(),
        b"tables = [{ dir = \"ip\" }]".to_vec(),
    ]
}

/// A bench definition.
pub(crate) fn bench_definition(data: &[u8]) -> bool {
    std::str::from_utf8(data).is_ok_and(|text| sotto_bench::Definition::parse("fuzz.toml", text).is_ok())
}

/// Those that ship with the toolkit.
pub(crate) fn bench_definitions() -> Vec<Vec<u8>> {
    sotto_bench::shipped().iter().map(|shipped| shipped.text.as_bytes().to_vec()).collect()
}
