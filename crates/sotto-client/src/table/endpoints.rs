//! Where the servers of a table are: addresses, or transports of the caller.

#[cfg(feature = "http")]
use super::event::{TableEvent, WaitReason};
use super::options::OpenOptions;
use super::servers::{MakeTransports, Servers, make};
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
use std::sync::{Arc, Mutex};
#[cfg(feature = "http")]
use std::time::Duration;

/// Where the servers of a table or a stack are.
pub(crate) enum Endpoints {
    #[cfg(feature = "http")]
    Urls(Vec<String>),
    /// Transports of the caller, for one table.
    Transports(Vec<Box<dyn Transport>>),
    /// A function of the caller, which is called for each table of a stack.
    Factory(MakeTransports),
}

impl Endpoints {
    #[cfg(feature = "http")]
    pub(crate) fn urls(urls: &[&str]) -> Self {
        Endpoints::Urls(urls.iter().map(|&url| url.to_owned()).collect())
    }

    /// The endpoints for one table of a stack.
    pub(crate) fn of_table(&self) -> Result<Endpoints> {
        Ok(match self {
            #[cfg(feature = "http")]
            Endpoints::Urls(urls) => Endpoints::Urls(urls.clone()),
            Endpoints::Transports(_) => Endpoints::Transports(Vec::new()),
            Endpoints::Factory(factory) => Endpoints::Transports(make(factory)?),
        })
    }

    /// Makes a factory of further transports to the same addresses, with timeouts long enough for a
    /// part of the rows at a limited rate.
    #[cfg_attr(not(feature = "http"), allow(unused_variables, reason = "only addresses can be used again"))]
    pub(super) fn again(&self, options: &OpenOptions) -> Option<MakeTransports> {
        match self {
            Endpoints::Transports(_) | Endpoints::Factory(_) => None,
            #[cfg(feature = "http")]
            Endpoints::Urls(urls) => {
                let (urls, options) = (urls.clone(), options.clone());
                let part = options.preparation_rate.map_or(0, |rate| 2 * ROWS_FETCH_BYTES / rate.max(1));
                let part = Duration::from_secs(part);
                Some(Arc::new(Mutex::new(move || http(&urls, &options, part))))
            }
        }
    }

    /// Makes transports to the servers; those of the caller are taken.
    #[cfg_attr(not(feature = "http"), allow(unused_variables, reason = "only addresses have options"))]
    pub(crate) fn transports(&mut self, options: &OpenOptions) -> Result<Vec<Box<dyn Transport>>> {
        match self {
            #[cfg(feature = "http")]
            Endpoints::Urls(urls) => http(urls, options, Duration::ZERO),
            Endpoints::Transports(transports) => Ok(std::mem::take(transports)),
            Endpoints::Factory(factory) => make(factory),
        }
    }

    /// The servers.
    pub(super) fn servers(&mut self, options: &OpenOptions) -> Result<Servers> {
        let mut transports = self.transports(options)?.into_iter();
        let none =
            || TransportError::Address { url: "nothing".to_owned(), why: "no server was given".to_owned() };
        let first = transports.next().ok_or_else(none)?;
        Ok(Servers::new(first, transports.collect()))
    }
}

/// Makes a transport to each server, no two of which may be one endpoint, with `more` time for each
/// request. Several servers are reached over TLS: the request to one of them reveals nothing without
/// those to the others, and anyone who can read the traffic to all of them has both.
#[cfg(feature = "http")]
fn http(urls: &[String], options: &OpenOptions, more: Duration) -> Result<Vec<Box<dyn Transport>>> {
    let mut settings = HttpSettings::default();
    settings.connect = settings.connect.min(options.timeout);
    settings.overall = options.timeout.saturating_add(more);
    if let Some(path) = &options.trust_root {
        settings = settings.trust_file(path)?;
    }
    let servers = urls.iter().map(|url| HttpTransport::new(url, &settings)).collect::<Result<Vec<_>, _>>()?;
    check_distinct(
        &servers,
        options.insecure_plaintext,
        HttpTransport::origin,
        HttpTransport::shared,
        HttpTransport::can_be_overheard,
    )?;
    // Each waits for a busy server.
    let policy = RetryPolicy { max_wait: options.max_wait, ..RetryPolicy::default() };
    let wait = |transport| {
        let events = options.callbacks.events.clone();
        let notify = move |limit| events.notify(TableEvent::Waiting(WaitReason::Server, limit));
        Box::new(RetryTransport::new(transport, policy).on_busy(notify)) as Box<dyn Transport>
    };
    Ok(servers.into_iter().map(wait).collect())
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;
    use crate::Fault;

    /// Makes transports to these addresses without connecting: they are documentation addresses and
    /// this machine.
    fn reached(urls: &[&str], insecure: bool) -> Result<usize> {
        let options = OpenOptions { insecure_plaintext: insecure, ..OpenOptions::default() };
        Endpoints::urls(urls).transports(&options).map(|transports| transports.len())
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
            assert_eq!(reached(&urls, true).unwrap(), 2, "a caller may allow it");
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
