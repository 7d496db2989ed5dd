//! `sotto audit evidence`: the stored evidence against publishers that showed different people
//! different documents.

use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::verbs::connect_args::default_cache;
use serde_json::json;
use sotto_client::ClientError;
use sotto_client::cache::Cache;
use std::fs;
use std::path::PathBuf;

/// Arguments of `sotto audit evidence`.
#[derive(Debug, clap::Args)]
pub(super) struct Evidence {
    /// Folder for the exported files; created if missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Folder of the client's cache [default: sotto/ in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

impl Evidence {
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        let folder = self.cache.map_or_else(default_cache, Ok)?;
        if !folder.is_dir() {
            return Err(Failure::missing(format!("no such cache: {}", folder.display()))
                .fix("give the cache of `sotto get` with --cache DIR"));
        }
        let cached = |error| exit_mapping::client(ClientError::Cache(error));
        let all = Cache::open(&folder).and_then(|cache| cache.evidence()).map_err(cached)?;
        fs::create_dir_all(&self.out).map_err(|e| Failure::file("making", &self.out, &e))?;
        let write = |name: &str, bytes: &[u8]| {
            let path = self.out.join(name);
            fs::write(&path, bytes).map_err(|e| Failure::file("writing", &path, &e))
        };
        let mut evidence = Vec::new();
        for one in &all {
            let (name, statement) = (one.name(), one.statement());
            let files = [format!("{name}.first"), format!("{name}.other"), format!("{name}.txt")];
            let texts = [one.first.as_slice(), one.other.as_slice(), &[statement.as_bytes(), b"\n"].concat()];
            files.iter().zip(texts).try_for_each(|(name, bytes)| write(name, bytes))?;
            screen.say(format!("{name}: {statement}"))?;
            evidence.push(
                json!({ "publisher": one.publisher.to_string(), "files": files, "statement": statement }),
            );
        }
        if all.is_empty() {
            screen.say("no evidence in this cache")?;
        }
        let evidence = json!({ "evidence": evidence });
        write("evidence.json", format!("{evidence:#}\n").as_bytes())?;
        screen.report(&evidence)
    }
}
