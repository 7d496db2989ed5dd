//! A witness or a monitor of logs: its key, what it has seen of a log, and `sotto log key`, `cosign`
//! and `watch`.

use super::memory::{LogLocation, Memory, SeenCheckpoint};
use super::monitor::{Monitor, QuorumReport, WitnessReport};
use crate::connect_args::{duration, read_policy};
use crate::failure::{Exit, Failure, FileContext, Result};
use crate::files;
use crate::screen::{Report, Screen};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::PublicKey;
use sotto_tlog::catalogs::{log_key, log_name};
use sotto_tlog::note::MAX_NOTE_BYTES;
use sotto_tlog::publisher_log::WITNESSED;
use sotto_tlog::{CosignatureKind, Cosigner, LogKey, LogSource, Policy, SignedNote};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use zeroize::Zeroizing;

/// Arguments of `sotto log key`.
#[derive(Debug, clap::Args)]
pub(super) struct Key {
    /// File of the witness's signing key; created if missing
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Name of the witness for a new key, like a URL without its scheme
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Have an ML-DSA-44 key too, which a quantum computer does not break: added to the file if it
    /// has none
    #[arg(long)]
    post_quantum: bool,
}

/// A witness's key.
#[derive(Serialize, JsonSchema)]
pub(crate) struct KeyReport<'a> {
    /// File of the signing key.
    file: &'a Path,
    /// First of the public keys.
    witness: Option<String>,
    /// Public keys, one for each algorithm, with the witness's name.
    keys: Vec<String>,
}

impl Key {
    pub(super) fn run(self) -> Result<Report> {
        let mut cosigners = match read_keys(&self.key)? {
            Some(cosigners) => cosigners,
            None => self.make()?,
        };
        let has_ml_dsa = |cosigner: &Cosigner| cosigner.public().kind() == CosignatureKind::MlDsa44;
        if self.post_quantum && !cosigners.iter().any(has_ml_dsa) {
            cosigners = self.add_ml_dsa(cosigners)?;
        }
        let keys: Vec<String> = cosigners.iter().map(|cosigner| cosigner.public().to_string()).collect();
        let lines: Vec<String> = keys.iter().map(|key| format!("witness key: {key}")).collect();
        let report = KeyReport { file: &self.key, witness: keys.first().cloned(), keys };
        Ok(Report::new(lines.join("\n"), &report))
    }

    fn make(&self) -> Result<Vec<Cosigner>> {
        let Some(name) = &self.name else {
            return Err(Failure::missing(format!("no such key: {}", self.key.display()))
                .fix("give --name NAME to create it"));
        };
        let cosigner = Cosigner::generate(CosignatureKind::Ed25519, name, &mut sotto_prg::system_rng()?)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&self.key).and_then(|mut file| {
            file.write_all(cosigner.to_file().as_bytes())?;
            file.sync_all()
        });
        written.doing("writing", &self.key)?;
        Ok(vec![cosigner])
    }

    /// Adds a line with an ML-DSA-44 key. A line that was cut by a crash is no key, so the file is
    /// refused and nothing is signed with half of it.
    fn add_ml_dsa(&self, mut cosigners: Vec<Cosigner>) -> Result<Vec<Cosigner>> {
        let name = cosigners.first().map(|cosigner| cosigner.public().name()).unwrap_or_default();
        let cosigner = Cosigner::generate(CosignatureKind::MlDsa44, name, &mut sotto_prg::system_rng()?)?;
        let written = OpenOptions::new().append(true).open(&self.key).and_then(|mut file| {
            file.write_all(cosigner.to_file().as_bytes())?;
            file.sync_all()
        });
        written.doing("writing", &self.key)?;
        cosigners.push(cosigner);
        Ok(cosigners)
    }
}

/// The keys in a file, if there is one.
fn read_keys(path: &Path) -> Result<Option<Vec<Cosigner>>> {
    match fs::read_to_string(path).map(Zeroizing::new) {
        Ok(text) => Cosigner::all_from_file(&text).map(Some).map_err(Failure::from),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file("reading", path, &error)),
    }
}

/// Arguments of `sotto log cosign`.
#[derive(Debug, clap::Args)]
pub(super) struct Cosign {
    /// Folder of the log, or address of a server that serves it
    #[arg(value_name = "LOG")]
    log: String,
    /// Public key of the log's publisher
    #[arg(long, value_name = "sotto-pk:...")]
    publisher: PublicKey,
    /// File of the witness's signing key (`sotto log key` creates one)
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Folder of the checkpoint cosigned last; never restore it from a backup
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Policy file that lists the log with its ML-DSA-44 key, which then has to have signed it
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// File for the cosigned checkpoint, which the publisher attaches (`sotto log attach`)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// PEM file of the root certificates to trust for https, in place of the web's
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
}

impl Cosign {
    pub(super) fn run(self) -> Result<Report> {
        let cosigners = read_keys(&self.key)?.ok_or_else(|| {
            Failure::missing(format!("no such key: {}", self.key.display()))
                .fix("create one: sotto log key --key FILE --name NAME")
        })?;
        let policy = self.policy.as_deref().map(read_policy).transpose()?;
        let location = LogLocation::of(&self.log, self.publisher, self.trust_root.as_deref())?;
        let memory = Memory::lock(&self.state, &self.publisher)?;
        let key = current_key(&self.publisher, policy.as_ref())?;
        let SeenCheckpoint { served, before, checkpoint } =
            memory.read_log(&location, &key, "do not cosign this log")?;
        let now = crate::unix_time();
        let note = SignedNote::parse(&served)?;
        let origin = checkpoint.origin;
        let theirs = note.signatures.into_iter().filter(|line| line.name == origin);
        let lines = cosigners.iter().map(|cosigner| cosigner.cosign(&note.text, now));
        let signatures = theirs.map(Ok).chain(lines).collect::<Result<_, _>>()?;
        let cosigned = SignedNote { text: note.text, signatures };
        files::replace(&self.out, cosigned.to_string().as_bytes()).doing("writing", &self.out)?;

        let (size, out) = (checkpoint.size, self.out.display());
        let text =
            format!("cosigned {size} entries, {} of them new; send {out} to the publisher", size - before);
        let keys: Vec<String> = cosigners.iter().map(|cosigner| cosigner.public().to_string()).collect();
        let (witness, note) = (keys.first().cloned(), cosigned.to_string());
        Ok(Report::new(text, &CosignReport { entries: size, before, time: now, witness, keys, note }))
    }
}

/// A cosigned checkpoint.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CosignReport {
    /// Number of entries of the log.
    entries: u64,
    /// Number of entries that were seen before.
    before: u64,
    /// Time of the cosignature, in seconds since 1970.
    time: u64,
    /// First of the witness's public keys.
    witness: Option<String>,
    /// Public keys of the witness, one for each algorithm.
    keys: Vec<String>,
    /// The cosigned checkpoint.
    note: String,
}

/// Arguments of `sotto log watch`.
#[derive(Debug, clap::Args)]
pub(super) struct Watch {
    /// Folder of the log, or address of a server that serves it
    #[arg(value_name = "LOG")]
    log: String,
    /// Public key of the log's publisher
    #[arg(long, value_name = "sotto-pk:...")]
    publisher: PublicKey,
    /// Folder of the checkpoint seen last; a witness's folder works too
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Policy file: also tell when its witnesses have cosigned last, and whether its quorum holds
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Maximum age of cosignatures, as clients have it (--witness-age)
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = duration, requires = "policy")]
    witness_age: Duration,
    /// Check once, and end
    #[arg(long)]
    once: bool,
    /// Time between checks
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, conflicts_with = "once")]
    every: Duration,
    /// PEM file of the root certificates to trust for https, in place of the web's
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
}

impl Watch {
    pub(super) fn run(self, screen: Screen) -> Result<Report> {
        let location = LogLocation::of(&self.log, self.publisher, self.trust_root.as_deref())?;
        let policy = self.policy.as_deref().map(read_policy).transpose()?;
        loop {
            match self.check(&location, policy.as_ref()) {
                ended if self.once => return ended,
                // A server that is unavailable for a while is no fork, and neither is a late witness.
                Err(failure) if matches!(failure.exit, Exit::Storage | Exit::Missing) => {
                    eprintln!("{}", failure.render(false));
                }
                Ok(report) => match screen.print(report) {
                    Err(failure) if failure.exit == Exit::Findings => eprintln!("{}", failure.render(false)),
                    printed => printed?,
                },
                ended => return ended,
            }
            std::thread::sleep(self.every.max(Duration::from_secs(1)));
        }
    }

    fn check(&self, location: &LogLocation, policy: Option<&Policy>) -> Result<Report> {
        let memory = Memory::lock(&self.state, &self.publisher)?;
        let key = current_key(&self.publisher, policy)?;
        let SeenCheckpoint { checkpoint, before, served } =
            memory.read_log(location, &key, "do not trust this publisher")?;
        let size = checkpoint.size;
        let text = format!("{size} entries, {} of them new: one chain for each name", size - before);
        let Some(policy) = policy else {
            let report = WatchReport { entries: size, before, quorum: None, witnesses: None };
            return Ok(Report::new(text, &report));
        };
        let cosigned = location.file(WITNESSED, MAX_NOTE_BYTES as u64)?;
        let notes = [Some(served), cosigned].into_iter().flatten();
        let monitor = Monitor { policy, age: self.witness_age.as_secs(), now: crate::unix_time() };
        let seen = monitor.look(notes, &key, &memory)?;
        let (quorum, witnesses) = (Some(seen.quorum_report()), Some(seen.witness_reports()));
        let report = WatchReport { entries: size, before, quorum, witnesses };
        Ok(Report::new(format!("{text}\n{}", seen.text()), &report).but(seen.failure()))
    }
}

/// A log that extends what was seen of it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WatchReport {
    /// Number of entries of the log.
    entries: u64,
    /// Number of entries that were seen before.
    before: u64,
    /// The quorum of the policy; left out without a policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    quorum: Option<QuorumReport>,
    /// The witnesses of the policy; left out without a policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    witnesses: Option<Vec<WitnessReport>>,
}

/// Key of a publisher's log, with the ML-DSA-44 half that the publisher's key or the policy demands.
fn current_key(publisher: &PublicKey, policy: Option<&Policy>) -> Result<LogKey> {
    let name = log_name(publisher);
    let mut listed = policy.into_iter().flat_map(|policy| policy.keys_of_log(&name));
    let ml_dsa = listed.find_map(|key| key.ml_dsa().cloned());
    if ml_dsa.as_ref().map(|key| key.digest()) != publisher.ml_dsa && publisher.ml_dsa.is_some() {
        return Err(Failure::usage(
            "the log's ML-DSA-44 key is not known, of which the publisher's has the digest",
        )
        .fix(
            "give --policy FILE with the line that `sotto log add` prints, or the publisher's sotto-pk: key",
        ));
    }
    Ok(log_key(publisher)?.with_ml_dsa(ml_dsa))
}
