//! Who asks. Clients are told apart by their network address and nothing else.
//!
//! An address is kept as a keyed hash only, in memory and on disk. That hides it from whoever sees a part of
//! either; not from whoever has the key too, which lies beside it: there are few addresses to try.

use std::net::{IpAddr, Ipv6Addr};

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer(pub(crate) IpAddr);

impl Peer {
    /// What clients are told apart by. An IPv6 address counts by its first 64 bits: whoever has one has all that
    /// start so.
    pub(crate) fn network(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            v4 => v4,
        }
    }
}

/// Who a request counts for where requests take turns, and where room is scarce. A name that a request gives itself is none:
/// whoever invents names would have as many turns as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Requester {
    /// The network that a request comes from.
    Network(IpAddr),
    /// A token that was spent, where requests bring tokens: users of one relay share its address, and each token was given to a
    /// user who has so many.
    Token(u64),
}

impl From<Peer> for Requester {
    fn from(peer: Peer) -> Self {
        Requester::Network(peer.network())
    }
}

/// A client, by the hash of its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Client(pub(crate) [u8; 16]);

/// Turns addresses into clients.
#[derive(Clone)]
pub(super) struct Hasher([u8; 32]);

impl Hasher {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Hasher(key)
    }

    pub(super) fn client(&self, peer: Peer) -> Client {
        let mut hasher = self.keyed();
        match peer.network() {
            IpAddr::V4(address) => hasher.update(&address.octets()),
            IpAddr::V6(address) => hasher.update(&(address.to_bits() >> 64).to_be_bytes()),
        };
        Client(short(&hasher))
    }

    /// What somebody who gives a name is called, in some matter: nothing that the name could be told from without the key.
    pub(super) fn named(&self, name: &str, matter: &[u8; 32]) -> [u8; 16] {
        let mut hasher = self.keyed();
        // Longer than any address, and of a fixed length before the name.
        hasher.update(matter).update(name.as_bytes());
        short(&hasher)
    }

    fn keyed(&self) -> blake3::Hasher {
        blake3::Hasher::new_keyed(&self.0)
    }
}

fn short(hasher: &blake3::Hasher) -> [u8; 16] {
    let mut out = [0; 16];
    hasher.finalize_xof().fill(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> Client {
        Hasher::new([7; 32]).client(Peer(address.parse().unwrap()))
    }

    #[test]
    fn an_address_is_a_client_and_so_is_an_ipv6_network() {
        assert!(client("192.0.2.1") != client("192.0.2.2"));
        assert!(client("192.0.2.1") == client("::ffff:192.0.2.1"));
        assert!(client("2001:db8:0:1::1") == client("2001:db8:0:1:ffff::9"));
        assert!(client("2001:db8:0:1::1") != client("2001:db8:0:2::1"));
        assert!(Hasher::new([8; 32]).client(Peer("192.0.2.1".parse().unwrap())) != client("192.0.2.1"));
    }
}
