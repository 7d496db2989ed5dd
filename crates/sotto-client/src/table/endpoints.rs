//! Where the servers of a table are: addresses, or transports of the caller.

#[cfg(feature = "http")]
use super::event::{TableEvent, WaitReason};
use super::preparation::MakeTransports;
use super::servers::Servers;
use super::wait_policy::WaitPolicy;
use crate::Result;
#[cfg(feature = "http")]
use crate::session::ROWS_FETCH_BYTES;
#[cfg(feature = "http")]
use crate::transport::endpoint::check_distinct;
#[cfg(feature = "http")]
use crate::transport::http::{HttpSettings, HttpTransport};
#[cfg(feature = "http")]
use crate::transport::retry::{RetryPolicy, RetryTransport};
use crate::transport::{Transport, TransportError};
#[cfg(feature = "http")]
use std::path::{Path, PathBuf};
#[cfg(feature = "http")]
use std::time::Duration;

/// Generates the options of a builder for servers with addresses. They have no effect on transports
/// of the caller.
#[cfg(feature = "http")]
macro_rules! http_options {
    ($builder:ty, $endpoints:ident) => {
        impl $builder {
            /// Maximum duration of one request, for each attempt separately. The default is 60
            /// seconds.
            pub fn timeout(mut self, limit: Duration) -> Self {
                if let $endpoints::Urls(urls) = &mut self.to {
                    urls.limit(limit);
                }
                self
            }

            /// Allows several servers to be reached without TLS, which is refused otherwise
            /// ([`ClientError::InsecurePlaintext`](crate::ClientError::InsecurePlaintext)) beyond
            /// this machine: anyone who can read the traffic to all of them sees what is looked up.
            pub fn insecure_plaintext(mut self) -> Self {
                if let $endpoints::Urls(urls) = &mut self.to {
                    urls.allow_plaintext();
                }
                self
            }

            /// Trusts the roots in a PEM file instead of the web's. Applies to `https` only.
            pub fn trust_root(mut self, pem: impl AsRef<Path>) -> Self {
                if let $endpoints::Urls(urls) = &mut self.to {
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
impl WaitPolicy {
    /// Wraps a transport so that it waits for a busy server.
    pub(crate) fn over(&self, transport: impl Transport + 'static) -> Box<dyn Transport> {
        let policy = RetryPolicy { max_wait: self.limit, ..RetryPolicy::default() };
        let events = self.events.clone();
        let notify = move |limit| events.notify(TableEvent::Waiting(WaitReason::Server, limit));
        Box::new(RetryTransport::new(transport, policy).on_busy(notify))
    }
}

/// Where the servers of a table are.
pub(super) enum Endpoints {
    #[cfg(feature = "http")]
    Urls(HttpEndpoints),
    Transports(Vec<Box<dyn Transport>>),
}

/// The addresses of servers, and how to reach them.
#[cfg(feature = "http")]
#[derive(Clone)]
pub(crate) struct HttpEndpoints {
    urls: Vec<String>,
    settings: HttpSettings,
    root: Option<PathBuf>,
    plaintext: bool,
}

#[cfg(feature = "http")]
impl HttpEndpoints {
    pub(crate) fn new(urls: &[&str]) -> Self {
        let urls = urls.iter().map(|&url| url.to_owned()).collect();
        HttpEndpoints { urls, settings: HttpSettings::default(), root: None, plaintext: false }
    }

    /// Sets the maximum duration of one request.
    pub(crate) fn limit(&mut self, limit: Duration) {
        self.settings.overall = limit;
        self.settings.connect = self.settings.connect.min(limit);
    }

    /// Trusts the roots in a PEM file instead of the web's.
    pub(crate) fn trust_root(&mut self, pem: &Path) {
        self.root = Some(pem.to_owned());
    }

    /// Allows several servers to be reached without TLS.
    pub(crate) fn allow_plaintext(&mut self) {
        self.plaintext = true;
    }

    /// Makes a transport to each server, no two of which may be one endpoint. Several servers are
    /// reached over TLS: the request to one of them reveals nothing without those to the others,
    /// and anyone who can read the traffic to all of them has both.
    pub(crate) fn transports(&self, wait_policy: &WaitPolicy) -> Result<Vec<Box<dyn Transport>>> {
        let settings = match &self.root {
            Some(path) => self.settings.clone().trust_file(path)?,
            None => self.settings.clone(),
        };
        let servers =
            self.urls.iter().map(|url| HttpTransport::new(url, &settings)).collect::<Result<Vec<_>, _>>()?;
        check_distinct(
            &servers,
            self.plaintext,
            HttpTransport::origin,
            HttpTransport::shared,
            HttpTransport::can_be_overheard,
        )?;
        Ok(servers.into_iter().map(|http| wait_policy.over(http)).collect())
    }
}

impl Endpoints {
    /// Makes a factory of further transports to the same addresses, with timeouts long enough for a
    /// part of the rows at a limited rate.
    #[cfg_attr(not(feature = "http"), allow(unused_variables, reason = "only addresses can be used again"))]
    pub(super) fn again(&self, rate: Option<u64>, wait_policy: &WaitPolicy) -> Option<MakeTransports> {
        match self {
            Endpoints::Transports(_) => None,
            #[cfg(feature = "http")]
            Endpoints::Urls(urls) => {
                let (mut urls, wait_policy) = (urls.clone(), wait_policy.clone());
                let part = rate.map_or(0, |rate| 2 * ROWS_FETCH_BYTES / rate.max(1));
                urls.settings.overall = urls.settings.overall.saturating_add(Duration::from_secs(part));
                Some(Box::new(move || urls.transports(&wait_policy)))
            }
        }
    }

    /// Makes transports to the servers.
    #[cfg_attr(not(feature = "http"), allow(unused_variables, reason = "only addresses are waited for here"))]
    pub(super) fn servers(self, wait_policy: &WaitPolicy) -> Result<Servers> {
        #[cfg_attr(
            not(feature = "http"),
            allow(clippy::infallible_destructuring_match, reason = "addresses need HTTP")
        )]
        let transports = match self {
            Endpoints::Transports(transports) => transports,
            #[cfg(feature = "http")]
            Endpoints::Urls(urls) => urls.transports(wait_policy)?,
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
    use crate::table::event::Notifier;

    /// Makes transports to these addresses without connecting: they are documentation addresses and
    /// this machine.
    fn reached(urls: &[&str], insecure: bool) -> Result<usize> {
        let mut urls = HttpEndpoints::new(urls);
        if insecure {
            urls.allow_plaintext();
        }
        let wait_policy = WaitPolicy { limit: Duration::ZERO, events: Notifier::new(Box::new(|_| ())) };
        urls.transports(&wait_policy).map(|transports| transports.len())
    }

    #[test]
    fn several_servers_are_not_asked_in_the_clear() {
        let (far, secure, here) = ("http://192.0.2.1", "https://192.0.2.2", "http://127.0.0.1:1");
        for urls in [[far, secure], [secure, far], [here, far], [secure, "http://[2001:db8::1]:80/b"]] {
            let error = reached(&urls, false).unwrap_err();
            assert_eq!((error.code(), error.fault()), ("insecure-plaintext", Fault::Caller), "{urls:?}");
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
