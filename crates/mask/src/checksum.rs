//! The checksum at the end of the tokens of GitHub and npm.

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// How long the checksum is: 32 bits in base 62, with zeros before it.
const LENGTH: usize = 6;

/// Whether a token ends with the checksum of what stands between its beginning and that.
pub(crate) fn holds(token: &[u8], beginning: usize) -> bool {
    let Some(end) = token.len().checked_sub(LENGTH).filter(|end| *end > beginning) else {
        return false;
    };
    let mut rest = crc32fast::hash(&token[beginning..end]);
    let mut expected = [b'0'; LENGTH];
    for digit in expected.iter_mut().rev() {
        *digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
    }
    token[end..] == expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_part_between() {
        // An example that has been published, and was never valid for anything.
        assert!(holds(b"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", 4));
        assert!(!holds(b"ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18", 4));
        assert!(!holds(b"ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkK0mLq17", 4));
        assert!(!holds(b"ghp_", 4) && !holds(b"", 4) && !holds(b"ghp_0mLq17", 4));
    }
}
