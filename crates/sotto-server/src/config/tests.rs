use super::*;

#[test]
fn the_shortest_file_is_enough() {
    let config = ServerConfig::parse("tables = [{ dir = \"ip\" }]").unwrap();
    assert_eq!(config, ServerConfig { tables: vec![TableConfig::dir("ip")], ..ServerConfig::default() });
}

#[test]
fn keys_can_be_set() {
    let text = "role = 1\nmax_streams = 4\nconnections_per_client = 2\nresidency = \"copy\"\nkeep_deltas = 3\n\
                skip_image_check = true\ntables = [{ dir = \"a\" }]\n\
                [batch]\nmax_wait_us = 300\n[sessions]\nttl_seconds = 60\nsessions_per_client = 4\n";
    let config = ServerConfig::parse(text).unwrap();
    assert_eq!((config.role, config.max_streams, config.connections_per_client), (1, 4, 2));
    assert_eq!((config.residency, config.keep_deltas, config.skip_image_check), (Residency::Copy, 3, true));
    assert_eq!((config.batch.max_wait_us, config.batch.max_queries), (300, 32));
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
