//! Tokens of Privacy Pass come in batches, ahead of their use: an issuer that is also the server does not see by the time whose
//! request one is.

use crate::apple::with_tokens;
use crate::harness::{Folder, Outcome, Served, sotto};
use sotto_client::cache::keyring::{Keyring, KeyringSlot, TOKEN_BATCH, TokenStore};
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Transport};
use sotto_pass::issuer::IssuerError;
use sotto_pass::ledger::MemoryLedger;
use sotto_pass::message::TOKEN;
use sotto_pass::{Issuer, IssuerKeys, RotationSchedule, UserTiers};
use sotto_testkit::fake_http::{header, path, response, serve};
use sotto_testkit::rng::seeded;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const DIRECTORY: &str = "/.well-known/private-token-issuer-directory";
const KEY: &str = "/token-key-for-user-token";
const NOW: u64 = 1_790_000_000;

/// An issuer in front of a server: it writes down what comes, and takes a token for all that goes on.
struct RecordingIssuer {
    pass: Issuer,
    ledger: MemoryLedger,
    /// Where lookups are answered.
    server: String,
    seen: Mutex<RecordedRequests>,
}

#[derive(Default)]
struct RecordedRequests {
    /// The paths of all requests, as they came.
    paths: Vec<String>,
    /// What each token was that came with a request.
    tokens: Vec<String>,
    refuses: bool,
    breaks_off: bool,
}

impl RecordingIssuer {
    fn start(server: &str, most_given: u32) -> (Arc<Self>, String) {
        let (users, ledger, mut rng) =
            (UserTiers::parse("free c0ffee\n").unwrap(), MemoryLedger::default(), seeded("issuer"));
        let ring = IssuerKeys::open(RotationSchedule::default(), &ledger).unwrap();
        let ring = ring.turned(users.tiers(), NOW, &ledger, &mut rng).unwrap();
        let issuer = Some("127.0.0.1".to_owned());
        let pass = Issuer { ring, users, max_issued: most_given, issue_uri: "/issue".to_owned(), issuer };
        let this =
            Arc::new(RecordingIssuer { pass, ledger, server: server.to_owned(), seen: Mutex::default() });
        let behind = Arc::clone(&this);
        (this, serve(move |head, body| behind.answer(head, body)))
    }

    fn with<T>(&self, change: impl FnOnce(&mut RecordedRequests) -> T) -> T {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The paths of requests since the last call; consecutive requests for tokens are counted.
    fn paths(&self) -> Vec<String> {
        let mut runs: Vec<(String, usize)> = Vec::new();
        for path in self.with(|seen| std::mem::take(&mut seen.paths)) {
            match runs.last_mut() {
                Some((last, count)) if *last == path => *count += 1,
                _ => runs.push((path, 1)),
            }
        }
        runs.into_iter()
            .map(|(path, count)| if count > 1 { format!("{count} {path}") } else { path })
            .collect()
    }

    fn answer(&self, head: &str, body: &[u8]) -> Vec<u8> {
        let (path, authorization) = (path(head), header(head, "authorization"));
        let (refuses, breaks_off) = self.with(|seen| {
            seen.paths.push(path.to_owned());
            (seen.refuses, seen.breaks_off)
        });
        let answer = match path {
            DIRECTORY => Ok(self.pass.directory(NOW).to_string().into_bytes()),
            KEY => self.pass.key_for(authorization, NOW).map(<[u8]>::to_vec),
            "/issue" => self.pass.issue(authorization, body, NOW, &self.ledger, &mut seeded("sign")),
            _ => {
                self.with(|seen| seen.tokens.extend(authorization.map(str::to_owned)));
                if breaks_off {
                    return Vec::new();
                }
                let token = if refuses { None } else { authorization };
                self.pass.redeem(token, NOW, &self.ledger).map(|_| Vec::new())
            }
        };
        let (status, body) = match answer {
            Err(IssuerError::Refused(refused)) => (refused.status, refused.why.as_bytes().to_vec()),
            Err(IssuerError::Broken(why)) => panic!("{why}"),
            Ok(given) if !given.is_empty() => (200, given),
            Ok(_) => {
                let said = ["user-agent", "user-identifier"]
                    .map(|name| (name, header(head, name).unwrap().to_owned()));
                let http = HttpTransport::new(&self.server, &HttpSettings::default()).unwrap();
                let request = Request::post(path.to_owned(), body.to_vec(), 1 << 30);
                let response = http.with_headers(said.to_vec()).call(&request).unwrap();
                (response.status, response.body)
            }
        };
        response(status, "", &body)
    }
}

struct World {
    folder: Folder,
    _served: Served,
    issuer: Arc<RecordingIssuer>,
    url: String,
}

impl World {
    fn start(most_given: u32) -> Self {
        let folder = Folder::new();
        with_tokens(&folder);
        let served = Served::start(&["--apple", &folder.text("callers"), "--state", &folder.text("state")]);
        let (issuer, url) = RecordingIssuer::start(&served.url, most_given);
        World { folder, _served: served, issuer, url }
    }

    fn get(&self, more: &[&str]) -> Outcome {
        let (state, cache) = (self.folder.text("mine"), self.folder.text("cache"));
        let usual = ["get", "--apple", &self.url, "--use-case", "callers", "--user-token", "c0ffee"];
        let kept = if more.contains(&"--no-cache") { vec![] } else { vec!["--cache", &cache] };
        sotto(&[&usual[..], &["--state", &state], &kept, more].concat())
    }

    /// Takes tokens out of the cache.
    fn take(&self, count: usize) {
        let ring = Keyring::open(&self.folder.at("cache"), None).unwrap();
        let hook = KeyringSlot::of(&format!("tokens {}", self.url), &blake3::hash(b"c0ffee").to_hex());
        let mut store = TokenStore::new(Some((ring, hook)), TOKEN, Duration::from_secs(9));
        for _ in 0..count {
            store.take(&mut seeded("take")).unwrap().unwrap();
        }
    }
}

const ANN: [&str; 2] = ["--key", "+15550000001"];

#[test]
fn no_token_is_issued_between_lookups_of_a_batch() {
    let world = World::start(1000);
    let (batch, paths) = (format!("{TOKEN_BATCH} /issue"), || world.issuer.paths());
    world.get(&ANN).prints("Ann");
    assert_eq!(paths(), [DIRECTORY, KEY, &batch, "/config", "/key", "/queries"], "a batch, then requests");
    // Other processes, and all at once: the issuer hears nothing of them. A call under keys of its own takes tokens too.
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..4).map(|_| scope.spawn(|| world.get(&ANN).prints("Ann"))).collect();
        calls.into_iter().for_each(|call| call.join().unwrap());
    });
    world.get(&[&ANN[..], &["--fresh-keys"]].concat()).prints("Ann");
    let asked = world.issuer.with(|seen| std::mem::take(&mut seen.paths));
    assert!(
        asked.len() == 4 * 2 + 3 && !asked.iter().any(|path| path == KEY || path == "/issue"),
        "{asked:?}"
    );
    // Few are left. The next batch comes after the lookup, and as large as the first, whatever was wanted.
    world.take(TOKEN_BATCH - 3 - 8 - 3 - 9);
    world.get(&["--row", "1"]).fails(2, &["by key"]);
    assert_eq!(paths(), ["/config", "/queries", DIRECTORY, KEY, &batch]);
    world.get(&ANN).prints("Ann");
    assert_eq!(paths(), ["/config", "/queries"]);
    // A request that is broken off takes its token with it.
    world.issuer.with(|seen| seen.breaks_off = true);
    assert_ne!(world.get(&ANN).code, 0);
    world.issuer.with(|seen| seen.breaks_off = false);
    world.get(&ANN).prints("Ann");
    // Without a folder a batch is one call's.
    for _ in 0..2 {
        paths();
        world.get(&[&ANN[..], &["--no-cache"]].concat()).prints("Ann");
        assert_eq!(paths(), [DIRECTORY, KEY, &batch, "/config", "/key", "/queries"]);
    }
    world.get(&["--no-cache", "--fetch-tokens"]).fails(2, &["no cache folder", "--cache"]);
    let tokens = world.issuer.with(|seen| std::mem::take(&mut seen.tokens));
    assert_eq!(tokens.iter().collect::<BTreeSet<_>>().len(), tokens.len(), "none is sent twice");
}

/// A server could refuse tokens in order to see who fetches others.
#[test]
fn a_server_that_refuses_a_token_does_not_see_who_fetches_others() {
    let world = World::start(2 * TOKEN_BATCH as u32 - 1);
    let (batch, paths) = (format!("{TOKEN_BATCH} /issue"), || world.issuer.paths());
    world.get(&[&ANN[..], &["--stored-tokens"]].concat()).fails(6, &["no stored token", "--fetch-tokens"]);
    assert_eq!(paths(), [""; 0]);
    world.get(&["--fetch-tokens"]).prints("stored tokens: 32");
    assert_eq!(paths(), [DIRECTORY, KEY, &batch], "at a time of the user's choice");
    world.get(&[&ANN[..], &["--stored-tokens"]].concat()).prints("Ann");
    world.issuer.with(|seen| seen.refuses = true);
    world.get(&ANN).fails(6, &["401: a token is required", "batch is now deleted", "try again later"]);
    world.issuer.with(|seen| seen.refuses = false);
    world.get(&[&ANN[..], &["--stored-tokens"]].concat()).fails(6, &["no stored token"]);
    assert_eq!(paths(), ["/config", "/key", "/queries", "/config"]);
    // This user may have fewer tokens than a batch. No more are requested after each lookup.
    let rest = TOKEN_BATCH - 1;
    assert_eq!(world.get(&["--fetch-tokens", "--json"]).json()["stored_tokens"], rest);
    assert_eq!(paths(), [DIRECTORY, KEY, &batch]);
    world.take(rest - 4);
    for _ in 0..2 {
        world.get(&ANN).prints("Ann");
        assert_eq!(paths(), ["/config", "/queries"]);
    }
    world.get(&ANN).fails(6, &["429", "the limit of tokens"]);
}
