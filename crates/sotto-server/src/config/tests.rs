use super::*;

#[test]
fn the_shortest_file_is_enough() {
    let config = ServerConfig::parse("tables = [{ dir = \"ip\" }]").unwrap();
    assert_eq!(config, ServerConfig { tables: vec![TableConfig::dir("ip")], ..ServerConfig::default() });
}

const EXAMPLE: &str = include_str!("../../example.toml");

#[test]
fn the_example_has_every_key_with_its_default() {
    let config = ServerConfig::parse(EXAMPLE).unwrap();
    assert!(config.tls.is_some() && config.state.as_deref() == Some(Path::new("state")));
    assert_eq!((config.tables.len(), config.tables[1].role), (2, Some(0)));
    assert_eq!(
        config.apple.tokens.as_ref().map(|tokens| tokens.users.as_path()),
        Some(Path::new("users.txt"))
    );
    let apple = AppleConfig { tokens: None, ..config.apple };
    assert_eq!(
        ServerConfig { tables: Vec::new(), tls: None, state: None, apple, ..config },
        ServerConfig::default()
    );
    // A field of the debug form is a key of the file.
    let fields = format!("{:#?}", ServerConfig::default());
    let names = fields.lines().filter_map(|line| line.trim().split_once(": ").map(|(name, _)| name));
    let line = |line: &'static str| line.trim_start_matches(['#', ' ', '[']).trim_start_matches("apple.");
    let lines: Vec<_> = EXAMPLE.lines().map(line).collect();
    for name in names {
        assert!(lines.iter().any(|line| line.starts_with(name)), "the example lacks {name}");
    }
}

#[test]
fn keys_can_be_set() {
    let text = "role = 1\nmax_streams = 4\nconnections_per_client = 2\nresidency = \"copy\"\nkeep_deltas = 3\n\
                skip_image_check = true\ntables = [{ dir = \"a\" }]\n\
                [batch]\nmax_wait_us = 300\n[sessions]\nttl_seconds = 60\nsessions_per_client = 4\n";
    let config = ServerConfig::parse(text).unwrap();
    assert_eq!((config.role, config.max_streams, config.connections_per_client), (1, 4, 2));
    assert_eq!((config.residency, config.keep_deltas, config.skip_image_check), (Residency::Copy, 3, true));
    assert_eq!((config.batch.max_wait_us, config.batch.max_queries), (300, 8));
    assert_eq!((config.sessions.ttl_seconds, config.sessions.sessions_per_client), (60, 4));
    let both = "self_signed = []\ntables = [{ dir = \"a\" }]\n[tls]\ncert = \"c\"\nkey = \"k\"\n";
    assert!(ServerConfig::parse(both).unwrap_err().contains("give one of the two"));
}

#[test]
fn mistakes_are_named_with_their_line() {
    let why = |text: &str| ServerConfig::parse(text).unwrap_err();
    let unknown = why("tables = [{ dir = \"a\" }]\nmax_in_fligth = 3\n");
    assert!(unknown.contains("line 2") && unknown.contains("max_in_fligth"), "{unknown}");
    assert!(why("tables = [{ dir = \"a\" }]\nthreads = \"many\"").contains("line 2"));
    assert!(why("tables = [{ }]").contains("either dir or path"));
    assert!(why("tables = [{ dir = \"a\", path = \"b\" }]").contains("either dir or path"));
    assert!(why("max_queue = 0\ntables = [{ dir = \"a\" }]").contains("max_queue"));
    assert!(why("[apple.tokens]\nusers = \"u\"").contains("missing field `issuer`"));
    assert!(why("[apple.tokens]\nusers = \"u\"\nissuer = \"\"").contains("apple.tokens.issuer is empty"));
    assert!(why("listen = \"here\"\ntables = [{ dir = \"a\" }]").contains("line 1"));
}

#[test]
fn paths_are_relative_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sotto.toml");
    std::fs::write(&file, "tables = [{ dir = \"ip\" }, { path = \"/abs/one.sotto\" }]\nstate = \"s\"")
        .unwrap();
    let config = ServerConfig::read(&file).unwrap();
    assert_eq!(config.tables[0].dir.as_deref(), Some(folder.path().join("ip").as_path()));
    assert_eq!(config.state, Some(folder.path().join("s")));
    assert_eq!(config.tables[1].path.as_deref(), Some(Path::new("/abs/one.sotto")));
    let missing = ServerConfig::read(&folder.path().join("none.toml")).unwrap_err().to_string();
    assert!(missing.contains("none.toml"), "{missing}");
}

#[test]
fn a_gateway_is_for_programs_that_were_built_with_one() {
    let lines = EXAMPLE.lines().skip_while(|line| !line.starts_with("# [ohttp]"));
    let lines: Vec<_> = lines.map_while(|line| line.strip_prefix("# ")).collect();
    let config: ServerConfig = toml::from_str(&lines.join("\n")).unwrap();
    assert_eq!(config.ohttp, Some(OhttpConfig::default()), "the example has the defaults");
    let why =
        |text: &str| ServerConfig::parse(&format!("tables = []\n[ohttp]\n{text}")).err().unwrap_or_default();
    if cfg!(not(feature = "ohttp")) {
        assert!(why("").contains("--features ohttp"));
        return;
    }
    assert_eq!(why(""), "");
    for path in ["gateway", "", "/{all}", "/a?b", "/a b"] {
        assert!(why(&format!("path = {path:?}")).contains("ohttp.path"), "{path}");
    }
    assert!(why("renew_days = 0").contains("ohttp.renew_days"));
    assert!(why("relays = [\"192.0.2.0/24\"]").contains("line 3"), "an address, and no network");
}
