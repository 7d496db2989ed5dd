//! A proxy between a client and its server: it records requests, and can hold one back.

use sotto_testkit::transcript::TranscriptRecorder;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// A relay on a port of its own, which stays the same when the server behind it is another one.
pub(crate) struct Relay {
    pub(crate) url: String,
    shared: Arc<Shared>,
    held: mpsc::Receiver<mpsc::Sender<()>>,
}

struct Shared {
    server: Mutex<String>,
    holding: AtomicBool,
    /// All that clients sent, connection by connection.
    sent: Mutex<Vec<Vec<u8>>>,
}

impl Relay {
    pub(crate) fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            server: Mutex::new(server.to_owned()),
            holding: AtomicBool::new(false),
            sent: Mutex::default(),
        });
        let (tell, held) = mpsc::channel();
        let behind = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, shared) = (client.unwrap(), Arc::clone(&behind));
                let server = shared.server.lock().unwrap().strip_prefix("http://").unwrap().to_owned();
                match TcpStream::connect(server) {
                    Ok(server) => carry(client, server, shared, tell.clone()),
                    // What a client of a dead server sees.
                    Err(_) => client.shutdown(Shutdown::Both).unwrap_or_default(),
                }
            }
        });
        Relay { url, shared, held }
    }

    /// From now on, another server is behind it.
    pub(crate) fn lead_to(&self, server: &str) {
        *self.shared.server.lock().unwrap() = server.to_owned();
    }

    /// Holds the next POST back until the one it gives is sent something, or dropped.
    pub(crate) fn hold(&self, meanwhile: impl FnOnce()) -> mpsc::Sender<()> {
        self.shared.holding.store(true, Ordering::SeqCst);
        meanwhile();
        self.held.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    /// Takes down all that was sent since the last time: the requests for each path in their order, as those of several tables
    /// travel at the same time.
    pub(crate) fn note(&self, transcript: &TranscriptRecorder) {
        for sent in self.shared.sent.lock().unwrap().iter_mut() {
            let sent = std::mem::take(sent);
            let mut rest = sent.as_slice();
            while let Some((path, body, after)) = request(rest) {
                let line =
                    String::from_utf8_lossy(rest.split(|byte| *byte == b'\r').next().unwrap_or_default());
                transcript.note(path, line, body.len());
                rest = after;
            }
        }
    }

    /// The bodies of all requests to a route so far, without their first `head` bytes.
    pub(crate) fn posted(&self, route: &str, head: usize) -> Vec<Vec<u8>> {
        let sent = self.shared.sent.lock().unwrap();
        let mut found = Vec::new();
        for mut rest in sent.iter().map(Vec::as_slice) {
            while let Some((path, body, after)) = request(rest) {
                if path.ends_with(route) {
                    found.push(body[head..].to_vec());
                }
                rest = after;
            }
        }
        found
    }
}

/// The path and the body of the first request, once it is whole, and what comes after it.
fn request(sent: &[u8]) -> Option<(String, &[u8], &[u8])> {
    let end = sent.windows(4).position(|four| four == b"\r\n\r\n")?;
    let text = String::from_utf8_lossy(&sent[..end]).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let (body, after) =
        sent[end + 4..].split_at_checked(length.map_or(0, |length| length.parse().unwrap()))?;
    Some((text.split_whitespace().nth(1)?.to_owned(), body, after))
}

fn carry(client: TcpStream, server: TcpStream, shared: Arc<Shared>, tell: mpsc::Sender<mpsc::Sender<()>>) {
    let (mut from, mut back) = (client.try_clone().unwrap(), client);
    let (mut to, mut answers) = (server.try_clone().unwrap(), server);
    let place = {
        let mut sent = shared.sent.lock().unwrap();
        sent.push(Vec::new());
        sent.len() - 1
    };
    std::thread::spawn(move || {
        let mut block = [0; 1 << 16];
        let mut part = Vec::new();
        while let Ok(count @ 1..) = from.read(&mut block) {
            shared.sent.lock().unwrap()[place].extend(&block[..count]);
            part.extend(&block[..count]);
            // Requests are forwarded once they are complete, so that no process is killed in the middle of a held one.
            if request(&part).is_none() {
                continue;
            }
            if part.starts_with(b"POST") && shared.holding.swap(false, Ordering::SeqCst) {
                let (go_on, may_go_on) = mpsc::channel();
                tell.send(go_on).unwrap_or_default();
                may_go_on.recv().unwrap_or_default();
            }
            if to.write_all(&std::mem::take(&mut part)).is_err() {
                break;
            }
        }
        to.shutdown(Shutdown::Both).unwrap_or_default();
    });
    std::thread::spawn(move || {
        std::io::copy(&mut answers, &mut back).unwrap_or_default();
        back.shutdown(Shutdown::Both).unwrap_or_default();
    });
}
