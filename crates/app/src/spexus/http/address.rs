//! Addresses of clients: which proxies may name them, and how they are counted.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::{HeaderMap, header};

use crate::settings::FromSetting;

const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// The address that limits count a client by. A household or a machine has a whole /64 of IPv6, and could otherwise use a new
/// address for every attempt.
pub fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
        address => address,
    }
}

/// A range of addresses, such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    first: IpAddr,
    n_bits: u32,
}

impl Network {
    fn parse(text: &str) -> Option<Network> {
        let (address, n_bits) = match text.split_once('/') {
            Some((address, n_bits)) => (address, Some(n_bits.parse().ok()?)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().ok()?;
        let n_bits_max = if first.is_ipv4() { 32 } else { 128 };
        let n_bits = n_bits.unwrap_or(n_bits_max);
        (n_bits <= n_bits_max).then_some(Network { first, n_bits })
    }

    fn contains(&self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                let differing = (first.to_bits() ^ address.to_bits()).leading_zeros();
                differing >= self.n_bits
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                let differing = (first.to_bits() ^ address.to_bits()).leading_zeros();
                differing >= self.n_bits
            }
            _ => false,
        }
    }
}

/// The proxies that are believed when they say for whom they ask.
#[derive(Clone, Debug, Default)]
pub struct Proxies(Vec<Network>);

impl FromSetting for Proxies {
    const EXPECTED: &str = "addresses or networks such as 10.0.0.0/8, with commas between them";

    fn from_setting(text: &str) -> Option<Self> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(Network::parse).collect::<Option<Vec<_>>>().map(Proxies)
    }
}

impl Proxies {
    /// Whether an address is a trusted proxy's.
    pub fn trust(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// The address of the client behind a connection. What a trusted proxy says is believed, up to the nearest hop that is not
    /// trusted: everything further to the left was written by somebody unknown. Where `X-Forwarded-For` and `Forwarded` name
    /// different clients, the proxy writes only one of them and passes on the other, so neither is believed.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        if !self.trust(peer) {
            return peer;
        }
        let lines = |name: &str| -> Vec<String> {
            let values = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
            values.flat_map(|line| line.split(',')).map(|hop| hop.trim().to_owned()).collect()
        };
        let plain = lines(X_FORWARDED_FOR);
        let named = lines(header::FORWARDED.as_str());
        let by_plain = self.nearest_stranger(peer, plain.iter().map(String::as_str));
        let by_name = self.nearest_stranger(peer, named.iter().map(|element| for_of(element)));
        match (plain.is_empty(), named.is_empty()) {
            (true, true) => peer,
            (false, true) => by_plain,
            (true, false) => by_name,
            (false, false) if by_plain == by_name => by_plain,
            (false, false) => peer,
        }
    }

    fn nearest_stranger<'a>(&self, peer: IpAddr, hops: impl DoubleEndedIterator<Item = &'a str>) -> IpAddr {
        let mut nearest = peer;
        for hop in hops.rev() {
            let Some(address) = address_of(hop) else { break };
            nearest = address;
            if !self.trust(address) {
                break;
            }
        }
        nearest
    }
}

/// What an element of `Forwarded` says after `for=`.
fn for_of(element: &str) -> &str {
    let mut pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| name.eq_ignore_ascii_case("for")).map_or("", |(_, value)| value.trim_matches('"'))
}

/// The address of a hop, which may have a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
fn address_of(hop: &str) -> Option<IpAddr> {
    let bare = match hop.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None if hop.matches(':').count() == 1 => hop.split_once(':')?.0,
        None => hop,
    };
    bare.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use axum::http::{HeaderMap, HeaderName, HeaderValue};

    use super::{Proxies, counted};
    use crate::settings::FromSetting;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn ipv6_is_counted_by_64_bits() {
        for (one, other, are_same) in [
            ("2001:db8::1", "2001:db8::ffff:2", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
        ] {
            assert_eq!(counted(address(one)) == counted(address(other)), are_same, "{one} {other}");
        }
    }

    #[test]
    fn the_nearest_stranger_is_the_client() {
        let proxies = Proxies::from_setting("10.0.0.0/8, fd00::/8,192.0.2.9").expect("networks");
        for (peer, headers, client) in [
            ("203.0.113.7", &[("x-forwarded-for", "1.1.1.1")][..], "203.0.113.7"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &[("x-forwarded-for", "6.6.6.6, 203.0.113.7")], "203.0.113.7"),
            ("10.0.0.1", &[("x-forwarded-for", "6.6.6.6, 203.0.113.7, 10.9.9.9")], "203.0.113.7"),
            (
                "10.0.0.1",
                &[("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "203.0.113.7")],
                "203.0.113.7",
            ),
            ("10.0.0.1", &[("x-forwarded-for", "6.6.6.6, garbage")], "10.0.0.1"),
            ("10.0.0.1", &[("x-forwarded-for", "6.6.6.6, garbage, 10.9.9.9")], "10.9.9.9"),
            ("::ffff:10.0.0.1", &[("x-forwarded-for", "203.0.113.7:4711")], "203.0.113.7"),
            ("fd00::1", &[("forwarded", "for=6.6.6.6, for=\"[2001:db8::1]:80\";proto=https")], "2001:db8::1"),
            ("10.0.0.1", &[("forwarded", "proto=http;For=203.0.113.7")], "203.0.113.7"),
            ("10.0.0.1", &[("forwarded", "for=unknown")], "10.0.0.1"),
            ("192.0.2.9", &[("forwarded", "for=6.6.6.6"), ("x-forwarded-for", "203.0.113.7")], "192.0.2.9"),
            ("192.0.2.8", &[("x-forwarded-for", "203.0.113.7")], "192.0.2.8"),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            assert_eq!(proxies.client(address(peer), &map), address(client), "{peer} {headers:?}");
        }
        for text in ["10.0.0.0/33", "here", "10.0.0.0/", "::/129"] {
            assert!(Proxies::from_setting(text).is_none(), "{text}");
        }
    }
}
