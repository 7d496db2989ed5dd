//! The output of the log's demo: a paragraph per step, in a hundred columns, readable without
//! color.

use super::lookups::{NameLookup, Proof};
use super::sample::Sample;
use super::setup::LogServer;
use crate::failure::Result;
use crate::screen::{Screen, grid, units};

/// Number of lines of a proof that are shown.
const LINES: usize = 5;

pub(super) fn data(screen: Screen, sample: &Sample) -> Result<()> {
    screen.say(
        "\nWhich entry of a Certificate Transparency log has a certificate for a name, and is it really in the log?\n\
         Looked up without revealing the name.\n",
    )?;
    let root = sample.root.to_string();
    screen.say(format!(
        "Log        {}: the first {} entries of a real log, of 3 May 2025.\n           \
         Every leaf hash matches the published one; root {}...\n           \
         The sample has no signed checkpoint: a key created just now signs it.\n\
         Names      {} domain names, each with the first entry that has it",
        sample.path.display(),
        units::count(sample.entries.len() as u64),
        root.get(..16).unwrap_or(&root),
        units::count(sample.names.len() as u64),
    ))
}

pub(super) fn staged(screen: Screen, stage: &LogServer) -> Result<()> {
    let names = &stage.names.summary;
    screen.say(format!(
        "Encode     by name: {} rows of {} bytes, of which a lookup fetches two, in {}\n           \
         proofs: {}, {} tables of hashes (a table for each color of the tree), in {}\n\
         Serve      {}\n",
        units::count(names.rows),
        names.row_bytes,
        units::time(stage.names.took),
        stage.layer,
        stage.tables,
        units::time(stage.took),
        stage.url(),
    ))
}

pub(super) fn found(screen: Screen, found: &[NameLookup]) -> Result<()> {
    let columns = [
        ("name", false),
        ("answer", false),
        ("correct", false),
        ("client ms", true),
        ("server ms", true),
        ("round trip ms", true),
        ("bytes up", true),
        ("bytes down", true),
    ];
    let answer = |entry: Option<u64>| entry.map_or("not found".to_owned(), |entry| format!("entry {entry}"));
    let rows = found.iter().map(|found| {
        vec![
            found.name.clone(),
            answer(found.entry),
            if found.right() { "yes".to_owned() } else { format!("NO: {}", answer(found.expected)) },
            units::millis(found.spent.client),
            units::millis(found.spent.pass),
            units::millis(found.spent.round_trip),
            units::count(found.spent.up),
            units::count(found.spent.down),
        ]
    });
    screen.say(grid::grid(&columns, rows))?;
    screen
        .say("\nA missing name is looked up like any other, and only the client learns that it is missing.\n")
}

pub(super) fn proved(screen: Screen, proof: &Proof) -> Result<()> {
    screen.say(format!(
        "Proof that entry {} is in the log: {} lookups, one in each table, {} up and {} down,\n\
         {} of hints once, {}. Verified with the key of the log:\n",
        proof.entry,
        proof.lookups,
        units::bytes(proof.up),
        units::bytes(proof.down),
        units::bytes(proof.once),
        units::time(proof.took),
    ))?;
    let lines: Vec<&str> = proof.text.lines().collect();
    for line in lines.iter().take(LINES) {
        screen.say(format!("   {line}"))?;
    }
    screen.say(format!("   ... {} lines in total", lines.len()))
}
