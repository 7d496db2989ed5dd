//! Measures the costs for a client of verifying that a catalog is in its publisher's log, with a
//! number of witnesses, and that the log is consistent with an earlier one:
//!
//! ```text
//! cargo run --release -p sotto-tlog --example vetting -- ENTRIES WITNESSES
//! ```

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use sotto_catalog::{Hex32, SigningKey};
use sotto_core::Epoch;
use sotto_tlog::appender::{Appender, attach};
use sotto_tlog::catalogs::{EntryKind, log_key};
use sotto_tlog::publisher_log::PublisherLog;
use sotto_tlog::witness::consistent;
use sotto_tlog::{Cosigner, DirectorySource, InclusionProof, LogEntry, SignedNote};
use std::error::Error;
use std::time::{Duration, Instant};

const ROUNDS: u32 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let entries: u64 = args.next().map_or(Ok(20_000), |text| text.parse())?;
    let witnesses: u8 = args.next().map_or(Ok(3), |text| text.parse())?;
    let dir = tempfile::tempdir()?;
    let key = SigningKey::generate(&mut ChaCha20Rng::seed_from_u64(1));
    let entry = |number: u64| -> Result<LogEntry, Box<dyn Error>> {
        let digest = Hex32::from(sotto_tree::log::hash::leaf(&number.to_be_bytes()));
        let name = "words".parse()?;
        Ok(LogEntry::new(EntryKind::Catalog, name, Epoch(number + 1), digest, key.public()))
    };
    let grow = |from: u64, to: u64| -> Result<(), Box<dyn Error>> {
        let mut log = Appender::open(dir.path(), &key)?;
        for number in from..to {
            log.add(&entry(number)?)?;
        }
        Ok(log.publish()?)
    };
    grow(0, entries / 2)?;
    let before = PublisherLog::open(dir.path())?.newest().checkpoint.clone();
    grow(entries / 2, entries)?;
    let mut note = SignedNote::parse(PublisherLog::open(dir.path())?.newest().note.as_bytes())?;
    let cosigners = (1..=witnesses).map(|number| Cosigner::new(&format!("w{number}.example"), &[number; 32]));
    let cosigners = cosigners.collect::<Result<Vec<_>, _>>()?;
    let keys: Vec<_> = cosigners.iter().map(|cosigner| cosigner.public().clone()).collect();
    for cosigner in &cosigners {
        let line = cosigner.cosign(&note.text, 1)?;
        note.signatures.push(line);
    }
    attach(dir.path(), &[note.to_string().into_bytes()], &keys)?;
    let logged = entry(entries / 3)?;
    let proof =
        PublisherLog::open(dir.path())?.proof(&logged.digest)?.ok_or("the entry is there")?.to_string();

    let (mut vetted, mut followed) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let found = InclusionProof::parse(proof.as_bytes())?;
        let checkpoint = found.verify(&logged.leaf(), &log_key(&key.public())?)?;
        let note = SignedNote::parse(found.checkpoint.as_bytes())?;
        for key in &keys {
            key.cosigned(&note)?.ok_or("the witness has cosigned")?;
        }
        vetted += start.elapsed();
        let start = Instant::now();
        consistent(DirectorySource(dir.path().to_owned()), Some(&before), &checkpoint)?;
        followed += start.elapsed();
    }
    let each = |time: Duration| (time / ROUNDS).as_micros();
    println!("{entries} entries, {witnesses} witnesses, a proof of {} bytes", proof.len());
    println!("proof and signatures: {} us", each(vetted));
    println!("the log goes on from {}: {} us, files read from a disk", before.size, each(followed));
    Ok(())
}
