//! Where an address leads: into the world, into the neighbourhood, or to where no zone may go.
//!
//! The tables are those of IANA's special-purpose registries. What carries another address inside (mapped, translated
//! and tunnelled forms) leads nowhere: the address that it carries could not be told from a harmless one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Public,
    /// This machine or the networks around it: for entries that say `local` only.
    Near,
    /// Keys of the machine's owner, groups, nobody, or an address in disguise: for no entry.
    Never,
}

/// Where the providers of machines hand out credentials, and what else answers only to its own guests.
const METADATA_V4: &[Ipv4Addr] = &[
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 169, 123),
    Ipv4Addr::new(169, 254, 169, 253),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];
const METADATA_V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// Network, bits of it that count, where it leads. The first that fits holds.
const V4: &[([u8; 4], u32, Reach)] = &[
    ([0, 0, 0, 0], 8, Reach::Never),
    ([10, 0, 0, 0], 8, Reach::Near),
    ([100, 64, 0, 0], 10, Reach::Near),
    ([127, 0, 0, 0], 8, Reach::Near),
    ([169, 254, 0, 0], 16, Reach::Near),
    ([172, 16, 0, 0], 12, Reach::Near),
    ([192, 0, 0, 0], 24, Reach::Never),
    ([192, 0, 2, 0], 24, Reach::Never),
    ([192, 88, 99, 0], 24, Reach::Never),
    ([192, 168, 0, 0], 16, Reach::Near),
    ([198, 18, 0, 0], 15, Reach::Never),
    ([198, 51, 100, 0], 24, Reach::Never),
    ([203, 0, 113, 0], 24, Reach::Never),
    // Groups, what is reserved, and everybody at once.
    ([224, 0, 0, 0], 3, Reach::Never),
    ([0, 0, 0, 0], 0, Reach::Public),
];

/// As [`V4`], of the first half of an address. Of all networks only 2000::/3 is given out.
const V6: &[(u64, u32, Reach)] = &[
    // Protocol assignments, with Teredo and the documentation of others among them.
    (0x2001_0000_0000_0000, 23, Reach::Never),
    (0x2001_0db8_0000_0000, 32, Reach::Never),
    // 6to4.
    (0x2002_0000_0000_0000, 16, Reach::Never),
    (0x3fff_0000_0000_0000, 20, Reach::Never),
    (0x2000_0000_0000_0000, 3, Reach::Public),
    (0xfc00_0000_0000_0000, 7, Reach::Near),
    (0xfe80_0000_0000_0000, 10, Reach::Near),
    (0, 0, Reach::Never),
];

/// Where this address leads.
pub(super) fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) if METADATA_V4.contains(&address) => Reach::Never,
        IpAddr::V4(address) => {
            let bits = u32::from(address);
            let fits = |(network, length, _): &&([u8; 4], u32, Reach)| {
                same_start(bits.into(), u32::from_be_bytes(*network).into(), 32, *length)
            };
            V4.iter().find(fits).map_or(Reach::Never, |(.., reach)| *reach)
        }
        IpAddr::V6(address) if METADATA_V6.contains(&address) => Reach::Never,
        IpAddr::V6(Ipv6Addr::LOCALHOST) => Reach::Near,
        IpAddr::V6(address) => {
            let bits = (u128::from(address) >> 64) as u64;
            let fits = |(network, length, _): &&(u64, u32, Reach)| same_start(bits, *network, 64, *length);
            V6.iter().find(fits).map_or(Reach::Never, |(.., reach)| *reach)
        }
    }
}

/// Whether two numbers of this many bits agree in their first `length`.
fn same_start(one: u64, other: u64, bits: u32, length: u32) -> bool {
    (one ^ other).checked_shr(bits - length).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str) -> Reach {
        reach(address.parse().unwrap())
    }

    #[test]
    fn what_is_given_out_is_public() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
        ] {
            assert_eq!(of(address), Reach::Public, "{address}");
        }
        for address in [
            "172.32.0.1",
            "192.169.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "2001:200::1",
        ] {
            assert_eq!(of(address), Reach::Public, "{address}");
        }
    }

    #[test]
    fn the_machine_and_its_surroundings_are_near() {
        for address in [
            "127.0.0.1",
            "127.255.255.255",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "169.254.1.1",
            "::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "febf::1",
        ] {
            assert_eq!(of(address), Reach::Near, "{address}");
        }
    }

    #[test]
    fn metadata_groups_and_nobody_are_for_no_entry() {
        for address in [
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "168.63.129.16",
            "fd00:ec2::254",
            "fd20:ce::254",
            "0.0.0.0",
            "0.1.2.3",
            "::",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "ff02::1",
            "fec0::1",
        ] {
            assert_eq!(of(address), Reach::Never, "{address}");
        }
    }

    #[test]
    fn documentation_and_benchmark_networks_are_for_no_entry() {
        for address in [
            "192.0.2.1",
            "198.51.100.1",
            "203.0.113.1",
            "198.18.0.1",
            "198.19.255.255",
            "192.0.0.8",
            "2001:db8::1",
            "3fff::1",
        ] {
            assert_eq!(of(address), Reach::Never, "{address}");
        }
    }

    #[test]
    fn an_address_inside_another_leads_nowhere() {
        for (address, form) in [
            ("::ffff:127.0.0.1", "mapped"),
            ("::ffff:1.1.1.1", "mapped"),
            ("::127.0.0.1", "compatible"),
            ("::ffff:0:127.0.0.1", "translated"),
            ("64:ff9b::7f00:1", "nat64"),
            ("64:ff9b:1::7f00:1", "nat64 of a site"),
            ("2002:7f00:1::", "6to4"),
            ("192.88.99.1", "6to4 relay"),
            ("2001::7f00:1", "teredo"),
            ("100::1", "discarded"),
            ("5f00::1", "segments"),
        ] {
            assert_eq!(of(address), Reach::Never, "{form}");
        }
    }
}
