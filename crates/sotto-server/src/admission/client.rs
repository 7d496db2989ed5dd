//! Who registered, and how often. Clients are told apart by their network address and nothing else.
//!
//! An address is kept as a keyed hash only, in memory and on disk. That hides it from whoever sees a part of
//! either; not from whoever has the key too, which lies beside it: there are few addresses to try.

use std::collections::HashMap;
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

/// A client, by the hash of its address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Client(pub(super) [u8; 16]);

/// Turns addresses into clients.
pub(super) struct Hasher([u8; 32]);

impl Hasher {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Hasher(key)
    }

    pub(super) fn client(&self, peer: Peer) -> Client {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        match peer.network() {
            IpAddr::V4(address) => hasher.update(&address.octets()),
            IpAddr::V6(address) => hasher.update(&(address.to_bits() >> 64).to_be_bytes()),
        };
        let mut client = [0; 16];
        hasher.finalize_xof().fill(&mut client);
        Client(client)
    }
}

/// How many registrations each client may make yet: so many at once, and as many more with every minute.
pub(super) struct Clients {
    most: u32,
    /// Until when each client has used up what there was, in milliseconds; who is not here has all of it.
    used_until: HashMap<Client, u64>,
}

impl Clients {
    /// At most `most` in a minute; 0 for any number.
    pub(super) fn new(most: u32) -> Self {
        Clients { most, used_until: HashMap::new() }
    }

    /// Counts a registration, if there is one left.
    ///
    /// # Errors
    /// The seconds until there is.
    pub(super) fn may_register(&mut self, client: Client, now: u64) -> Result<(), u64> {
        if self.most == 0 {
            return Ok(());
        }
        let (now, minute) = (now.saturating_mul(1000), 60_000);
        let each = (minute / u64::from(self.most)).max(1);
        if self.used_until.len() > MANY {
            self.used_until.retain(|_, until| *until > now);
        }
        let until = self.used_until.entry(client).or_insert(now);
        // A clock that was set back keeps nobody waiting for longer than it takes from nothing.
        let next = (*until).clamp(now, now + minute) + each;
        if next > now + each.saturating_mul(u64::from(self.most)) {
            return Err((next - now).saturating_sub(each * u64::from(self.most)).div_ceil(1000).max(1));
        }
        *until = next;
        Ok(())
    }
}

/// So many clients are counted before those that have all of it again are forgotten.
const MANY: usize = 10_000;

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

    #[test]
    fn so_many_at_once_and_then_one_after_the_other() {
        let mut clients = Clients::new(6);
        let (one, other) = (client("192.0.2.1"), client("192.0.2.2"));
        assert!((0..6).all(|_| clients.may_register(one, 100).is_ok()));
        assert_eq!(
            clients.may_register(one, 100),
            Err(10),
            "one in ten seconds, since there are six in a minute"
        );
        assert!(clients.may_register(other, 100).is_ok(), "each client has its own count");
        assert_eq!([103, 110, 110].map(|now| clients.may_register(one, now)), [Err(7), Ok(()), Err(10)]);
        assert!((0..6).all(|_| clients.may_register(one, 200).is_ok()), "all of it, after a while");
        assert!(clients.may_register(one, 0).is_err_and(|wait| wait <= 10), "a clock that was set back");
        let mut any = Clients::new(0);
        assert!((0..1000).all(|_| any.may_register(one, 0).is_ok()));
        let mut office = Clients::new(300);
        assert!((0..300).all(|_| office.may_register(one, 0).is_ok()));
        assert_eq!([0, 1, 2].map(|now| office.may_register(one, now)), [Err(1), Ok(()), Ok(())]);
    }
}
