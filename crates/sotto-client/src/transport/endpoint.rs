//! Whether two addresses are one endpoint.
//!
//! A scheme of two servers hides a row only from servers that do not put together what they see. Who runs a server no
//! program can tell; this finds the plain mistake of naming one server twice. It compares hosts and ports, and then the
//! network addresses the names stand for, where this machine is the one that looks them up: behind a proxy the proxy
//! does, and asking for them here would tell the network who is talked to. It does not compare TLS certificates, which
//! one operator can have several of.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// Host and port of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    host: String,
    port: u16,
}

impl Endpoint {
    /// Reads `http://host:port/path`, whose scheme was checked before. `None` if the port is none.
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

    /// What this endpoint and another one have in common, if that makes them one; `look_up` says whether names
    /// may be looked up.
    pub(super) fn shared(&self, other: &Endpoint, look_up: bool) -> Option<String> {
        if self == other {
            return Some("the same host and port".to_owned());
        }
        if !look_up {
            return None;
        }
        // A name that stands for nothing is no reason: to connect to it will fail, and say why.
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
