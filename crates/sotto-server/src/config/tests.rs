use super::*;

#[test]
fn the_shortest_file_is_enough() {
    let config = Config::parse("tables = [{ dir = \"ip\" }]").unwrap();
    assert_eq!(config, Config { tables: vec![TableConfig::dir("ip")], ..Config::default() });
}

#[test]
fn every_key_can_be_set() {
    let config = Config::parse(include_str!("../../example.toml")).unwrap();
    assert_eq!(config.listen.port(), 8443);
    assert_eq!(config.batch, BatchConfig { max_wait_us: 300, max_queries: 4 });
    assert_eq!(config.keep_deltas, 3);
    assert_eq!((config.load, config.max_streams, config.streams_per_client), (Load::Copy, 4, 2));
    assert_eq!((config.max_orders, config.orders_per_client, config.order_threads), (5, 1, 3));
    assert_eq!(config.order_seconds_per_client, 90);
    assert_eq!(config.sessions.ttl_seconds, 60);
    assert_eq!((config.sessions.per_client, config.sessions.per_minute), (4, 30));
    assert_eq!(config.state.as_deref(), Some(Path::new("state")));
    assert!(config.tls.is_some() && config.tables.len() == 2);
    assert_eq!((config.role, config.tables[0].role, config.tables[1].role), (1, None, Some(0)));
}

#[test]
fn mistakes_are_named_with_their_line() {
    let why = |text: &str| Config::parse(text).unwrap_err();
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
    let config = Config::read(&file).unwrap();
    assert_eq!(config.tables[0].dir.as_deref(), Some(folder.path().join("ip").as_path()));
    assert_eq!(config.state, Some(folder.path().join("s")));
    assert_eq!(config.tables[1].path.as_deref(), Some(Path::new("/abs/one.sotto")));
    let missing = Config::read(&folder.path().join("none.toml")).unwrap_err().to_string();
    assert!(missing.contains("none.toml"), "{missing}");
}
