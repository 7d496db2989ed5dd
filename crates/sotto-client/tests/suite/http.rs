//! Transports over a real socket: what is sent, what is refused, what is sent again.
use crate::common::{http, http_response, server, value};
use sotto_client::error::Diagnose;
use sotto_client::transport::InProcessTransport;
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::retry::{RetryPolicy, RetryTransport};
use sotto_client::transport::{Request, Response, Transport, TransportError};
use sotto_client::{Fault, Table};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::sync::mpsc;
use std::time::Duration;

fn post() -> Request {
    Request::post("/v1/tables/squares/ask".to_owned(), vec![7; 100], 10)
}

fn call(url: &str) -> Result<Response, TransportError> {
    HttpTransport::new(url, &HttpSettings::default()).unwrap().call(&post())
}

/// A policy with short pauses.
fn quick<T: Transport>(inner: T) -> RetryTransport<T> {
    let pause = Duration::from_millis(1);
    // Four pauses: 1, 2, 4 and 8 ms.
    RetryTransport::new(
        inner,
        RetryPolicy { attempts: 5, first_pause: pause, longest_pause: pause * 8, max_wait: pause * 15 },
    )
}

#[test]
fn a_table_over_http() {
    let server = server(300, 2);
    let pin = server.with(|world| world.pin());
    let mut table =
        Table::connect(&server.http(), "squares").pin(pin).resolve(crate::common::resolve).open().unwrap();
    assert_eq!(table.get(17).unwrap(), value(17, 2));
    assert_eq!(table.get_many(&[0, 299]).unwrap(), [value(0, 2), value(299, 2)]);
    let bits = (17 * 8 * value(0, 2).len() as u64)..;
    let of_row =
        |row: Vec<u8>| (0..8 * row.len()).map(move |n| row[n / 8] >> (n % 8) & 1 == 1).collect::<Vec<_>>();
    let first: Vec<u64> = bits.take(16).collect();
    assert_eq!(table.get_bits(&first).unwrap(), of_row(value(17, 2))[..16]);
    assert_eq!(table.get_bits(&[u64::MAX]).unwrap_err().code(), "no-such-row");
}

#[test]
fn every_client_sends_the_same_headers() {
    let (sender, received) = mpsc::channel();
    let url = http(move |head, _| {
        sender.send(head.to_owned()).unwrap();
        http_response(200, "set-cookie: id=1\r\n", b"")
    });
    let mut first = HttpTransport::new(&url, &HttpSettings::default()).unwrap();
    first.call(&post()).unwrap();
    first.call(&post()).unwrap();
    HttpTransport::new(&url, &HttpSettings::default()).unwrap().call(&post()).unwrap();
    first.call(&Request::get_range("/v1/artifacts/00".to_owned(), 5..10)).unwrap();
    let heads: Vec<String> = received.iter().take(4).collect();
    assert_eq!(heads[0], heads[1], "the second request says no more than the first");
    assert_eq!(heads[0], heads[2], "clients look alike");
    let names = |head: &str| -> BTreeSet<String> {
        head.lines().skip(1).filter_map(|line| Some(line.split_once(": ")?.0.to_ascii_lowercase())).collect()
    };
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(names(&heads[0]), set(&["accept", "content-length", "content-type", "host", "user-agent"]));
    assert_eq!(names(&heads[3]), set(&["accept", "host", "range", "user-agent"]));
    assert_eq!(crate::common::header(&heads[3], "range"), Some("bytes=5-9"));
    assert_eq!(crate::common::header(&heads[0], "user-agent"), Some("sotto"));
}

#[test]
fn a_body_shorter_than_declared_is_a_lost_connection() {
    let url = http(|_, _| b"HTTP/1.1 200 x\r\nconnection: close\r\ncontent-length: 10\r\n\r\nshort".to_vec());
    assert_eq!(call(&url).unwrap_err().diagnosis().code, "connection-lost");
}

#[test]
fn a_body_longer_than_declared_is_cut_there() {
    let url =
        http(|_, _| b"HTTP/1.1 200 x\r\nconnection: close\r\ncontent-length: 5\r\n\r\nlonger than".to_vec());
    assert_eq!(call(&url).unwrap().body, b"longe");
}

#[test]
fn a_body_longer_than_allowed_is_not_read() {
    let declared = http(|_, _| b"HTTP/1.1 200 x\r\ncontent-length: 1000000000000\r\n\r\n".to_vec());
    assert_eq!(call(&declared).unwrap_err().diagnosis().code, "response-too-large");
    let endless = http(|_, _| {
        let head = b"HTTP/1.1 200 x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
        [head.as_slice(), &b"4\r\nmore\r\n".repeat(1000)].concat()
    });
    assert_eq!(call(&endless).unwrap_err().diagnosis().code, "response-too-large");
    let refusal = http(|_, _| http_response(400, "", &[b'x'; 1 << 20]));
    assert_eq!(call(&refusal).unwrap_err().diagnosis().code, "response-too-large");
}

#[test]
fn what_is_not_http_is_named() {
    let url = http(|_, _| b"220 smtp.example ready\r\n\r\n".to_vec());
    assert_eq!(call(&url).unwrap_err().diagnosis().code, "bad-http");
}

#[test]
fn what_stands_in_front_of_a_server_is_named() {
    let redirect = "location: http://127.0.0.1:1/elsewhere\r\n";
    for (status, headers, says) in [
        (302, redirect, "a redirect to http://127.0.0.1:1/elsewhere"),
        (401, "www-authenticate: Basic\r\n", "requires a login"),
        (407, "proxy-authenticate: Basic\r\n", "requires a login"),
        (200, "content-type: text/html\r\n", "HTML"),
        (200, "content-encoding: gzip\r\n", "sent compressed responses (gzip)"),
    ] {
        let url = http(move |_, _| http_response(status, headers, b"x"));
        let error = Table::connect(&url, "squares").open().map(|_| ()).unwrap_err();
        assert_eq!((error.code(), error.fault()), ("intermediary", Fault::Network), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let plain = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let secure = format!("https://{}", plain.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = plain.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    assert_eq!(call(&secure).unwrap_err().diagnosis().code, "no-tls");
    assert_eq!(call("http://nosuch.invalid").unwrap_err().diagnosis().code, "unknown-host");
}

/// A cache that answers a request for a range with the whole resource.
#[test]
fn ranges_are_read_from_a_resource_that_comes_whole() {
    let (sender, received) = mpsc::channel();
    let resource: Vec<u8> = (0..=255).collect();
    let (sent, from) = (resource.clone(), 10..60);
    let url = http(move |_, _| {
        sender.send(()).unwrap();
        http_response(200, "", &sent)
    });
    let mut server = HttpTransport::new(&url, &HttpSettings::default()).unwrap();
    let mut read = |range: std::ops::Range<u64>| {
        server.call(&Request::get_range("/v1/artifacts/00".to_owned(), range)).unwrap().body
    };
    assert_eq!(read(from), resource[10..60]);
    assert_eq!(read(60..200), resource[60..200]);
    assert_eq!(received.try_iter().count(), 1, "ranges in order take one download");
    assert_eq!(read(5..7), resource[5..7]);
    assert_eq!(read(7..300), resource[7..], "a range ends with the resource");
}

#[test]
fn a_server_that_is_silent_is_given_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let error = Table::connect(&url, "squares").timeout(Duration::from_millis(100)).open().map(|_| ());
    assert_eq!(error.unwrap_err().code(), "timeout");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", gone.local_addr().unwrap());
    drop(gone);
    let error = call(&url).unwrap_err();
    assert_eq!(error.diagnosis().code, "no-connection");
    assert!(error.to_string().contains(&url));
}

#[test]
fn addresses_are_checked_before_use() {
    for url in
        ["", "localhost:8080", "ftp://h", "http://", "http:///x", "http://a@h", "http://h?x", "http://h /"]
    {
        let error = HttpTransport::new(url, &HttpSettings::default()).map(|_| ()).unwrap_err();
        assert_eq!(error.diagnosis().code, "bad-address", "{url:?}");
    }
    assert_eq!(HttpTransport::new("HTTP://h:1/", &HttpSettings::default()).unwrap().origin(), "http://h:1");
}

#[test]
fn unusable_roots_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("root.pem");
    let open = || Table::connect("https://127.0.0.1:1", "squares").trust_root(&file).open().map(|_| ());
    assert_eq!(open().unwrap_err().code(), "tls", "no file");
    std::fs::write(&file, "no certificate").unwrap();
    assert_eq!(open().unwrap_err().code(), "tls", "no certificate");
}

#[test]
fn what_was_lost_or_refused_for_now_is_sent_again_bit_for_bit() {
    let (sender, received) = mpsc::channel();
    let mut replies = [
        Vec::new(),
        http_response(503, "retry-after: 0\r\n", b""),
        b"HTTP/1.1 200 x\r\ncontent-length: 10\r\n\r\ncut".to_vec(),
        http_response(429, "", b""),
        http_response(200, "server-timing: x\r\n", b"done"),
    ]
    .into_iter();
    let url = http(move |head, body| {
        sender.send((head.to_owned(), body.to_vec())).unwrap();
        replies.next().unwrap()
    });
    let mut transport = quick(HttpTransport::new(&url, &HttpSettings::default()).unwrap());
    let response = transport.call(&post()).unwrap();
    assert_eq!((response.body.as_slice(), response.server_timing.as_deref()), (&b"done"[..], Some("x")));
    assert_eq!(transport.retries(), 4);
    let sent: Vec<_> = received.try_iter().collect();
    assert_eq!(sent.len(), 5);
    assert!(sent.iter().all(|one| *one == sent[0]));
    assert_eq!(sent[0].1, post().body);
}

#[test]
fn retries_end() {
    let retries = |respond: &dyn Fn() -> Result<Response, TransportError>| {
        // The closure of a transport has to be `Send`; what it gives is fixed, so it is made beforehand.
        let mut outcomes: Vec<_> = (0..10).map(|_| respond()).collect();
        let mut transport = quick(InProcessTransport::new(move |_: &Request| outcomes.pop().unwrap()));
        let _ = transport.call(&post());
        transport.retries()
    };
    let status = |status| move || Ok(Response::new(status, Vec::new()));
    for busy in [429, 503] {
        assert_eq!(retries(&status(busy)), 4);
    }
    assert_eq!(retries(&|| Err(TransportError::Lost(String::new()))), 4);
    // These are not retried.
    for refused in [200, 206, 302, 400, 404, 409, 410, 413, 500] {
        assert_eq!(retries(&status(refused)), 0);
    }
    assert_eq!(retries(&|| Err(TransportError::Timeout(String::new()))), 0);
    // A server cannot make a client wait without limit.
    let patient = || Ok(Response { status: 503, retry_after: Some(Duration::MAX), ..Response::default() });
    assert_eq!(retries(&patient), 0);
}

/// The wait is limited by time, and not by the number of attempts over broken connections.
#[test]
fn a_busy_server_is_waited_out_and_somebody_is_told() {
    let (sender, received) = mpsc::channel();
    let call = |max_wait, sender: mpsc::Sender<Duration>| {
        let mut refusals = 9;
        let server = InProcessTransport::new(move |_: &Request| {
            refusals -= 1;
            let retry_after = Some(Duration::from_millis(1));
            let busy = Response { status: 429, retry_after, ..Response::default() };
            Ok(if refusals < 0 { Response::new(200, b"done".to_vec()) } else { busy })
        });
        let quick = Duration::from_millis(1);
        let policy = RetryPolicy { attempts: 2, first_pause: quick, longest_pause: quick, max_wait };
        let mut retrying =
            RetryTransport::new(server, policy).on_busy(move |limit| sender.send(limit).unwrap());
        (retrying.call(&post()).unwrap().status, retrying.retries())
    };
    assert_eq!(call(Duration::from_millis(18), sender.clone()), (200, 9));
    assert_eq!(call(Duration::from_millis(17), sender.clone()), (429, 8));
    assert_eq!(call(Duration::ZERO, sender), (429, 0));
    assert_eq!(received.try_iter().count(), 0, "a moment is not worth a word");
}

/// A wait of a second is reported once.
#[test]
fn a_busy_server_that_asks_for_a_second_is_spoken_of() {
    let (sender, received) = mpsc::channel();
    let mut refused = false;
    let server = InProcessTransport::new(move |_: &Request| {
        let retry_after = Some(Duration::from_secs(1));
        let busy = Response { status: 429, retry_after, ..Response::default() };
        Ok(if std::mem::replace(&mut refused, true) { Response::new(200, Vec::new()) } else { busy })
    });
    let policy = RetryPolicy { max_wait: Duration::from_secs(7), ..RetryPolicy::default() };
    let mut retrying = RetryTransport::new(server, policy).on_busy(move |limit| sender.send(limit).unwrap());
    assert_eq!(retrying.call(&post()).unwrap().status, 200);
    assert_eq!(received.try_iter().collect::<Vec<_>>(), [Duration::from_secs(7)]);
}

#[test]
fn a_memory_server_may_not_send_more_than_a_real_one() {
    let mut transport = InProcessTransport::new(|_: &Request| Ok(Response::new(200, vec![0; 11])));
    assert_eq!(transport.call(&post()).unwrap_err().diagnosis().code, "response-too-large");
}

/// Runs one test of this file in a process of its own, since the environment belongs to all threads.
fn alone(test: &str, environment: &[(&str, &str)]) -> bool {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--include-ignored"]).envs(environment.iter().copied());
    let output = child.output().unwrap();
    output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed")
}

#[test]
fn servers_on_this_machine_are_reached_without_a_proxy() {
    assert!(alone("http::a_table_over_http", &[("ALL_PROXY", "http://127.0.0.1:1")]));
}

#[test]
fn a_socks_proxy_is_not_passed_by() {
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = proxy.local_addr().unwrap();
    let address = format!("socks5://{at}");
    let greeted = std::thread::spawn(move || {
        let mut first = [0];
        proxy.accept().unwrap().0.read_exact(&mut first).unwrap();
        first
    });
    assert!(alone("http::through_the_proxy", &[("ALL_PROXY", &address), ("NO_PROXY", "")]));
    // A client that still waits for the TLS handshake gets an invalid one.
    let _ = std::net::TcpStream::connect(at).and_then(|mut stream| stream.write_all(&[0]));
    assert_eq!(greeted.join().unwrap(), [5], "the greeting of SOCKS 5");
}

#[test]
#[ignore = "run by another test, with a proxy in its environment"]
fn through_the_proxy() {
    assert!(call("http://192.0.2.1").is_err(), "the proxy hangs up");
}

/// A TLS server that answers every request with `done`, and its root in PEM form.
fn tls_server() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = std::sync::Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let tls = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = rustls::StreamOwned::new(tls, stream.unwrap());
            // A client that does not trust the certificate hangs up here.
            if stream.read(&mut [0; 4096]).is_ok() {
                let _ = stream.write_all(&http_response(200, "", b"done"));
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    (url, made.cert.pem())
}

#[test]
fn a_root_in_a_file_is_trusted_and_no_other() {
    let (url, pem) = tls_server();
    let get = Request::get("/v1/tables".to_owned(), 10);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("root.pem");
    std::fs::write(&file, pem).unwrap();
    let trusting = HttpSettings::default().trust_file(&file).unwrap();
    assert_eq!(HttpTransport::new(&url, &trusting).unwrap().call(&get).unwrap().body, b"done");
    let stranger = HttpTransport::new(&url, &HttpSettings::default()).unwrap().call(&get).unwrap_err();
    assert_eq!(stranger.diagnosis().code, "tls", "{stranger}");
    let (other, _) = tls_server();
    let mistaken = HttpTransport::new(&other, &trusting).unwrap().call(&get).unwrap_err();
    assert_eq!(mistaken.diagnosis().code, "tls", "{mistaken}");
}
