//! Client identities. Clients are told apart by their network address and nothing else.
//!
//! An address is stored as a keyed hash only, in memory and on disk. That hides it from anyone who
//! sees part of either, but not from anyone who also has the key, which is stored with the hashes:
//! there are few addresses to try.

use std::net::{IpAddr, Ipv6Addr};

/// The address that a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub(crate) IpAddr);

/// A network with limits of its own: an IPv4 address, or the first 64, 56 or 48 bits of an IPv6
/// address. A /64 is one client; providers assign a /56 or a /48 to one customer, who has 256 or
/// 65,536 of those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Network {
    bits: u8,
    address: IpAddr,
}

impl Network {
    fn of(address: Ipv6Addr, bits: u8) -> Self {
        let rest = 128 - u32::from(bits);
        Network { bits, address: IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> rest << rest)) }
    }

    /// The multiple of one client's limit that the network has.
    pub(crate) fn clients(self) -> usize {
        match self.bits {
            48 => 4,
            56 => 2,
            _ => 1,
        }
    }

    /// The multiple of what is free that the network may hold of a shared resource. An IPv4 address
    /// may be that of a whole provider.
    pub(crate) fn share(self) -> u64 {
        match self.bits {
            64 => 1,
            56 => 3,
            _ => 7,
        }
    }
}

impl Peer {
    /// The networks that a client is counted in, the smallest first.
    pub(crate) fn networks(self) -> impl Iterator<Item = Network> {
        let (v4, v6) = match self.0.to_canonical() {
            IpAddr::V6(address) => (None, [64, 56, 48].map(|bits| Some(Network::of(address, bits)))),
            address => (Some(Network { bits: 32, address }), [None; 3]),
        };
        v4.into_iter().chain(v6.into_iter().flatten())
    }

    /// Whether the address is in a network.
    pub(crate) fn is_in(self, network: Network) -> bool {
        self.networks().any(|own| own == network)
    }

    /// The largest network that the address is counted in, which a provider assigns to one
    /// customer.
    pub(crate) fn customer(self) -> Network {
        match self.0.to_canonical() {
            IpAddr::V6(address) => Network::of(address, 48),
            address => Network { bits: 32, address },
        }
    }

    /// The address that takes turns for a client: its IPv4 address, or one of four that stand for
    /// its /48. A /64 has one of the four, a /56 two, as many as [`Network::clients`] allows. More
    /// networks of one customer have no more turns than that.
    fn turn_taker(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V6(address) => {
                let network = address.to_bits() >> 64;
                let (site, customer) = (network >> 8, network >> 16);
                let turn = (site + network % 2) % 4;
                IpAddr::V6(Ipv6Addr::from_bits((customer << 16 | turn) << 64))
            }
            v4 => v4,
        }
    }

    /// The address by which clients are told apart. An IPv6 address counts by its first 64 bits: a
    /// client that has one has all with the same bits.
    pub(crate) fn network(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            v4 => v4,
        }
    }
}

/// The identity of a request in fair queues and limits. A name that a request gives itself does not
/// count: a client that invents names would have any number of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Requester {
    /// The network that a request comes from: its IPv4 address, or one of four that stand for a
    /// customer's IPv6 network.
    Network(IpAddr),
    /// A token that was spent, if requests bring tokens: users of one relay share its address, and
    /// each token was issued to a user with a limited number.
    Token(u64),
}

impl From<Peer> for Requester {
    fn from(peer: Peer) -> Self {
        Requester::Network(peer.turn_taker())
    }
}

/// A client, by the keyed hash of its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClientId(pub(crate) [u8; 16]);

/// Computes client ids from addresses, with a secret key.
#[derive(Clone)]
pub(crate) struct ClientHasher([u8; 32]);

impl ClientHasher {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        ClientHasher(key)
    }

    /// The id of a network. For 64 bits, and for IPv4, it is the id of its client.
    pub(crate) fn network(&self, network: Network) -> ClientId {
        let mut hasher = self.keyed();
        match network.address {
            IpAddr::V4(address) => hasher.update(&address.octets()),
            IpAddr::V6(address) => hasher.update(&(address.to_bits() >> 64).to_be_bytes()),
        };
        if let 48 | 56 = network.bits {
            hasher.update(&[network.bits]);
        }
        ClientId(short(&hasher))
    }

    /// The client that stores keys: a customer's network of 56 bits counts once, since keys are
    /// stored for long.
    pub(crate) fn client(&self, peer: Peer) -> ClientId {
        let site = peer.networks().find(|network| network.bits == 56);
        self.network(site.unwrap_or(peer.customer()))
    }

    /// The id of a name in a context, which does not reveal the name without the key.
    pub(crate) fn named(&self, name: &str, matter: &[u8; 32]) -> [u8; 16] {
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
    use std::collections::HashSet;

    fn peer(address: &str) -> Peer {
        Peer(address.parse().unwrap())
    }

    fn client(address: &str) -> ClientId {
        ClientHasher::new([7; 32]).client(peer(address))
    }

    #[test]
    fn an_ipv6_client_is_counted_in_the_networks_of_its_provider_too() {
        let networks = |address: &str| Peer(address.parse().unwrap()).networks().collect::<Vec<_>>();
        let [one, other] = ["2001:db8:0:1ff::1", "2001:db8:0:102::1"].map(networks);
        assert!(one.len() == 3 && one[0] != other[0] && one[1..] == other[1..]);
        assert_eq!(one[0].address, Peer("2001:db8:0:1ff::9".parse().unwrap()).network());
        let far = networks("2001:db8:0:200::1");
        assert!(far[1] != one[1] && far[2] == one[2] && networks("2001:db8:1::1")[2] != one[2]);
        assert_eq!(networks("::ffff:192.0.2.1"), networks("192.0.2.1"));
        assert_eq!((networks("192.0.2.1").len(), one[2].clients(), one[2].share()), (1, 4, 7));
    }

    #[test]
    fn a_customer_of_many_ipv6_networks_has_the_turns_of_four_clients() {
        let turns = |networks: &mut dyn Iterator<Item = u32>| {
            let address = |network| peer(&format!("2001:db8:0:{network:x}::1"));
            networks.map(|network| Requester::from(address(network))).collect::<HashSet<_>>()
        };
        assert_eq!(turns(&mut (0x1200..0x1300)).len(), 2, "a /56");
        assert_eq!(turns(&mut (0..0x10000)).len(), 4, "a /48");
        assert_eq!(turns(&mut (0..0x100).map(|site| site << 8)).len(), 4, "one /64 of each /56");
        let requester = |address: &str| Requester::from(peer(address));
        assert_eq!(requester("2001:db8:0:1::1"), requester("2001:db8:0:1:ffff::9"));
        assert!(requester("2001:db8:0:1::1") != requester("2001:db8:1:1::1"), "another customer");
        assert!(requester("192.0.2.1") != requester("192.0.2.2"));
        assert_eq!(requester("192.0.2.1"), requester("::ffff:192.0.2.1"));
    }

    #[test]
    fn an_address_is_a_client_and_so_is_an_ipv6_network() {
        assert!(client("192.0.2.1") != client("192.0.2.2"));
        assert!(client("192.0.2.1") == client("::ffff:192.0.2.1"));
        assert!(client("2001:db8:0:1::1") == client("2001:db8:0:2:ffff::9"), "one customer's");
        assert!(client("2001:db8:0:1::1") != client("2001:db8:0:100::1"));
        let hasher = ClientHasher::new([7; 32]);
        let names: Vec<_> = peer("2001:db8::1").networks().map(|network| hasher.network(network)).collect();
        assert!(
            names[0] != names[1] && names[1] != names[2] && names[0] != names[2],
            "equal bits, other networks"
        );
        assert!(ClientHasher::new([8; 32]).client(Peer("192.0.2.1".parse().unwrap())) != client("192.0.2.1"));
    }
}
