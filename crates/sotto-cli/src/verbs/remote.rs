//! A table behind an address: which one, whom to believe, and where to keep what is kept of it.

use super::state::{self, Events};
use crate::blame;
use crate::failure::{Failure, Result};
use crate::screen::bars::{Bars, Unit};
use sotto_catalog::{PublicKey, TableName};
use sotto_client::Table;
use sotto_client::table::{Progress, Stage};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Arguments of every verb that opens a table.
#[derive(Debug, clap::Args)]
pub(crate) struct Remote {
    /// The server's address, as `sotto serve` printed it; one for each role of a table that has several
    #[arg(long = "server", value_name = "URL", required = true)]
    pub(super) servers: Vec<String>,
    /// The table's name
    #[arg(long, value_name = "NAME")]
    table: TableName,
    /// Accept a table signed by this key only (`sotto encode` printed it)
    #[arg(long, value_name = "sotto-pk:...")]
    pin: Option<PublicKey>,
    /// Where to keep hints, keys and epochs [default: sotto/ in the user's cache folder]
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    cache: Option<PathBuf>,
    /// Keep nothing: fetch the hint anew, and believe whichever key comes first
    #[arg(long)]
    no_cache: bool,
    /// Where to keep hints that are used up by asking [default: sotto/state/ in the user's data folder]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Where to keep what tells an old copy of the state [default: sotto/anchors/ in the user's state folder]
    #[arg(long, value_name = "DIR")]
    anchor: Option<PathBuf>,
    /// The most bytes a second that hints made ahead of time may take
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    rate: Option<u64>,
    /// The longest one request may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Trust the roots in this PEM file instead of the web's (for https)
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
}

impl Remote {
    /// Opens it.
    pub(super) fn open(&self, bars: &Arc<Bars>, events: &Events) -> Result<Table> {
        let servers: Vec<&str> = self.servers.iter().map(String::as_str).collect();
        let mut builder = Table::connect_all(&servers, self.table.as_str())
            .timeout(Duration::from_secs(self.timeout))
            .progress(on(bars))
            .events(events.listener());
        if let Some(dir) = self.state.clone().or_else(state::default_dir) {
            builder = builder.state_dir(dir);
        }
        if let Some(rate) = self.rate {
            builder = builder.pass_rate(rate);
        }
        if let Some(dir) = &self.anchor {
            builder = builder.anchor_dir(dir);
        }
        if let Some(key) = self.pin {
            builder = builder.pin(key);
        }
        if let Some(pem) = &self.trust_root {
            builder = builder.trust_root(pem);
        }
        match (&self.cache, self.no_cache) {
            (_, true) => {}
            (Some(dir), false) => builder = builder.cache_dir(dir),
            (None, false) => builder = builder.cache_dir(default_cache()?),
        }
        builder.open().map_err(blame::client)
    }
}

/// Draws the opening of a table, and a row that is streamed.
pub(super) fn on(bars: &Arc<Bars>) -> impl FnMut(Progress) + Send + 'static {
    let bars = Arc::clone(bars);
    move |at| {
        let name = match at.stage {
            Stage::Catalog => "catalog",
            Stage::Waiting => "waiting",
            Stage::Artifact(artifact) => artifact.name(),
            Stage::Keys => "keys",
            Stage::Hints => "hints",
            Stage::Row => "row",
            Stage::Ahead => "next hints",
            _ => return,
        };
        bars.at(name, at.done, at.total, Unit::Bytes);
    }
}

/// The user's cache folder by the XDG rules.
fn default_cache() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    folder.map(|folder| folder.join("sotto")).ok_or_else(|| {
        Failure::usage("no folder for the cache: neither HOME nor XDG_CACHE_HOME is set")
            .fix("give --cache DIR, or --no-cache")
    })
}
