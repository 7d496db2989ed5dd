//! Whether two addresses are one endpoint.
//!
//! A scheme with two servers hides a row only from servers that do not combine what they see. No
//! program can tell who runs a server; this module finds the plain mistake of naming one server
//! twice. It compares hosts and ports, and then the network addresses of the names, if this machine
//! looks them up: behind a proxy the proxy does, and a lookup here would reveal to the network
//! which server is contacted. It does not compare TLS certificates, of which one operator can have
//! several.

use super::TransportError;
use crate::ClientError;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// Refuses addresses of which two are one endpoint, and several addresses without TLS beyond this
/// machine, unless `plaintext` says that the network is safe. For callers that send requests by
/// themselves; no name is looked up.
///
/// # Errors
/// [`ClientError::SameEndpoint`], [`ClientError::InsecurePlaintext`], [`TransportError::Address`].
pub fn check(urls: &[String], plaintext: bool) -> Result<(), ClientError> {
    let bad = |url: &String| TransportError::Address {
        url: url.clone(),
        why: "expected http:// or https:// at its start, and a port below 65536".to_owned(),
    };
    let mut servers = Vec::new();
    for url in urls {
        servers.push((url, Endpoint::of(url).ok_or_else(|| bad(url))?));
    }
    let can_be_overheard =
        |(url, at): &(&String, Endpoint)| !url.starts_with("https://") && !at.is_this_machine();
    let shared = |(_, one): &(&String, Endpoint), (_, other): &(&String, Endpoint)| one.shared(other, false);
    check_distinct(&servers, plaintext, |(url, _)| (*url).clone(), shared, can_be_overheard)
}

/// Refuses servers of any kind of which two are one endpoint: `T` has a name, shares something with
/// another one, and can be overheard or not.
pub(crate) fn check_distinct<T>(
    servers: &[T],
    plaintext: bool,
    origin: impl Fn(&T) -> String,
    shared: impl Fn(&T, &T) -> Option<String>,
    can_be_overheard: impl Fn(&T) -> bool,
) -> Result<(), ClientError> {
    for (i, second) in servers.iter().enumerate() {
        for first in servers.iter().take(i) {
            if let Some(why) = shared(first, second) {
                return Err(ClientError::SameEndpoint { first: origin(first), second: origin(second), why });
            }
        }
    }
    match servers.iter().find(|server| can_be_overheard(server)) {
        Some(server) if servers.len() > 1 && !plaintext => {
            Err(ClientError::InsecurePlaintext(origin(server)))
        }
        _ => Ok(()),
    }
}

/// Host and port of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    host: String,
    port: u16,
}

impl Endpoint {
    /// Parses `http://host:port/path`, whose scheme was checked before. Returns `None` if the port
    /// is invalid.
    pub(super) fn of(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let usual = if scheme == "https" { 443 } else { 80 };
        let authority = rest.split('/').next()?;
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, rest)) => (host, rest.strip_prefix(':')),
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let port = match port.filter(|port| !port.is_empty()) {
            Some(port) => port.parse().ok()?,
            None => usual,
        };
        let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        // Addresses have several spellings too.
        let host = name.parse::<IpAddr>().map_or(name, |address| address.to_canonical().to_string());
        Some(Endpoint { host, port })
    }

    /// Whether the host is this machine, which no proxy can reach.
    pub(super) fn is_this_machine(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// What this endpoint and another one have in common, if that makes them one; `look_up` says
    /// whether names may be looked up.
    pub(super) fn shared(&self, other: &Endpoint, look_up: bool) -> Option<String> {
        if self == other {
            return Some("the same host and port".to_owned());
        }
        if !look_up {
            return None;
        }
        // A name without an address is no reason: connecting to it will fail with an error of its
        // own.
        let (mine, theirs) = (self.addresses(), other.addresses());
        let shared = mine.iter().find(|address| theirs.contains(address))?;
        Some(format!("both are at {shared}"))
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let each = found.into_iter().flatten();
        each.map(|address| SocketAddr::new(address.ip().to_canonical(), address.port())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str) -> Endpoint {
        Endpoint::of(url).unwrap()
    }

    #[test]
    fn one_address_has_many_spellings() {
        for (one, same) in [
            ("http://lookup.example", "http://LOOKUP.example:80/"),
            ("http://lookup.example/a", "http://lookup.example./b"),
            ("https://lookup.example", "https://lookup.example:443"),
            ("https://lookup.example:80", "http://lookup.example"),
            ("http://[::1]:8080", "http://[0:0::1]:8080/x"),
            ("http://127.0.0.1:8080", "http://[::ffff:127.0.0.1]:8080"),
        ] {
            assert!(endpoint(one).shared(&endpoint(same), false).is_some(), "{one} {same}");
        }
        for (one, other) in [
            ("http://lookup.example", "https://lookup.example"),
            ("http://lookup.example", "http://lookup.example:8080"),
            ("http://a.lookup.example", "http://b.lookup.example"),
            ("http://127.0.0.1:8080", "http://127.0.0.2:8080"),
        ] {
            assert_eq!(endpoint(one).shared(&endpoint(other), false), None, "{one} {other}");
        }
        assert_eq!(Endpoint::of("http://h:port"), None);
        assert_eq!(Endpoint::of("http://h:65536"), None);
    }

    #[test]
    fn whoever_carries_requests_is_told_too() {
        let check = |urls: &[&str], plaintext| {
            check(&urls.iter().map(|&url| url.to_owned()).collect::<Vec<_>>(), plaintext)
        };
        assert!(check(&["http://192.0.2.1"], false).is_ok());
        assert!(check(&["https://a.example", "https://b.example"], false).is_ok());
        let code = |outcome: Result<(), ClientError>| outcome.unwrap_err().code();
        assert_eq!(code(check(&["https://a.example", "https://A.example:443/x"], true)), "same-endpoint");
        assert_eq!(code(check(&["https://a.example", "http://b.example"], false)), "insecure-plaintext");
        assert!(check(&["https://a.example", "http://b.example"], true).is_ok());
        assert_eq!(code(check(&["a.example"], false)), "bad-address");
    }

    #[test]
    fn names_are_looked_up_unless_a_proxy_does_it() {
        let (name, address) = (endpoint("http://localhost:8080"), endpoint("http://127.0.0.1:8080"));
        assert_eq!(name.shared(&address, true).as_deref(), Some("both are at 127.0.0.1:8080"));
        assert_eq!(name.shared(&address, false), None);
        assert_eq!(name.shared(&endpoint("http://127.0.0.1:8081"), true), None);
        let nowhere = endpoint("http://no..name");
        assert_eq!(nowhere.shared(&address, true), None);
    }

    #[test]
    fn this_machine_is_known() {
        for here in ["http://localhost", "http://LocalHost:1/x", "http://127.9.9.9:80", "http://[::1]:1"] {
            assert!(endpoint(here).is_this_machine(), "{here}");
        }
        assert!(!endpoint("http://192.0.2.1").is_this_machine());
        assert!(!endpoint("http://localhost.example").is_this_machine());
    }
}
