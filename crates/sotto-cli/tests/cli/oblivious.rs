//! Lookups through a relay, which learns nothing of them; and tokens through the same relay.

use crate::apple::with_tokens;
use crate::harness::{Folder, Served, sotto};
use crate::relay::Relay;

const GATEWAY: &str = "/.well-known/ohttp-gateway";

#[test]
fn a_relay_passes_everything_on_and_reads_nothing() {
    let folder = Folder::new();
    let text = with_tokens(&folder) + "[ohttp]\n";
    let config = folder.write("sotto.toml", format!("state = {:?}\n{text}", folder.text("state")));
    let served = Served::start(&["--config", &config]);
    let relay = Relay::to(&served.url);
    let kept = ["--state", &folder.text("mine"), "--cache", &folder.text("cache")];
    let asked = ["get", "--apple", &served.url, "--use-case", "callers", "--key", "+15550000001"];
    let usual = [&asked[..], &kept].concat();
    let to = format!("{}{GATEWAY}", relay.url);
    // The server could give each address a key of its own, so the key is not requested from it.
    sotto(&[&usual[..], &["--relay", &to]].concat()).fails(2, &["--gateway-keys"]);
    assert!(relay.posted(GATEWAY, 0).is_empty());
    let ours = folder.text("ours.keys");
    std::fs::write(&ours, served_keys(&served.url)).unwrap();
    let with = |keys: &str, more: &[&str]| {
        sotto(&[&usual[..], &["--relay", &to, "--gateway-keys", keys], more].concat())
    };
    with(&ours, &[]).fails(6, &["401", "--user-token"]);
    let output = with(&ours, &["--user-token", "c0ffee"]);
    output.prints("Ann");
    output.prints("relay learns");
    // Configuration, then directory, key, a batch of tokens, and three requests.
    let sent = relay.posted(GATEWAY, 0);
    assert_eq!(sent.len(), 1 + 2 + 32 + 3, "everything went by the relay");
    for word in ["callers", "c0ffee", "queries", "token", "user-agent"] {
        let is_read = |body: &Vec<u8>| body.windows(word.len()).any(|part| part == word.as_bytes());
        assert!(!sent.iter().any(is_read), "the relay reads {word}");
    }
    // Keys from a file: those of another gateway decrypt nothing.
    let other = folder.write("sotto-2.toml", format!("state = {:?}\n{text}", folder.text("state-2")));
    let other = Served::start(&["--config", &other]);
    let theirs = folder.text("theirs.keys");
    std::fs::write(&theirs, served_keys(&other.url)).unwrap();
    with(&theirs, &[]).fails(6, &["does not know the key", "get the file of keys again"]);
    std::fs::write(&theirs, "none").unwrap();
    with(&theirs, &[]).fails(6, &["no keys of the gateway"]);
    let nowhere = format!("{}/nothing", relay.url);
    sotto(&[&usual[..], &["--relay", &nowhere, "--gateway-keys", &ours]].concat())
        .fails(6, &["the relay responds with 404", "--relay"]);
}

fn served_keys(url: &str) -> Vec<u8> {
    use sotto_client::transport::http::{HttpSettings, HttpTransport};
    use sotto_client::transport::{Request, Transport};
    let mut http = HttpTransport::new(url, &HttpSettings::default()).unwrap();
    http.call(&Request::get(GATEWAY.to_owned(), 1000)).unwrap().body
}
