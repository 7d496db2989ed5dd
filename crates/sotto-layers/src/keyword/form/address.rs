//! IP addresses: 16 bytes, for IPv4 those of the IPv6 address that it is mapped to (RFC 4291,
//! 2.5.5.2).
//!
//! So `192.0.2.1`, `::ffff:192.0.2.1` and `::FFFF:c000:201` are one key. Zones, brackets, prefixes
//! and leading zeros in IPv4 are refused.

use super::{Key, KeyError};
use std::net::IpAddr;
use zeroize::Zeroizing;

pub(super) fn canonical(text: &str) -> Result<Key, KeyError> {
    let bytes = match text.parse().map_err(|_| KeyError::Not("an IP address"))? {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    Ok(Zeroizing::new(bytes.to_vec()))
}
