//! A value in base 64, wherever it begins in what was encoded.

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_ADDRESSES: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The letters that a value has in base 64, whatever is encoded before and after it: one text for each of its three
/// positions, and three more where the other alphabet has other letters.
pub(crate) fn encoded(value: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for alphabet in [STANDARD, FOR_ADDRESSES] {
        for before in 0..3 {
            let letters = core(value, before, alphabet);
            if !all.contains(&letters) {
                all.push(letters);
            }
        }
    }
    all
}

/// The letters all of whose six bits are of the value.
fn core(value: &[u8], before: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let first_bit = before * 8;
    let bits = first_bit + value.len() * 8;
    let bit = |at: usize| {
        let byte = value[(at - first_bit) / 8];
        byte >> (7 - at % 8) & 1
    };
    let letters = first_bit.div_ceil(6)..bits / 6;
    letters
        .map(|letter| {
            let index = (letter * 6..letter * 6 + 6).fold(0, |sum, at| sum << 1 | bit(at));
            alphabet[usize::from(index)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_position_has_its_letters() {
        // `user:` and the value are "dXNlcjpwYXNzd29yZDE=".
        let all = encoded(b"password1");
        assert!(all.contains(&b"cGFzc3dvcmQx".to_vec()), "{all:?}");
        let whole = "dXNlcjpwYXNzd29yZDE=".as_bytes();
        let holds = |part: &Vec<u8>| whole.windows(part.len()).any(|window| window == part);
        assert!(all.iter().any(holds), "{all:?}");
        assert_eq!(all.len(), 3, "no letter differs between the alphabets");
        assert_eq!(encoded(b"\xfb\xef\xbe\xfa\x0f\xff").len(), 6, "both alphabets");
    }
}
