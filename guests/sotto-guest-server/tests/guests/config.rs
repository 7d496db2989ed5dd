//! The settings of the guests in the configuration file of a server, and in its example.

use sotto_guest_server::{AppleConfig, GuestConfig, OhttpConfig};
use sotto_server::ServerConfig;
use std::path::Path;

const EXAMPLE: &str = include_str!("../../example.toml");

#[test]
fn the_example_has_every_key_with_its_default() {
    let (config, guests) = GuestConfig::parse(EXAMPLE).unwrap();
    assert!(config.tls.is_some() && config.state.as_deref() == Some(Path::new("state")));
    assert_eq!((config.tables.len(), config.tables[1].role), (2, Some(0)));
    assert_eq!(
        guests.apple.tokens.as_ref().map(|tokens| tokens.users.as_path()),
        Some(Path::new("users.txt"))
    );
    let apple = AppleConfig { tokens: None, ..guests.apple };
    assert_eq!(GuestConfig { apple, ..guests }, GuestConfig::default());
    assert_eq!(
        ServerConfig { tables: Vec::new(), tls: None, state: None, ..config },
        ServerConfig::default()
    );
    // A field of the debug form is a key of the file.
    let fields = format!("{:#?}\n{:#?}", ServerConfig::default(), GuestConfig::default());
    let names = fields.lines().filter_map(|line| line.trim().split_once(": ").map(|(name, _)| name));
    let line = |line: &'static str| line.trim_start_matches(['#', ' ', '[']).trim_start_matches("apple.");
    let lines: Vec<_> = EXAMPLE.lines().map(line).collect();
    for name in names {
        assert!(lines.iter().any(|line| line.starts_with(name)), "the example lacks {name}");
    }
}

#[test]
fn mistakes_are_named_with_their_line() {
    let why = |text: &str| GuestConfig::parse(text).unwrap_err();
    let unknown = why("threads = 1\n[apple]\nuse_case = []");
    assert!(unknown.contains("line 3") && unknown.contains("unknown field `use_case`"), "{unknown}");
    assert!(why("[apple.tokens]\nusers = \"u\"").contains("missing field `issuer`"));
    assert!(why("[apple.tokens]\nusers = \"u\"\nissuer = \"\"").contains("apple.tokens.issuer is empty"));
    assert!(why("[apple]\nmax_requests = 0").contains("apple.max_requests must be at least 1"));
    // The server's own keys are read after the sections, with the lines of the whole file.
    let unknown = why("[apple]\nuse_cases = []\n[batch]\nmax_wait = 1");
    assert!(unknown.contains("line 4") && unknown.contains("max_wait"), "{unknown}");
}

#[test]
fn paths_are_relative_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sotto.toml");
    let text = "[apple]\nuse_cases = [\"a\", \"/abs\"]\nreports = \"r\"\n[apple.tokens]\nusers = \"u\"\nissuer = \"*\"";
    std::fs::write(&file, text).unwrap();
    let (_, GuestConfig { apple, .. }) = GuestConfig::read(&file).unwrap();
    assert_eq!(apple.use_cases, [folder.path().join("a"), "/abs".into()]);
    assert_eq!(apple.reports, Some(folder.path().join("r")));
    assert_eq!(apple.tokens.unwrap().users, folder.path().join("u"));
}

#[test]
fn a_gateway_is_for_programs_that_were_built_with_one() {
    let lines = EXAMPLE.lines().skip_while(|line| !line.starts_with("# [ohttp]"));
    let lines: Vec<_> = lines.map_while(|line| line.strip_prefix("# ")).collect();
    let parsed = GuestConfig::parse(&lines.join("\n"));
    let why =
        |text: &str| GuestConfig::parse(&format!("tables = []\n[ohttp]\n{text}")).err().unwrap_or_default();
    if cfg!(not(feature = "ohttp")) {
        assert!(parsed.is_err() && why("").contains("--features ohttp"));
        return;
    }
    assert_eq!(parsed.unwrap().1.ohttp, Some(OhttpConfig::default()), "the example has the defaults");
    assert_eq!(why(""), "");
    for path in ["gateway", "", "/{all}", "/a?b", "/a b"] {
        assert!(why(&format!("path = {path:?}")).contains("ohttp.path"), "{path}");
    }
    assert!(why("renew_days = 0").contains("ohttp.renew_days"));
    assert!(why("relays = [\"192.0.2.0/24\"]").contains("line 3"), "an address, and no network");
}
