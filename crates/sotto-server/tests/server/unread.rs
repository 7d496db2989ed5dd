//! Clients that send requests and do not read: the memory held for them is counted, bounded and
//! released.

use crate::harness::http::{connect, head};
use crate::harness::*;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sotto_server::{BatchConfig, ServerConfig};
use sotto_wire::{ProblemCode, SessionId, routes};
use std::io::{Read, Write};
use std::time::Duration;

/// A row of this many bytes has a record for each KiB: 1 MiB of answers for 8 KiB of queries.
const WIDE: u64 = 1 << 20;

/// The records to query for a row of this many KiB.
fn records(kib: u64) -> Vec<u64> {
    (0..kib).collect()
}

/// Bytes in use for requests and their answers.
const HELD: &str = "sotto_request_memory_bytes";

fn wide_world(config: &ServerConfig) -> World {
    let made = EncodedTable { row_bytes: WIDE, ..EncodedTable::clear(1, &Probe::new()) };
    let batch = BatchConfig { max_queries: 1024, ..BatchConfig::default() };
    world_of(&ServerConfig { batch, ..config.clone() }, TestSource::with(made.clone()), made)
}

type Sender = http2::SendRequest<Full<Bytes>>;

/// A connection whose streams may each receive this many bytes, whether they are read or not.
async fn connect_with_window(world: &World, bytes: u32) -> (Sender, tokio::task::JoinHandle<()>) {
    let stream = TokioIo::new(tokio::net::TcpStream::connect(world.at).await.unwrap());
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(bytes);
    let (sender, connection) = builder.handshake(stream).await.unwrap();
    (sender, tokio::spawn(async move { drop(connection.await) }))
}

/// The status of a query request whose response is not read, and that response.
async fn query(sender: &Sender, world: &World) -> Option<(u16, hyper::body::Incoming)> {
    let frame = frame(&world.pin, SessionId::NONE, &records(1024));
    let request = hyper::Request::post(format!("http://test{}", routes::query("t")));
    let mut sender = sender.clone();
    let response = sender.send_request(request.body(Full::new(Bytes::from(frame))).unwrap()).await.ok()?;
    Some((response.status().as_u16(), response.into_body()))
}

/// Fails if a future does not end by itself.
async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

#[test]
fn answers_that_are_not_read_take_a_share_of_the_memory_and_end() {
    // With one byte, an answer fits into HTTP's buffers.
    for window in [0, 1] {
        let rate = 1 << 30;
        let config = ServerConfig {
            request_memory_mib: 8,
            idle_timeout_ms: 400,
            min_send_bytes_per_second: rate,
            ..config()
        };
        let world = wide_world(&config);
        runtime().block_on(async {
            let (sender, connection) = connect_with_window(&world, window).await;
            let (mut unread, mut refused) = (Vec::new(), 0);
            for _ in 0..12 {
                match query(&sender, &world).await {
                    Some((200, body)) => unread.push(body),
                    other => refused += u64::from(other.is_some_and(|(status, _)| status == 429)),
                }
                let held = world.metric(HELD);
                assert!(
                    held <= 7.0 * f64::from(1 << 20),
                    "{held} bytes of 8 MiB, after {refused} were refused"
                );
            }
            assert!(!unread.is_empty());
            // Each stream is reset once its time is over, and its memory is released; then the
            // connection is closed.
            for body in unread {
                assert!(within(body.collect()).await.is_err(), "a stream that nobody read went on");
            }
            within(connection).await.unwrap();
        });
        world.until(HELD, 0.0);
        world.until("sotto_connections", 0.0);
        assert_eq!(world.query(&records(1024)).status, 200);
    }
}

#[test]
fn a_request_that_is_announced_takes_no_memory_until_it_comes() {
    let world = wide_world(&ServerConfig { request_memory_mib: 4, ..config() });
    // Heads of requests whose bodies would take all memory, and no body.
    let length = (1024 * 8 + 80).to_string();
    let mut silent: Vec<_> = (0..8).map(|_| connect(world.at)).collect();
    for stream in &mut silent {
        let head =
            head("POST", &routes::query("t"), &[("content-length", &length), ("expect", "100-continue")]);
        stream.write_all(head.as_bytes()).unwrap();
        // The server sends this when it begins to read the body.
        let mut go_on = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
        stream.read_exact(&mut go_on).unwrap();
    }
    assert_eq!(world.metric(HELD), 0.0);
    assert_eq!(world.query(&records(1024)).status, 200);
}

#[test]
fn what_no_client_can_have_is_refused_with_what_to_do() {
    let world = wide_world(&ServerConfig { request_memory_mib: 1, ..config() });
    let refused = world.query(&records(1024));
    assert_refused(&refused, ProblemCode::TooLarge);
    assert!(refused.text().contains("send fewer queries in one request"), "{}", refused.text());
    assert_eq!(world.query(&records(500)).status, 200);
    let queries: usize = world.probe.batches().iter().sum();
    assert_eq!(queries, 500, "no pass was made for what there is no room for");
}
