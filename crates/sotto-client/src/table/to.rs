//! Where a table's servers are: addresses, or transports that are there already.

use super::ahead::MakeTransports;
#[cfg(feature = "http")]
use super::event::{Event, Wait};
use super::patience::Patience;
use super::servers::Servers;
use crate::Result;
#[cfg(feature = "http")]
use crate::session::ROWS_FETCH_BYTES;
#[cfg(feature = "http")]
use crate::transport::endpoint::apart;
#[cfg(feature = "http")]
use crate::transport::http::{Http, Settings};
#[cfg(feature = "http")]
use crate::transport::retry::{Policy, Retrying};
use crate::transport::{Transport, TransportError};
#[cfg(feature = "http")]
use std::path::{Path, PathBuf};
#[cfg(feature = "http")]
use std::time::Duration;

/// What a builder says of servers that are addresses. It means nothing for transports of the caller's.
#[cfg(feature = "http")]
macro_rules! http_options {
    ($builder:ty) => {
        impl $builder {
            /// The longest one request may take, each attempt at it for itself. 60 seconds unless said otherwise.
            pub fn timeout(mut self, limit: Duration) -> Self {
                if let To::Urls(urls) = &mut self.to {
                    urls.limit(limit);
                }
                self
            }

            /// Lets several servers be asked without TLS, which is refused otherwise
            /// ([`ClientError::Plaintext`](crate::ClientError::Plaintext)) beyond this machine: whoever listens on the way to all
            /// of them sees what is asked.
            pub fn insecure_plaintext(mut self) -> Self {
                if let To::Urls(urls) = &mut self.to {
                    urls.allow_plaintext();
                }
                self
            }

            /// Trusts the roots in a PEM file instead of the web's. Means something for `https` only.
            pub fn trust_root(mut self, pem: impl AsRef<Path>) -> Self {
                if let To::Urls(urls) = &mut self.to {
                    urls.trust_root(pem.as_ref());
                }
                self
            }
        }
    };
}
#[cfg(feature = "http")]
pub(crate) use http_options;

#[cfg(feature = "http")]
impl Patience {
    /// A transport that waits for a busy server.
    pub(crate) fn over(&self, transport: impl Transport + 'static) -> Box<dyn Transport> {
        let policy = Policy { patience: self.limit, ..Policy::default() };
        let events = self.events.clone();
        let told = move |limit| events.tell(Event::Waiting(Wait::Server, limit));
        Box::new(Retrying::new(transport, policy).telling(told))
    }
}

/// The servers of a table.
pub(super) enum To {
    #[cfg(feature = "http")]
    Urls(Urls),
    Transports(Vec<Box<dyn Transport>>),
}

/// Addresses, and how they are reached.
#[cfg(feature = "http")]
#[derive(Clone)]
pub(crate) struct Urls {
    urls: Vec<String>,
    settings: Settings,
    root: Option<PathBuf>,
    plaintext: bool,
}

#[cfg(feature = "http")]
impl Urls {
    pub(crate) fn new(urls: &[&str]) -> Self {
        let urls = urls.iter().map(|&url| url.to_owned()).collect();
        Urls { urls, settings: Settings::default(), root: None, plaintext: false }
    }

    /// Sets the longest one request may take.
    pub(crate) fn limit(&mut self, limit: Duration) {
        self.settings.overall = limit;
        self.settings.connect = self.settings.connect.min(limit);
    }

    /// Trusts the roots in a PEM file instead of the web's.
    pub(crate) fn trust_root(&mut self, pem: &Path) {
        self.root = Some(pem.to_owned());
    }

    /// Lets several servers be asked in the clear.
    pub(crate) fn allow_plaintext(&mut self) {
        self.plaintext = true;
    }

    /// A transport to each, no two of which may be one endpoint. Several are asked over TLS: what one of them is sent says
    /// nothing without what the others are sent, and whoever listens on the way to all of them has both.
    pub(crate) fn transports(&self, patience: &Patience) -> Result<Vec<Box<dyn Transport>>> {
        let settings = match &self.root {
            Some(path) => self.settings.clone().trust_file(path)?,
            None => self.settings.clone(),
        };
        let servers = self.urls.iter().map(|url| Http::new(url, &settings)).collect::<Result<Vec<_>, _>>()?;
        apart(&servers, self.plaintext, Http::origin, Http::shared, Http::can_be_overheard)?;
        Ok(servers.into_iter().map(|http| patience.over(http)).collect())
    }
}

impl To {
    /// What makes further transports to the same addresses, patient enough for a part of the rows at a limited rate.
    #[cfg_attr(not(feature = "http"), allow(unused_variables, reason = "only addresses can be used again"))]
    pub(super) fn again(&self, rate: Option<u64>, patience: &Patience) -> Option<MakeTransports> {
        match self {
            To::Transports(_) => None,
            #[cfg(feature = "http")]
            To::Urls(urls) => {
                let (mut urls, patience) = (urls.clone(), patience.clone());
                let part = rate.map_or(0, |rate| 2 * ROWS_FETCH_BYTES / rate.max(1));
                urls.settings.overall = urls.settings.overall.saturating_add(Duration::from_secs(part));
                Some(Box::new(move || urls.transports(&patience)))
            }
        }
    }

    /// Transports to them.
    #[cfg_attr(not(feature = "http"), allow(unused_variables, reason = "only addresses are waited for here"))]
    pub(super) fn servers(self, patience: &Patience) -> Result<Servers> {
        #[cfg_attr(
            not(feature = "http"),
            allow(clippy::infallible_destructuring_match, reason = "addresses need HTTP")
        )]
        let transports = match self {
            To::Transports(transports) => transports,
            #[cfg(feature = "http")]
            To::Urls(urls) => urls.transports(patience)?,
        };
        let mut transports = transports.into_iter();
        let none =
            || TransportError::Address { url: "nothing".to_owned(), why: "no server was given".to_owned() };
        let first = transports.next().ok_or_else(none)?;
        Ok(Servers::new(first, transports.collect()))
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;
    use crate::Fault;
    use crate::table::event::Voice;

    /// What is made for these addresses, without connecting to any: documentation addresses, and this machine.
    fn reached(urls: &[&str], insecure: bool) -> Result<usize> {
        let mut urls = Urls::new(urls);
        if insecure {
            urls.allow_plaintext();
        }
        let patience = Patience { limit: Duration::ZERO, events: Voice::new(Box::new(|_| ())) };
        urls.transports(&patience).map(|transports| transports.len())
    }

    #[test]
    fn several_servers_are_not_asked_in_the_clear() {
        let (far, secure, here) = ("http://192.0.2.1", "https://192.0.2.2", "http://127.0.0.1:1");
        for urls in [[far, secure], [secure, far], [here, far], [secure, "http://[2001:db8::1]:80/b"]] {
            let error = reached(&urls, false).unwrap_err();
            assert_eq!((error.code(), error.fault()), ("plaintext", Fault::Caller), "{urls:?}");
            assert!(
                error.to_string().starts_with("http://") && error.to_string().contains("not https"),
                "{error}"
            );
            assert_eq!(reached(&urls, true).unwrap(), 2, "whoever says so may");
        }
    }

    #[test]
    fn one_server_or_servers_here_may_be_asked_in_the_clear() {
        for urls in [
            &["http://192.0.2.1"][..],
            &["http://127.0.0.1:1", "http://[::1]:2"],
            &["https://192.0.2.1", "https://192.0.2.2"],
        ] {
            assert_eq!(reached(urls, false).unwrap(), urls.len(), "{urls:?}");
        }
    }
}
