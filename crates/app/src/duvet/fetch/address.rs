//! Which hosts specifications may be fetched from: public ones, and those that the user named.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The environment variables that name a proxy, whose address the user chose.
const PROXY_VARIABLES: [&str; 6] =
    ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];

/// The hosts that may have private addresses.
pub struct Hosts {
    /// Those that the user named.
    named: BTreeSet<String>,
    /// Those of proxies, which are only connected to in order to reach another host.
    proxies: BTreeSet<String>,
}

impl Hosts {
    /// Allows public hosts and those that are named.
    pub fn new(named: &[String]) -> Hosts {
        let proxy = |variable| Some(host_of(&Url::parse(&crate::duvet::environment(variable)?).ok()?));
        Hosts {
            named: named.iter().map(|host| host.trim_matches(['[', ']']).to_lowercase()).collect(),
            proxies: PROXY_VARIABLES.into_iter().filter_map(proxy).collect(),
        }
    }

    /// Says why an address may not be fetched. What a name resolves to is checked when it is resolved.
    pub fn check(&self, url: &Url) -> Result<(), String> {
        let host = host_of(url);
        let is_named = self.named.contains(&host);
        match url.scheme() {
            "https" => {}
            "http" if is_named => {}
            _ => return Err("only https is fetched".to_owned()),
        }
        match host.parse::<IpAddr>() {
            Ok(address) if !is_named && !is_public(address) => Err(private(&host)),
            // The address of a proxy is not checked when its name is resolved.
            Err(_) if !is_named && self.proxies.contains(&host) => Err(private(&host)),
            _ => Ok(()),
        }
    }
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_lowercase()
}

fn private(host: &str) -> String {
    format!("{host} is in a private network; pass `--allow-private-host {host}` to allow it")
}

impl Resolve for Hosts {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_lowercase();
        let is_allowed = self.named.contains(&host) || self.proxies.contains(&host);
        Box::pin(async move {
            let mut found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let is_known = !found.is_empty();
            found.retain(|address| is_allowed || is_public(address.ip()));
            if is_known && found.is_empty() {
                return Err(io::Error::other(private(&host)).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is one of the public internet, by the registries of special addresses of IANA.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let is_special = match address.octets() {
        // This host, private, loopback; multicast, reserved and broadcast.
        [0 | 10 | 127 | 224.., ..] => true,
        // Behind the network address translation of a carrier.
        [100, 64..=127, ..] => true,
        // Link-local, where clouds keep their metadata.
        [169, 254, ..] => true,
        [172, 16..=31, ..] | [192, 168, ..] => true,
        // Protocols, documentation, relays to IPv6, benchmarks.
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] => true,
        [198, 51, 100, _] | [203, 0, 113, _] => true,
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    match address.segments() {
        // Networks without IPv4 reach it through these.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            is_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
        }
        // Protocols and tunnels, documentation, addresses of IPv4 within IPv6.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // All that is global begins so; loopback, unique local, link-local and multicast do not.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_public_internet_are_public() {
        for address in
            ["1.1.1.1", "8.8.8.8", "100.63.0.1", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1"]
        {
            assert!(is_public(address.parse().unwrap()), "{address}");
            assert!(is_public(format!("::ffff:{address}").parse().unwrap()), "{address}");
            assert!(is_public(format!("64:ff9b::{address}").parse().unwrap()), "{address}");
        }
        for address in ["2606:4700:4700::1111", "2a00:1450::1", "2001:4860:4860::8888"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.1.2.3",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
            assert!(!is_public(format!("::ffff:{address}").parse().unwrap()), "mapped {address}");
            assert!(!is_public(format!("64:ff9b::{address}").parse().unwrap()), "translated {address}");
            assert!(!is_public(format!("::{address}").parse().unwrap()), "compatible {address}");
        }
        for address in [
            "::",
            "::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "64:ff9b:1::1",
            "2001::1",
            "2001:1ff::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "4000::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_proxy_is_no_source_of_specifications() {
        let proxies = ["proxy.corp".to_owned()].into();
        let hosts = Hosts { named: BTreeSet::new(), proxies };
        let check = |url: &str| hosts.check(&Url::parse(url).unwrap());
        assert!(check("https://proxy.corp/spec.txt").unwrap_err().contains("is in a private network"));
        assert_eq!(check("https://example.com/spec.txt"), Ok(()));
    }

    #[test]
    fn every_spelling_of_a_private_address_is_refused() {
        let hosts = Hosts::new(&[]);
        for url in [
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://017700000001/",
            "https://127.1/",
            "https://0/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:7f00:1]/",
            "https://[fe80::1]/",
            "https://１２７.0.0.1/",
            "https://169.254.169.254/",
        ] {
            let problem = hosts.check(&Url::parse(url).unwrap()).unwrap_err();
            assert!(problem.contains("is in a private network"), "{url}: {problem}");
        }
        for url in ["http://1.1.1.1/", "http://example.com/", "ftp://example.com/", "file:///etc/passwd"] {
            assert_eq!(hosts.check(&Url::parse(url).unwrap()).unwrap_err(), "only https is fetched", "{url}");
        }
        assert_eq!(hosts.check(&Url::parse("https://example.com/").unwrap()), Ok(()));
        let hosts = Hosts::new(&["[::1]".to_owned(), "Docs.Corp".to_owned()]);
        for url in ["http://[::1]/", "https://[::1]/", "http://docs.corp/", "https://DOCS.corp/"] {
            assert_eq!(hosts.check(&Url::parse(url).unwrap()), Ok(()), "{url}");
        }
        assert!(hosts.check(&Url::parse("http://127.0.0.1/").unwrap()).is_err());
    }
}
