//! Which table, whom to trust, where to keep things.

use super::servers::Servers;
use super::{Progress, Table};
use crate::cache::Cache;
use crate::session::Config;
use crate::transport::{Transport, TransportError};
#[cfg(feature = "http")]
use crate::transport::{
    http::{Http, Settings},
    retry::{Policy, Retrying},
};
use crate::{ClientError, Result};
use sotto_catalog::PublicKey;
use sotto_core::SchemeEntry;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A table about to be opened.
#[must_use = "nothing happens before open()"]
pub struct Builder {
    to: To,
    table: String,
    pin: Option<PublicKey>,
    cache_dir: Option<PathBuf>,
    patience: Duration,
    progress: Box<dyn FnMut(Progress) + Send>,
    resolve: fn(&str) -> Option<&'static SchemeEntry>,
}

enum To {
    #[cfg(feature = "http")]
    Urls {
        urls: Vec<String>,
        settings: Settings,
        root: Option<PathBuf>,
    },
    Transports(Vec<Box<dyn Transport>>),
}

impl To {
    fn servers(self) -> Result<Servers> {
        let transports = match self {
            To::Transports(transports) => transports,
            #[cfg(feature = "http")]
            To::Urls { urls, settings, root } => over_http(&urls, settings, root.as_deref())?,
        };
        let mut transports = transports.into_iter();
        let none =
            || TransportError::Address { url: "nothing".to_owned(), why: "no server was given".to_owned() };
        let first = transports.next().ok_or_else(none)?;
        Ok(Servers::new(first, transports.collect()))
    }
}

/// A transport to each address, no two of which may be one endpoint.
#[cfg(feature = "http")]
fn over_http(urls: &[String], settings: Settings, root: Option<&Path>) -> Result<Vec<Box<dyn Transport>>> {
    let settings = match root {
        Some(path) => settings.trust_file(path)?,
        None => settings,
    };
    let servers = urls.iter().map(|url| Http::new(url, &settings)).collect::<Result<Vec<_>, _>>()?;
    for (i, second) in servers.iter().enumerate() {
        for first in servers.iter().take(i) {
            if let Some(why) = first.shared(second) {
                let (first, second) = (first.origin(), second.origin());
                return Err(ClientError::SameEndpoint { first, second, why });
            }
        }
    }
    let retrying = |http| Box::new(Retrying::new(http, Policy::default())) as Box<dyn Transport>;
    Ok(servers.into_iter().map(retrying).collect())
}

pub(super) struct Options {
    pub(super) config: Config,
    pub(super) cache: Option<Cache>,
    pub(super) patience: Duration,
    pub(super) progress: Box<dyn FnMut(Progress) + Send>,
}

impl Builder {
    #[cfg(feature = "http")]
    pub(super) fn connect(urls: &[&str], table: &str) -> Self {
        let urls = urls.iter().map(|&url| url.to_owned()).collect();
        Builder::new(To::Urls { urls, settings: Settings::default(), root: None }, table)
    }

    pub(super) fn over(transports: Vec<Box<dyn Transport>>, table: &str) -> Self {
        Builder::new(To::Transports(transports), table)
    }

    fn new(to: To, table: &str) -> Self {
        Builder {
            to,
            table: table.to_owned(),
            pin: None,
            cache_dir: None,
            patience: Duration::from_secs(60),
            progress: Box::new(|_| {}),
            resolve: sotto_registry::find,
        }
    }

    /// Accepts a catalog signed by this key only.
    ///
    /// Without it the first key seen is believed ([`crate::Trust::FirstUse`]) and, if there is a cache, no
    /// other afterwards.
    pub fn pin(mut self, key: PublicKey) -> Self {
        self.pin = Some(key);
        self
    }

    /// Keeps artifacts, keys and epochs in this directory. Without it every opening downloads anew.
    pub fn cache_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.cache_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// The longest one request may take, each attempt at it for itself; also how long to wait for another process that downloads the same
    /// artifact. 60 seconds unless said otherwise.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.patience = limit;
        #[cfg(feature = "http")]
        if let To::Urls { settings, .. } = &mut self.to {
            settings.overall = limit;
            settings.connect = settings.connect.min(limit);
        }
        self
    }

    /// Trusts the roots in a PEM file instead of the web's. Means something for `https` only.
    #[cfg(feature = "http")]
    pub fn trust_root(mut self, pem: impl AsRef<Path>) -> Self {
        if let To::Urls { root, .. } = &mut self.to {
            *root = Some(pem.as_ref().to_owned());
        }
        self
    }

    /// Is told how far the opening is, and later ones.
    pub fn progress(mut self, progress: impl FnMut(Progress) + Send + 'static) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Finds schemes elsewhere than in the registry. For tests: a scheme that was not registered was not
    /// reviewed.
    pub fn resolve(mut self, resolve: fn(&str) -> Option<&'static SchemeEntry>) -> Self {
        self.resolve = resolve;
        self
    }

    /// Opens the table: catalog, artifacts, keys.
    ///
    /// # Errors
    /// [`ClientError`], with whose fault and what to do. What was downloaded is kept if there is a cache.
    pub fn open(self) -> Result<Table> {
        let mut config = Config::new(self.table.parse()?);
        config.pin = self.pin;
        config.resolve = self.resolve;
        let servers = self.to.servers()?;
        config.servers = servers.count();
        let cache = self.cache_dir.map(|dir| Cache::open(&dir)).transpose().map_err(ClientError::from)?;
        Table::open(servers, Options { config, cache, patience: self.patience, progress: self.progress })
    }
}
