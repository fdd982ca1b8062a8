//! A private key in the form of OpenSSH, without a passphrase.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::rsa;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair,
};
use zeroize::Zeroizing;

use super::rsa as rsa_key;
use super::wire::{Reader, fixed, put_large_number, put_text};

const BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
const END: &str = "-----END OPENSSH PRIVATE KEY-----";
const MAGIC: &[u8] = b"openssh-key-v1\0";
/// No key of these kinds is longer.
const MAX_TEXT: usize = 8 << 10;

/// A key that signs.
pub(crate) struct PrivateKey {
    /// Its public half, as SSH writes it.
    pub(super) public: Vec<u8>,
    kind: &'static str,
    pair: Pair,
}

enum Pair {
    Ed25519(Ed25519KeyPair),
    Ecdsa(EcdsaKeyPair),
    Rsa(rsa::KeyPair),
}

impl PrivateKey {
    /// Reads a key. The error says what is wrong, and has nothing of it.
    pub(crate) fn read(text: &str) -> Result<Self, &'static str> {
        if text.len() > MAX_TEXT {
            return Err("it is longer than a key of these kinds");
        }
        let inner = text.trim().strip_prefix(BEGIN).and_then(|text| text.strip_suffix(END));
        let inner = inner.ok_or("it is no private key in the form of OpenSSH")?;
        let coded: Zeroizing<String> =
            Zeroizing::new(inner.chars().filter(|char| !char.is_ascii_whitespace()).collect());
        let decoded = STANDARD.decode(&*coded).map_err(|_| "its base64 cannot be read")?;
        read(&Zeroizing::new(decoded)).unwrap_or(Err("its content cannot be read"))
    }

    /// The signature of a message, as SSH writes it, by one of its [algorithms](Self::algorithm). `None`: there are no random numbers.
    pub(super) fn sign(&self, algorithm: &str, message: &[u8]) -> Option<Vec<u8>> {
        let mut signature = Vec::with_capacity(128);
        put_text(&mut signature, algorithm.as_bytes());
        match &self.pair {
            Pair::Ed25519(pair) => put_text(&mut signature, pair.sign(message).as_ref()),
            Pair::Ecdsa(pair) => {
                let signed = pair.sign(&SystemRandom::new(), message).ok()?;
                let (r, s) = signed.as_ref().split_at(signed.as_ref().len() / 2);
                let mut numbers = Vec::with_capacity(signed.as_ref().len() + 10);
                put_large_number(&mut numbers, r);
                put_large_number(&mut numbers, s);
                put_text(&mut signature, &numbers);
            }
            Pair::Rsa(pair) => put_text(&mut signature, &rsa_key::sign(pair, algorithm, message)?),
        }
        Some(signature)
    }

    /// The name of the signature that the flags of a request ask for: of an RSA key alone it is another one than its kind. `None`: it
    /// does not sign so.
    pub(super) fn algorithm(&self, flags: u32) -> Option<&'static str> {
        match self.pair {
            Pair::Rsa(_) => rsa_key::algorithm(flags),
            Pair::Ed25519(_) | Pair::Ecdsa(_) => Some(self.kind),
        }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PrivateKey")
    }
}

/// `None`: it is shorter than it says.
fn read(bytes: &[u8]) -> Option<Result<PrivateKey, &'static str>> {
    let mut from = Reader::new(bytes.strip_prefix(MAGIC)?);
    let (cipher, _, _) = (from.text()?, from.text()?, from.text()?);
    if cipher != b"none" {
        return Some(Err("it has a passphrase: give it without one"));
    }
    if from.number()? != 1 {
        return Some(Err("it has several keys: give one"));
    }
    let (public, private) = (from.text()?, from.text()?);
    let mut from = Reader::new(private);
    if from.number()? != from.number()? {
        return None;
    }
    let read = match from.text()? {
        b"ssh-ed25519" => {
            let (own, pair) = (from.text()?, from.text()?);
            let pair = Ed25519KeyPair::from_seed_and_public_key(pair.get(..32)?, own).ok()?;
            ("ssh-ed25519", Pair::Ed25519(pair))
        }
        b"ecdsa-sha2-nistp256" => {
            let pair = ecdsa::<32>(&ECDSA_P256_SHA256_FIXED_SIGNING, &mut from)?;
            ("ecdsa-sha2-nistp256", pair)
        }
        b"ecdsa-sha2-nistp384" => {
            let pair = ecdsa::<48>(&ECDSA_P384_SHA384_FIXED_SIGNING, &mut from)?;
            ("ecdsa-sha2-nistp384", pair)
        }
        b"ssh-rsa" => match rsa_key::read(&mut from) {
            Some(pair) => (rsa_key::KIND, Pair::Rsa(pair)),
            None => return Some(Err("it is no RSA key of 2048 to 4096 bits")),
        },
        _ => {
            return Some(Err(
                "it is of a kind that is not signed with: ed25519, ecdsa-sha2-nistp256, ecdsa-sha2-nistp384 and rsa are",
            ));
        }
    };
    let (kind, pair) = read;
    let is_whole = Reader::new(public).text()? == kind.as_bytes();
    is_whole.then(|| Ok(PrivateKey { public: public.to_vec(), kind, pair }))
}

fn ecdsa<const N: usize>(
    algorithm: &'static EcdsaSigningAlgorithm,
    from: &mut Reader<'_>,
) -> Option<Pair> {
    let (_, point, number) = (from.text()?, from.text()?, from.large_number()?);
    let number = Zeroizing::new(fixed::<N>(number)?);
    let random = SystemRandom::new();
    let pair =
        EcdsaKeyPair::from_private_key_and_public_key(algorithm, &*number, point, &random).ok()?;
    Some(Pair::Ecdsa(pair))
}
