//! The server's side of other protocols, which [`sotto_server`] answers as extensions.
//!
//! ```
//! use sotto_guest_server::GuestConfig;
//!
//! let text = "[apple]\nuse_cases = ['callers']\n";
//! let (config, guests) = GuestConfig::parse(text)?;
//! assert!(config.tables.is_empty() && guests.apple.use_cases.len() == 1);
//! # Ok::<(), String>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`apple`] | Apple's private lookups: use cases, users' keys, requests |
//! | `tokens` | tokens of Privacy Pass, which requests of Apple's protocol have to bring |
//! | `ohttp` | a gateway of Oblivious HTTP, in front of all routes (feature `ohttp`) |
//!
//! Messages and cryptography are in `sotto-apple`, `sotto-pass` and `sotto-ohttp`; here are their
//! routes, files, metrics and settings.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod apple;
mod ohttp;
mod tokens;

pub use apple::{Apple, AppleConfig, AppleKeys, UseCaseSource};
pub use ohttp::OhttpConfig;
pub use tokens::TokenConfig;

use sotto_core::Accelerator;
use sotto_server::extension::ExtensionSetup;
use sotto_server::{ConfigText, OpeningProgress, RunningServer, Server, ServerConfig, StartError};
use std::path::Path;
use std::sync::Arc;

/// Settings of the other protocols: sections of the configuration of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GuestConfig {
    /// Tables of Apple's private lookups, for phones.
    pub apple: AppleConfig,
    /// A gateway of Oblivious HTTP, if this crate is built with the feature `ohttp`.
    pub ohttp: Option<OhttpConfig>,
}

impl GuestConfig {
    /// Parses and checks the text of a server's configuration, with the sections `apple` and
    /// `ohttp`.
    ///
    /// # Errors
    /// A message for a person, with the line.
    pub fn parse(text: &str) -> Result<(ServerConfig, Self), String> {
        ServerConfig::parse_with(text, GuestConfig::take)
    }

    /// Reads a configuration file of a server. Relative paths in it are relative to the file.
    ///
    /// # Errors
    /// [`StartError::Config`], with file and line.
    pub fn read(file: &Path) -> Result<(ServerConfig, Self), StartError> {
        let (config, mut guests) = ServerConfig::read_with(file, GuestConfig::take)?;
        let apple = &mut guests.apple;
        let users = apple.tokens.iter_mut().map(|tokens| &mut tokens.users);
        for path in apple.use_cases.iter_mut().chain(users).chain(&mut apple.reports) {
            *path = file.parent().unwrap_or(Path::new("")).join(&path);
        }
        Ok((config, guests))
    }

    fn take(text: &mut ConfigText<'_>) -> Result<Self, String> {
        let (apple, ohttp) = (text.take("apple")?.unwrap_or_default(), text.take("ohttp")?);
        let guests = GuestConfig { apple, ohttp };
        guests.extensions().iter().try_for_each(|extension| extension.check())?;
        Ok(guests)
    }

    /// Moves entries of a server's `tables` to where they belong: folders of stacks to `stacks`,
    /// tables of Apple's lookups to their use cases.
    ///
    /// # Errors
    /// [`StartError::Settings`] for a stack or a use case with a role of its own.
    pub fn recognize(&mut self, config: &mut ServerConfig) -> Result<(), StartError> {
        self.apple.use_cases.extend(config.recognize()?);
        Ok(())
    }

    /// The extensions with these settings.
    pub fn extensions(&self) -> Vec<Box<dyn ExtensionSetup>> {
        let apple = Box::new(apple::AppleSetup::new(self.apple.clone())) as Box<dyn ExtensionSetup>;
        let gateway = self.ohttp.iter().map(|config| Box::new(config.clone()) as Box<dyn ExtensionSetup>);
        std::iter::once(apple).chain(gateway).collect()
    }

    /// Opens the tables of a configuration and serves them, with these protocols, and with an
    /// accelerator, if there is one. Calls `watch` with the progress, if that takes long.
    ///
    /// # Errors
    /// [`StartError`], with what to do.
    pub fn start(
        &self,
        config: &ServerConfig,
        accelerator: Option<Arc<dyn Accelerator>>,
        watch: impl Fn(&OpeningProgress) + Send + 'static,
    ) -> Result<RunningServer, StartError> {
        let (mut guests, mut config) = (self.clone(), config.clone());
        guests.recognize(&mut config)?;
        Server::start_watched(&config, guests.extensions(), accelerator, watch)
    }
}

/// The use cases of Apple's private lookups of a server by name, with the number of live
/// configurations of each.
pub fn use_cases(running: &RunningServer) -> Vec<(String, usize)> {
    running.extension().map(Apple::use_cases).unwrap_or_default()
}

/// The exposition text of a server that has counted something of each metric, for tools that list
/// names, help texts and labels.
#[doc(hidden)]
pub fn metrics_sample() -> String {
    sotto_server::metrics_sample(apple::metrics::sample)
}
