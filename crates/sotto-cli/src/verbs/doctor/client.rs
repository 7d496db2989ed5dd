//! Checks of a client's files: who may read them, and whether they are where they should be.

use super::Findings;
use super::files::open_to_others;
use crate::exit_mapping;
use crate::failure::Result;
use crate::screen::units;
use crate::verbs::{client_events, connect_args};
use sotto_client::state::inspect::inspect as look_at;
use sotto_core::Budget;
use std::path::{Path, PathBuf};

pub(super) fn look(cache: Option<&Path>, states: Option<&Path>, findings: &mut Findings) -> Result<()> {
    let cache = match cache {
        Some(cache) => cache.to_owned(),
        None => connect_args::default_cache()?,
    };
    match cache.is_dir() {
        true => {
            findings.good(name(&cache), "what `sotto get` fetched once: tables that were asked, not rows");
            open_to_others(&cache, 0o077, "chmod go-rwx", "others see which tables you use", findings);
        }
        false => findings.good(name(&cache), "no cache: nothing was fetched yet"),
    }
    if let Some(key) = connect_args::default_key_file().filter(|key| key.exists()) {
        open_to_others(&key, 0o077, "chmod go-rwx", "whoever reads it and the cache has your keys", findings);
        if key.starts_with(&cache) {
            findings.mend(
                name(&key),
                "it lies in the cache that it protects",
                "give --key-file another folder",
            );
        }
    }
    let states: Option<PathBuf> = states.map(Path::to_owned).or_else(client_events::default_dir);
    let Some(states) = states.filter(|states| states.is_dir()) else {
        findings.good("states", "none: no hints were made that are used up by asking");
        return Ok(());
    };
    open_to_others(&states, 0o077, "chmod go-rwx", "whoever reads it learns what was asked", findings);
    for shown in look_at(&states, sotto_registry::find).map_err(exit_mapping::client)? {
        let about = format!("state of {} at {}", shown.metadata.table, shown.metadata.origin);
        match shown.budget {
            Some(Budget::Left(0)) => {
                findings.note(&about, "no hints are left", "sotto prepare makes them while nobody waits")
            }
            Some(Budget::Left(left)) => {
                findings.good(&about, format!("{} queries are left", units::count(left)))
            }
            _ => findings.note(&about, "not prepared", "sotto prepare, or the next call does it"),
        }
        if shown.unsettled > 0 {
            let found =
                format!("{} requests without an answer: their hints are gone", units::count(shown.unsettled));
            findings.note(&about, found, "nothing, if the server was away");
        }
    }
    Ok(())
}

fn name(path: &Path) -> String {
    path.display().to_string()
}
