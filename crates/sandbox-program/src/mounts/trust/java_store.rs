//! Certificates as a key store of Java (JKS). A store of the newer kind (PKCS #12) would need a password that
//! programs do not give for their default one.

use sha1::{Digest, Sha1};

const MAGIC: u32 = 0xFEED_FEED;
const VERSION: u32 = 2;
const TRUSTED: u32 = 2;
/// What stores are usually protected with; it protects nothing.
const PASSWORD: &str = "changeit";
/// A part of the format, as the password is.
const SALT: &str = "Mighty Aphrodite";

/// The store of these certificates.
pub(super) fn of(certificates: &[Vec<u8>]) -> Vec<u8> {
    let mut store = Vec::new();
    for number in [MAGIC, VERSION, count(certificates.len())] {
        store.extend_from_slice(&number.to_be_bytes());
    }
    for (index, certificate) in certificates.iter().enumerate() {
        store.extend_from_slice(&TRUSTED.to_be_bytes());
        write_text(&mut store, &format!("authority-{index}"));
        // No time is known.
        store.extend_from_slice(&0_u64.to_be_bytes());
        write_text(&mut store, "X.509");
        store.extend_from_slice(&count(certificate.len()).to_be_bytes());
        store.extend_from_slice(certificate);
    }
    let mut digest = Sha1::new();
    digest.update(PASSWORD.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>());
    digest.update(SALT);
    digest.update(&store);
    store.extend_from_slice(&digest.finalize());
    store
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn write_text(store: &mut Vec<u8>, text: &str) {
    store.extend_from_slice(&u16::try_from(text.len()).unwrap_or_default().to_be_bytes());
    store.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_has_each_certificate_once() {
        let store = of(&[vec![1, 2, 3, 4, 5]]);
        assert_eq!(store[..12], [0xFE, 0xED, 0xFE, 0xED, 0, 0, 0, 2, 0, 0, 0, 1]);
        assert!(store.windows(9).any(|part| part == [0, 0, 0, 5, 1, 2, 3, 4, 5]));
        assert_eq!(of(&[]).len(), 12 + 20);
    }
}
