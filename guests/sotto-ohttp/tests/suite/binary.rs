//! Binary HTTP: both forms, optional parts, and invalid messages.

use bytes::Bytes;
use sotto_ohttp::bhttp::{BhttpError, BhttpLimits, Request, Response};

fn limits() -> BhttpLimits {
    BhttpLimits { fields: 4, bytes: 60 }
}

fn request() -> Request {
    Request {
        method: "POST".into(),
        scheme: "https".into(),
        authority: "pir.example".into(),
        path: "/queries?x=1".into(),
        fields: vec![("user-agent".into(), Bytes::from("sotto")), ("empty".into(), Bytes::new())],
        body: Bytes::from("content"),
    }
}

/// A text after its length of one byte.
fn text(text: &str) -> Vec<u8> {
    [&[text.len() as u8][..], text.as_bytes()].concat()
}

/// The request above in the form of indeterminate length, with its content in these chunks.
fn unknown(chunks: &[&str]) -> Vec<u8> {
    let head = ["POST", "https", "pir.example", "/queries?x=1", "user-agent", "sotto", "empty", ""];
    let mut out = vec![2];
    head.iter().for_each(|part| out.extend(text(part)));
    out.push(0);
    chunks.iter().for_each(|chunk| out.extend(text(chunk)));
    out.push(0);
    [out, text("trailer"), text("read over"), vec![0]].concat()
}

fn read(bytes: &[u8]) -> Result<Request, BhttpError> {
    Request::read(Bytes::copy_from_slice(bytes), limits())
}

#[test]
fn both_forms_say_the_same() {
    let known = request().to_bytes();
    assert_eq!(read(&known).unwrap(), request());
    assert_eq!(read(&unknown(&["con", "t", "ent"])).unwrap(), request());
    for padded in [known, unknown(&["content"])] {
        assert_eq!(read(&[&padded[..], &[0; 9]].concat()).unwrap(), request());
        assert_eq!(read(&[&padded[..], &[0, 0, 1]].concat()), Err(BhttpError::Long));
    }
    let response = Response { status: 410, fields: request().fields, body: Bytes::from(vec![7; 70_000]) };
    assert_eq!(Response::read(response.to_bytes().into(), limits()).unwrap(), response);
    let chunked = [&[3, 0x40, 102, 0, 0x41, 0x9A, 0][..], &text("ab"), &text("c"), &[0]].concat();
    let read = Response::read(chunked.into(), limits()).unwrap();
    assert_eq!(read, Response { status: 410, fields: Vec::new(), body: Bytes::from("abc") });
}

#[test]
fn a_message_may_end_before_its_content_and_nowhere_else() {
    let (known, bare) = (request().to_bytes(), Request { body: Bytes::new(), ..request() });
    let (fields, content) = (known.len() - 1 - 8, known.len() - 1);
    for len in 0..known.len() {
        let read = read(&known[..len]);
        match len {
            _ if len == fields => assert_eq!(read.unwrap(), bare),
            _ if len == content => assert_eq!(read.unwrap(), request()),
            // A message may end after the path, without any fields.
            37 => assert_eq!(read.unwrap(), Request { fields: Vec::new(), ..bare.clone() }),
            _ => assert!(read.is_err(), "{len} bytes were taken"),
        }
    }
    let chunked = unknown(&["content"]);
    let ends = (0..chunked.len()).filter(|len| read(&chunked[..*len]).is_ok()).count();
    assert_eq!(ends, 3, "behind the path, the fields, and the content");
}

#[test]
fn what_is_no_message_is_refused() {
    assert_eq!(read(&[]), Err(BhttpError::Short));
    assert_eq!(read(&[1, 0]), Err(BhttpError::Kind));
    assert_eq!(read(&[9, 0]), Err(BhttpError::Kind));
    assert_eq!(Response::read(request().to_bytes().into(), limits()), Err(BhttpError::Kind));
    let with = |change: &dyn Fn(&mut Request)| {
        let mut changed = request();
        change(&mut changed);
        read(&changed.to_bytes())
    };
    let name = |name: &str| with(&|request| request.fields[0].0 = name.into());
    assert_eq!(name(""), Err(BhttpError::Text));
    assert_eq!(name("User-Agent"), Err(BhttpError::Text));
    assert_eq!(name(":path"), Err(BhttpError::Text));
    assert_eq!(name("two words"), Err(BhttpError::Text));
    assert_eq!(with(&|request| request.fields[0].1 = "a\r\nb: c".into()), Err(BhttpError::Text));
    assert_eq!(with(&|request| request.method = "GE T".into()), Err(BhttpError::Text));
    assert_eq!(with(&|request| request.method.clear()), Err(BhttpError::Text));
    assert_eq!(with(&|request| request.path = "/a b".into()), Err(BhttpError::Text));
    assert_eq!(with(&|request| request.path = "/ä".into()), Err(BhttpError::Text));
    assert_eq!(with(&|request| request.path = "/".repeat(61)), Err(BhttpError::TooMuch));
    let response = |bytes: &[u8]| Response::read(Bytes::copy_from_slice(bytes), limits());
    assert_eq!(response(&[1, 0x3F, 0, 0, 0]), Err(BhttpError::Status));
    assert_eq!(response(&[1, 0x42, 0x58, 0, 0, 0]), Err(BhttpError::Status), "600");
    let before: Vec<u8> = [0x40, 102, 0].repeat(9);
    assert_eq!(response(&[&[1][..], &before, &[0x40, 200]].concat()), Err(BhttpError::TooMuch));
}

#[test]
fn fields_are_limited_whatever_the_form() {
    let many = |count: usize, name: &str| Request {
        fields: vec![(name.to_owned(), Bytes::from("v")); count],
        ..request()
    };
    assert!(read(&many(4, "a").to_bytes()).is_ok());
    assert_eq!(read(&many(5, "a").to_bytes()), Err(BhttpError::TooMuch));
    assert_eq!(read(&many(4, &"a".repeat(15)).to_bytes()), Err(BhttpError::TooMuch));
    let mut chunked = vec![2];
    ["GET", "https", "", "/"].iter().for_each(|part| chunked.extend(text(part)));
    let with = |field: &[u8], count: usize| read(&[&chunked[..], &field.repeat(count), &[0, 0, 0]].concat());
    assert!(with(&[1, b'a', 1, b'v'], 4).is_ok());
    assert_eq!(with(&[1, b'a', 1, b'v'], 5), Err(BhttpError::TooMuch));
    assert_eq!(with(&[&[1, b'a', 40][..], &[b'v'; 40]].concat(), 2), Err(BhttpError::TooMuch));
    // A length larger than any memory is refused before anything is allocated.
    assert_eq!(with(&[0xFF; 8], 1), Err(BhttpError::TooMuch));
    let content = [&chunked[..], &[0], &[0xFF; 8]].concat();
    assert_eq!(read(&content), Err(BhttpError::Short));
}
