//! `sotto tree prove`: an inclusion proof, fetched without telling anybody of which entry, verified, and printed.

use super::log;
use crate::blame;
use crate::failure::{Failure, Result};
use crate::screen::{Screen, units};
use crate::verbs::state::{self, Events};
use serde_json::json;
use sotto_catalog::{PublicKey, TableName};
use sotto_client::{ClientError, Stack};
use sotto_core::Layer;
use sotto_layers::{Design, Proofs};
use sotto_tlog::{Checkpoint, InclusionProof, LogKey};
use sotto_tree::log::{Hash, Peaks};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const EXAMPLE: &str = "\
The proof is verified against the log's key before it is printed. That needs the entry's leaf hash: with --entry or --leaf it is \
the caller's, and a log that has something else there is noticed. Without them it is fetched as well, which costs a second round \
of lookups where proofs are laid out by colour or by a batch code.

Example:
  sotto tree prove --server http://127.0.0.1:8080 --name demo --log-key logs/demo.pub --index 4711 > 4711.proof";

/// Arguments of `sotto tree prove`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Prove {
    /// The server's address; one for each role of a scheme that asks several
    #[arg(long = "server", value_name = "URL", required = true)]
    servers: Vec<String>,
    /// The stack's name
    #[arg(long, value_name = "NAME")]
    name: TableName,
    /// The log's public key, or a file that holds it
    #[arg(long, value_name = "KEY")]
    log_key: String,
    /// What the log calls itself [default: the key's name; Go's checksum databases need none]
    #[arg(long, value_name = "NAME")]
    origin: Option<String>,
    /// Which entry, counted from 0
    #[arg(long, value_name = "N")]
    index: u64,
    /// The entry's leaf hash, in hexadecimal
    #[arg(long, value_name = "HEX", conflicts_with = "entry")]
    leaf: Option<String>,
    /// A file with what the log hashes of the entry (RFC 6962: the MerkleTreeLeaf)
    #[arg(long, value_name = "FILE")]
    entry: Option<PathBuf>,
    /// Accept a stack signed by this key only
    #[arg(long, value_name = "sotto-pk:...")]
    pin: Option<PublicKey>,
    /// Trust the roots in this PEM file instead of the web's (for https)
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
    /// Ask several servers over http beyond this machine: whoever listens on the way to all of them sees what is asked
    #[arg(long)]
    insecure_plaintext: bool,
    /// Where to keep hints and epochs
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Where to keep hints that are used up by asking [default: sotto/state/ in the user's data folder]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Where to keep what tells an old copy of the state [default: sotto/anchors/ in the user's state folder]
    #[arg(long, value_name = "DIR")]
    anchor: Option<PathBuf>,
    /// The longest one request may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

/// What came of it.
struct Proved {
    proof: InclusionProof,
    leaf: Hash,
    checkpoint: Checkpoint,
    /// Of a round.
    lookups: usize,
}

impl Prove {
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        let key = log::key(&self.log_key)?;
        let key = match &self.origin {
            Some(origin) => key.with_origin(origin),
            None => key,
        };
        let known = log::leaf(self.entry.as_deref(), self.leaf.as_deref())?;
        let servers: Vec<&str> = self.servers.iter().map(String::as_str).collect();
        let patience = Duration::from_secs(self.timeout);
        let events = Events::default();
        let (state, anchor) = (self.state.clone().or_else(state::default_dir), self.anchor.clone());
        let (listener, bars) = (events.clone(), Arc::new(screen.bars()));
        let mut builder = Stack::connect_all(&servers, self.name.as_str()).configure(move |table| {
            // Each table has a state of its own in the folder.
            let table = table.timeout(patience).events(listener.listener(&bars));
            let table = state.iter().fold(table, |table, dir| table.state_dir(dir));
            anchor.iter().fold(table, |table, dir| table.anchor_dir(dir))
        });
        if let Some(pin) = self.pin {
            builder = builder.pin(pin);
        }
        if let Some(pem) = &self.trust_root {
            builder = builder.trust_root(pem);
        }
        if self.insecure_plaintext {
            builder = builder.insecure_plaintext();
        }
        if let Some(dir) = &self.cache {
            builder = builder.cache_dir(dir);
        }
        let mut stack = builder.open().map_err(blame::client)?;
        let began = Instant::now();
        let proved = match prove(&mut stack, &key, self.index, known) {
            // The log has grown meanwhile: another epoch, and a query of its own.
            Err(Outcome::Moved) => {
                stack.refresh().map_err(blame::client)?;
                prove(&mut stack, &key, self.index, known)
            }
            other => other,
        };
        let took = began.elapsed();
        let happened = events.heard();
        if !screen.is_json() {
            // The proof alone goes to stdout.
            events.unsaid().iter().for_each(|event| eprintln!("note: {event}"));
        }
        let Proved { proof, leaf, checkpoint, lookups } = proved?;
        let asks = stack.tables().iter().map(|table| table.stats().asks);
        let (up, down) = asks.fold((0, 0), |(up, down), asks| (up + asks.up, down + asks.down));
        screen.say(proof.to_string().trim_end())?;
        if !screen.is_json() {
            eprintln!(
                "verified: entry {} of {}, {} entries; {} up, {} down, {}",
                self.index,
                checkpoint.origin,
                units::count(checkpoint.size),
                units::bytes(up),
                units::bytes(down),
                units::time(took)
            );
        }
        screen.report(&json!({
            "proof": proof.to_string(),
            "leaf": hex(&leaf),
            "entries": checkpoint.size,
            "origin": checkpoint.origin,
            "lookups": lookups,
            "bytes_up": up,
            "bytes_down": down,
            "events": happened,
            "seconds": took.as_secs_f64(),
        }))
    }
}

fn prove(stack: &mut Stack, key: &LogKey, index: u64, known: Option<Hash>) -> Result<Proved, Outcome> {
    let note = stack.file("checkpoint").map_err(blame::client)?.to_vec();
    let key = &key.clone().for_checkpoint(&note);
    let checkpoint = Checkpoint::open(&note, key).map_err(|e| {
        Failure::new(crate::exit::Exit::Peer, format!("the checkpoint that is served: {e}"))
            .fix("is this the key of the log that was built? If so, tell the operator")
    })?;
    let (design, leaves) = match stack.document().layers.as_slice() {
        [layer] => Design::parse(&layer.name, &layer.params).map_err(of_peer)?,
        _ => return Err(Failure::new(crate::exit::Exit::Peer, "the stack is no log's").into()),
    };
    let hashes = |name| Ok::<_, Failure>(stack.file(name).map_err(blame::client)?.as_chunks().0.to_vec());
    let peaks = Peaks::from_hashes(leaves, hashes("peaks")?).map_err(of_peer)?;
    if leaves != checkpoint.size || peaks.root() != checkpoint.root {
        let why = "what is served is not the log of its checkpoint";
        return Err(Failure::new(crate::exit::Exit::Peer, why).fix("tell the operator").into());
    }
    if index >= leaves {
        return Err(Failure::missing(format!("the log has {leaves} entries"))
            .fix("entries are counted from 0")
            .into());
    }
    let proofs = design.proofs(peaks.clone(), &hashes("public")?).map_err(of_peer)?;
    let (leaf, hashes) = match &proofs {
        Proofs::Tile(layer) => {
            let proved = stack.lookup(layer, &index)?;
            (known.unwrap_or(proved.leaf), proved.proof)
        }
        Proofs::Colour(layer) => and_leaf(stack, layer, &peaks, index, known)?,
        Proofs::Batch(layer) => and_leaf(stack, layer.as_ref(), &peaks, index, known)?,
    };
    let lookups = design.visits(leaves).map_err(of_peer)?.len();
    let checkpoint_text = String::from_utf8(note).map_err(|_| Failure::internal("a note is text"))?;
    let proof = InclusionProof { extra: None, index, hashes, checkpoint: checkpoint_text };
    let checkpoint = proof.verify(&leaf, key).map_err(|e| {
        Failure::new(crate::exit::Exit::Peer, format!("the proof does not verify: {e}"))
            .fix("if the entry is yours, the log may have another one there; otherwise tell the operator. Do not ask \
            again for the same entry until you know why")
    })?;
    Ok(Proved { proof, leaf, checkpoint, lookups })
}

/// A proof, and the leaf's hash, which is in another one unless the caller has it.
fn and_leaf<L>(
    stack: &mut Stack,
    layer: &L,
    peaks: &Peaks,
    index: u64,
    known: Option<Hash>,
) -> Result<(Hash, Vec<Hash>), Outcome>
where
    L: Layer<Request = u64, Reply = Vec<Hash>>,
{
    let proof = stack.lookup(layer, &index);
    if let Some(leaf) = known {
        return Ok((leaf, proof?));
    }
    // A batch code cannot serve every proof. Whether there is a second round must not tell that this is one of those.
    let leaf = own(stack, layer, peaks, index);
    let proof = proof?;
    Ok((leaf?, proof))
}

/// The text of the proof of an entry whose leaf hash the caller has.
pub(in crate::verbs) fn known(stack: &mut Stack, key: &LogKey, index: u64, leaf: Hash) -> Result<String> {
    match prove(stack, key, index, Some(leaf)) {
        Ok(proved) => Ok(proved.proof.to_string()),
        Err(outcome) => Err(outcome.into()),
    }
}

/// The hash of a leaf is its sibling's first; the last leaf of an odd log has none, and is a peak.
fn own<L>(stack: &mut Stack, layer: &L, peaks: &Peaks, index: u64) -> Result<Hash, Outcome>
where
    L: Layer<Request = u64, Reply = Vec<Hash>>,
{
    let sibling = index ^ 1;
    // A lookup is made either way: whether there is one must not tell which entry is asked for.
    let asked = if sibling < peaks.leaves() { sibling } else { index };
    let proof = stack.lookup(layer, &asked)?;
    let found = if asked == sibling { proof.first() } else { peaks.hashes().last() };
    found.copied().ok_or_else(|| Failure::internal("a log of one entry has one peak").into())
}

/// Why there is no proof yet.
enum Outcome {
    /// The stack has moved on.
    Moved,
    Failed(Failure),
}

impl From<Outcome> for Failure {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Moved => {
                Failure::new(crate::exit::Exit::Refused, "the log moves on faster than it is asked")
            }
            Outcome::Failed(failure) => failure,
        }
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        Outcome::Failed(failure)
    }
}

impl From<ClientError> for Outcome {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::EpochChanged { .. } => Outcome::Moved,
            error => Outcome::Failed(blame::client(error)),
        }
    }
}

fn of_peer(error: sotto_core::Error) -> Failure {
    Failure::new(crate::exit::Exit::Peer, error.to_string())
}

fn hex(hash: &Hash) -> String {
    sotto_catalog::Hex32::from(*hash).to_string()
}
