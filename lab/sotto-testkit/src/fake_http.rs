//! A server over HTTP that a test makes up: intermediaries, issuers and hostile servers, byte by byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// Serves `answer` over HTTP: a function from the head and body of a request to all bytes of the
/// response. Each connection carries one request, and is closed if there are no bytes. Requests are
/// answered one after the other. Returns the address.
pub fn serve(answer: impl FnMut(&str, &[u8]) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(Mutex::new(answer));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                let mut stream = stream.unwrap();
                let Some((head, body)) = request(&stream) else { return };
                let response = answer.lock().unwrap_or_else(PoisonError::into_inner)(&head, &body);
                // A client may close the connection early.
                let _ = stream.write_all(&response);
            });
        }
    });
    url
}

/// The head and the body of a request, if it comes whole.
fn request(stream: &TcpStream) -> Option<(String, Vec<u8>)> {
    let (mut reader, mut head) = (BufReader::new(stream), String::new());
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).ok().filter(|bytes| *bytes > 0)?;
    }
    let mut body = vec![0; header(&head, "content-length").map_or(0, |text| text.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// The path in the head of a request.
pub fn path(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or_default()
}

/// A header in the head of a request.
pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// A whole response; `headers` are lines that end with `\r\n`.
pub fn response(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}
