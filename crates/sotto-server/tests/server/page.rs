//! Web pages: the files of a page that the server shows and no others, and its security headers; and
//! pages of other origins.

use crate::harness::http::{Response, request};
use crate::harness::*;
use sotto_server::{Server, ServerConfig, StartError};
use sotto_wire::{ProblemCode, routes};
use std::path::Path;

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let file = folder.join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, bytes).unwrap();
}

fn with(folder: &Path) -> ServerConfig {
    ServerConfig { static_dir: Some(folder.to_owned()), ..config() }
}

/// The reason why a server with this page does not start.
fn refused(folder: &Path) -> String {
    let source = TestSource::with(EncodedTable::clear(1, &Probe::new()));
    match Server::start_with(&with(folder), vec![Box::new(source)]) {
        Err(error @ StartError::Page { .. }) => error.to_string(),
        other => panic!("{:?}", other.map(|_| ())),
    }
}

#[test]
fn a_pages_files_are_served_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page");
    write(dir.path(), "secret.js", b"secret");
    write(&page, "index.html", b"<!doctype html>");
    write(&page, "sotto/pkg/client_bg.wasm", b"\0asm");
    write(&page, "sotto/js/index.js", b"export {}");
    write(&page, "logo.png", b"\x89PNG");
    write(&page, "signing.key", b"secret");
    let world = world(&with(&page));
    for (path, kind, body) in [
        ("/", "text/html; charset=utf-8", &b"<!doctype html>"[..]),
        ("/index.html", "text/html; charset=utf-8", b"<!doctype html>"),
        ("/sotto/pkg/client_bg.wasm", "application/wasm", b"\0asm"),
        ("/sotto/js/index.js", "text/javascript; charset=utf-8", b"export {}"),
        ("/logo.png", "image/png", b"\x89PNG"),
    ] {
        let response = get(world.at, path);
        assert_eq!((response.status, &*response.body), (200, body), "{path}");
        assert_eq!(response.header("content-type"), Some(kind), "{path}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(response.header("cross-origin-opener-policy"), Some("same-origin"));
        assert_eq!(response.header("cross-origin-resource-policy"), Some("same-origin"));
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
        assert!(!policy.contains("unsafe-inline") && !policy.contains('*'), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        // A client that has the file is not sent it again.
        let tag = response.header("etag").unwrap().to_owned();
        let again = request(world.at, "GET", path, &[("if-none-match", &tag)], b"");
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
    }
    for path in [
        "/sotto",
        "/sotto/",
        "/sotto/js/",
        "/sotto/js/INDEX.js",
        "/secret.js",
        "/signing.key",
        "/../secret.js",
        "/sotto/../../secret.js",
        "/%2e%2e/secret.js",
        "/sotto%2fjs%2findex.js",
        "//index.html",
        "/index.html/",
        "/index.html%00",
    ] {
        assert_refused(&get(world.at, path), ProblemCode::NoSuchRoute);
    }
    assert_refused(&post(world.at, "/index.html", b""), ProblemCode::WrongMethod);
    assert_eq!(request(world.at, "HEAD", "/", &[], b"").body.len(), 0);

    // The files that were read at the start are served, even if the folder changes.
    std::fs::remove_dir_all(&page).unwrap();
    assert_eq!(get(world.at, "/").status, 200);
    assert_eq!(get(world.at, routes::TABLES).status, 200);
}

#[test]
fn without_a_page_there_is_nothing_at_the_root() {
    assert_refused(&get(world(&config()).at, "/"), ProblemCode::NoSuchRoute);
}

#[test]
fn a_folder_that_is_no_page_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let page = |name: &str| {
        let page = dir.path().join(name);
        write(&page, "index.html", b"");
        page
    };
    assert!(refused(&dir.path().join("missing")).contains("missing"));
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(refused(&empty).contains("no index.html"));
    for (name, file, why) in [
        ("hidden", ".git/x.js", "other characters than"),
        ("space", "a b.js", "other characters than"),
        ("braces", "{table}.js", "other characters than"),
        ("shadow", "v1/tables.js", "not named v1"),
        ("deep", "a/b/c/d/e/f.js", "deeper than allowed"),
    ] {
        let page = page(name);
        write(&page, file, b"");
        let said = refused(&page);
        assert!(said.contains(why), "{name}: {said}");
    }
    let many = page("many");
    (0..256).for_each(|i| write(&many, &format!("{i}.js"), b""));
    assert!(refused(&many).contains("at most 256 files"));
    let large = page("large");
    std::fs::File::create(large.join("a.js")).unwrap().set_len((64 << 20) + 1).unwrap();
    assert!(refused(&large).contains("at most 64 MiB"));
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "secret.js", b"secret");
    let page = dir.path().join("page");
    write(&page, "index.html", b"");
    std::os::unix::fs::symlink(dir.path().join("secret.js"), page.join("open.js")).unwrap();
    assert!(refused(&page).contains("expected a file"));
}

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
    assert_refused(&question, ProblemCode::WrongMethod);
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
        assert_refused(&from(other, &world, "OPTIONS", &routes::query("t")), ProblemCode::WrongMethod);
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
