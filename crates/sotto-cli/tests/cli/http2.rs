//! HTTP/2 abused from the outside: frames that no library sends, windows that let nothing arrive,
//! and clients that are slow on purpose, those of HTTP/1.1 too. All at once they may cost the server
//! only so much memory, so many files and so much time, and others are answered meanwhile.

use crate::harness::{Folder, Served, sotto};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Error codes (RFC 9113, section 7).
const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const CANCEL: u32 = 8;
const ENHANCE_YOUR_CALM: u32 = 11;

/// Frames of a flood: far more than the server may take from one connection.
const MANY: usize = 50_000;

/// Time within which each abuse has to be over: many times the timeouts of the server, for slow
/// machines.
const MAX_TIME: Duration = Duration::from_secs(30);
/// Memory that all abuses together may take, most of which is buffers of sockets and connections.
const MAX_MEMORY_KIB: u64 = 64 << 10;

const CONFIG: &str = "idle_timeout_ms = 1000\nread_timeout_ms = 500\nmin_send_bytes_per_second = 1048576\n";

struct World {
    served: Served,
    address: String,
    /// Path of an artifact of some hundred kilobytes.
    artifact: String,
    _folder: Folder,
}

/// A client that writes frames by hand.
struct RawClient {
    stream: TcpStream,
    began: Instant,
}

/// What ended a connection or a stream.
#[derive(Debug, PartialEq, Eq)]
enum EndCause {
    /// The connection, with this error code.
    Connection(u32),
    /// A stream, with this error code.
    Stream(u32),
    /// A stream, by a whole response.
    Answered,
    /// The connection, without a word.
    Closed,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Fields of a request: from HPACK's static table, and literals that are not added to it (RFC 7541,
/// section 6.2.2).
fn fields(method: &str, path: &str) -> Vec<u8> {
    let method = if method == "GET" { 0x82 } else { 0x83 };
    [&[method, 0x86, 4, path.len() as u8], path.as_bytes(), &[1, 1, b'x']].concat()
}

fn get(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &fields("GET", path))
}

/// The head of a query request, whose body is still to come.
fn post(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &fields("POST", "/v1/tables/words/ask"))
}

/// The numbers of a client's streams.
fn streams() -> impl Iterator<Item = u32> {
    (1..).step_by(2)
}

impl RawClient {
    /// Connects, and sends nothing.
    fn tcp(world: &World) -> Self {
        let stream = TcpStream::connect(&world.address).unwrap();
        stream.set_read_timeout(Some(MAX_TIME)).unwrap();
        stream.set_write_timeout(Some(MAX_TIME)).unwrap();
        RawClient { stream, began: Instant::now() }
    }

    /// Connects, with a setting of the initial window of streams.
    fn connect(world: &World, window: u32) -> Self {
        let mut client = RawClient::tcp(world);
        client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let window = [&[0, 4][..], &window.to_be_bytes()].concat();
        client.send(&frame(SETTINGS, 0, 0, &window));
        client
    }

    /// Sends bytes. Returns whether the connection is still open.
    fn send(&mut self, bytes: &[u8]) -> bool {
        match self.stream.write_all(bytes) {
            Ok(()) => true,
            Err(error) => {
                assert_ne!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock,
                    "the server neither reads nor closes"
                );
                false
            }
        }
    }

    /// Sends frames of a flood until the server closes the connection.
    fn flood(&mut self, frames: impl Iterator<Item = Vec<u8>>) -> &mut Self {
        let frames: Vec<_> = frames.take(MANY).collect();
        let _ = frames.chunks(100).all(|some| self.send(&some.concat()));
        self
    }

    /// Reads frames until a stream or the connection ends.
    fn ended(&mut self) -> EndCause {
        let mut read = |bytes: usize| {
            let mut buffer = vec![0; bytes];
            match self.stream.read_exact(&mut buffer) {
                Ok(()) => Some(buffer),
                Err(error) => {
                    assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "nothing ends it");
                    None
                }
            }
        };
        loop {
            let Some(head) = read(9) else { return EndCause::Closed };
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let Some(payload) = read(length) else { return EndCause::Closed };
            let code = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().unwrap());
            match (head[3], head[4]) {
                // Without an error it announces the end, after the requests in progress.
                (GOAWAY, _) if code(4) != 0 => return EndCause::Connection(code(4)),
                (RST_STREAM, _) => return EndCause::Stream(code(0)),
                (HEADERS | DATA, flags) if flags & END_STREAM != 0 => return EndCause::Answered,
                _ => {}
            }
        }
    }

    /// Reads until the connection is closed. Returns the error code of the connection, if there is one.
    fn closed(&mut self) -> Option<u32> {
        let mut code = None;
        loop {
            match self.ended() {
                EndCause::Closed => break,
                EndCause::Connection(error) => code = Some(error),
                EndCause::Stream(_) | EndCause::Answered => {}
            }
        }
        assert!(self.began.elapsed() < MAX_TIME, "it took {:?}", self.began.elapsed());
        code
    }

    /// Sends something again and again, slowly, until the server closes the connection or ends a stream.
    fn trickle(&mut self, some: &[u8]) -> EndCause {
        let mut writer = self.stream.try_clone().unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) && writer.write_all(some).is_ok() {
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            let ended = self.ended();
            over.store(true, Ordering::Relaxed);
            ended
        })
    }
}

/// Requests that are taken back at once: the work of each would be for nobody (CVE-2023-44487).
fn rapid_reset(world: &World) {
    let cancel = |stream| frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes());
    let mut client = RawClient::connect(world, 1 << 16);
    client.flood(streams().map(|stream| [get(stream, &world.artifact), cancel(stream)].concat()));
    assert_eq!(client.closed(), Some(ENHANCE_YOUR_CALM));
}

/// Frames that make the server take the requests back itself (CVE-2025-8671).
fn resets_by_the_server(world: &World) {
    let mut client = RawClient::connect(world, 1 << 16);
    let overflow = |stream| frame(WINDOW_UPDATE, 0, stream, &0x7fff_ffffu32.to_be_bytes());
    client.flood(streams().map(|stream| [post(stream), overflow(stream)].concat()));
    assert_eq!(client.closed(), Some(ENHANCE_YOUR_CALM));
}

/// Headers that never end (CVE-2024-27316), in frames with content and in empty ones.
fn continuation_flood(world: &World) {
    for bytes in [1000, 0] {
        let mut client = RawClient::connect(world, 1 << 16);
        client.send(&frame(HEADERS, END_STREAM, 1, &fields("GET", "/")));
        // A field `a`, whose value is never whole.
        client.flood(std::iter::repeat_with(|| frame(CONTINUATION, 0, 1, &[b'a'; 1000][..bytes])));
        assert!(matches!(client.closed(), Some(ENHANCE_YOUR_CALM | PROTOCOL_ERROR | 9)));
    }
}

/// A field that is named thousands of times by one byte each.
fn header_bomb(world: &World) {
    let mut client = RawClient::connect(world, 1 << 16);
    // Added to the dynamic table: a name of one byte, and a value of 3,900.
    let field = [&[0x40, 1, b'a', 127, 0xbd, 0x1d][..], &[b'v'; 3900]].concat();
    let block = [fields("GET", "/v1/tables"), field, vec![0xbe; 12_000]].concat();
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &block));
    assert!(matches!(client.ended(), EndCause::Answered | EndCause::Stream(_) | EndCause::Connection(_)));
}

/// Frames that ask for an answer each, which is never read, and frames that ask for none.
fn control_floods(world: &World) {
    let priority = [0, 0, 0, 5, 16];
    let floods = [
        (SETTINGS, 0, &[0, 4, 0, 0, 0, 0][..]),
        (PING, 0, &[7; 8]),
        (PRIORITY, 3, &priority),
        (0xbe, 0, b"?"),
    ];
    std::thread::scope(|scope| {
        for (kind, stream, payload) in floods {
            scope.spawn(move || {
                let mut client = RawClient::connect(world, 1 << 16);
                client.flood(std::iter::repeat_with(|| frame(kind, 0, stream, payload)));
                client.closed();
            });
        }
    });
}

/// Data that brings a body no further.
fn empty_data_flood(world: &World) {
    let mut client = RawClient::connect(world, 1 << 16);
    client.send(&post(1));
    client.flood(std::iter::repeat_with(|| frame(DATA, 0, 1, b"")));
    client.closed();
}

/// More requests than may be in progress, and no room for any of their answers.
fn closed_windows(world: &World) {
    let mut client = RawClient::connect(world, 0);
    let requests: Vec<_> = streams().take(100).map(|stream| get(stream, &world.artifact)).collect();
    client.send(&requests.concat());
    client.closed();
}

/// Room for one byte after the other.
fn tiny_windows(world: &World) {
    let mut client = RawClient::connect(world, 0);
    client.send(&get(1, &world.artifact));
    let update = frame(WINDOW_UPDATE, 0, 1, &1u32.to_be_bytes());
    assert_eq!(client.trickle(&update), EndCause::Stream(CANCEL));
}

/// Room beyond the largest window.
fn window_overflow(world: &World) {
    let mut client = RawClient::connect(world, 1 << 16);
    let update = frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffffu32.to_be_bytes());
    client.send(&[&update[..], &update].concat());
    assert_eq!(client.closed(), Some(FLOW_CONTROL_ERROR));
}

/// Answers that fit into every window, and are not read from the socket.
fn unread_socket(world: &World) {
    let mut client = RawClient::connect(world, 0x7fff_ffff);
    client.send(&frame(WINDOW_UPDATE, 0, 0, &0x7fff_0000u32.to_be_bytes()));
    let requests = streams().map(|stream| get(stream, &world.artifact));
    client.flood(requests);
    client.closed();
}

/// The same over HTTP/1.1.
fn unread_http1(world: &World) {
    let mut client = RawClient::tcp(world);
    let request = format!("GET {} HTTP/1.1\r\nhost: x\r\n\r\n", world.artifact).into_bytes();
    client.flood(std::iter::repeat(request));
    assert!(!client.send(b"G") && client.began.elapsed() < MAX_TIME, "it is still open");
}

/// A body, and a head, that come byte by byte.
fn slow_writers(world: &World) {
    let mut client = RawClient::connect(world, 1 << 16);
    client.send(&post(1));
    // The answer is that it was too slow.
    assert_eq!(client.trickle(&frame(DATA, 0, 1, b"s")), EndCause::Answered);
    client.closed();
    let mut client = RawClient::connect(world, 1 << 16);
    client.send(&frame(HEADERS, END_STREAM, 1, &fields("GET", "/")));
    assert!(matches!(
        client.trickle(&frame(CONTINUATION, 0, 1, b"")),
        EndCause::Closed | EndCause::Connection(_)
    ));
    client.closed();
}

impl World {
    fn start() -> Self {
        let folder = Folder::new();
        let table =
            folder.encode("words", &folder.lines(3000), "--value 1 --row-bytes 12 --scheme simplepir");
        let config = folder.write("sotto.toml", format!("{CONFIG}tables = [{{ dir = {table:?} }}]\n"));
        let inspected = sotto(&["inspect", &table, "--json"]).json();
        let hint = &inspected["catalog"]["artifacts"][0];
        assert!(hint["bytes"].as_u64() > Some(100_000), "{hint}");
        let artifact = format!("/v1/artifacts/{}", hint["digest"].as_str().unwrap());
        let served = Served::start(&["--config", &config]);
        let address = served.url.strip_prefix("http://").unwrap().to_owned();
        World { served, address, artifact, _folder: folder }
    }

    /// A number of the process's status in KiB: `VmRSS`, or `VmHWM` for the peak.
    fn memory_kib(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.served.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
    }

    fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.served.child.id())).unwrap().count()
    }

    /// A request of somebody else, over HTTP/1.1.
    fn answers(&self) -> bool {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(MAX_TIME)).unwrap();
        stream.write_all(b"GET /v1/tables HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).is_ok() && answer.starts_with("HTTP/1.1 200")
    }
}

#[cfg(target_os = "linux")]
#[test]
fn abuse_of_http2_is_bounded_and_keeps_nobody_out() {
    const ABUSES: [fn(&World); 13] = [
        rapid_reset,
        resets_by_the_server,
        continuation_flood,
        header_bomb,
        control_floods,
        empty_data_flood,
        closed_windows,
        tiny_windows,
        window_overflow,
        unread_socket,
        unread_http1,
        slow_writers,
        |world| drop(RawClient::connect(world, 1 << 16)),
    ];
    let world = World::start();
    assert!(world.answers());
    let (memory, files) = (world.memory_kib("VmRSS"), world.open_files());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let world = &world;
        let other = scope.spawn(|| {
            let mut answered = 0;
            while !over.load(Ordering::Relaxed) {
                assert!(world.answers());
                answered += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            answered
        });
        let abuses: Vec<_> = ABUSES.iter().map(|abuse| scope.spawn(move || abuse(world))).collect();
        let outcomes: Vec<_> = abuses.into_iter().map(|abuse| abuse.join().is_ok()).collect();
        over.store(true, Ordering::Relaxed);
        assert!(outcomes.iter().all(|is_ok| *is_ok), "{outcomes:?}");
        assert!(other.join().unwrap() > 10, "somebody else was hardly answered");
    });
    let grown = world.memory_kib("VmHWM").saturating_sub(memory);
    assert!(grown < MAX_MEMORY_KIB, "{grown} KiB more at the peak");
    let began = Instant::now();
    while world.open_files() > files {
        assert!(began.elapsed() < MAX_TIME, "{} files are open, {files} were", world.open_files());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(world.served.ask_admin("GET /metrics").contains("sotto_request_memory_bytes 0\n"));
    assert!(world.answers());
    assert_eq!(world.served.end().0, 0);
}
