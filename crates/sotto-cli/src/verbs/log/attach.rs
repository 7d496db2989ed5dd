//! `sotto log attach`: adds cosignatures to the publisher's log, each of which is verified.

use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use serde_json::json;
use sotto_tlog::note::MAX_NOTE_BYTES;
use sotto_tlog::{WitnessKey, appender};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Arguments of `sotto log attach`.
#[derive(Debug, clap::Args)]
pub(super) struct Attach {
    /// Folder of the log
    #[arg(value_name = "LOG")]
    folder: PathBuf,
    /// Cosigned checkpoints of witnesses, as `sotto log cosign` writes them
    #[arg(value_name = "NOTE", required = true)]
    notes: Vec<PathBuf>,
    /// Public key of a witness whose cosignatures to add; repeatable
    #[arg(long = "witness", value_name = "NAME+ID+BASE64", required = true)]
    witnesses: Vec<WitnessKey>,
}

impl Attach {
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        let notes = self.notes.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
        let attached =
            appender::attach(&self.folder, &notes, &self.witnesses).map_err(|e| exit_mapping::log(&e))?;
        for one in &attached {
            screen.say(format!("{} cosigned {} entries at {}", one.witness, one.size, one.time))?;
        }
        screen.say("a running `sotto serve` loads it by itself")?;
        let each = attached
            .iter()
            .map(|one| json!({ "witness": one.witness, "entries": one.size, "time": one.time }));
        screen.report(&json!({ "attached": each.collect::<Vec<_>>() }))
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_NOTE_BYTES as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|e| Failure::file("reading", path, &e))?;
    Ok(bytes)
}
