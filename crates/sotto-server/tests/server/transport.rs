//! HTTP/2, TLS, slow clients.

use crate::harness::http::{connect, connect_as, head};
use crate::harness::*;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use sotto_server::{ServerConfig, StartError, TlsConfig};
use sotto_wire::{ProblemCode, routes};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Sends several concurrent requests on one HTTP/2 connection.
async fn ask_over_h2(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, world: &World) {
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let waiting = (0..20).map(|i| {
        let mut sender = sender.clone();
        let request = hyper::Request::post(format!("http://test{}", routes::query("t")))
            .body(Full::new(Bytes::from(world.frame(&[i]))))
            .unwrap();
        async move { sender.send_request(request).await.unwrap() }
    });
    let mut tasks = tokio::task::JoinSet::new();
    for (i, query) in waiting.enumerate() {
        tasks.spawn(async move { (i as u64, query.await) });
    }
    while let Some(done) = tasks.join_next().await {
        let (i, response) = done.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes().to_vec();
        assert_answers(&Response { status, headers: vec![], body }, &world.pin, &[i]);
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn http2_without_tls() {
    let world = world(&config());
    runtime().block_on(async {
        let stream = tokio::net::TcpStream::connect(world.at).await.unwrap();
        ask_over_h2(stream, &world).await;
    });
}

/// A self-signed certificate for `localhost` in files.
fn certificate(folder: &Path) -> (TlsConfig, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let tls = TlsConfig { cert: folder.join("cert.pem"), key: folder.join("key.pem") };
    std::fs::write(&tls.cert, made.cert.pem()).unwrap();
    std::fs::write(&tls.key, made.signing_key.serialize_pem()).unwrap();
    (tls, made.cert.der().clone())
}

#[test]
fn tls_with_either_http() {
    let folder = tempfile::tempdir().unwrap();
    let (tls, der) = certificate(folder.path());
    let world = world(&ServerConfig { tls: Some(tls), ..config() });
    let mut roots = RootCertStore::empty();
    roots.add(der).unwrap();
    let client = |alpn: &[u8]| {
        let mut client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        client.alpn_protocols = vec![alpn.to_vec()];
        TlsConnector::from(Arc::new(client))
    };
    runtime().block_on(async {
        let name = ServerName::try_from("localhost").unwrap();
        let stream = tokio::net::TcpStream::connect(world.at).await.unwrap();
        let stream = client(b"h2").connect(name.clone(), stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        ask_over_h2(stream, &world).await;

        let stream = tokio::net::TcpStream::connect(world.at).await.unwrap();
        let stream = client(b"http/1.1").connect(name, stream).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = hyper::Request::get(routes::TABLES).header("host", "t").body(Full::<Bytes>::default());
        assert_eq!(sender.send_request(request.unwrap()).await.unwrap().status(), 200);
    });
    // Plain HTTP on a TLS port ends, and does no harm.
    let mut plain = connect(world.at);
    plain.write_all(head("GET", routes::TABLES, &[]).as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let _ = plain.read_to_end(&mut bytes);
    assert!(!bytes.starts_with(b"HTTP"));
    // The admin port stays plain.
    assert_eq!(get(world.running.admin, "/healthz").status, 200);
}

#[test]
fn certificates_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (good, _) = certificate(folder.path());
    let source = TestSource::with(EncodedTable::clear(1, &Probe::new()));
    let refused = |tls: TlsConfig, named: &Path| {
        let config = ServerConfig { tls: Some(tls), ..config() };
        let error = sotto_server::Server::start_with(&config, vec![Box::new(source.clone())]).err().unwrap();
        assert!(matches!(&error, StartError::Tls { file, .. } if file == named), "{error}");
    };
    let missing = folder.path().join("missing.pem");
    refused(TlsConfig { cert: missing.clone(), ..good.clone() }, &missing);
    refused(TlsConfig { key: missing.clone(), ..good.clone() }, &missing);
    refused(TlsConfig { cert: good.key.clone(), ..good.clone() }, &good.key);
    refused(TlsConfig { key: good.cert.clone(), ..good.clone() }, &good.cert);
    let other = tempfile::tempdir().unwrap();
    let (other, _) = certificate(other.path());
    refused(TlsConfig { key: other.key.clone(), ..good }, &other.key);
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let world = world(&ServerConfig { read_timeout_ms: 50, idle_timeout_ms: 50, ..config() });
    for sent in [0, 30, 70] {
        let frame = world.frame(&[1]);
        let mut slow = connect(world.at);
        let length = frame.len().to_string();
        slow.write_all(head("POST", &routes::query("t"), &[("content-length", &length)]).as_bytes()).unwrap();
        slow.write_all(&frame[..sent]).unwrap();
        assert_refused(&Response::read(&mut slow), ProblemCode::TooSlow);
    }
    // A request head that does not arrive.
    let mut slow = connect(world.at);
    slow.write_all(b"POST /v1/tab").unwrap();
    let mut bytes = Vec::new();
    let _ = slow.read_to_end(&mut bytes);
    assert!(!bytes.starts_with(b"HTTP/1.1 2"));
    assert_answers(&world.query(&[1]), &world.pin, &[1]);
}

#[test]
fn a_connection_that_asks_nothing_is_not_kept() {
    let world = world(&ServerConfig { idle_timeout_ms: 50, ..config() });
    // Silence, and the first bytes of a possible HTTP/2 preface.
    for sent in [&b""[..], b"PRI * HT"] {
        let mut silent = connect(world.at);
        silent.write_all(sent).unwrap();
        let mut bytes = Vec::new();
        if let Err(error) = silent.read_to_end(&mut bytes) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "it is still open");
        }
    }
    // An HTTP/2 client that answers every ping and sends no request.
    let connection = async {
        let stream = TokioIo::new(tokio::net::TcpStream::connect(world.at).await.unwrap());
        let (_sender, connection) =
            hyper::client::conn::http2::handshake::<_, _, Full<Bytes>>(TokioExecutor::new(), stream)
                .await
                .unwrap();
        tokio::time::timeout(Duration::from_secs(30), connection).await.map(drop)
    };
    assert!(runtime().block_on(connection).is_ok(), "it is still open");
    world.until("sotto_connections", 0.0);
}

fn asks_over(mut stream: std::net::TcpStream, world: &World) {
    let frame = world.frame(&[1]);
    let length = frame.len().to_string();
    stream.write_all(head("POST", &routes::query("t"), &[("content-length", &length)]).as_bytes()).unwrap();
    stream.write_all(&frame).unwrap();
    assert_answers(&Response::read(&mut stream), &world.pin, &[1]);
}

fn is_open(stream: &std::net::TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let read = (&mut &*stream).read(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

#[test]
fn idle_connections_of_one_address_keep_no_stranger_out() {
    let world = world(&ServerConfig { max_connections: 8, connections_per_client: 0, ..config() });
    // One address takes all connections, and sends nothing or half a request; one of them is busy.
    world.probe.hold();
    let query = world.query_later(&[2]);
    world.until("sotto_passes_total", 1.0);
    let idle: Vec<_> = (0..7)
        .map(|i| {
            let mut stream = connect_as(1, world.at);
            stream.write_all(&b"POST /v1/tables/t/ask HT"[..i * 3]).unwrap();
            stream
        })
        .collect();
    world.until("sotto_connections", 8.0);
    let strangers: Vec<_> = (2..5).map(|last| connect_as(last, world.at)).collect();
    // Each other client replaces one idle connection, before any connection ends by itself.
    let open = || idle.iter().filter(|stream| is_open(stream)).count();
    eventually("three idle connections are closed", || open() <= 4);
    world.probe.release();
    strangers.into_iter().for_each(|stream| asks_over(stream, &world));
    assert_answers(&query.join().unwrap(), &world.pin, &[2]);
    // It does not evict its own busy connections either.
    asks_over(connect_as(1, world.at), &world);
    assert!(open() <= 4);
}

#[test]
fn one_address_has_so_many_connections() {
    let world = world(&ServerConfig { connections_per_client: 3, ..config() });
    let many: Vec<_> = (0..10).map(|_| connect_as(9, world.at)).collect();
    world.until("sotto_connections", 3.0);
    asks_over(connect_as(8, world.at), &world);
    asks_over(connect_as(9, world.at), &world);
    drop(many);
    world.until("sotto_connections", 0.0);
}

#[test]
fn a_certificate_of_an_authority_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let tls = TlsConfig { cert: folder.path().join("cert.pem"), key: folder.path().join("key.pem") };
    std::fs::write(&tls.cert, params.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(&tls.key, key.serialize_pem()).unwrap();
    let source = TestSource::with(EncodedTable::clear(1, &Probe::new()));
    let config = ServerConfig { tls: Some(tls), ..config() };
    let error = sotto_server::Server::start_with(&config, vec![Box::new(source)]).err().unwrap().to_string();
    for word in ["cert.pem", "CA:TRUE", "-addext basicConstraints=critical,CA:FALSE", "--self-signed"] {
        assert!(error.contains(word), "no {word:?} in {error}");
    }
}

#[test]
fn a_certificate_of_its_own_is_kept_and_trusted_by_its_pem() {
    let folder = tempfile::tempdir().unwrap();
    let config = ServerConfig {
        self_signed: Some(vec!["pir.example".into()]),
        state: Some(folder.path().join("s")),
        ..config()
    };
    let fingerprint = |world: &World| world.running.own.as_ref().unwrap().fingerprint.clone();
    let first = world(&config);
    let was = fingerprint(&first);
    first.running.shutdown();
    let world = world(&config);
    assert_eq!(fingerprint(&world), was);
    assert_eq!(was.len(), 95);
    let own = world.running.own.clone().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(own.pem.as_bytes()).unwrap()).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = TlsConnector::from(Arc::new(client));
    runtime().block_on(async {
        for name in ["127.0.0.1", "localhost", "pir.example"] {
            let stream = tokio::net::TcpStream::connect(world.at).await.unwrap();
            client.connect(ServerName::try_from(name).unwrap(), stream).await.unwrap();
        }
    });
    let key = own.files.unwrap().key;
    let mode = |path: &Path| std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o777;
    assert_eq!((mode(&key), mode(&folder.path().join("s"))), (0o600, 0o700));
    world.running.shutdown();
    // A folder that others can write in is refused.
    let shared = std::os::unix::fs::PermissionsExt::from_mode(0o775);
    std::fs::set_permissions(folder.path().join("s"), shared).unwrap();
    let source = TestSource::with(EncodedTable::clear(1, &Probe::new()));
    let refused = sotto_server::Server::start_with(&config, vec![Box::new(source)]);
    let refused = refused.map(drop).unwrap_err().to_string();
    assert!(
        refused.contains("others can write in it (mode 0775)") && refused.contains("chmod go-w"),
        "{refused}"
    );
}

#[test]
fn a_body_that_breaks_off_does_no_harm() {
    let world = world(&config());
    let mut gone = connect(world.at);
    gone.write_all(head("POST", &routes::query("t"), &[("content-length", "72")]).as_bytes()).unwrap();
    gone.write_all(&world.frame(&[1])[..40]).unwrap();
    drop(gone);
    assert_answers(&world.query(&[1]), &world.pin, &[1]);
    world.until("sotto_connections", 0.0);
    assert_eq!(world.probe.batches(), [1]);
}

#[test]
fn a_client_that_reads_slowly_does_not_stop_others() {
    let world = world(&config());
    let mut slow = connect(world.at);
    for _ in 0..50 {
        let frame = world.frame(&[1; 64]);
        let head =
            format!("POST /v1/tables/t/ask HTTP/1.1\r\nhost: t\r\ncontent-length: {}\r\n\r\n", frame.len());
        slow.write_all(head.as_bytes()).unwrap();
        slow.write_all(&frame).unwrap();
    }
    for i in 0..10 {
        assert_answers(&world.query(&[i]), &world.pin, &[i]);
    }
    std::thread::sleep(Duration::from_millis(10));
}

#[test]
fn garbage_does_no_harm() {
    let world = world(&config());
    for garbage in [
        &b"\0\0\0\0"[..],
        b"\x16\x03\x01\x02\x00\x01",
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxxxxx",
        &[b'A'; 70000],
    ] {
        let mut stream = connect(world.at);
        let _ = stream.write_all(garbage);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        assert!(!bytes.starts_with(b"HTTP/1.1 2"));
    }
    assert_answers(&world.query(&[1]), &world.pin, &[1]);
}
