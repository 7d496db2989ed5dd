//! Host names of the admin address.

use std::net::{IpAddr, Ipv6Addr};

/// Host names that a request may have besides addresses and this machine itself, in lower case and
/// without a port.
#[derive(Debug, Clone, Default)]
pub(crate) struct AdminHosts(Vec<String>);

impl AdminHosts {
    pub(crate) fn new(hosts: &[String]) -> Self {
        AdminHosts(hosts.iter().map(|host| host.to_ascii_lowercase()).collect())
    }

    /// Whether no web page can have used this host as a name of its own, as is the case for
    /// addresses.
    pub(crate) fn allows(&self, authority: &str) -> bool {
        let host = host_of(authority).to_ascii_lowercase();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        host == "localhost"
            || host.parse::<IpAddr>().is_ok()
            || bare.is_some_and(|host| host.parse::<Ipv6Addr>().is_ok())
            || self.0.contains(&host)
    }
}

/// The host of an authority, without its port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    }
}
