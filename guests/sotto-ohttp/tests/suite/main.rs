//! The example of RFC 9458's appendix A, both sides with each other, messages as bytes, and a
//! gateway's keys over time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

use bytes::Bytes;
use rand_core::{TryCryptoRng, TryRng};
use sotto_ohttp::bhttp::{BhttpError, BhttpLimits, Request, Response};
use sotto_ohttp::config::KeyConfig;
use sotto_ohttp::gateway::{GatewayKey, OVERHEAD, OpenError};
use sotto_ohttp::gateway_keys::{GatewayKeys, RotationSchedule};
use sotto_ohttp::suite::Aead;
use sotto_ohttp::{client, gateway};
use sotto_testkit::rng::seeded;
use std::convert::Infallible;

const SECRET: &str = "3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a";
const CONFIG: &str =
    "01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e79815500080001000100010003";
const REQUEST: &str = "00034745540568747470730b6578616d706c652e636f6d012f";
const SEALED: &str = "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b4726374e469135906992e1268c594d2a10c695d858c40a026e7965e7d86b83dd440b2c0185204b4d63525";
const NONCE: &str = "c789e7151fcba46158ca84b04464910d";
const RESPONSE: &str = "0140c8";
const ANSWERED: &str = "c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd";

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// A generator that returns predetermined bytes.
struct Chosen(Vec<u8>);

impl TryRng for Chosen {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("only bytes are asked for")
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("only bytes are asked for")
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        out.copy_from_slice(&self.0.drain(..out.len()).collect::<Vec<_>>());
        Ok(())
    }
}

impl TryCryptoRng for Chosen {}

#[test]
fn the_example_of_the_rfc_comes_out_to_the_last_byte() {
    let key = GatewayKey::of(1, &hex(SECRET).try_into().unwrap()).unwrap();
    let listed = [&(hex(CONFIG).len() as u16).to_be_bytes()[..], &hex(CONFIG)].concat();
    let [config] = &KeyConfig::read_all(&listed).unwrap()[..] else { panic!("one key") };
    assert_eq!(config.aeads, [Aead::Aes128Gcm, Aead::ChaCha20Poly1305]);
    assert_eq!((config.id, config.public), (1, key.config().public));
    assert_eq!(config.to_bytes(), listed);
    let opened = gateway::open([&key].into_iter(), &hex(SEALED)).unwrap();
    assert_eq!(opened.plain, hex(REQUEST));
    let request = Request::read(opened.plain.into(), BhttpLimits::default()).unwrap();
    assert_eq!(
        (request.method.as_str(), request.authority.as_str(), request.path.as_str()),
        ("GET", "example.com", "/")
    );
    let response = Response { status: 200, fields: Vec::new(), body: bytes::Bytes::new() };
    assert_eq!(Response::read(hex(RESPONSE).into(), BhttpLimits::default()).unwrap(), response);
    assert_eq!(opened.reply.seal(&hex(RESPONSE), &mut Chosen(hex(NONCE))).unwrap(), hex(ANSWERED));
}

#[test]
fn both_halves_understand_each_other_with_every_cipher() {
    let rng = &mut seeded("ohttp");
    let keys = [GatewayKey::generate(7, rng).unwrap(), GatewayKey::generate(8, rng).unwrap()];
    for aead in Aead::ALL {
        for key in &keys {
            let config = KeyConfig { aeads: vec![aead], ..key.config() };
            let (bytes, pending) = client::seal(&config, b"a request", rng).unwrap();
            assert_eq!(bytes.len(), b"a request".len() + OVERHEAD);
            let opened = gateway::open(keys.iter(), &bytes).unwrap();
            assert_eq!(opened.plain, b"a request");
            assert_eq!(opened.reply.request()[..], bytes[7..39]);
            let answer = opened.reply.seal(b"a response", rng).unwrap();
            assert_eq!(pending.open(&answer).unwrap(), b"a response");
        }
    }
}

#[test]
fn what_was_changed_on_the_way_is_not_opened() {
    let rng = &mut seeded("changed");
    let key = GatewayKey::generate(7, rng).unwrap();
    let (bytes, pending) = client::seal(&key.config(), b"a request", rng).unwrap();
    let refused = |bytes: &[u8]| gateway::open([&key].into_iter(), bytes).err();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let unknown = at < 7 && at != 6;
        let why = refused(&changed).unwrap_or_else(|| panic!("byte {at} does not matter"));
        assert!(
            if unknown { why == OpenError::UnknownKey } else { why != OpenError::Malformed },
            "byte {at}: {why}"
        );
    }
    for len in 0..bytes.len() {
        assert!(refused(&bytes[..len]).is_some());
    }
    let other = GatewayKey::generate(7, rng).unwrap();
    assert_eq!(gateway::open([&other].into_iter(), &bytes).err(), Some(OpenError::Unopened));
    assert_eq!(gateway::open([].into_iter(), &bytes).err(), Some(OpenError::UnknownKey));
    let mut answer = gateway::open([&key].into_iter(), &bytes).unwrap().reply.seal(b"yes", rng).unwrap();
    *answer.last_mut().unwrap() ^= 1;
    assert!(pending.open(&answer).is_err());
    assert!(!format!("{key:?}").contains(&format!("{:?}", key.secret()[0])) || key.secret()[0] == 7);
}

#[test]
fn keys_of_other_kinds_are_passed_over_and_what_is_no_list_is_refused() {
    let rng = &mut seeded("lists");
    let ours = GatewayKey::generate(3, rng).unwrap().config();
    let mut other = ours.to_bytes();
    other[4] = 0x10;
    let mut unknown = ours.to_bytes();
    for suite in 0..3 {
        unknown[2 + 35 + 2 + 4 * suite + 3] = 77;
    }
    let list = [other, unknown, ours.to_bytes()].concat();
    assert_eq!(KeyConfig::read_all(&list).unwrap(), std::slice::from_ref(&ours));
    assert_eq!(KeyConfig::read_all(&[]).unwrap(), []);
    for len in 1..ours.to_bytes().len() {
        assert!(KeyConfig::read_all(&ours.to_bytes()[..len]).is_none(), "{len} bytes were taken");
    }
    let zero = KeyConfig { public: [0; 32], ..ours.clone() };
    assert!(client::seal(&zero, b"x", rng).is_err(), "a point that gives everybody the same secret");
    assert!(client::seal(&KeyConfig { aeads: Vec::new(), ..ours }, b"x", rng).is_err());
}

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

const ROTATION: RotationSchedule = RotationSchedule { every: 100, after: 30 };

#[test]
fn a_key_is_told_for_a_while_and_opened_with_for_a_while_longer() {
    let rng = &mut seeded("ring");
    let mut ring = GatewayKeys::new(ROTATION);
    assert!(ring.is_due(1000) && ring.published().is_empty());
    ring = ring.turned(1000, rng).unwrap();
    let [first] = &KeyConfig::read_all(&ring.published()).unwrap()[..] else { panic!("one") };
    let (early, _) = client::seal(first, b"early", rng).unwrap();
    assert!(!ring.is_due(1099) && !ring.is_due(3), "a clock that goes back makes no keys");
    assert!(ring.is_due(1100));
    ring = ring.turned(1100, rng).unwrap();
    let [second] = &KeyConfig::read_all(&ring.published()).unwrap()[..] else { panic!("one") };
    assert!(second.id != first.id && second.public != first.public);
    assert_eq!(gateway::open(ring.keys(), &early).unwrap().plain, b"early");
    let written = ring.to_text();
    let again = GatewayKeys::read(ROTATION, &written).unwrap();
    assert_eq!((again.to_text(), again.published()), (written, ring.published()));
    assert_eq!(gateway::open(again.keys(), &early).unwrap().plain, b"early");
    assert!(again.is_due(1130));
    ring = again.turned(1130, rng).unwrap();
    assert_eq!(gateway::open(ring.keys(), &early).err(), Some(OpenError::UnknownKey));
    // After a long pause no old key is left, and no id is reused immediately.
    ring = ring.turned(9000, rng).unwrap();
    let [third] = &KeyConfig::read_all(&ring.published()).unwrap()[..] else { panic!("one") };
    assert_eq!((ring.keys().count(), third.id), (1, second.id.wrapping_add(1)));
}

#[test]
fn ids_go_around() {
    let rng = &mut seeded("around");
    let mut ring = GatewayKeys::new(ROTATION);
    for i in 0..600 {
        ring = ring.turned(i * 100, rng).unwrap();
        let ids: std::collections::BTreeSet<u8> = ring.keys().map(|key| key.id()).collect();
        assert_eq!(ids.len(), ring.keys().count());
    }
    assert_eq!(ring.keys().count(), 2);
}

#[test]
fn what_is_no_file_of_keys_is_refused() {
    let ring = GatewayKeys::new(ROTATION).turned(5, &mut seeded("file")).unwrap();
    let text = ring.to_text();
    let refused = |text: &str| assert!(GatewayKeys::read(ROTATION, text).is_none(), "taken: {text}");
    refused("");
    refused(&text.replace("keys/1", "keys/2"));
    refused(&text.replace(" 5 ", " 05 "));
    refused(&text.replace(" 5 ", " 5 6 "));
    refused(&text.replace(" 5 ", " -5 "));
    refused(&text.replace("\n1 ", "\n300 "));
    refused(&text.to_uppercase().replace("SOTTO-OHTTP-KEYS", "sotto-ohttp-keys"));
    refused(text.trim_end().strip_suffix(|_: char| true).unwrap());
    let line = text.lines().nth(1).unwrap();
    refused(&format!("{}{line}\n", text.as_str()));
    refused(&format!("{}{}", text.as_str(), "\n".repeat(70_000)));
}
