//! A page for browsers: its files and no others, and its security headers.

use crate::harness::*;
use sotto_server::{Server, ServerConfig, StartError};
use sotto_wire::{Code, routes};
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
        assert_refused(&get(world.at, path), Code::NoSuchRoute);
    }
    assert_refused(&post(world.at, "/index.html", b""), Code::WrongMethod);
    assert_eq!(request(world.at, "HEAD", "/", &[], b"").body.len(), 0);

    // The files that were read at the start are served, even if the folder changes.
    std::fs::remove_dir_all(&page).unwrap();
    assert_eq!(get(world.at, "/").status, 200);
    assert_eq!(get(world.at, routes::TABLES).status, 200);
}

#[test]
fn without_a_page_there_is_nothing_at_the_root() {
    assert_refused(&get(world(&config()).at, "/"), Code::NoSuchRoute);
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
