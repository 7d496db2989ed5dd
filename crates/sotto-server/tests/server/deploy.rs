//! The files of `deploy/`: settings are parsed, and metrics exist.

use sotto_server::ServerConfig;
use std::collections::BTreeSet;
use std::path::Path;

const DASHBOARD: &str = include_str!("../../../../deploy/grafana/sotto.json");
const ALERTS: &str = include_str!("../../../../deploy/prometheus/alerts.yaml");
const RUNBOOK: &str = include_str!("../../../../deploy/runbook.md");
const UNIT: &str = include_str!("../../../../deploy/systemd/sotto.service");

/// Every name that begins with `sotto_` in a text.
fn names(text: &str) -> BTreeSet<&str> {
    let letter = |c: char| c.is_ascii_lowercase() || c == '_';
    let starts = text.match_indices("sotto_").map(|(at, _)| &text[at..]);
    starts.map(|rest| &rest[..rest.find(|c| !letter(c)).unwrap_or(rest.len())]).collect()
}

#[test]
fn every_metric_of_the_dashboard_and_of_the_alerts_is_one_that_a_server_gives() {
    let sample = sotto_server::metrics_sample(|_| ());
    let described = sample.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split(' ').next());
    let described: BTreeSet<&str> = described.collect();
    let used: BTreeSet<&str> = names(DASHBOARD).into_iter().chain(names(ALERTS)).collect();
    assert!(used.len() > 15 && described.len() > 20);
    for name in used {
        let base = ["_total", "_bucket"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(described.contains(base), "no server gives {name}");
    }
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    assert!(dashboard["panels"].as_array().unwrap().len() > 12);
}

#[test]
fn every_alert_says_what_to_do() {
    let titles = RUNBOOK.lines().filter_map(|line| line.strip_prefix("## "));
    let anchors: BTreeSet<String> =
        titles.map(|title| title.to_lowercase().replace(' ', "-").replace(['.', ',', '\''], "")).collect();
    assert_eq!(anchors.len(), 10);
    let named: Vec<&str> =
        ALERTS.split("runbook.md#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(named.len(), ALERTS.matches("- alert:").count());
    for anchor in named {
        assert!(anchors.contains(anchor), "no entry {anchor} among {anchors:?}");
    }
}

#[test]
fn the_settings_are_settings_and_the_unit_gives_time_to_end() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/sotto.toml");
    let config = ServerConfig::read(&path).unwrap();
    assert!(config.tls.is_some() && config.admin_listen.ip().is_loopback() && config.state.is_some());
    let value = |key: &str| UNIT.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    assert!(value("TimeoutStopSec=").parse::<u64>().unwrap() > config.drain_seconds);
    assert!(value("ExecReload=").contains(&format!("{}/reload", config.admin_listen)));
    assert_eq!(config.state.unwrap(), Path::new("/var/lib").join(value("StateDirectory=")));
}

#[test]
fn behind_a_proxy_nothing_is_counted_by_address() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/behind-proxy.toml");
    let config = ServerConfig::read(&path).unwrap();
    assert!(
        config.tls.is_none() && config.listen.ip().is_loopback() && config.admin_listen.ip().is_loopback()
    );
    let counts = [config.connections_per_client, config.streams_per_client, config.hint_requests_per_client];
    assert_eq!(counts, [0; 3]);
    assert_eq!((config.hint_seconds_per_client, config.evaluations_per_client), (0, 0));
    assert_eq!((config.sessions.sessions_per_client, config.sessions.registrations_per_minute), (0, 0));
    assert!(config.scan_budget.percent_per_client == 0 && config.scan_budget.percent > 0);
    for proxy in ["nginx/sotto.conf", "caddy/Caddyfile"] {
        let text = std::fs::read_to_string(path.with_file_name(proxy)).unwrap();
        assert!(text.contains(&format!("{}", config.listen)), "{proxy}");
        assert!(!text.contains(&format!(":{}", config.admin_listen.port())), "{proxy}");
    }
}
