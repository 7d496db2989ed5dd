//! Where a table's servers are: addresses, or transports that are there already.

use super::ahead::MakeTransports;
use super::patience::Patience;
use super::servers::Servers;
#[cfg(feature = "http")]
use crate::ClientError;
use crate::Result;
#[cfg(feature = "http")]
use crate::session::ROWS_FETCH_BYTES;
#[cfg(feature = "http")]
use crate::transport::http::{Http, Settings};
use crate::transport::{Transport, TransportError};
#[cfg(feature = "http")]
use std::path::{Path, PathBuf};
#[cfg(feature = "http")]
use std::time::Duration;

/// The servers of a table.
pub(super) enum To {
    #[cfg(feature = "http")]
    Urls {
        urls: Vec<String>,
        settings: Settings,
        root: Option<PathBuf>,
    },
    Transports(Vec<Box<dyn Transport>>),
}

impl To {
    /// What makes further transports to the same addresses, patient enough for a part of the rows at a limited rate.
    #[cfg_attr(not(feature = "http"), allow(unused_variables, reason = "only addresses can be used again"))]
    pub(super) fn again(&self, rate: Option<u64>, patience: &Patience) -> Option<MakeTransports> {
        match self {
            To::Transports(_) => None,
            #[cfg(feature = "http")]
            To::Urls { urls, settings, root } => {
                let (urls, mut settings, root) = (urls.clone(), settings.clone(), root.clone());
                let part = rate.map_or(0, |rate| 2 * ROWS_FETCH_BYTES / rate.max(1));
                settings.overall = settings.overall.saturating_add(Duration::from_secs(part));
                let patience = patience.clone();
                Some(Box::new(move || over_http(&urls, settings.clone(), root.as_deref(), &patience)))
            }
        }
    }

    /// Transports to them.
    #[cfg_attr(not(feature = "http"), allow(unused_variables, reason = "only addresses are waited for here"))]
    pub(super) fn servers(self, patience: &Patience) -> Result<Servers> {
        let transports = match self {
            To::Transports(transports) => transports,
            #[cfg(feature = "http")]
            To::Urls { urls, settings, root } => over_http(&urls, settings, root.as_deref(), patience)?,
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
pub(crate) fn over_http(
    urls: &[String],
    settings: Settings,
    root: Option<&Path>,
    patience: &Patience,
) -> Result<Vec<Box<dyn Transport>>> {
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
    Ok(servers.into_iter().map(|http| patience.over(http)).collect())
}
