//! `sotto serve --gpu` on the first card of the machine, or on a driver of software: the bytes of a
//! server without it.

use crate::harness::{Folder, Served, sotto};
use serde_json::Value;
use sotto_catalog::{Catalog, SignedCatalog};
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Transport};
use sotto_core::{ParamsDigest, RecordIndex};
use sotto_testkit::rng::seeded;
use sotto_wire::{FrameHeader, SessionId, query, routes};

const LIMIT: u64 = 1 << 28;

/// Makes a request to a server.
fn call(server: &Served, request: &Request) -> Vec<u8> {
    let response = HttpTransport::new(&server.url, &HttpSettings::default()).unwrap().call(request).unwrap();
    assert_eq!(response.status, 200, "{}", String::from_utf8_lossy(&response.body));
    response.body
}

fn catalog(server: &Served, table: &str) -> Catalog {
    let body = call(server, &Request::get(routes::table(table, None), LIMIT));
    SignedCatalog::parse(&body).unwrap().verify(None).unwrap()
}

/// A request for as many records as an epoch of a table.
fn frame(server: &Served, catalog: &Catalog, count: u64) -> Vec<u8> {
    let scheme = sotto_registry::find(&catalog.scheme).unwrap();
    let params = catalog.params.to_string();
    let mut prepare = (scheme.prepare)(params.as_bytes(), &mut seeded("client")).unwrap();
    for need in prepare.needs() {
        let entry = catalog.artifacts.iter().find(|entry| entry.artifact == need.artifact).unwrap();
        let path = routes::artifact(&entry.digest.to_string());
        prepare.absorb(need.artifact, &call(server, &Request::get(path, LIMIT))).unwrap();
    }
    let mut client = prepare.finish().unwrap();
    let records = (scheme.report)(params.as_bytes()).unwrap().records;
    let mut queries = Vec::new();
    for i in 0..count {
        let rng = &mut seeded(&format!("query {i}"));
        queries.extend(client.query(RecordIndex(i * 37 % records), rng).unwrap().0);
    }
    let digest = ParamsDigest(catalog.params_digest.0);
    let pin = FrameHeader { server: 0, epoch: catalog.epoch, digest };
    query::encode(&pin, &SessionId::NONE, &queries).unwrap()
}

/// Compares the responses of two servers to requests for an epoch.
fn compare(table: &str, catalog: &Catalog, [plain, accelerated]: [&Served; 2]) {
    for count in [1, 2, 11, 40] {
        let request = Request::post(routes::query(table), frame(plain, catalog, count), LIMIT);
        assert!(call(plain, &request) == call(accelerated, &request), "{table}, {count} queries");
    }
}

/// Who makes the passes over the only table.
fn passes(server: &Served) -> &Value {
    &server.tables[0]["passes"]
}

#[test]
fn a_graphics_card_gives_the_processors_bytes() {
    let folder = Folder::new();
    for (scheme, rows, bytes) in
        [("simplepir", 701, 23), ("doublepir", 3001, 3), ("ypir", 1500, 5), ("ypir-sp", 90, 3001)]
    {
        let line = |row: usize| format!("{:0bytes$}\n", row * 7 % 1000);
        let source = folder.write("rows.csv", (0..rows).map(line).collect::<String>());
        let options = format!("--scheme {scheme} --value 1 --row-bytes {bytes}");
        let dir = folder.encode(scheme, &source, &options);
        let servers = [Served::start(&[&dir]), Served::start(&[&dir, "--gpu", "--batch-queries", "128"])];
        let [plain, accelerated] = &servers;
        assert!(passes(plain).is_null());
        assert!(passes(accelerated)["device"].is_string(), "{}", accelerated.tables);
        let first = catalog(plain, scheme);
        compare(scheme, &first, [plain, accelerated]);

        // The old epoch and the new one are answered, one after the other.
        let changes = folder.write("changes.csv", format!("7,{}\n", "9".repeat(bytes)));
        let updated = sotto(&["update", &dir, &changes, "--no-header"]);
        assert_eq!(updated.code, 0, "{}{}", updated.stdout, updated.stderr);
        servers.iter().for_each(Served::reload);
        let second = catalog(accelerated, scheme);
        assert_eq!(second.epoch.0, 2);
        for epoch in [&first, &second, &first] {
            compare(scheme, epoch, [plain, accelerated]);
        }
        let metrics = accelerated.ask_admin("GET /metrics");
        let both = format!(
            "sotto_accelerated_bytes{{table=\"{scheme}\"}} {}",
            2 * passes(accelerated)["bytes"].as_u64().unwrap()
        );
        assert!(metrics.contains(&both), "no {both} in {metrics}");
    }
}

#[test]
fn a_graphics_card_with_too_little_memory_leaves_a_table_to_the_processor() {
    let folder = Folder::new();
    let rows = folder.write("rows.csv", (0..20_000).map(|row| format!("{row:064}\n")).collect::<String>());
    let dir = folder.encode("words", &rows, "--scheme simplepir --value 1 --row-bytes 64");
    let small = Served::start(&[&dir, "--gpu", "--gpu-memory-mib", "1"]);
    assert!(passes(&small)["device"].is_null(), "{}", small.tables);
    assert!(passes(&small)["why"].as_str().unwrap().contains("left"), "{}", small.tables);
    let plain = Served::start(&[&dir]);
    let first = catalog(&plain, "words");
    compare("words", &first, [&plain, &small]);
}

#[test]
fn a_graphics_card_is_found_by_the_doctor() {
    let outcome = sotto(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(outcome.stdout.lines().last().unwrap()).unwrap();
    let about = |finding: &&Value| finding["about"] == "graphics card";
    let cards: Vec<&Value> = report["findings"].as_array().unwrap().iter().filter(about).collect();
    assert!(!cards.is_empty(), "{}", outcome.stdout);
    for card in cards {
        assert!(card["level"] != "mend" && card["found"].as_str().unwrap().contains("vulkan"), "{card}");
    }
}
