//! Web pages of other origins.

use crate::harness::http::{Response, request};
use crate::harness::*;
use sotto_server::ServerConfig;
use sotto_wire::{Code, routes};

const PAGE: &str = "https://page.example";

fn open_to(origins: &[&str]) -> World {
    world(&ServerConfig {
        allow_origins: origins.iter().map(|&origin| origin.to_owned()).collect(),
        ..config()
    })
}

fn from(origin: &str, world: &World, method: &str, path: &str) -> Response {
    let headers = [("origin", origin), ("access-control-request-method", "POST")];
    request(world.at, method, path, &headers, &[])
}

#[test]
fn nobody_elses_pages_may_ask_unless_somebody_says_so() {
    let world = open_to(&[]);
    let question = from(PAGE, &world, "OPTIONS", &routes::query("t"));
    assert_refused(&question, Code::WrongMethod);
    for response in [question, from(PAGE, &world, "GET", routes::TABLES)] {
        assert_eq!(response.header("access-control-allow-origin"), None);
        assert_eq!(response.header("vary"), None, "no origin makes a difference");
    }
}

#[test]
fn pages_of_those_that_are_named_may_and_no_others() {
    let world = open_to(&[PAGE, "http://localhost:3000"]);
    let question = from(PAGE, &world, "OPTIONS", &routes::query("t"));
    assert_eq!((question.status, question.body.len()), (204, 0));
    assert_eq!(question.header("access-control-allow-methods"), Some("GET, POST"));
    assert_eq!(question.header("access-control-allow-headers"), Some("content-type, if-none-match, range"));
    // A page may read refusals too: they contain the remedy.
    for path in [routes::TABLES, "/nothing"] {
        let response = from(PAGE, &world, "GET", path);
        assert_eq!(response.header("access-control-allow-origin"), Some(PAGE), "{path}");
        assert_eq!(response.header("access-control-expose-headers"), Some("retry-after, server-timing"));
        assert_eq!(response.header("vary"), Some("origin"));
        assert_eq!(response.header("access-control-allow-credentials"), None);
    }
    for other in ["https://page.example.evil", "http://page.example", "null", "https://page.example:443"] {
        let response = from(other, &world, "GET", routes::TABLES);
        assert_eq!(response.header("access-control-allow-origin"), None);
        // A cache must not serve this response to a page that may read it.
        assert_eq!(response.header("vary"), Some("origin"), "{other}");
        assert_refused(&from(other, &world, "OPTIONS", &routes::query("t")), Code::WrongMethod);
    }
    assert_eq!(
        request(world.at, "GET", routes::TABLES, &[], &[]).header("vary"),
        Some("origin"),
        "not an origin"
    );
}

#[test]
fn all_pages_may_where_all_are_named() {
    let world = open_to(&["*"]);
    let response = from(PAGE, &world, "GET", routes::TABLES);
    assert_eq!(response.header("access-control-allow-origin"), Some(PAGE));
}

#[test]
fn what_is_no_origin_is_refused() {
    for other in
        ["https://page.example/", "page.example", "https://", "HTTPS://page.example", "https://a b", ""]
    {
        let why = ServerConfig::parse(&format!("allow_origins = [\"{other}\"]")).unwrap_err();
        assert!(why.contains("is not an origin"), "{other}: {why}");
    }
    assert!(
        ServerConfig::parse("allow_origins = [\"https://page.example\", \"http://[::1]:80\", \"*\"]").is_ok()
    );
}
