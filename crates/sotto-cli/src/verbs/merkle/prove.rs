//! `sotto merkle prove`: an inclusion proof, fetched without revealing the entry, verified, and
//! printed.
//!
//! A log only grows: a server that shows another one than before has two logs. The largest checkpoint
//! that this user has seen of each log is stored in the cache, one file for each log, with the log's
//! signature; so it is trusted no more than any checkpoint. A longer log proves that it extends it
//! by the inclusion proof of its last entry, fetched as privately as any: see
//! [`sotto_tree::log::verify_growth`]. No server needs to know what was seen before.

use crate::connect_args::{ConnectArgs, EventLog};
use crate::failure::{Exit, Failure, FileContext, Result};
use crate::files;
use crate::screen::{Report, Screen, units};
use crate::verbs::merkle::log;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_client::{ClientError, Stack};
use sotto_core::{Error, Layer, Misuse};
use sotto_layers::{ProofLayer, ProofLayout};
use sotto_tlog::{Checkpoint, InclusionProof, LogKey};
use sotto_tree::log::{Hash, Peaks, TreeHead, verify, verify_growth};
use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use std::{fs, io};

const EXAMPLE: &str = "\
The proof is verified against the log's key before it is printed. Verification needs the entry's leaf \
hash: with --entry or --leaf it comes from the caller, so a log with another entry at that index is \
detected. Without them it is fetched too, which takes a second round of lookups where proofs are laid out \
by color or by a batch code.

The cache remembers the largest checkpoint seen of each log. A log that is smaller than before, or that \
does not extend that checkpoint, is an error: its key has signed two logs. Consistency of a log that grew \
is shown by one more proof, for the last entry seen before, fetched in the same way.

Example:
  sotto merkle prove --server http://127.0.0.1:8080 --table demo --log-key logs/demo.pub --index 4711 > 4711.proof";

/// Arguments of `sotto merkle prove`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Prove {
    #[command(flatten)]
    remote: ConnectArgs,
    /// Public key of the log, or a file that holds it
    #[arg(long, value_name = "KEY")]
    log_key: String,
    /// Origin line of the log [default: the key's name; Go's checksum databases need none]
    #[arg(long, value_name = "NAME")]
    origin: Option<String>,
    /// Index of the entry, counted from 0
    #[arg(long, value_name = "N")]
    index: u64,
    /// Leaf hash of the entry, in hexadecimal
    #[arg(long, value_name = "HEX", conflicts_with = "entry")]
    leaf: Option<String>,
    /// File of the bytes that the log hashes for the entry (RFC 6962: the MerkleTreeLeaf)
    #[arg(long, value_name = "FILE")]
    entry: Option<PathBuf>,
}

/// The result of a proof.
struct ProvedEntry {
    proof: InclusionProof,
    leaf: Hash,
    checkpoint: Checkpoint,
    /// Number of lookups in a round.
    lookups: usize,
}

impl Prove {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        let key = log::key(&self.log_key)?;
        let key = match &self.origin {
            Some(origin) => key.with_origin(origin),
            None => key,
        };
        let known = log::leaf(self.entry.as_deref(), self.leaf.as_deref())?;
        let seen = self.remote.cache()?.map(|cache| SeenCheckpoint::of(&cache, &key));
        let (events, bars) = (EventLog::default(), Arc::new(screen.bars()));
        let mut stack = self.remote.stack(&bars, &events)?;
        bars.finish();
        let began = Instant::now();
        let proved = match prove(&mut stack, &key, self.index, known, seen.as_ref()) {
            // The log has grown meanwhile: another epoch, and a new query.
            Err(Outcome::EpochChanged) => {
                stack.refresh()?;
                prove(&mut stack, &key, self.index, known, seen.as_ref())
            }
            other => other,
        };
        let took = began.elapsed();
        let happened = events.texts();
        if !screen.is_json() {
            // Only the proof goes to stdout.
            events.unprinted().iter().for_each(|event| eprintln!("note: {event}"));
        }
        let ProvedEntry { proof, leaf, checkpoint, lookups } = proved?;
        let requests = stack.tables().iter().map(|table| table.stats().query_requests);
        let (up, down) =
            requests.fold((0, 0), |(up, down), requests| (up + requests.up, down + requests.down));
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
        let text = proof.to_string();
        let json = ProofReport {
            proof: &text,
            leaf: hex(&leaf),
            entries: checkpoint.size,
            origin: checkpoint.origin,
            lookups,
            bytes_up: up,
            bytes_down: down,
            events: happened,
            seconds: took.as_secs_f64(),
        };
        Ok(Report::new(text.trim_end(), &json))
    }
}

/// A proof that was fetched privately and verified.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProofReport<'a> {
    /// Text of the proof, in the format of `c2sp.org/tlog-proof`.
    proof: &'a str,
    /// Hash of the entry, in hexadecimal.
    leaf: String,
    /// Number of entries of the log.
    entries: u64,
    /// Origin line of the log.
    origin: String,
    /// Number of lookups in a round.
    lookups: usize,
    bytes_up: u64,
    bytes_down: u64,
    /// What happened meanwhile, in sentences.
    events: Vec<String>,
    seconds: f64,
}

/// The verified public part of a log: its signed head, and the layout of its proofs.
struct LogHead {
    key: LogKey,
    note: Vec<u8>,
    checkpoint: Checkpoint,
    peaks: Peaks,
    proofs: ProofLayer,
    /// Number of lookups in a round.
    lookups: usize,
}

impl LogHead {
    fn of(stack: &Stack, key: &LogKey) -> Result<Self> {
        let note = stack.file("checkpoint")?.to_vec();
        let key = key.clone().for_checkpoint(&note);
        let checkpoint = Checkpoint::open(&note, &key).map_err(|e| {
            Failure::peer(format!("the served checkpoint is invalid: {e}"))
                .fix("check that --log-key is the key of this log; if it is, tell the operator")
        })?;
        let (design, leaves) = match stack.document().layers.as_slice() {
            [layer] => ProofLayout::parse(&layer.name, &layer.params).map_err(of_peer)?,
            _ => return Err(Failure::peer("the stack is not of a log")),
        };
        let hashes = |name| Ok::<_, Failure>(stack.file(name)?.as_chunks().0.to_vec());
        let peaks = Peaks::from_hashes(leaves, hashes("peaks")?).map_err(of_peer)?;
        if leaves != checkpoint.size || peaks.root() != checkpoint.root {
            let why = "the served hashes do not match the checkpoint";
            return Err(Failure::peer(why).fix("tell the operator"));
        }
        let proofs = design.proofs(peaks.clone(), &hashes("public")?).map_err(of_peer)?;
        let lookups = design.visits(leaves).map_err(of_peer)?.len();
        Ok(LogHead { key, note, checkpoint, peaks, proofs, lookups })
    }

    /// The leaf hash of an entry, and its proof, neither of them verified. An index past the end is
    /// queried like any other.
    fn fetch(
        &self,
        stack: &mut Stack,
        index: u64,
        known: Option<Hash>,
    ) -> Result<(Hash, Vec<Hash>), Outcome> {
        match &self.proofs {
            ProofLayer::Tile(layer) => {
                let proved = stack.lookup(layer, &index)?;
                Ok((known.unwrap_or(proved.leaf), proved.proof))
            }
            ProofLayer::Color(layer) => and_leaf(stack, layer, &self.peaks, index, known),
            ProofLayer::Batch(layer) => and_leaf(stack, layer.as_ref(), &self.peaks, index, known),
        }
    }

    /// Verifies that the log extends what was seen of it, and stores its current checkpoint.
    fn goes_on(&self, stack: &mut Stack, seen: &SeenCheckpoint) -> Result<(), Outcome> {
        if let Some(before) = seen.compare(&self.key, &self.checkpoint, &self.note)?
            && let Some(last) = before.size.checked_sub(1)
        {
            let (leaf, proof) = self.fetch(stack, last, None)?;
            let then = TreeHead { leaves: before.size, root: &before.root };
            let now = TreeHead { leaves: self.checkpoint.size, root: &self.checkpoint.root };
            verify(&leaf, last, now.leaves, &proof, now.root).map_err(|error| {
                Failure::peer(format!("the served hashes do not verify: {error}")).fix("tell the operator")
            })?;
            verify_growth(&leaf, then, now, &proof).map_err(|_| seen.two_logs(&self.note))?;
        }
        Ok(seen.keep(&self.note)?)
    }
}

fn prove(
    stack: &mut Stack,
    key: &LogKey,
    index: u64,
    known: Option<Hash>,
    seen: Option<&SeenCheckpoint>,
) -> Result<ProvedEntry, Outcome> {
    let head = LogHead::of(stack, key)?;
    if let Some(seen) = seen {
        head.goes_on(stack, seen)?;
    }
    let (leaf, hashes) = head.fetch(stack, index, known)?;
    let LogHead { key, note, lookups, .. } = head;
    let checkpoint = String::from_utf8(note).map_err(|_| Failure::internal("a checkpoint is not UTF-8"))?;
    let proof = InclusionProof { extra: None, index, hashes, checkpoint };
    let checkpoint = proof.verify(&leaf, &key).map_err(|e| {
        Failure::peer(format!("the proof does not verify: {e}")).fix(
            "if --entry or --leaf is given, the log may have another entry there; otherwise tell the \
                  operator. Do not look up the same entry again until you know why",
        )
    })?;
    Ok(ProvedEntry { proof, leaf, checkpoint, lookups })
}

/// A proof, and the leaf's hash, which is in another proof unless the caller has it.
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
    // A batch code cannot serve every proof. A second round must not reveal that this proof failed.
    let leaf = own(stack, layer, peaks, index);
    let proof = proof?;
    Ok((leaf?, proof))
}

/// The text of the proof of an entry whose leaf hash the caller has.
pub(crate) fn known(stack: &mut Stack, key: &LogKey, index: u64, leaf: Hash) -> Result<String> {
    match prove(stack, key, index, Some(leaf), None) {
        Ok(proved) => Ok(proved.proof.to_string()),
        Err(outcome) => Err(outcome.into()),
    }
}

/// The hash of a leaf is the first one in its sibling's proof; the last leaf of an odd log has no
/// sibling, and is a peak.
fn own<L>(stack: &mut Stack, layer: &L, peaks: &Peaks, index: u64) -> Result<Hash, Outcome>
where
    L: Layer<Request = u64, Reply = Vec<Hash>>,
{
    let sibling = index ^ 1;
    // A lookup is made either way: its absence must not reveal the entry.
    let leaf = if sibling < peaks.leaves() { sibling } else { index };
    let proof = stack.lookup(layer, &leaf)?;
    let found = if leaf == sibling { proof.first() } else { peaks.hashes().last() };
    found.copied().ok_or_else(|| Failure::internal("no peak in a log of one entry").into())
}

/// Why there is no proof yet.
enum Outcome {
    /// The stack has moved on.
    EpochChanged,
    Failed(Failure),
}

impl From<Outcome> for Failure {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::EpochChanged => {
                Failure::new(Exit::Refused, "the epoch changes faster than a lookup takes")
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
            ClientError::EpochChanged { .. } => Outcome::EpochChanged,
            ClientError::Core(Error::Misuse(Misuse::IndexPastEnd { len, .. })) => {
                let none = Failure::missing(format!("the log has {len} entries"));
                Outcome::Failed(none.fix("give a smaller index; entries are counted from 0"))
            }
            error => Outcome::Failed(Failure::from(error)),
        }
    }
}

fn of_peer(error: sotto_core::Error) -> Failure {
    Failure::peer(error.to_string())
}

fn hex(hash: &Hash) -> String {
    sotto_catalog::Hex32::from(*hash).to_string()
}

/// Maximum bytes of a stored checkpoint.
const MAX_BYTES: u64 = 1 << 20;

/// The file of one log's checkpoint.
struct SeenCheckpoint {
    file: PathBuf,
}

impl SeenCheckpoint {
    /// The file of a log's checkpoint in a cache.
    fn of(cache: &Path, key: &LogKey) -> Self {
        let name = blake3::hash(format!("{}\n{:08x}\n{}", key.name(), key.id(), key.origin()).as_bytes());
        SeenCheckpoint { file: cache.join("logs").join(format!("{}.checkpoint", &name.to_hex()[..32])) }
    }

    /// Compares the stored checkpoint with the served one. Returns the stored one if it has fewer
    /// entries: the log has to prove that it extends it.
    ///
    /// # Errors
    /// An error if the two cannot belong to one log, or the log has shrunk. Both are stored then.
    fn compare(&self, key: &LogKey, served: &Checkpoint, note: &[u8]) -> Result<Option<Checkpoint>> {
        let Some(before) = self.read()? else { return Ok(None) };
        let Ok(before) = Checkpoint::open(&before, &key.clone().for_checkpoint(&before)) else {
            return Err(Failure::new(
                Exit::Storage,
                format!("{} is not a checkpoint of this log", self.file.display()),
            )
            .fix("move this damaged or replaced file away, which forgets the checkpoint seen before"));
        };
        match before.size.cmp(&served.size) {
            Ordering::Equal if before.root == served.root => Ok(None),
            Ordering::Equal => Err(self.two_logs(note)),
            Ordering::Less => Ok(Some(before)),
            Ordering::Greater => {
                let (had, has) = (before.size, served.size);
                Err(Failure::peer(format!(
                    "the served log has {has} entries, fewer than the {had} seen before"
                ))
                .fix(
                    "try again later, as this copy may lag behind; if the error persists, tell the operator",
                ))
            }
        }
    }

    /// Stores the served checkpoint.
    fn keep(&self, note: &[u8]) -> Result<()> {
        self.write(&self.file, note).doing("writing", &self.file)
    }

    /// Stores the served checkpoint next to the earlier one: signed by one key, they prove that it
    /// signed two logs.
    fn two_logs(&self, note: &[u8]) -> Failure {
        let other = self.file.with_extension("other");
        let kept = match self.write(&other, note) {
            Ok(()) => format!("{} and {}", self.file.display(), other.display()),
            Err(error) => format!("{}; the second cannot be written: {error}", self.file.display()),
        };
        Failure::peer("the served log does not extend the checkpoint seen before").fix(format!(
            "do not trust the log, whose key signed two versions, and show both checkpoints to others: {kept}"
        ))
    }

    fn read(&self) -> Result<Option<Vec<u8>>> {
        match files::read("reading", &self.file, MAX_BYTES) {
            Err(failure) if failure.exit == Exit::Missing => Ok(None),
            read => read.map(Some),
        }
    }

    /// Replaces a file, as a whole or not at all.
    fn write(&self, file: &Path, note: &[u8]) -> io::Result<()> {
        fs::create_dir_all(file.parent().ok_or(io::ErrorKind::NotFound)?)?;
        files::replace(file, note)
    }
}
