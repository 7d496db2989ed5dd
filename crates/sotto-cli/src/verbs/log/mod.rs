//! `sotto log`: the log that a publisher writes its catalogs into, and its witnesses.
//!
//! `show` prints which catalogs are in a log, and who has cosigned it; `add` adds published catalogs
//! that are not in the log yet, and `attach` adds cosignatures, each of which is verified. A witness
//! or a monitor has a key, and what it has seen of a log: `key`, `cosign` and `watch`.

mod memory;
pub(crate) mod monitor;
pub(crate) mod witness;

use crate::connect_args::read_policy;
use crate::failure::{Failure, Result};
use crate::files;
use crate::publication::{PublishArgs, log_line};
use crate::screen::{Report, Screen, grid};
use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_core::Epoch;
use sotto_db::epoch::KEY;
use sotto_db::{LogUpdate, PathKind, TableDir};
use sotto_tlog::appender::{AttachedCosignature, attach};
use sotto_tlog::catalogs::log_signer;
use sotto_tlog::note::MAX_NOTE_BYTES;
use sotto_tlog::publisher_log::{PublisherLog, SignedCheckpoint};
use sotto_tlog::{SignedNote, WitnessKey};
use std::path::PathBuf;
use witness::{Cosign, Key, Watch};

const EXAMPLE: &str = "\
A publisher's log has a line for each signed catalog and stack, with its digest. It is a C2SP tlog-tiles \
log under the publisher's own key, so a client that pinned the publisher needs no other key for it. `sotto \
encode --catalog-log DIR` creates the log, later epochs are added by themselves, and `sotto serve` serves it.

A witness is run by somebody else, on another machine. From time to time it checks that the log extends \
what it saw last, reads the new entries, and cosigns the log with the time; it does not if the log has two \
catalogs of one epoch. Clients that name the witness (`sotto get --witness KEY`) refuse a catalog that is \
not in the log, a log without a recent cosignature, a log that does not extend the one they saw before, \
and a log whose entries contradict each other where they read it. Anybody can read all of it: `sotto log \
watch` ends with exit code 5 at two entries that contradict each other.

A policy file (c2sp.org/tlog-policy) lists logs, witnesses, groups of them and a quorum. Clients take \
one (`sotto get --policy FILE`), and `sotto log watch --policy FILE` tells when each witness has cosigned \
last, and ends with exit code 9 if the quorum has not cosigned for a day. Keys under ML-DSA-44 \
(--post-quantum) stand against quantum computers.

Tables of one publisher share a log if they share a signing key (--signing-key).

Example:
  sotto encode words.csv --value meaning --out tables/words --catalog-log logs/mine
  sotto log key --key witness.key --name witness.example/w1
  sotto log cosign logs/mine --publisher sotto-pk:... --key witness.key --state witness --out note.txt
  sotto log attach logs/mine note.txt --witness witness.example/w1+...
  sotto serve tables/words
  sotto get --server http://127.0.0.1:8080 --table words --row 7 --witness witness.example/w1+...";

/// Arguments of `sotto log`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Log {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show the catalogs in a log, and who cosigned it
    Show(Show),
    /// Add the catalogs of a table or stack to its log, if they are missing
    Add(Add),
    /// Create a witness's key, or show its public half
    Key(Key),
    /// As a witness: check that a log extends what was seen before, and cosign it
    Cosign(Cosign),
    /// Watch a log, and end with an error if it forks or contradicts itself
    Watch(Watch),
    /// As a publisher: add cosignatures of witnesses to the log
    Attach(Attach),
}

impl Log {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        match self.verb {
            Verb::Show(verb) => verb.run(),
            Verb::Add(verb) => verb.run(),
            Verb::Key(verb) => verb.run(),
            Verb::Cosign(verb) => verb.run(),
            Verb::Watch(verb) => verb.run(screen),
            Verb::Attach(verb) => verb.run(),
        }
    }
}

/// Arguments of `sotto log show`.
#[derive(Debug, clap::Args)]
struct Show {
    /// Folder of the log
    #[arg(value_name = "LOG")]
    folder: PathBuf,
}

impl Show {
    fn run(self) -> Result<Report> {
        let log = PublisherLog::open(&self.folder)?;
        let heads = [("checkpoint", Some(log.newest())), ("cosigned", log.witnessed())];
        let mut lines = vec![("publisher", log.publisher().to_string())];
        for (name, head) in heads {
            if let Some(head) = head {
                let (names, entries) = (cosigners(head), head.checkpoint.size);
                let by = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
                lines.push((name, format!("{entries} entries, cosigned by {by}")));
            }
        }
        let columns = ">entry | kind | name | >epoch | BLAKE3";
        let rows = log.entries().iter().enumerate().map(|(index, entry)| {
            let (kind, epoch) = (entry.kind.name().to_owned(), entry.epoch.to_string());
            vec![index.to_string(), kind, entry.name.to_string(), epoch, entry.digest.to_string()]
        });
        let text = format!("{}\n{}", grid::facts(lines), grid::grid(columns, rows));
        let entries = log.entries().iter().map(|entry| {
            let (kind, name, epoch) = (entry.kind.name(), entry.name.to_string(), entry.epoch);
            LogEntryReport { kind, name, epoch, digest: entry.digest.to_string() }
        });
        let head = |head: &SignedCheckpoint| CheckpointReport {
            entries: head.checkpoint.size,
            cosigned_by: cosigners(head),
        };
        let json = LogReport {
            publisher: log.publisher().to_string(),
            checkpoint: head(log.newest()),
            cosigned: log.witnessed().map(head),
            entries: entries.collect(),
        };
        // All of it is shown first, as the proof of an error.
        let wrong = log.history().err();
        let wrong = wrong.map(|e| Failure::from(e).fix("show the log to others; do not trust its publisher"));
        Ok(Report::new(text, &json).but(wrong))
    }
}

/// A log of a publisher.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LogReport {
    /// Public key of the publisher.
    publisher: String,
    /// Newest checkpoint.
    checkpoint: CheckpointReport,
    /// Newest checkpoint that witnesses cosigned, if any did.
    cosigned: Option<CheckpointReport>,
    /// Entries of the log, in order.
    entries: Vec<LogEntryReport>,
}

/// A checkpoint of a log.
#[derive(Serialize, JsonSchema)]
struct CheckpointReport {
    /// Number of entries.
    entries: u64,
    /// Names of the witnesses that cosigned it.
    cosigned_by: Vec<String>,
}

/// A signed document in a log.
#[derive(Serialize, JsonSchema)]
struct LogEntryReport {
    /// Kind of the document.
    kind: &'static str,
    /// Name of the table or stack.
    name: String,
    epoch: Epoch,
    /// BLAKE3 digest of the document.
    digest: String,
}

/// The names in the lines after the publisher's own.
fn cosigners(head: &SignedCheckpoint) -> Vec<String> {
    let note = SignedNote::parse(head.note.as_bytes());
    let lines = note.map(|note| note.signatures).unwrap_or_default();
    lines.into_iter().map(|line| line.name).filter(|name| *name != head.checkpoint.origin).collect()
}

/// Arguments of `sotto log add`.
#[derive(Debug, clap::Args)]
struct Add {
    /// Directory of a table or stack
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Folder of the log [default: the one that the directory was published to before]
    #[arg(long, value_name = "LOG")]
    catalog_log: Option<PathBuf>,
    /// File of the signing key [default: signing.key in the directory]
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
}

impl Add {
    fn run(self) -> Result<Report> {
        if let PathKind::Foreign(..) | PathKind::ForeignFile = PathKind::of(&self.dir)? {
            return Err(Failure::usage("tables of Apple's lookups are not signed and have no log")
                .fix("give the directory of a table or stack"));
        }
        // A key must not be created here, since it would belong to no publisher.
        let key = self.signing_key.unwrap_or_else(|| self.dir.join(KEY));
        if !key.exists() {
            return Err(Failure::missing(format!("no such signing key: {}", key.display()))
                .fix("give the key that signed the table"));
        }
        let publish = PublishArgs::with_log(self.catalog_log);
        let signer = log_signer(&publish.signing_key(&TableDir::open(&self.dir)?, Some(&key))?)?;
        let log = publish.write_with(&self.dir, Some(&key))?;
        let log = log.ok_or_else(|| {
            Failure::usage(format!("{} has no log", self.dir.display())).fix("give --catalog-log DIR")
        })?;
        let vkeys = signer.public().vkeys();
        let lines: String = vkeys.iter().map(|key| format!("\nlog {key}")).collect();
        let text = format!("{}\nlines for policies:{lines}", log_line(&log));
        Ok(Report::new(text, &LogUpdateReport { log: &log, log_keys: vkeys }))
    }
}

/// What was added to a log.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LogUpdateReport<'a> {
    log: &'a LogUpdate,
    /// Public keys of the log, one for each algorithm, as policies list them.
    log_keys: Vec<String>,
}

/// Arguments of `sotto log attach`.
#[derive(Debug, clap::Args)]
struct Attach {
    /// Folder of the log
    #[arg(value_name = "LOG")]
    folder: PathBuf,
    /// Cosigned checkpoints of witnesses, as `sotto log cosign` writes them
    #[arg(value_name = "NOTE", required = true)]
    notes: Vec<PathBuf>,
    /// Public key of a witness whose cosignatures to add; repeatable
    #[arg(long = "witness", value_name = "NAME+ID+BASE64", required_unless_present = "policy")]
    witnesses: Vec<WitnessKey>,
    /// Policy file whose witnesses' cosignatures to add
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

impl Attach {
    fn run(self) -> Result<Report> {
        let notes = self
            .notes
            .iter()
            .map(|path| files::read("reading", path, MAX_NOTE_BYTES as u64))
            .collect::<Result<Vec<_>>>()?;
        let mut witnesses = self.witnesses;
        if let Some(policy) = self.policy.as_deref().map(read_policy).transpose()? {
            witnesses.extend(policy.witnesses().iter().map(|witness| witness.key.clone()));
        }
        let attached = attach(&self.folder, &notes, &witnesses)?;
        let each = attached.into_iter().map(|AttachedCosignature { witness, size, time }| {
            let line = format!("{witness} cosigned {size} entries at {time}\n");
            (line, CosignatureReport { witness, entries: size, time })
        });
        let (lines, attached): (String, Vec<_>) = each.unzip();
        let text = lines + "a running `sotto serve` loads it by itself";
        Ok(Report::new(text, &AttachReport { attached }))
    }
}

/// Cosignatures that were added to a log.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AttachReport {
    attached: Vec<CosignatureReport>,
}

/// A cosignature of a witness.
#[derive(Serialize, JsonSchema)]
struct CosignatureReport {
    /// Name of the witness.
    witness: String,
    /// Number of entries that it cosigned.
    entries: u64,
    /// Time of the cosignature, in seconds since 1970.
    time: u64,
}
