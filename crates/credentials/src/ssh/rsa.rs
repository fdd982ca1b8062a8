//! RSA keys of users: what OpenSSH's form of them lacks, and their signatures.

use ring::rand::SystemRandom;
use ring::rsa::{KeyPair, KeyPairComponents, PublicKeyComponents};
use ring::signature::{RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RsaEncoding};
use zeroize::Zeroizing;

use super::wire::Reader;

/// The kind of such a key. Signatures have other names.
pub(super) const KIND: &str = "ssh-rsa";
const SHA256: &str = "rsa-sha2-256";
const SHA512: &str = "rsa-sha2-512";

/// Reads what follows the kind. `None`: it is shorter than it says, or no key of 2,048 to 4,096 bits.
pub(super) fn read(from: &mut Reader<'_>) -> Option<KeyPair> {
    let (modulus, exponent, private) =
        (from.large_number()?, from.large_number()?, from.large_number()?);
    let (q_inverse, p, q) = (from.large_number()?, from.large_number()?, from.large_number()?);
    let (d_p, d_q) = (remainder_of_one_less(private, p)?, remainder_of_one_less(private, q)?);
    let public_key = PublicKeyComponents { n: modulus, e: exponent };
    let components = KeyPairComponents {
        public_key,
        d: private,
        p,
        q,
        dP: without_zeros(&d_p),
        dQ: without_zeros(&d_q),
        qInv: q_inverse,
    };
    KeyPair::from_components(&components).ok()
}

/// The signature that a request asks for by its flags. `None`: by SHA-1, which servers take no more.
pub(super) fn algorithm(flags: u32) -> Option<&'static str> {
    match flags {
        2 => Some(SHA256),
        4 => Some(SHA512),
        _ => None,
    }
}

/// `None`: there are no random numbers, or the numbers of the key do not fit together.
pub(super) fn sign(pair: &KeyPair, algorithm: &str, message: &[u8]) -> Option<Vec<u8>> {
    let how: &'static dyn RsaEncoding =
        if algorithm == SHA256 { &RSA_PKCS1_SHA256 } else { &RSA_PKCS1_SHA512 };
    let mut signed = vec![0; pair.public().modulus_len()];
    pair.sign(how, &SystemRandom::new(), message, &mut signed).ok()?;
    Some(signed)
}

/// What is left of a number by a prime less one: by these two numbers OpenSSH's form is shorter than that of others. `None`: the
/// prime is even.
fn remainder_of_one_less(number: &[u8], prime: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut divisor = Zeroizing::new(prime.to_vec());
    let last = divisor.last_mut().filter(|last| **last & 1 == 1)?;
    *last ^= 1;
    Some(remainder(number, &divisor))
}

/// Bit by bit: it is done once for each key, in the host process.
fn remainder(number: &[u8], divisor: &[u8]) -> Zeroizing<Vec<u8>> {
    // One byte more than the divisor, for the bit that doubling carries over.
    let mut rest = Zeroizing::new(vec![0_u8; divisor.len() + 1]);
    for bit in number.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)) {
        let mut carry = bit;
        for digit in rest.iter_mut().rev() {
            let next = *digit >> 7;
            *digit = *digit << 1 | carry;
            carry = next;
        }
        let (first, low) = rest.split_at_mut(1);
        if first[0] != 0 || &*low >= divisor {
            let mut borrow = false;
            for (digit, less) in low.iter_mut().zip(divisor).rev() {
                let (once, is_less) = digit.overflowing_sub(*less);
                let (twice, is_still_less) = once.overflowing_sub(u8::from(borrow));
                *digit = twice;
                borrow = is_less || is_still_less;
            }
            first[0] = 0;
        }
    }
    rest
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let first = number.iter().position(|byte| *byte != 0).unwrap_or(number.len());
    &number[first..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_remainder_is_that_of_a_division(number: u128, divisor in 1_u128.., cut in 0_usize..16) {
            let shown = number.to_be_bytes();
            for divisor in [divisor, (divisor >> (cut * 8)).max(1)] {
                let bytes = divisor.to_be_bytes();
                let rest = remainder(&shown, without_zeros(&bytes));
                let read = rest.iter().fold(0_u128, |all, byte| all << 8 | u128::from(*byte));
                prop_assert_eq!(read, number % divisor);
            }
        }
    }
}
