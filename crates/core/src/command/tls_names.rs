//! Connections whose TLS asks for the name that they were made to, and for no other.

use toolwright_exec::{Opening, Openings, Refusal};
use toolwright_policy::tls_opening::{self, Opening as Read};

/// Nothing but TLS is spoken at this port.
const HTTPS: u16 = 443;

/// Holds connections to their names.
#[derive(Debug)]
pub(super) struct TlsNames;

impl Openings for TlsNames {
    fn of_client(&self, name: &str, port: u16, bytes: &[u8], is_second: bool) -> Opening {
        let read = if is_second { Read::read_again(bytes) } else { Read::read(bytes) };
        match read {
            Read::Incomplete => Opening::Incomplete,
            Read::Other if port == HTTPS => Opening::Refused(Refusal::NoTls),
            Read::Other => Opening::Open,
            Read::Malformed => Opening::Refused(Refusal::NoTls),
            Read::Tls { name: None, .. } => Opening::Refused(Refusal::NoName),
            Read::Tls { name: Some(asked), length } if asked.eq_ignore_ascii_case(name) => {
                Opening::Answerable(length)
            }
            Read::Tls { .. } => Opening::Refused(Refusal::OtherName),
        }
    }

    fn asks_again(&self, bytes: &[u8]) -> Option<bool> {
        tls_opening::asks_for_another_opening(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first message of TLS with this name.
    fn hello(name: &str) -> Vec<u8> {
        let with_length = |bytes: &[u8]| {
            let length = u16::try_from(bytes.len()).expect("short").to_be_bytes();
            [&length[..], bytes].concat()
        };
        let entry = [&[0][..], &with_length(name.as_bytes())].concat();
        let extension = [&[0, 0][..], &with_length(&with_length(&entry))].concat();
        let extensions = if name.is_empty() { Vec::new() } else { with_length(&extension) };
        let body = [&[3, 3][..], &[7; 32], &[0, 0, 2, 0x13, 1, 1, 0], &extensions].concat();
        let message = [&[1, 0][..], &with_length(&body)].concat();
        [&[22, 3, 1][..], &with_length(&message)].concat()
    }

    fn of(port: u16, bytes: &[u8]) -> Opening {
        TlsNames.of_client("name.test", port, bytes, false)
    }

    #[test]
    fn tls_asks_for_the_name_or_is_refused_at_any_port() {
        for port in [443, 22, 8443] {
            for name in ["name.test", "NAME.test"] {
                let bytes = hello(name);
                assert_eq!(of(port, &bytes), Opening::Answerable(bytes.len()), "{name}");
                assert_eq!(of(port, &bytes[..bytes.len() - 1]), Opening::Incomplete, "{name}");
            }
            for name in
                ["other.test", "sub.name.test", "name.test.", "test", "name.test.other.test"]
            {
                let refused = Opening::Refused(Refusal::OtherName);
                assert_eq!(of(port, &hello(name)), refused, "{name}");
                assert_eq!(TlsNames.of_client("name.test", port, &hello(name), true), refused);
            }
            assert_eq!(of(port, &hello("")), Opening::Refused(Refusal::NoName));
            assert_eq!(of(port, &[22, 3, 1, 0, 0]), Opening::Refused(Refusal::NoTls));
            assert_eq!(of(port, b""), Opening::Incomplete);
        }
    }

    #[test]
    fn other_protocols_are_open_but_where_tls_is_spoken() {
        for bytes in [&b"GET / HTTP/1.1"[..], b"SSH-2.0-", b"\x16\x02"] {
            assert_eq!(of(443, bytes), Opening::Refused(Refusal::NoTls));
            assert_eq!(of(80, bytes), Opening::Open);
        }
    }
}
