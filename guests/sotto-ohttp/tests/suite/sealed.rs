//! The example of RFC 9458's appendix A, and both sides with each other.

use rand_core::{TryCryptoRng, TryRng};
use sotto_ohttp::bhttp::{BhttpLimits, Request, Response};
use sotto_ohttp::client;
use sotto_ohttp::config::KeyConfig;
use sotto_ohttp::gateway::{self, GatewayKey, OVERHEAD, OpenError};
use sotto_ohttp::suite::Aead;
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
