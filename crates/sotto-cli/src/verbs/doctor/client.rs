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

pub(super) fn check(cache: Option<&Path>, states: Option<&Path>, findings: &mut Findings) -> Result<()> {
    let cache = match cache {
        Some(cache) => cache.to_owned(),
        None => connect_args::default_cache()?,
    };
    match cache.is_dir() {
        true => {
            findings.good(
                name(&cache),
                "holds what `sotto get` fetched once, which shows the tables used and no rows",
            );
            open_to_others(
                &cache,
                0o077,
                "chmod go-rwx",
                "other users can see which tables you use",
                findings,
            );
        }
        false => findings.good(name(&cache), "no cache: nothing has been fetched yet"),
    }
    if let Some(key) = connect_args::default_key_file().filter(|key| key.exists()) {
        open_to_others(
            &key,
            0o077,
            "chmod go-rwx",
            "other users who can read the cache get your keys",
            findings,
        );
        if key.starts_with(&cache) {
            findings.problem(
                name(&key),
                "lies in the cache that it encrypts",
                "give --key-file in another folder",
            );
        }
    }
    let states: Option<PathBuf> = states.map(Path::to_owned).or_else(client_events::default_dir);
    let Some(states) = states.filter(|states| states.is_dir()) else {
        findings.good("states", "none: no client here has hints that queries spend");
        return Ok(());
    };
    open_to_others(&states, 0o077, "chmod go-rwx", "other users can read what was looked up", findings);
    for shown in look_at(&states, sotto_registry::find).map_err(exit_mapping::client)? {
        let about = format!("state of {} at {}", shown.metadata.table, shown.metadata.origin);
        match shown.budget {
            Some(Budget::Left(0)) => findings.note(&about, "no hints are left", "run `sotto prepare`"),
            Some(Budget::Left(left)) => {
                findings.good(&about, format!("{} queries are left", units::count(left)))
            }
            _ => findings.note(
                &about,
                "not prepared",
                "run `sotto prepare`; otherwise the next lookup prepares it",
            ),
        }
        if shown.unsettled > 0 {
            let found =
                format!("{} requests have no answer: their hints are spent", units::count(shown.unsettled));
            findings.note(&about, found, "none needed if the server was unreachable");
        }
    }
    Ok(())
}

fn name(path: &Path) -> String {
    path.display().to_string()
}
