//! Keys of hosts: which are known, and what they have signed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

use super::wire::{Reader, fixed};

/// A line of a file of known hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownHost {
    /// `git.example.com`, or `[git.example.com]:2222`.
    pub(super) names: Vec<String>,
    /// The key, as SSH writes it.
    pub(super) key: Vec<u8>,
}

/// Reads such a file. The error is the number of the line that cannot be read.
pub(super) fn read_known_hosts(text: &str) -> Result<Vec<KnownHost>, usize> {
    let lines = text.lines().enumerate();
    let lines = lines.map(|(index, line)| (index + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(number, line)| read_line(line).ok_or(number)).collect()
}

fn read_line(line: &str) -> Option<KnownHost> {
    let mut words = line.split_ascii_whitespace();
    let (names, kind, key) = (words.next()?, words.next()?, words.next()?);
    let key = STANDARD.decode(key).ok()?;
    let is_named = Reader::new(&key).text()? == kind.as_bytes();
    // What is hashed, marked or a pattern names no host.
    let is_plain = !names.contains(['|', '@', '*', '?', '!']);
    let names = names.split(',').map(str::to_ascii_lowercase).collect();
    (is_named && is_plain).then_some(KnownHost { names, key })
}

/// Its kind and itself in base64, as in a line.
pub(super) fn written(key: &[u8]) -> Option<String> {
    let kind = std::str::from_utf8(Reader::new(key).text()?).ok()?;
    Some(format!("{kind} {}", STANDARD.encode(key)))
}

/// Whether a key has signed a message.
pub(super) fn has_signed(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    verify(key, message, signature).is_some()
}

fn verify(key: &[u8], message: &[u8], signature: &[u8]) -> Option<()> {
    let (mut key, mut signature) = (Reader::new(key), Reader::new(signature));
    let (kind, how, signed) = (key.text()?, signature.text()?, signature.text()?);
    signature.end()?;
    let plain = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8], signed: &[u8]| {
        UnparsedPublicKey::new(algorithm, key).verify(message, signed).ok()
    };
    match (kind, how) {
        (b"ssh-ed25519", b"ssh-ed25519") => plain(&ED25519, key.text()?, signed),
        (b"ecdsa-sha2-nistp256", b"ecdsa-sha2-nistp256") => {
            let (_, point) = (key.text()?, key.text()?);
            plain(&ECDSA_P256_SHA256_FIXED, point, &halves::<32>(signed)?)
        }
        (b"ecdsa-sha2-nistp384", b"ecdsa-sha2-nistp384") => {
            let (_, point) = (key.text()?, key.text()?);
            plain(&ECDSA_P384_SHA384_FIXED, point, &halves::<48>(signed)?)
        }
        (b"ssh-rsa", b"rsa-sha2-256" | b"rsa-sha2-512") => {
            let (e, n) = (key.large_number()?, key.large_number()?);
            let algorithm = if how == b"rsa-sha2-256" {
                &RSA_PKCS1_2048_8192_SHA256
            } else {
                &RSA_PKCS1_2048_8192_SHA512
            };
            RsaPublicKeyComponents { n, e }.verify(algorithm, message, signed).ok()
        }
        _ => None,
    }
}

/// Two numbers of any length, as two of fixed length.
fn halves<const N: usize>(signed: &[u8]) -> Option<Vec<u8>> {
    let mut signed = Reader::new(signed);
    let (r, s) = (signed.large_number()?, signed.large_number()?);
    signed.end()?;
    Some([fixed::<N>(r)?, fixed::<N>(s)?].concat())
}
