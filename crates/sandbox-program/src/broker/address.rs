//! Addresses as callers write them into memory.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use rustix::io::Errno;

/// As long as the longest address that can be allowed.
pub(super) const MAX_ADDRESS_BYTES: usize = size_of::<libc::sockaddr_in6>();

// Where the parts are: `struct sockaddr_in` and `struct sockaddr_in6`.
const V4: usize = size_of::<libc::sockaddr_in>();
/// An older form without the scope is as good.
const V6: usize = 24;

/// The address, if it is one of the loopback interface, or the reason for the refusal. Fields
/// beside address and port are dropped.
pub(super) fn loopback(bytes: &[u8]) -> Result<SocketAddr, Errno> {
    let address = internet(bytes)?;
    if is_loopback(address.ip()) { Ok(address) } else { Err(Errno::ACCESS) }
}

/// The address, if it is one of the internet. Fields beside address and port are dropped.
pub(super) fn internet(bytes: &[u8]) -> Result<SocketAddr, Errno> {
    let family = bytes.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes)).ok_or(Errno::INVAL)?;
    let port = |bytes: &[u8]| u16::from_be_bytes([bytes[2], bytes[3]]);
    Ok(match libc::c_int::from(family) {
        libc::AF_INET => {
            let bytes = bytes.get(..V4).ok_or(Errno::INVAL)?;
            let ip = Ipv4Addr::new(bytes[4], bytes[5], bytes[6], bytes[7]);
            SocketAddr::new(ip.into(), port(bytes))
        }
        libc::AF_INET6 => {
            let bytes = bytes.get(..V6).ok_or(Errno::INVAL)?;
            let mut ip = [0; 16];
            ip.copy_from_slice(&bytes[8..24]);
            SocketAddrV6::new(Ipv6Addr::from(ip), port(bytes), 0, 0).into()
        }
        _ => return Err(Errno::AFNOSUPPORT),
    })
}

/// Whether the kernel keeps traffic of this address on this machine.
pub(super) fn is_loopback(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => {
            ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn v4(ip: [u8; 4], port: u16) -> Vec<u8> {
        let mut bytes = 2_u16.to_ne_bytes().to_vec();
        bytes.extend(port.to_be_bytes());
        bytes.extend(ip);
        bytes.extend([0; 8]);
        bytes
    }

    fn v6(ip: &str, port: u16) -> Vec<u8> {
        let mut bytes = 10_u16.to_ne_bytes().to_vec();
        bytes.extend(port.to_be_bytes());
        bytes.extend([1, 2, 3, 4]);
        bytes.extend(ip.parse::<Ipv6Addr>().expect("an address").octets());
        bytes.extend([9, 9, 9, 9]);
        bytes
    }

    #[test]
    fn loopback_is_taken_with_its_port() {
        let taken = |bytes: &[u8]| loopback(bytes).map(|it| it.to_string());
        assert_eq!(taken(&v4([127, 0, 0, 1], 80)), Ok("127.0.0.1:80".into()));
        assert_eq!(taken(&v4([127, 255, 255, 255], 0)), Ok("127.255.255.255:0".into()));
        assert_eq!(taken(&v6("::1", 8080)), Ok("[::1]:8080".into()));
        assert_eq!(taken(&v6("::ffff:127.9.9.9", 1)), Ok("[::ffff:127.9.9.9]:1".into()));
        // Longer than it need be, and without the scope.
        let mut long = v4([127, 0, 0, 1], 80);
        long.extend([0; 12]);
        assert_eq!(taken(&long), Ok("127.0.0.1:80".into()));
        assert_eq!(taken(&v6("::1", 1)[..24]), Ok("[::1]:1".into()));
    }

    #[test]
    fn everything_else_is_refused() {
        for ip in [[0; 4], [10, 0, 0, 1], [126, 255, 255, 255], [128, 0, 0, 1], [255; 4]] {
            assert_eq!(loopback(&v4(ip, 80)), Err(Errno::ACCESS), "{ip:?}");
        }
        let others =
            ["::", "::2", "fe80::1", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1"];
        for ip in others {
            assert_eq!(loopback(&v6(ip, 80)), Err(Errno::ACCESS), "{ip}");
        }
        assert_eq!(loopback(&[]), Err(Errno::INVAL));
        assert_eq!(loopback(&[2]), Err(Errno::INVAL));
        assert_eq!(loopback(&v4([127, 0, 0, 1], 80)[..15]), Err(Errno::INVAL));
        assert_eq!(loopback(&v6("::1", 80)[..23]), Err(Errno::INVAL));
        for family in [0, 1, 16, 40, 0xFFFF_u16] {
            let mut bytes = v4([127, 0, 0, 1], 80);
            bytes[..2].copy_from_slice(&family.to_ne_bytes());
            assert_eq!(loopback(&bytes), Err(Errno::AFNOSUPPORT));
        }
    }

    proptest! {
        #[test]
        fn nothing_but_loopback_is_taken(bytes in proptest::collection::vec(any::<u8>(), 0..32)) {
            if let Ok(address) = loopback(&bytes) {
                prop_assert!(is_loopback(address.ip()));
            }
        }
    }
}
