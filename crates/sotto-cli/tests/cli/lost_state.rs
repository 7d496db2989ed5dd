//! Images that are damaged before a server starts, and lost while it runs: one table goes, and never the server.

use crate::harness::{Folder, Served, sotto};
use sotto_catalog::SignedCatalog;
use sotto_core::{ParamsDigest, RecordIndex};
use sotto_wire::{FrameHeader, SessionId, query, routes};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn exchange(url: &str, head: &str, body: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head =
        format!("{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

fn status(answer: &[u8]) -> u16 {
    std::str::from_utf8(&answer[9..12]).unwrap().parse().unwrap()
}

/// Encodes a table that one pass takes a while for; gives its directory.
fn large(folder: &Folder) -> String {
    let lines: String = (0..100_000).map(|row| format!("row number {row}\n")).collect();
    let (source, dir) = (folder.write("large.csv", lines), folder.text("large"));
    let args = ["encode", &source, "--value", "1", "--row-bytes", "64", "--scheme", "dpf", "--out", &dir];
    assert_eq!(sotto(&args).code, 0);
    dir
}

/// An ask that server 0 of the large table answers.
fn frame(url: &str) -> Vec<u8> {
    let answer = exchange(url, &format!("GET {}", routes::table("large", None)), b"");
    let body = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    let catalog = SignedCatalog::parse(&answer[body..]).unwrap().verify(None).unwrap();
    let scheme = sotto_registry::find(&catalog.scheme).unwrap();
    let mut rng = sotto_prg::system_rng().unwrap();
    let params = catalog.params.to_string();
    let mut client = (scheme.prepare)(params.as_bytes(), &mut rng).unwrap().finish().unwrap();
    let (queries, _) = client.query(RecordIndex(5), &mut rng).unwrap();
    let pin = FrameHeader { server: 0, epoch: catalog.epoch, digest: ParamsDigest(catalog.params_digest.0) };
    query::encode(&pin, &SessionId::NONE, &queries[..1]).unwrap()
}

#[test]
fn an_image_that_is_lost_under_load_costs_its_table_and_not_the_server() {
    let folder = Folder::new();
    let (words, large) = (folder.words(300), large(&folder));
    let log = folder.at("log");
    let mut server = Served::start_to(&[&words, &large], File::create(&log).unwrap().into());
    let image = std::path::Path::new(&large).join("epoch-00000001.sotto");
    let (bytes, frame) = (fs::read(&image).unwrap(), frame(&server.url));
    let post = format!("POST {}", routes::query("large"));
    let ask = || status(&exchange(&server.url, &post, &frame));
    let get = || sotto(&["get", "--server", &server.url, "--table", "words", "--row", "7", "--no-cache"]);
    assert_eq!(ask(), 200);
    let truncate = || File::options().write(true).open(&image).unwrap().set_len(4096).unwrap();
    // What `cp` does: the file is cut to nothing, and filled with something else.
    let copy_over = || {
        fs::copy(folder.at("words").join("epoch-00000001.sotto"), &image).unwrap();
    };
    for (lose, times) in [(&truncate as &dyn Fn(), 1), (&copy_over, 2)] {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let load = || {
                while !stop.load(Ordering::Relaxed) {
                    assert!([200, 429, 503].contains(&ask()));
                }
            };
            let threads = [scope.spawn(load), scope.spawn(load), scope.spawn(load)];
            std::thread::sleep(Duration::from_millis(50));
            lose();
            let patience = Instant::now() + Duration::from_secs(30);
            while ask() != 503 {
                assert!(Instant::now() < patience, "it is answered from what is not there");
            }
            let row = get();
            assert!(row.stdout.contains("row 7"), "{}", row.stderr);
            stop.store(true, Ordering::Relaxed);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        let said = fs::read_to_string(&log).unwrap();
        let lines = said.lines().filter(|line| line.contains("large") && line.contains("an image was lost"));
        assert_eq!(lines.count(), times, "{said}");
        fs::write(&image, &bytes).unwrap();
        server.reload();
        assert_eq!(ask(), 200);
    }
    assert!(server.child.try_wait().unwrap().is_none());
    assert_eq!(server.end().0, 0);
}

#[test]
fn a_damaged_image_is_named_and_the_others_are_served() {
    let folder = Folder::new();
    let (words, large) = (folder.words(300), large(&folder));
    let image = std::path::Path::new(&large).join("epoch-00000001.sotto");
    let mut bytes = fs::read(&image).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&image, bytes).unwrap();
    sotto(&["serve", &large]).fails(3, &["does not match its digest", "encode the table afresh"]);
    let log = folder.at("log");
    let server = Served::start_to(&[&words, &large], File::create(&log).unwrap().into());
    let refused = exchange(&server.url, &format!("GET {}", routes::table("large", None)), b"");
    assert_eq!(status(&refused), 503);
    let row = sotto(&["get", "--server", &server.url, "--table", "words", "--row", "7", "--no-cache"]);
    assert!(row.stdout.contains("row 7"), "{}", row.stderr);
    let said = fs::read_to_string(&log).unwrap();
    assert!(said.contains("does not match its digest") && said.contains("large"), "{said}");
}
