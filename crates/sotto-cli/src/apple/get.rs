//! `sotto get --apple`: looks rows up on a server of Apple's private lookups, in the protocol of
//! phones.
//!
//! Each call requests the configuration, sends its keys if the server has none, and requests all
//! values at once; for a symmetric table it first requests as many evaluations. None of this
//! depends on the lookups, except for the shard of each key, which a request names.

use crate::apple::client_files::ClientFiles;
use crate::apple::connection::{AppleConnection, AppleServer, Tokens};
use crate::apple::why;
use crate::connect_args::ConnectArgs;
use crate::download::http_settings;
use crate::failure::{Exit, Failure, Result};
use crate::lookups::{PrintedResult, RequestedLookups, ResultReport};
use crate::screen::{Report, Screen, grid, units};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_apple::client::{Client, ConfigPolicy, PendingRequest, ShardFunction, config_request};
use sotto_apple::sets::WeakParams;
use sotto_catalog::ValueKind;
use sotto_client::transport::Response;
use sotto_client::transport::http::HttpSettings;
use std::time::{Duration, Instant};

/// User agent of phones, from which a server concludes which messages its client understands.
const AGENT: &str = "com.apple.ciphermld/1.0 iOS/18.2";

/// Maximum number of lookups in one request.
const MAX_LOOKUPS: usize = 64;

/// Arguments of such lookups.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Apple's lookups")]
pub(crate) struct AppleArgs {
    /// Address of a server of Apple's private lookups, in place of --server and --table
    #[arg(long, value_name = "URL", requires = "use_case", conflicts_with_all = ["servers", "table", "bits", "stream"])]
    apple: Option<String>,
    /// Name of the use case on that server
    #[arg(long, value_name = "NAME", requires = "apple")]
    use_case: Option<String>,
    /// Name under which the server stores this user's keys [default: a random one, which expires
    /// with the keys]
    #[arg(long, value_name = "NAME", requires = "apple")]
    user: Option<String>,
    /// User-Agent header, from which a server infers what its client supports
    #[arg(long, value_name = "TEXT", requires = "apple", default_value = AGENT)]
    agent: String,
    /// Maximum number of shards to accept: the server learns in which of them a key is
    #[arg(long, value_name = "N", requires = "apple", default_value = "1", value_parser = clap::value_parser!(u64).range(1..))]
    max_shards: u64,
    /// Accept a changed mapping of keys to shards, as the refusal prints it
    #[arg(long, value_name = "FUNCTION", requires = "apple")]
    accept_shards: Option<ShardFunction>,
    /// User token that the app gives to the system; each request then carries a token issued for it
    #[arg(long, value_name = "TOKEN", requires = "apple")]
    user_token: Option<String>,
    /// Fetch a batch of tokens and make no lookup; run it from a timer, so that its times reveal
    /// nothing about lookups
    #[arg(long, requires = "user_token", conflicts_with_all = ["rows", "keys", "keys_file", "refill", "stored_tokens"])]
    fetch_tokens: bool,
    /// Use stored tokens only, and fetch none
    #[arg(long, requires = "user_token")]
    stored_tokens: bool,
    /// Ask by way of the relay of Oblivious HTTP at this address: the server does not learn who asks, nor the relay what
    #[cfg_attr(not(feature = "ohttp"), allow(dead_code, reason = "such a build refuses the flag"))]
    #[arg(long, value_name = "URL", requires_all = ["apple", "gateway_keys"], hide = !OHTTP)]
    #[arg(value_parser = of_ohttp::<String>)]
    relay: Option<String>,
    /// The keys of the server's gateway, from its operator by another way than this machine's: keys for you alone tell who asks
    #[cfg_attr(not(feature = "ohttp"), allow(dead_code, reason = "such a build refuses the flag"))]
    #[arg(long, value_name = "FILE", requires = "relay", hide = !OHTTP, value_parser = of_ohttp::<std::path::PathBuf>)]
    gateway_keys: Option<std::path::PathBuf>,
    /// Accept parameters of less than 128 bits of security
    #[arg(long, requires = "apple")]
    allow_insecure_params: bool,
}

impl AppleArgs {
    pub(crate) fn url(&self) -> Option<&str> {
        self.apple.as_deref()
    }
}

/// Bytes and requests of a call.
#[derive(Default)]
struct TrafficSummary {
    config: u64,
    keys: u64,
    up: u64,
    down: u64,
    round_trip: Duration,
    /// Number of evaluations, for a symmetric table.
    evaluations: u64,
}

/// The results of a call's lookups.
struct AppleResults {
    client: Client,
    values: Vec<Option<Vec<u8>>>,
    traffic: TrafficSummary,
}

/// An attempt at the lookups of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    /// After the server lost the keys, or had another configuration.
    Last,
}

/// Whether this build includes Oblivious HTTP.
const OHTTP: bool = cfg!(feature = "ohttp");

/// Parses the value of a flag that needs Oblivious HTTP, which a build without it refuses.
fn of_ohttp<T: From<String>>(text: &str) -> std::result::Result<T, &'static str> {
    match OHTTP {
        true => Ok(text.to_owned().into()),
        false => Err("this build lacks Oblivious HTTP; build sotto with --features ohttp"),
    }
}

/// Lookups in a table of Apple's lookups, and their cost.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UseCaseGetReport<'a> {
    /// Name of the use case.
    use_case: &'a str,
    /// Number of shards of the table.
    shards: usize,
    /// Number of parts of all keys of which the server may have learned one.
    parts_told: u64,
    /// Results, in the order of the request.
    answers: Vec<ResultReport>,
    up_bytes: u64,
    down_bytes: u64,
    /// What was moved before the first lookup.
    once: UseCaseBytesOnce,
    /// Number of evaluations of a symmetric table.
    evaluations: Option<u64>,
    round_trip_ms: f64,
}

/// Bytes that are moved before the first of Apple's lookups.
#[derive(Serialize, JsonSchema)]
struct UseCaseBytesOnce {
    /// Bytes of the configuration.
    config_bytes: u64,
    /// Bytes of the keys.
    keys_bytes: u64,
}

/// Tokens in the cache.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TokensReport {
    /// Number of tokens.
    stored_tokens: usize,
}

/// A call of `sotto get` that goes to such a server.
pub(crate) struct AppleCall<'a> {
    pub(crate) url: &'a str,
    pub(crate) args: &'a AppleArgs,
    pub(crate) remote: &'a ConnectArgs,
    pub(crate) requested: &'a RequestedLookups,
}

impl AppleCall<'_> {
    pub(crate) fn run(&self, screen: Screen) -> Result<Report> {
        let AppleCall { url, remote, requested, .. } = self;
        let count = requested.rows.len() + requested.keys.len();
        if count > MAX_LOOKUPS {
            return Err(Failure::usage(format!("{count} lookups exceed the {MAX_LOOKUPS} of one request")));
        }
        let use_case = self.args.use_case.as_deref().unwrap_or_default();
        let mut rng = sotto_prg::system_rng()?;
        let overall = Duration::from_secs(remote.timeout);
        let settings = HttpSettings { overall, ..http_settings(remote.trust_root.as_deref())? };
        let headers = vec![("user-agent", self.args.agent.clone())];
        #[cfg_attr(not(feature = "ohttp"), allow(unused_mut, reason = "a relay changes it"))]
        let mut connection = AppleConnection::new(url, settings, headers)?;
        #[cfg(feature = "ohttp")]
        if let (Some(relay), Some(keys)) = (&self.args.relay, &self.args.gateway_keys) {
            connection.use_relay(relay, keys)?;
        }
        let tokens = self.args.user_token.as_ref();
        let tokens = tokens.map(|token| Tokens::open(remote, url, token, self.args.stored_tokens));
        let mut server = AppleServer { connection, tokens: tokens.transpose()? };
        if self.args.fetch_tokens {
            let count = server.fetch_tokens(&mut rng)?;
            let text = format!("stored tokens: {count}");
            return Ok(Report::new(text, &TokensReport { stored_tokens: count }));
        }
        let mut files = ClientFiles::open(remote, url, use_case, self.args.user.as_deref())?;
        let results = self.look_up(&mut server, &mut files, use_case, &mut rng);
        let is_relayed = server.connection.is_relayed();
        let report = results.and_then(|results| self.report(use_case, results, is_relayed));
        let shown = report.and_then(|report| screen.print(report));
        // Called whatever the result, so that requests to the issuer do not depend on the lookups.
        server.refill_tokens(&mut rng);
        shown.map(|()| Report::default())
    }

    /// The results of the lookups: what they revealed to whom, and their cost.
    fn report(&self, use_case: &str, results: AppleResults, is_relayed: bool) -> Result<Report> {
        let AppleResults { client, values, traffic } = results;
        let fits = if client.rows().is_some() {
            self.requested.keys.is_empty()
        } else {
            self.requested.rows.is_empty()
        };
        if !fits {
            let (has, give) = if client.rows().is_some() { ("number", "--row") } else { ("key", "--key") };
            return Err(Failure::usage(format!("use case {use_case} is for lookups by {has}"))
                .fix(format!("give {give}")));
        }
        let exact = client.has_lengths();
        let names = self.requested.rows.iter().map(|row| (format!("row {row}"), false));
        let names = names.chain(self.requested.keys.iter().map(|key| (key.text.clone(), true)));
        let answers: Vec<PrintedResult> =
            names.zip(values).map(|((name, is_key), value)| answer(name, is_key, exact, value)).collect();
        if let (Some(rows), true) = (client.rows(), answers.iter().any(|answer| !answer.is_there())) {
            return Err(Failure::missing(format!("no such row: the table has {rows}"))
                .fix("give a row number below that; rows are counted from 0"));
        }
        let keys = match traffic.keys {
            0 => "nothing (keys of an earlier call)".to_owned(),
            keys => format!("{} of keys up", units::bytes(keys)),
        };
        let revealed = match client.parts_revealed() {
            1 => "nothing about the row".to_owned(),
            parts if parts == client.shards() as u64 => format!("in which of {parts} shards each key is"),
            parts => format!("at most in which of {parts} parts of all keys each key is"),
        };
        let mut facts = vec![("use case", use_case.to_owned()), ("server learns", revealed)];
        if is_relayed {
            facts.push(("relay learns", "the address of this client, and the number of bytes".to_owned()));
        }
        if client.is_symmetric() {
            let opened = match traffic.evaluations {
                1 => "1 evaluation, proved".to_owned(),
                count => format!("{count} evaluations, proved"),
            };
            facts.push(("opened", opened));
        }
        let verified = match client.is_symmetric() {
            true => "only evaluations: this protocol has no other proofs",
            false => "no: this protocol has no proofs",
        };
        facts.extend([
            ("verified", verified.to_owned()),
            ("bytes", format!("{} up, {} down", units::bytes(traffic.up), units::bytes(traffic.down))),
            ("once", format!("{keys}, {} of configuration", units::bytes(traffic.config))),
            ("time", format!("round trip {}", units::time(traffic.round_trip))),
        ]);
        let json = UseCaseGetReport {
            use_case,
            shards: client.shards(),
            parts_told: client.parts_revealed(),
            answers: PrintedResult::reports(&answers),
            up_bytes: traffic.up,
            down_bytes: traffic.down,
            once: UseCaseBytesOnce { config_bytes: traffic.config, keys_bytes: traffic.keys },
            evaluations: client.is_symmetric().then_some(traffic.evaluations),
            round_trip_ms: traffic.round_trip.as_secs_f64() * 1e3,
        };
        Ok(Report::new(PrintedResult::lines(&answers) + &grid::facts(facts), &json))
    }

    /// Makes the lookups, and repeats them once if the server has lost the keys meanwhile, or has
    /// another configuration.
    fn look_up(
        &self,
        server: &mut AppleServer,
        files: &mut ClientFiles,
        use_case: &str,
        rng: &mut dyn sotto_core::CryptoRng,
    ) -> Result<AppleResults> {
        let mut policy = ConfigPolicy {
            weak: if self.args.allow_insecure_params { WeakParams::Allow } else { WeakParams::Reject },
            max_shards: self.args.max_shards,
            accepted_change: self.args.accept_shards.clone(),
        };
        let (mut traffic, mut attempt) = (TrafficSummary::default(), Attempt::First);
        loop {
            let keys = files.keys(self.requested_keys().len() as u64, rng)?;
            server.connection.set_user(&keys.user)?;
            let config = success(server.post("/config", config_request(use_case), rng)?, use_case)?;
            traffic.config += config.len() as u64;
            let client = files.client(config.into(), &mut policy, &keys.seed)?;
            if attempt == Attempt::Last || !client.has_sent_keys() {
                let keys = client.key_request(rng);
                traffic.keys += keys.len() as u64;
                success(server.post("/key", keys, rng)?, use_case)?;
            }
            let began = Instant::now();
            let request = match client.is_symmetric() {
                false => Some(self.request(&client, rng)?),
                true => self.request_opened(&client, server, use_case, attempt, &mut traffic, rng)?,
            };
            if let Some((body, pending)) = request {
                traffic.up += body.len() as u64;
                files.spend(self.requested_keys().len() as u64);
                let answer = server.post("/queries", body, rng)?;
                traffic.round_trip = began.elapsed();
                if let Some(answer) = answer_body(answer, use_case, attempt)? {
                    traffic.down += answer.len() as u64;
                    let values = client.open(pending, Bytes::from(answer))?;
                    return Ok(AppleResults { client, values, traffic });
                }
            }
            attempt = Attempt::Last;
        }
    }

    /// The request for the values of a symmetric table, once the server has evaluated as many keys;
    /// `None` if the configuration has changed meanwhile.
    fn request_opened(
        &self,
        client: &Client,
        server: &mut AppleServer,
        use_case: &str,
        attempt: Attempt,
        traffic: &mut TrafficSummary,
        rng: &mut dyn sotto_core::CryptoRng,
    ) -> Result<Option<(Vec<u8>, PendingRequest)>> {
        let (body, blindings) = client.ask_openings(&self.requested_keys(), rng)?;
        traffic.up += body.len() as u64;
        let answer = server.post("/queries", body, rng)?;
        let Some(answer) = answer_body(answer, use_case, attempt)? else { return Ok(None) };
        traffic.down += answer.len() as u64;
        traffic.evaluations = self.requested_keys().len() as u64;
        let openings = client.openings(blindings, Bytes::from(answer))?;
        Ok(Some(client.ask_opened(openings, rng)?))
    }

    /// Keys of all lookups; those of rows by number are empty.
    fn requested_keys(&self) -> Vec<&[u8]> {
        let rows = self.requested.rows.iter().map(|_| &b""[..]);
        rows.chain(self.requested.keys.iter().map(|key| key.text.as_bytes())).collect()
    }

    /// Makes one lookup for each that is requested, whether the table can serve it or not: errors
    /// are reported after the answer.
    fn request(
        &self,
        client: &Client,
        rng: &mut dyn sotto_core::CryptoRng,
    ) -> sotto_core::Result<(Vec<u8>, PendingRequest)> {
        if client.rows().is_some() {
            let keys = self.requested.keys.iter().map(|_| 0);
            return client
                .query_rows(&self.requested.rows.iter().copied().chain(keys).collect::<Vec<_>>(), rng);
        }
        client.query(&self.requested_keys(), rng)
    }
}

/// The body of an answer; `None` if the server may have lost the keys, or has another
/// configuration, so that the lookup is repeated.
fn answer_body(answer: Response, use_case: &str, attempt: Attempt) -> Result<Option<Vec<u8>>> {
    if attempt == Attempt::First && matches!(answer.status, 400 | 410) {
        return Ok(None);
    }
    success(answer, use_case).map(Some)
}

/// Returns the body of a success.
fn success(response: Response, use_case: &str) -> Result<Vec<u8>> {
    if response.is_success() {
        return Ok(response.body);
    }
    let (exit, fix) = match response.status {
        404 => (Exit::Missing, format!("ask the operator whether this server has {use_case}")),
        401 | 403 => {
            (Exit::Refused, "give the --user-token of the app, since the server requires tokens".to_owned())
        }
        408 | 410 | 429 | 503 => (Exit::Refused, "try again in a minute".to_owned()),
        _ => (Exit::Peer, "ask the operator for the server's log".to_owned()),
    };
    Err(Failure::new(exit, format!("the server responds with {}: {}", response.status, why(&response)))
        .fix(fix))
}

/// The printed form of a value. Clients do not know the type of values, so valid text is printed as
/// text. Rows by number without lengths all have one length, and so zeros after a text.
fn answer(name: String, is_key: bool, says_length: bool, value: Option<Vec<u8>>) -> PrintedResult {
    let exact = is_key || says_length;
    let is_text = value.as_deref().is_some_and(|value| {
        let end = value.iter().rposition(|byte| *byte != 0 || exact).map_or(0, |last| last + 1);
        let text = value.get(..end).and_then(|text| std::str::from_utf8(text).ok());
        text.is_some_and(|text| (exact || !text.is_empty()) && !text.chars().any(char::is_control))
    });
    let kind = if is_text { ValueKind::Text } else { ValueKind::Bytes };
    if is_key {
        PrintedResult::of_key(kind, name, None, value)
    } else {
        PrintedResult::new(kind, name, None, value)
    }
}
