//! A minimal HTTP/1.1 client, which can misbehave.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Reads a response to the end of the connection.
    pub(crate) fn read(stream: &mut impl Read) -> Self {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Response::parse(&bytes)
    }

    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no response in {:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| {
            let (key, value) = line.split_once(": ").unwrap();
            (key.to_lowercase(), value.to_owned())
        };
        Response { status, headers: lines.map(header).collect(), body: bytes[end + 4..].to_vec() }
    }
}

pub(crate) fn connect(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// Connects from another address of this machine, in 127.0.0.0/8.
pub(crate) fn connect_as(client: u8, at: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, client], 0))).unwrap();
        socket.connect(at).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

pub(crate) fn head(method: &str, path: &str, headers: &[(&str, &str)]) -> String {
    let headers: String = headers.iter().map(|(key, value)| format!("{key}: {value}\r\n")).collect();
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n")
}

/// Posts from another address.
#[cfg(target_os = "linux")]
pub(crate) fn post_as(client: u8, at: SocketAddr, path: &str, body: &[u8]) -> Response {
    let headers = [("content-length", &*body.len().to_string())];
    send(connect_as(client, at), &head("POST", path, &headers), body)
}

pub(crate) fn request(
    at: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Response {
    send(connect(at), &head(method, path, headers), body)
}

fn send(mut stream: TcpStream, head: &str, body: &[u8]) -> Response {
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses early may close before all is sent; its response is read nevertheless.
    let _ = stream.write_all(body);
    Response::read(&mut stream)
}

pub(crate) fn get(at: SocketAddr, path: &str) -> Response {
    request(at, "GET", path, &[], b"")
}

/// Posts to the admin port, as an operator does.
pub(crate) fn operate(admin: SocketAddr, path: &str) -> Response {
    request(admin, "POST", path, &[("sotto-admin", "1")], b"")
}

pub(crate) fn post(at: SocketAddr, path: &str, body: &[u8]) -> Response {
    request(at, "POST", path, &[("content-length", &body.len().to_string())], body)
}

/// Posts without announcing a length, in chunks of the given size.
pub(crate) fn post_chunked(at: SocketAddr, path: &str, body: &[u8], chunk: usize) -> Response {
    let mut bytes = Vec::new();
    for chunk in body.chunks(chunk) {
        bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
        bytes.extend(chunk);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"0\r\n\r\n");
    request(at, "POST", path, &[("transfer-encoding", "chunked")], &bytes)
}
